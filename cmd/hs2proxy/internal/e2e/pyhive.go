package e2e

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive/filelock"
)

//go:embed clients/pyhive_client.py
var pyHiveClient []byte

// pyHivePackages are PyHive and what it needs to speak SASL without a C compiler.
var pyHivePackages = []string{"pyhive==0.7.0", "thrift==0.25.0", "thrift-sasl==0.4.3", "pure-sasl==0.6.2"}

// RunPyHive runs the steps with PyHive and returns what it printed. The first run makes a virtual environment in the
// user's cache folder, which takes Python 3 and pip's package index; errors of that are one line.
func RunPyHive(ctx context.Context, target Target) ([]byte, error) {
	t, err := target.withDefaults()
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find the user's cache folder: %w", err)
	}
	python, err := pyHiveEnvironment(ctx, filepath.Join(cache, "hs2proxy", "pyhive-0.7.0"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hs2proxy-pyhive-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the client: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "pyhive_client.py")
	if err := os.WriteFile(file, pyHiveClient, 0o600); err != nil {
		return nil, fmt.Errorf("write the client: %w", err)
	}
	host, port, err := net.SplitHostPort(t.Address)
	if err != nil {
		return nil, fmt.Errorf("split the address: %w", err)
	}
	return runClient(ctx, pyHive, t.Database, python, file, host, port, t.Auth, t.User, t.Password)
}

// pyHiveEnvironment makes a folder a virtual environment with PyHive, once, and returns its Python.
func pyHiveEnvironment(ctx context.Context, dir string) (string, error) {
	python := filepath.Join(dir, "bin", "python")
	sum := sha256.Sum256([]byte(strings.Join(pyHivePackages, "\n")))
	want := hex.EncodeToString(sum[:])
	stampFile := filepath.Join(dir, ".complete")
	complete := func() bool {
		got, err := os.ReadFile(stampFile) //nolint:gosec // in the user's cache folder
		return err == nil && string(got) == want
	}
	if complete() {
		return python, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	unlock, err := filelock.Wait(ctx, dir+".lock")
	if err != nil {
		return "", fmt.Errorf("wait for another process that installs PyHive: %w", err)
	}
	defer unlock()
	if complete() {
		return python, nil
	}
	system, err := exec.LookPath("python3")
	if err != nil {
		return "", errors.New("PyHive needs Python 3: install it (apt-get install python3-venv)")
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("clear the earlier environment: %w", err)
	}
	if out, err := exec.CommandContext(ctx, system, "-m", "venv", dir).CombinedOutput(); err != nil { //nolint:gosec // python3 from PATH
		return "", fmt.Errorf("python3 makes no virtual environment (apt-get install python3-venv): %w: %s", err, oneLine(out))
	}
	args := append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, pyHivePackages...)
	if out, err := exec.CommandContext(ctx, python, args...).CombinedOutput(); err != nil { //nolint:gosec // the environment just made
		return "", fmt.Errorf("pip did not install PyHive into %s: %w: %s", dir, err, oneLine(out))
	}
	if err := os.WriteFile(stampFile, []byte(want), 0o600); err != nil {
		return "", fmt.Errorf("write the environment's stamp: %w", err)
	}
	return python, nil
}

// oneLine is the last line that a program printed.
func oneLine(out []byte) string { return lastLines(string(out), 1) }
