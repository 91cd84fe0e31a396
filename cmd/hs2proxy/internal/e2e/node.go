package e2e

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed clients/hive_driver_client.js
var hiveDriverClient []byte

// hiveDriverPackage is what npm installs.
const hiveDriverPackage = "hive-driver@1.0.0"

// RunHiveDriver runs the steps with the npm package hive-driver and returns what it printed. The first run installs it
// into the user's cache folder, which takes Node.js and npm's registry; errors of that are one line.
func RunHiveDriver(ctx context.Context, target Target) ([]byte, error) {
	t, argument, err := target.prepared()
	if err != nil {
		return nil, err
	}
	dir, err := cacheDir("hive-driver-1.0.0")
	if err != nil {
		return nil, err
	}
	node, err := nodeWithHiveDriver(ctx, dir)
	if err != nil {
		return nil, err
	}
	// Node looks for packages beside the file that asks for them.
	file, err := os.CreateTemp(dir, "client-*.js")
	if err != nil {
		return nil, fmt.Errorf("make a file for the client: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(hiveDriverClient)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("write the client: %w", err)
	}
	return runClient(ctx, hiveDriver, t, node, file.Name(), argument)
}

// nodeWithHiveDriver makes a folder one that Node finds hive-driver in, once, and returns the path of Node.
func nodeWithHiveDriver(ctx context.Context, dir string) (string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", &MissingError{"hive-driver needs Node.js: install it (apt-get install nodejs npm)"}
	}
	err = filledOnce(ctx, dir, hiveDriverPackage, func() error {
		npm, err := exec.LookPath("npm")
		if err != nil {
			return &MissingError{"hive-driver is installed by npm: install that (apt-get install npm)"}
		}
		// A package.json keeps npm from installing into a folder above.
		if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{\"private\": true}\n"), 0o600); err != nil {
			return fmt.Errorf("prepare the folder of hive-driver: %w", err)
		}
		cmd := exec.CommandContext(ctx, npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", hiveDriverPackage) //nolint:gosec // npm from PATH
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("npm did not install hive-driver into %s: %w: %s", dir, err, oneLine(out))
		}
		return nil
	})
	return node, err
}
