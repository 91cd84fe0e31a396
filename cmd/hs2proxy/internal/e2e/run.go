package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// program is a client and how it is run.
type program struct {
	name client
	run  func(context.Context, Target) ([]byte, error)
}

// programs are all clients, in the order in which they run.
var programs = []program{
	{pyHive, RunPyHive},
	{impyla, RunImpyla},
	{hiveDriver, RunHiveDriver},
	{goHive, RunGoHive},
	{jdbc, RunJDBC},
	{beeline, RunBeeline},
}

// runClient feeds steps to a client and returns its standard output. When it fails, the error ends with the last lines
// of its standard error, and what it printed until then is returned too.
func runClient(ctx context.Context, c client, t Target, program string, args ...string) ([]byte, error) {
	input, err := encode(t.script(c))
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

// unpacked writes a client's files into a folder of their own; remove deletes it.
func unpacked(files map[string][]byte) (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "hs2proxy-client-")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the client: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			remove()
			return "", nil, fmt.Errorf("write the client: %w", err)
		}
	}
	return dir, remove, nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// oneLine is the last line that a program printed.
func oneLine(out []byte) string { return lastLines(string(out), 1) }

// MissingError: a program that a client needs is not on this machine.
type MissingError struct {
	// Reason says what is missing and how to install it.
	Reason string
}

func (e *MissingError) Error() string { return e.Reason }
