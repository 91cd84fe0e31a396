package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == fakeCommand {
		if err := serveFake(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "wirebench fake:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wirebench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "wirebench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r, err := newRig(ctx, o, dir)
	if err != nil {
		return err
	}
	defer r.close()
	result := r.run(ctx, out)
	if o.json != "" {
		b, err := json.MarshalIndent(result, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(b, '\n'), 0o644); err != nil { //nolint:gosec // figures for everybody
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return result.failures()
}
