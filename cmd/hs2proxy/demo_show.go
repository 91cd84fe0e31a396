package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/sample"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// show is the story: load, query, let statistics go stale, have them refreshed, print the reports.
func (d *demo) show(ctx context.Context) error {
	if err := d.load(ctx); err != nil {
		return err
	}
	fmt.Fprintln(d.out, "\nSample joins, each in a session of its own, through the proxy")
	for _, q := range sample.Queries(d.db) {
		if err := d.query(ctx, q.Name, q.Settings, q.SQL); err != nil {
			return err
		}
	}
	if err := d.settled(ctx, len(sample.Queries(d.db))); err != nil {
		return err
	}
	if err := d.report(ctx, "joins", "query", "join_types", "planned", "simulated", "agrees", "reason"); err != nil {
		return err
	}
	for _, s := range sample.Stories(d.db) {
		if err := d.tell(ctx, s); err != nil {
			return err
		}
	}
	for _, r := range []struct {
		name    string
		columns []string
	}{
		{"refreshes", []string{"table_name", "requested_by", "rows_before", "rows_after", "effect", "changes", "seconds"}},
		{"plan_changes", []string{"query", "strategy_before", "strategy_after", "what_changed", "rows_before", "rows_after", "cause"}},
		{"stale_tables", []string{"table_name", "rule", "level", "reason"}},
		{"strategy_mismatch", []string{"query", "problem", "planned", "simulated", "expected"}},
	} {
		if err := d.report(ctx, r.name, r.columns...); err != nil {
			return err
		}
	}
	fmt.Fprintln(d.out, "\nMore reports: hs2proxy report (stale_tables, top_joins, settings, statements, findings, …); run with --keep to look around.")
	return nil
}

func (d *demo) load(ctx context.Context) error {
	d.step.begin("sample tables, loaded through the proxy")
	statements := sample.Setup(d.db)
	s, err := d.session(ctx)
	if err != nil {
		return d.step.failed(err)
	}
	defer func() { _ = s.Close() }()
	for i, sql := range statements {
		d.step.noteLive(fmt.Sprintf("statement %d of %d", i+1, len(statements)))
		if _, err := s.Query(ctx, sql); err != nil {
			return d.step.failed(err)
		}
	}
	d.step.done(fmt.Sprintf("%d statements", len(statements)))
	return nil
}

// session is what a BI tool opens: through the proxy.
func (d *demo) session(ctx context.Context) (*client.Session, error) {
	return client.Open(ctx, client.Config{
		Address: d.proxy.Addr().String(), Auth: "NONE", User: "analyst", Password: "demo",
		DialTimeout: 10 * time.Second, CallTimeout: 5 * time.Minute,
	}, nil)
}

// query runs one query in a session of its own.
func (d *demo) query(ctx context.Context, name string, settings []string, sql string) error {
	d.step.begin(name)
	s, err := d.session(ctx)
	if err != nil {
		return d.step.failed(err)
	}
	defer func() { _ = s.Close() }()
	rows := 0
	for _, statement := range append(slices.Clone(settings), sql) {
		res, err := s.Query(ctx, statement)
		if err != nil {
			return d.step.failed(err)
		}
		rows = len(res.Rows)
	}
	d.step.done(fmt.Sprintf("%d rows", rows))
	return nil
}

// tell lets a table go stale and waits for the schedule.
func (d *demo) tell(ctx context.Context, s sample.Story) error {
	fmt.Fprintf(d.out, "\n%s\n", strings.ToUpper(s.Name[:1])+s.Name[1:]+": "+s.Why)
	if err := d.query(ctx, "the query, before", s.Settings, s.SQL); err != nil {
		return err
	}
	if err := d.watched(ctx, s.Table); err != nil {
		return err
	}
	last := len(s.Load) - 1
	if err := d.query(ctx, "the load", s.Load[:last], s.Load[last]); err != nil {
		return err
	}
	d.step.begin("waiting for " + s.Table + " to be flagged")
	var flagged store.Table
	err := d.until(ctx, func() (bool, error) {
		t, err := d.proxy.Store().Report(ctx, "stale_tables")
		flagged = only(t, "table_name", s.Table)
		return len(flagged.Rows) > 0, err
	})
	if err != nil {
		return d.step.failed(err)
	}
	d.step.done("stale")
	if err := printReport(d.out, pick(flagged, "table_name", "rule", "level", "reason", "health"), "table"); err != nil {
		return err
	}
	d.step.begin("waiting for the scheduled ANALYZE")
	var done statscheck.Refresh
	err = d.until(ctx, func() (bool, error) {
		list, err := d.proxy.Store().Refreshes(ctx, store.RefreshFilter{
			Table: s.Table, States: []statscheck.RefreshState{statscheck.RefreshDone, statscheck.RefreshFailed}, Limit: 1,
		})
		if err != nil || len(list) == 0 {
			return false, err
		}
		done = list[0]
		return true, nil
	})
	if err != nil {
		return d.step.failed(err)
	}
	if done.State == statscheck.RefreshFailed {
		return d.step.failed(errors.New(done.Error))
	}
	d.step.done(fmt.Sprintf("rows %s -> %s, %s", number(done.Before.Rows), number(done.After.Rows), done.Effect))
	return d.query(ctx, "the query, after", s.Settings, s.SQL)
}

// settled waits until the analyses of n different queries are in Postgres.
func (d *demo) settled(ctx context.Context, n int) error {
	d.step.begin("waiting for the last verdicts")
	err := d.until(ctx, func() (bool, error) {
		t, err := d.proxy.Store().Report(ctx, "joins")
		return distinct(t, "fingerprint") >= n, err
	})
	if err != nil {
		return d.step.failed(err)
	}
	d.step.done("recorded")
	return nil
}

// watched waits until the proxy knows a table's statistics, so that what follows counts from there.
func (d *demo) watched(ctx context.Context, table string) error {
	return d.until(ctx, func() (bool, error) {
		b, err := d.proxy.Store().Baseline(ctx, "demo", table)
		return b != nil, err
	})
}

// until asks four times a second.
func (d *demo) until(ctx context.Context, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := ask()
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not within two minutes: %w", ctx.Err())
		}
	}
}

func (d *demo) report(ctx context.Context, name string, columns ...string) error {
	t, err := d.proxy.Store().Report(ctx, name)
	if err != nil {
		return err
	}
	fmt.Fprintln(d.out)
	return printReport(d.out, pick(t, columns...), "table")
}

// pick keeps the named columns, all when none is named.
func pick(t store.Table, columns ...string) store.Table {
	if len(columns) == 0 {
		return t
	}
	out := store.Table{Name: t.Name, Question: t.Question}
	var at []int
	for _, c := range columns {
		if i := slices.Index(t.Columns, c); i >= 0 {
			at = append(at, i)
			out.Columns = append(out.Columns, c)
		}
	}
	for _, row := range t.Rows {
		kept := make([]any, len(at))
		for k, i := range at {
			kept[k] = row[i]
		}
		out.Rows = append(out.Rows, kept)
	}
	return out
}

// only keeps the rows whose column holds the value.
func only(t store.Table, column, value string) store.Table {
	i := slices.Index(t.Columns, column)
	t.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(row []any) bool { return i < 0 || row[i] != value })
	return t
}

func distinct(t store.Table, column string) int {
	i := slices.Index(t.Columns, column)
	seen := map[any]bool{}
	for _, row := range t.Rows {
		if i >= 0 {
			seen[row[i]] = true
		}
	}
	return len(seen)
}
