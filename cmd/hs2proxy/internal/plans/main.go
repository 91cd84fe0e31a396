package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plans:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("expected one file of plans: make plans FILE=PLANS.jsonl.gz")
	}
	f, err := os.Open(args[0]) //nolint:gosec // the caller names the file
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	c, err := check(f, os.Stdout)
	fmt.Fprintf(os.Stderr, "not counted: %d plans of Spark, %d masked as a whole\n", c.spark, c.masked)
	fmt.Println(c)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", args[0], err)
	case c.differences > 0:
		return fmt.Errorf("%d differences", c.differences)
	}
	return nil
}
