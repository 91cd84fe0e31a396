package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

type refreshCmd struct {
	configFlags
	Table    string        `arg:"" help:"The table, as database.table."`
	Basic    bool          `help:"Basic statistics only, no column statistics."`
	Columns  []string      `help:"Columns for column statistics (default: those that joins use)." placeholder:"COLUMN"`
	Reason   string        `help:"Why; kept on record."`
	Upstream string        `help:"The upstream's name, where there are several."`
	Wait     bool          `short:"w" help:"Wait for the end and print the effect; exit 1 when it failed."`
	Timeout  time.Duration `default:"30m" help:"How long --wait waits."`
}

// Run files the request; a running proxy takes it at once.
func (c refreshCmd) Run(ctx context.Context) error {
	name, err := hiveql.ParseTableName(c.Table)
	if err != nil {
		return err
	}
	if name.Database == "" {
		return fmt.Errorf("%s: name the database too, as database.%s", c.Table, name.Table)
	}
	s, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	request := store.RefreshRequest{
		Upstream: c.Upstream, Table: name.String(), Mode: statscheck.ModeColumns, Columns: c.Columns,
		Reason: c.Reason, RequestedBy: operator(),
	}
	if c.Basic {
		request.Mode = statscheck.ModeBasic
	}
	if request.Reason == "" {
		request.Reason = "asked for by an operator"
	}
	id, created, err := s.RequestRefresh(ctx, request)
	if err != nil {
		return err
	}
	if created {
		fmt.Printf("refresh %d of %s requested\n", id, name)
	} else {
		fmt.Printf("refresh %d of %s was requested before and is still open\n", id, name)
	}
	if !c.Wait {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return waitForRefresh(ctx, s, id)
}

func operator() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

// waitForRefresh prints each change of state and the outcome.
func waitForRefresh(ctx context.Context, s *store.Store, id int64) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	var shown statscheck.RefreshState
	for {
		r, err := s.Refresh(ctx, id)
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return fmt.Errorf("refresh %d is still %s: is a proxy running with statistics.refresh.enabled?", id, shown)
		case err != nil:
			return err
		}
		if r.State != shown && terminal(os.Stderr) {
			fmt.Fprintf(os.Stderr, "refresh %d: %s\n", id, r.State)
		}
		shown = r.State
		switch r.State {
		case statscheck.RefreshDone:
			printRefresh(r)
			return nil
		case statscheck.RefreshFailed:
			return fmt.Errorf("refresh %d of %s failed: %s", id, r.Table, r.Error)
		case statscheck.RefreshRequested, statscheck.RefreshRunning:
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func printRefresh(r *statscheck.Refresh) {
	fmt.Printf("refresh %d of %s: %s in %s\n", r.ID, r.Table, r.Effect, r.EndedAt.Sub(r.StartedAt).Round(time.Millisecond))
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
