package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// goHiveProgram is the package of the gohive client.
const goHiveProgram = "github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/e2e/clients/gohive"

// RunGoHive runs the steps with gohive and returns what it printed. It is built by the go command on PATH, inside this
// module.
func RunGoHive(ctx context.Context, target Target) ([]byte, error) {
	t, argument, err := target.prepared()
	if err != nil {
		return nil, err
	}
	dir, remove, err := unpacked(nil)
	if err != nil {
		return nil, err
	}
	defer remove()
	program := filepath.Join(dir, "gohive")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, goHiveProgram).CombinedOutput(); err != nil { //nolint:gosec // our own package
		return nil, fmt.Errorf("build the gohive client: %w: %s", err, out)
	}
	return runClient(ctx, goHive, t, program, argument)
}
