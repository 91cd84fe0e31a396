// Command withhive starts a HiveServer2 of its own, runs a command that finds it in HS2PROXY_TEST_HS2 (host:port), stops
// the server and ends with the command's status:
//
//	go run ./cmd/hs2proxy/internal/localhive/withhive go test ./thrift/client
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(max(1, exit.ExitCode()))
	case err != nil:
		fmt.Fprintln(os.Stderr, "withhive:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) == 0 {
		return errors.New("no command given")
	}
	dir, err := os.MkdirTemp("", "withhive-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	hive, err := localhive.Start(ctx, localhive.Options{
		Dir: dir, Progress: func(s string) { fmt.Fprintln(os.Stderr, "withhive:", s) },
		Conf: map[string]string{
			// A Tez for each session: a cancelled query's task runs on for a while and would keep the next test waiting.
			"hive.server2.tez.initialize.default.sessions": "false",
			// Without it a fresh Derby metastore lacks the table of partitions' column statistics.
			"metastore.try.direct.sql": "false",
		},
	})
	if err != nil {
		return err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, hive.Stop(stopping))
	}()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the caller's own command
	cmd.Env = append(os.Environ(), "HS2PROXY_TEST_HS2="+hive.Address())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	return cmd.Run()
}
