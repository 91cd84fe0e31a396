// Command fidelity compares the simulated join selection with decisions of a real planner: make fidelity CASES=FILE.jsonl.gz. It
// lists every difference and ends with one line of counts; it fails when a file cannot be read, not when something differs.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hs2proxy/hs2proxy/advisor/oracle"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fidelity:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	if len(args) != 1 || args[0] == "" {
		return errors.New("expected one file of cases: make fidelity CASES=FILE.jsonl.gz")
	}
	f, err := os.Open(args[0]) //nolint:gosec // the caller names the file
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	a := oracle.Agreement{Differs: func(kind, sentence string) { fmt.Fprintf(w, "%s: %s\n", kind, sentence) }}
	if err := oracle.Read(f, func(c *oracle.Case) error { a.Add(c); return nil }); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	fmt.Fprintln(w, a.String())
	return nil
}
