package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakePython puts a python3 on PATH that runs a shell script.
func fakePython(t *testing.T, body string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+"/usr/bin"+string(os.PathListSeparator)+"/bin")
}

// venv is what a fake python3 does for `-m venv DIR`: an environment whose pip runs a script.
func venv(pip string) string {
	return `mkdir -p "$3/bin"; printf '#!/bin/sh\n%s\n' '` + pip + `' > "$3/bin/python"; chmod +x "$3/bin/python"`
}

func TestPyHiveEnvironmentIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache", "pyhive")
	fakePython(t, venv("exit 0"))
	python, err := pyHiveEnvironment(t.Context(), dir)
	if err != nil || python != filepath.Join(dir, "bin", "python") {
		t.Fatalf("pyHiveEnvironment = %s, %v", python, err)
	}
	fakePython(t, "exit 1")
	if _, err := pyHiveEnvironment(t.Context(), dir); err != nil {
		t.Errorf("a complete environment was made again: %v", err)
	}
}

func TestPyHiveEnvironmentSaysWhatIsMissing(t *testing.T) {
	for _, tc := range []struct{ name, python, want string }{
		{"venv", "echo 'ensurepip is not available'; exit 1", "python3-venv): exit status 1: ensurepip is not available"},
		{"pip", venv("echo no such version; exit 1"), "exit status 1: no such version"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "pyhive")
			fakePython(t, tc.python)
			for range 2 { // a failed attempt does not count as complete
				_, err := pyHiveEnvironment(t.Context(), dir)
				if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %q, want one line with %q", err, tc.want)
				}
			}
		})
	}
	t.Run("Python", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := pyHiveEnvironment(t.Context(), filepath.Join(t.TempDir(), "pyhive"))
		if want := "PyHive needs Python 3: install it (apt-get install python3-venv)"; err == nil || err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	})
}
