package e2e

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

var (
	//go:embed clients/steps.py
	pythonSteps []byte
	//go:embed clients/pyhive_client.py
	pyHiveClient []byte
	//go:embed clients/impyla_client.py
	impylaClient []byte
)

// pythonPackages are PyHive, impyla and what they need to speak SASL without a C compiler.
var pythonPackages = []string{"pyhive==0.7.0", "impyla==0.24.0", "thrift==0.25.0", "thrift-sasl==0.4.3", "pure-sasl==0.6.2"}

// RunPyHive runs the steps with PyHive and returns what it printed. The first run makes a virtual environment in the
// user's cache folder, which takes Python 3 and pip's package index; errors of that are one line.
func RunPyHive(ctx context.Context, target Target) ([]byte, error) {
	return runPython(ctx, pyHive, pyHiveClient, target)
}

// RunImpyla is RunPyHive for impyla.
func RunImpyla(ctx context.Context, target Target) ([]byte, error) {
	return runPython(ctx, impyla, impylaClient, target)
}

func runPython(ctx context.Context, c client, source []byte, target Target) ([]byte, error) {
	t, argument, err := target.prepared()
	if err != nil {
		return nil, err
	}
	cache, err := cacheDir("python-clients")
	if err != nil {
		return nil, err
	}
	python, err := pythonEnvironment(ctx, cache)
	if err != nil {
		return nil, err
	}
	dir, remove, err := unpacked(map[string][]byte{"client.py": source, "steps.py": pythonSteps})
	if err != nil {
		return nil, err
	}
	defer remove()
	return runClient(ctx, c, t, python, filepath.Join(dir, "client.py"), argument)
}

// pythonEnvironment makes a folder a virtual environment with the Python clients, once, and returns its Python.
func pythonEnvironment(ctx context.Context, dir string) (string, error) {
	python := filepath.Join(dir, "bin", "python")
	err := filledOnce(ctx, dir, strings.Join(pythonPackages, "\n"), func() error {
		system, err := exec.LookPath("python3")
		if err != nil {
			return &MissingError{"PyHive and impyla need Python 3: install it (apt-get install python3-venv)"}
		}
		if out, err := exec.CommandContext(ctx, system, "-m", "venv", dir).CombinedOutput(); err != nil { //nolint:gosec // python3 from PATH
			return fmt.Errorf("python3 makes no virtual environment (apt-get install python3-venv): %w: %s", err, oneLine(out))
		}
		args := append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, pythonPackages...)
		if out, err := exec.CommandContext(ctx, python, args...).CombinedOutput(); err != nil { //nolint:gosec // the environment just made
			return fmt.Errorf("pip did not install PyHive and impyla into %s: %w: %s", dir, err, oneLine(out))
		}
		return nil
	})
	return python, err
}
