package localkdc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNotInstalled is in the error of Start where programs are missing.
var ErrNotInstalled = errors.New("install MIT Kerberos (apt-get install krb5-kdc krb5-admin-server krb5-user)")

// programs are the paths of MIT Kerberos' own.
type programs struct{ kdc, database, admin string }

// folders are where systems install them, mostly off an ordinary user's PATH.
var folders = []string{"/usr/sbin", "/usr/local/sbin", "/usr/bin", "/opt/homebrew/opt/krb5/sbin", "/usr/local/opt/krb5/sbin"}

// find looks for the programs on PATH, then in dirs.
func find(dirs []string) (programs, error) {
	var p programs
	var missing []string
	for name, path := range map[string]*string{"krb5kdc": &p.kdc, "kdb5_util": &p.database, "kadmin.local": &p.admin} {
		if *path = look(name, dirs); *path == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return p, fmt.Errorf("no %s on this machine: %w", strings.Join(missing, ", "), ErrNotInstalled)
	}
	return p, nil
}

func look(name string, dirs []string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// run runs one of the programs to its end. kadmin.local reports errors of its queries on standard error and exits with 0.
func (k *KDC) run(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // MIT Kerberos' programs, as find found them
	cmd.Env = k.env()
	var words strings.Builder
	cmd.Stderr = &words
	err := cmd.Run()
	text := strings.TrimSpace(words.String())
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, text)
	}
	for line := range strings.Lines(text) {
		// "add_principal: Principal or policy already exists while creating …", "kadmin.local: Principal … does not exist."
		if strings.Contains(line, " while ") || strings.HasPrefix(line, "kadmin.local: ") {
			return fmt.Errorf("%s: %s", filepath.Base(program), strings.TrimSpace(line))
		}
	}
	return nil
}

// env keeps the machine's own Kerberos configuration out.
func (k *KDC) env() []string {
	env := []string{"KRB5_CONFIG=" + k.Krb5Conf(), "KRB5_KDC_PROFILE=" + filepath.Join(k.dir, "kdc.conf"), "TMPDIR=" + k.dir}
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "KRB5") && !strings.HasPrefix(pair, "TMPDIR=") {
			env = append(env, pair)
		}
	}
	return env
}
