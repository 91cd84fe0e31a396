//go:build !unix

package localpg

import (
	"fmt"
	"os"
	"os/exec"
)

func executable() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find our own executable: %w", err)
	}
	return exe, nil
}

func asKeeper(*exec.Cmd) {}

func handOver(string) error { return nil }

func killGroup(p *os.Process) { _ = p.Kill() }
