// Command withhive starts HiveServer2s of its own, runs a command that finds them in the environment (host:port), stops
// the servers and ends with the command's status:
//
//	go run ./cmd/hs2proxy/internal/localhive/withhive go test ./thrift/client
//	go run ./cmd/hs2proxy/internal/localhive/withhive -hive 3.1 go test -run Hive3 ./cmd/hs2proxy
//	go run ./cmd/hs2proxy/internal/localhive/withhive -transactions -jars DIR go test -run Iceberg ./cmd/hs2proxy
//
// With -transactions Hive 4.0 has ACID tables and locks, with -jars further jars, such as Iceberg's handler.
//
// HS2PROXY_TEST_HS2 names the server of Hive 4.0, HS2PROXY_TEST_HIVE3 that of Hive 3.1, HS2PROXY_TEST_HIVE2 that of Hive 2.3;
// -hive 4.0,3.1 starts two.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
)

// variables tell the command where the server of each release is.
var variables = map[string]string{"4.0": "HS2PROXY_TEST_HS2", "3.1": "HS2PROXY_TEST_HIVE3", "2.3": "HS2PROXY_TEST_HIVE2"}

func main() {
	releases := flag.String("hive", "4.0", "releases of Hive to start, with commas between: 4.0, 3.1, 2.3")
	var options localhive.Options
	flag.BoolVar(&options.Transactions, "transactions", false, "a metastore made by Hive's own script, for ACID tables and locks (4.0 only)")
	flag.StringVar(&options.Jars, "jars", "", "a folder of further jars for the class path")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, strings.Split(*releases, ","), options, flag.Args())
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

func run(ctx context.Context, releases []string, options localhive.Options, args []string) (err error) {
	if len(args) == 0 {
		return errors.New("no command given")
	}
	dir, err := os.MkdirTemp("", "withhive-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	env := os.Environ()
	for _, release := range releases {
		variable, ok := variables[release]
		if !ok {
			return fmt.Errorf("-hive %s: releases are 4.0, 3.1 and 2.3", release)
		}
		options.Dir, options.Release = filepath.Join(dir, release), release
		hive, startErr := start(ctx, options)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, stopHive(ctx, hive)) }()
		env = append(env, variable+"="+hive.Address())
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the caller's own command
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	return cmd.Run()
}

func start(ctx context.Context, options localhive.Options) (*localhive.Server, error) {
	options.Timeout = 10 * time.Minute // several may start on few processors
	options.Progress = func(s string) { fmt.Fprintln(os.Stderr, "withhive:", s) }
	options.Conf = map[string]string{
		// A Tez for each session: a cancelled query's task runs on for a while and would keep the next test waiting.
		"hive.server2.tez.initialize.default.sessions": "false",
		// A fresh Derby metastore of DataNucleus' making lacks the table of partitions' column statistics for it.
		"metastore.try.direct.sql": strconv.FormatBool(options.Transactions),
	}
	return localhive.Start(ctx, options)
}

func stopHive(ctx context.Context, hive *localhive.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return hive.Stop(ctx)
}
