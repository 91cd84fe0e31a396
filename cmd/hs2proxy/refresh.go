package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

type refreshCmd struct {
	configFlags
	Table     string        `arg:"" optional:"" help:"The table, as database.table. With --dry-run all tables when left out."`
	NoScan    bool          `name:"noscan" xor:"mode" help:"Sizes only, and rows where the files tell them (ORC, Parquet): reads no data."`
	Basic     bool          `xor:"mode" help:"Basic statistics only, no column statistics."`
	Columns   []string      `help:"Columns for column statistics (default: those that queries use)." placeholder:"COLUMN"`
	Partition []string      `help:"Partitions only, as SHOW PARTITIONS prints them, such as ds=2026-01-01/h=1; * and ? stand for any characters." sep:"none" placeholder:"NAME"`
	Priority  *float64      `help:"Priority in place of the computed one; a greater one goes first." placeholder:"N"`
	Reason    string        `help:"Why; kept on record with your name."`
	Upstream  string        `help:"The upstream's name, where there are several."`
	Wait      bool          `short:"w" xor:"what" help:"Show the progress until the end and print the effect; exit 1 when it failed or was canceled."`
	Timeout   time.Duration `default:"30m" help:"How long --wait waits."`
	Cancel    int64         `xor:"what" help:"Cancel the refresh with this number: one that runs in Hive too." placeholder:"ID"`
	DryRun    bool          `xor:"what" help:"Say what would run now and why, and what would not; change nothing."`
	Schedule  string        `help:"With --dry-run: of this schedule of the configuration only." placeholder:"NAME"`
}

// Run files the request, which a running proxy takes at once, or cancels one, or says what would run.
func (c refreshCmd) Run(ctx context.Context) error {
	switch {
	case c.Schedule != "" && !c.DryRun:
		return errors.New("--schedule goes with --dry-run")
	case c.Cancel != 0:
		return c.cancel(ctx)
	case c.Table == "" && !c.DryRun:
		return errors.New("name a table, as database.table")
	}
	if c.Table != "" {
		name, err := hiveql.ParseTableName(c.Table)
		if err != nil {
			return err
		}
		if name.Database == "" {
			return fmt.Errorf("%s: name the database too, as database.%s", c.Table, name.Table)
		}
		c.Table = name.String()
	}
	if c.DryRun {
		return c.dryRun(ctx)
	}
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return c.request(ctx, s)
}

func (c refreshCmd) request(ctx context.Context, s *store.Store) error {
	request := store.RefreshRequest{
		Upstream: c.Upstream, Table: c.Table, Mode: c.mode(), Columns: c.Columns, Partitions: c.Partition, Priority: c.Priority,
		Reason: c.Reason, RequestedBy: operator(),
	}
	if request.Reason == "" {
		request.Reason = "asked for by an operator"
	}
	id, created, err := s.RequestRefresh(ctx, request)
	if err != nil {
		return err
	}
	if created {
		fmt.Printf("refresh %d of %s requested\n", id, c.Table)
	} else {
		fmt.Printf("refresh %d of %s was requested before and is still open\n", id, c.Table)
	}
	if !c.Wait {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return waitForRefresh(ctx, s, id)
}

func (c refreshCmd) mode() statscheck.Mode {
	switch {
	case c.NoScan:
		return statscheck.ModeNoScan
	case c.Basic:
		return statscheck.ModeBasic
	default:
		return statscheck.ModeColumns
	}
}

func (c refreshCmd) cancel(ctx context.Context) error {
	if c.Table != "" {
		return errors.New("--cancel takes the number of a refresh, and no table")
	}
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	state, err := s.CancelRefresh(ctx, c.Cancel, operator(), c.Reason)
	if err != nil {
		return err
	}
	if state != statscheck.RefreshRunning {
		fmt.Printf("refresh %d canceled before it ran\n", c.Cancel)
		return nil
	}
	fmt.Printf("refresh %d runs; its proxy cancels it in Hive\n", c.Cancel)
	return nil
}

func operator() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

// waitForRefresh prints what the refresh does, and the outcome.
func waitForRefresh(ctx context.Context, s *store.Store, id int64) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	var (
		shown string
		state statscheck.RefreshState
	)
	for {
		r, err := s.Refresh(ctx, id)
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return fmt.Errorf("refresh %d is still %s: is a proxy running with statistics.refresh.enabled?", id, state)
		case err != nil:
			return err
		}
		state = r.State
		switch r.State {
		case statscheck.RefreshDone:
			printRefresh(r)
			return nil
		case statscheck.RefreshFailed:
			return fmt.Errorf("refresh %d of %s failed: %s", id, r.Table, r.Error)
		case statscheck.RefreshCanceled:
			return fmt.Errorf("refresh %d of %s: %s", id, r.Table, r.Error)
		case statscheck.RefreshRequested, statscheck.RefreshRunning:
			if p, err := s.RefreshProgress(ctx, id); err == nil {
				if line := progressLine(id, p); line != shown {
					fmt.Fprintln(os.Stderr, line)
					shown = line
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// progressLine is what a refresh does in one line.
func progressLine(id int64, p store.Progress) string {
	line := fmt.Sprintf("refresh %d: %s", id, p.State)
	if p.State == statscheck.RefreshRequested {
		return line + fmt.Sprintf(", place %d, waits for %s", p.Place, p.WaitsFor)
	}
	if p.Steps > 0 {
		line += fmt.Sprintf(" %d of %d", p.Step, p.Steps)
	}
	for _, text := range []string{p.Doing, p.WaitsFor} {
		if text != "" {
			line += ": " + strings.Join(strings.Fields(text), " ")
		}
	}
	return line
}

func printRefresh(r *statscheck.Refresh) {
	fmt.Printf("refresh %d of %s: %s in %s\n", r.ID, r.Table, r.Effect, r.EndedAt.Sub(r.StartedAt).Round(time.Millisecond))
	if r.Scope != "" {
		fmt.Printf("  %s\n", r.Scope)
	}
	if r.Before != nil && r.After != nil {
		fmt.Printf("  rows %s -> %s\n", number(r.Before.Rows), number(r.After.Rows))
	}
	for _, p := range r.Plans {
		mark := "stays"
		if p.Before != p.After {
			mark = "becomes " + string(p.After)
		}
		fmt.Printf("  query %s join %d: %s %s\n", p.Fingerprint, p.Ordinal, p.Before, mark)
	}
}

func number(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}
