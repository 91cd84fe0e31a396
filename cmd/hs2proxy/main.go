// Command hs2proxy stands between BI tools and HiveServer2, unseen: it explains the joins that pass, finds the statistics
// that are stale, refreshes them on schedule and keeps the proof in Postgres.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/store/localpg"
)

// cli is the command line; one field, and one file, per subcommand.
type cli struct {
	Serve    serveCmd    `cmd:"" help:"Relay clients to HiveServer2, explain their joins, watch statistics. How it runs in production."`
	Demo     demoCmd     `cmd:"" help:"Show the main job on this machine: Postgres, a real HiveServer2, the proxy, joins, a refresh, the reports."`
	Doctor   doctorCmd   `cmd:"" help:"Check upstream, credentials, database and permissions, one line each, with the mend."`
	Explain  explainCmd  `cmd:"" help:"Explain one query on the upstream: its joins, why, and what to do."`
	Whatif   whatifCmd   `cmd:"" help:"Replay joins with a setting, the cluster, the release, statistics or buckets changed: which get another strategy, and where they flip."`
	Check    checkCmd    `cmd:"" help:"Explain the scripts of a folder and compare their joins with a baseline, for code review."`
	Report   reportCmd   `cmd:"" help:"Print a report as a table, CSV or JSON; without a name, list the reports."`
	Findings findingsCmd `cmd:"" help:"List findings, mute them, or show them again."`
	Refresh  refreshCmd  `cmd:"" help:"Ask a running proxy to refresh a table's statistics, cancel a refresh, or say what would run and why."`
	Policy   policyCmd   `cmd:"" help:"Lay down how tables are refreshed: never, by which schedules, which columns and partitions; switch one on again."`
	Sessions sessionsCmd `cmd:"" help:"List the live sessions of a running proxy, or end one."`
	Migrate  migrateCmd  `cmd:"" help:"Bring the Postgres schema up to date."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

// exitError carries an exit status other than 1.
type exitError struct {
	status int
	err    error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

func main() {
	if localpg.Hook() { // this process was the demo's Postgres
		return
	}
	os.Exit(runUntilSignal(os.Args[1:]))
}

// runUntilSignal ends the command's context with SIGINT or SIGTERM.
func runUntilSignal(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, args)
}

func run(ctx context.Context, args []string) int {
	var c cli
	parser, err := kong.New(&c, kong.Name("hs2proxy"), kong.UsageOnError(),
		kong.Description("A transparent proxy in front of HiveServer2 that explains joins and keeps statistics fresh."),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hs2proxy:", err)
		return 2
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hs2proxy:", err)
		return 2
	}
	err = k.Run()
	var exit exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintln(os.Stderr, "hs2proxy:", exit.err)
		}
		return exit.status
	default:
		fmt.Fprintln(os.Stderr, "hs2proxy:", err)
		return 1
	}
}

// configFlags are what every command that reads the configuration takes.
type configFlags struct {
	Config string `short:"c" type:"path" help:"Configuration file (YAML); see configs/hs2proxy.yaml." placeholder:"FILE"`
}

func (f configFlags) load() (config.Config, error) { return config.Load(f.Config, os.Environ()) }

func terminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }
