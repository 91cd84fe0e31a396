package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"

	athrift "github.com/apache/thrift/lib/go/thrift"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/wirebench/fakehs2"
)

// fakeCommand makes this program the fake HiveServer2.
const fakeCommand = "fake"

// serveFake prints the address it serves on, then its counts for every line that it reads. It ends with its input, and so with
// whoever started it.
func serveFake(in io.Reader, out io.Writer) error {
	athrift.ServerConnectivityCheckInterval = 0 // else the generated code starts a goroutine for every call
	s, err := fakehs2.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(out, s.Addr())
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if err := json.NewEncoder(out).Encode(s.Counts()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// fake is the fake HiveServer2's process.
type fake struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	addr  string
}

func startFake(ctx context.Context) (*fake, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &fake{cmd: exec.CommandContext(ctx, self, fakeCommand)} //nolint:gosec // this program
	f.cmd.Stderr = os.Stderr
	if f.in, err = f.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := f.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the fake HiveServer2: %w", err)
	}
	f.lines = bufio.NewScanner(out)
	if !f.lines.Scan() {
		f.close()
		return nil, fmt.Errorf("the fake HiveServer2 did not start: %w", f.lines.Err())
	}
	f.addr = f.lines.Text()
	return f, nil
}

// counts is what it was asked for so far.
func (f *fake) counts() (fakehs2.Counts, error) {
	var c fakehs2.Counts
	if _, err := io.WriteString(f.in, "\n"); err != nil {
		return c, fmt.Errorf("ask the fake HiveServer2: %w", err)
	}
	if !f.lines.Scan() {
		return c, fmt.Errorf("the fake HiveServer2 ended: %w", f.lines.Err())
	}
	return c, json.Unmarshal(f.lines.Bytes(), &c)
}

func (f *fake) pid() int { return f.cmd.Process.Pid }

func (f *fake) close() {
	_ = f.in.Close()
	_ = f.cmd.Wait()
}
