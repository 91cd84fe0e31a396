package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// Target is the endpoint a client connects to: a HiveServer2 or a proxy in front of one.
type Target struct {
	// Address is host:port.
	Address string
	// Auth is NONE (also when empty), NOSASL, or CUSTOM for a checked password.
	Auth string
	// User and Password log in; "e2e" when empty.
	User, Password string
	// Database is dropped, made, used and dropped again. It appears in error messages and metadata: runs that are to
	// be compared use the same name, one after the other. "hs2proxy_e2e" when empty.
	Database string
}

var databaseName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (t Target) withDefaults() (Target, error) {
	if _, _, err := net.SplitHostPort(t.Address); err != nil {
		return t, fmt.Errorf("address %q: %w", t.Address, err)
	}
	for field, value := range map[*string]string{&t.Auth: "NONE", &t.User: "e2e", &t.Password: "e2e", &t.Database: "hs2proxy_e2e"} {
		if *field == "" {
			*field = value
		}
	}
	switch t.Auth {
	case "NONE", "NOSASL", "CUSTOM":
	default:
		return t, fmt.Errorf("authentication %q: must be NONE, NOSASL or CUSTOM", t.Auth)
	}
	if !databaseName.MatchString(t.Database) {
		return t, fmt.Errorf("database %q: must be lower-case letters, digits and underscores", t.Database)
	}
	return t, nil
}

// runClient feeds steps to a client and returns its standard output. When it fails, the error ends with the last lines
// of its standard error, and what it printed until then is returned too.
func runClient(ctx context.Context, c client, db, program string, args ...string) ([]byte, error) {
	input, err := encode(script(c, db))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // a client of this package
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdin = strings.NewReader(input)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(ctx.Err(), err)
		}
		return out.Bytes(), fmt.Errorf("%s: %w\n%s", c, err, lastLines(words.String(), 20))
	}
	return out.Bytes(), nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
