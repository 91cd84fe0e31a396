package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeProgram puts a program on PATH that runs a shell script.
func fakeProgram(t *testing.T, name, body string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+"/usr/bin"+string(os.PathListSeparator)+"/bin")
}

// venv is what a fake python3 does for `-m venv DIR`: an environment whose pip runs a script.
func venv(pip string) string {
	return `mkdir -p "$3/bin"; printf '#!/bin/sh\n%s\n' '` + pip + `' > "$3/bin/python"; chmod +x "$3/bin/python"`
}

func TestPythonEnvironmentIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache", "python")
	fakeProgram(t, "python3", venv("exit 0"))
	python, err := pythonEnvironment(t.Context(), dir)
	if err != nil || python != filepath.Join(dir, "bin", "python") {
		t.Fatalf("pythonEnvironment = %s, %v", python, err)
	}
	fakeProgram(t, "python3", "exit 1")
	if _, err := pythonEnvironment(t.Context(), dir); err != nil {
		t.Errorf("a complete environment was made again: %v", err)
	}
}

func TestPythonEnvironmentSaysWhatIsMissing(t *testing.T) {
	for _, tc := range []struct{ name, python, want string }{
		{"venv", "echo 'ensurepip is not available'; exit 1", "python3-venv): exit status 1: ensurepip is not available"},
		{"pip", venv("echo no such version; exit 1"), "exit status 1: no such version"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "python")
			fakeProgram(t, "python3", tc.python)
			for range 2 { // a failed attempt does not count as complete
				_, err := pythonEnvironment(t.Context(), dir)
				if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %q, want one line with %q", err, tc.want)
				}
			}
		})
	}
}

func TestMissingProgramsAreNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, python := pythonEnvironment(t.Context(), filepath.Join(t.TempDir(), "python"))
	_, node := nodeWithHiveDriver(t.Context(), filepath.Join(t.TempDir(), "node"))
	fakeProgram(t, "node", "exit 1")
	t.Setenv("PATH", strings.Split(os.Getenv("PATH"), string(os.PathListSeparator))[0])
	_, npm := nodeWithHiveDriver(t.Context(), filepath.Join(t.TempDir(), "npm"))
	for want, err := range map[string]error{
		"PyHive and impyla need Python 3: install it (apt-get install python3-venv)": python,
		"hive-driver needs Node.js: install it (apt-get install nodejs npm)":         node,
		"hive-driver is installed by npm: install that (apt-get install npm)":        npm,
	} {
		var missing *MissingError
		if !errors.As(err, &missing) || err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	}
}

func TestHiveDriverIsInstalledOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	fakeProgram(t, "node", "exit 1")
	npm := filepath.Join(strings.Split(os.Getenv("PATH"), string(os.PathListSeparator))[0], "npm")
	script := func(body string) {
		if err := os.WriteFile(npm, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script("echo no such package; exit 1")
	if _, err := nodeWithHiveDriver(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "exit status 1: no such package") {
		t.Errorf("npm's failure: %v", err)
	}
	script("test -f package.json && test \"$*\" = 'install --no-audit --no-fund --ignore-scripts hive-driver@1.0.0'")
	if _, err := nodeWithHiveDriver(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	script("exit 1")
	if _, err := nodeWithHiveDriver(t.Context(), dir); err != nil {
		t.Errorf("a complete folder was filled again: %v", err)
	}
}
