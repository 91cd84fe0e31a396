package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/sample"
	"github.com/hs2proxy/hs2proxy/statscheck"
	thriftclient "github.com/hs2proxy/hs2proxy/thrift/client"
)

// An operator asks from psql: a running proxy takes the request at once, refreshes the table, and records the rows and the
// strategies before and after. A table that is gone fails with Hive's words.
func TestOperatorsRefresh(t *testing.T) {
	p := &proxied{hive: sharedHive(t)}
	p.cfg = p.config(t)
	p.cfg.Stats.Refresh.Enabled = true
	p.start(t)
	defer p.stop(t)

	const db = "e2e_refresh"
	story := sample.Stories(db)[0]
	table := strings.TrimPrefix(story.Table, db+".")
	p.run(t, slices.DeleteFunc(sample.Setup(db), func(sql string) bool {
		// Only the tables of the story, to save time.
		return (strings.HasPrefix(sql, "CREATE TABLE ") || strings.HasPrefix(sql, "INSERT ")) &&
			!strings.Contains(sql, " "+table+" ") && !strings.Contains(sql, " orders ")
	})...)
	p.run(t, append(slices.Clone(story.Settings), story.SQL)...)
	p.until(t, func(ctx context.Context) bool {
		b, err := p.proxy.Store().Baseline(ctx, p.cfg.Upstream.Name, story.Table)
		return err == nil && b != nil
	})
	p.run(t, story.Load...)

	id := p.request(t, story.Table)
	done := p.ended(t, id)
	if done.State != statscheck.RefreshDone || done.Effect != statscheck.EffectEffective {
		t.Fatalf("refresh ended %s, %s: %s", done.State, done.Effect, done.Error)
	}
	if done.Before.Rows == nil || *done.Before.Rows != story.RowsBefore || done.After.Rows == nil || *done.After.Rows != story.RowsAfter {
		t.Errorf("rows before and after: %+v, %+v", done.Before, done.After)
	}
	if len(done.Plans) != 1 || done.Plans[0].Before != story.Stale || done.Plans[0].After != story.Fresh {
		t.Errorf("strategies: %+v, want %s → %s", done.Plans, story.Stale, story.Fresh)
	}
	if !slices.Contains(done.Columns, story.JoinColumns[0]) || done.RequestedBy == "" {
		t.Errorf("columns %v, asked for by %q", done.Columns, done.RequestedBy)
	}
	p.until(t, func(ctx context.Context) bool {
		stale, err := p.proxy.Store().StaleTables(ctx, p.cfg.Upstream.Name)
		if err != nil {
			return false
		}
		for _, s := range stale {
			if s.Table == story.Table {
				return false
			}
		}
		return true
	})

	p.run(t, sample.Teardown(db)...)
	gone := p.ended(t, p.request(t, story.Table))
	if gone.State != statscheck.RefreshFailed || gone.Error == "" {
		t.Errorf("a table that is gone: %s, %q", gone.State, gone.Error)
	}
}

// open opens a session through the proxy, which the caller closes.
func (p *proxied) open(t *testing.T) *thriftclient.Session {
	t.Helper()
	s, err := thriftclient.Open(t.Context(), thriftclient.Config{
		Address: p.proxy.Addr().String(), Auth: "NONE", User: "e2e", Password: "e2e", DialTimeout: 10 * time.Second, CallTimeout: 2 * time.Minute,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs statements in a session through the proxy.
func (p *proxied) run(t *testing.T, statements ...string) {
	t.Helper()
	s := p.open(t)
	defer func() { _ = s.Close() }()
	for _, sql := range statements {
		if _, err := s.Query(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// request asks as a person does in psql.
func (p *proxied) request(t *testing.T, table string) int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.cfg.Database.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var id int64
	err = conn.QueryRow(t.Context(), "SELECT hs2proxy.request_refresh($1, reason => 'loaded by hand', upstream => $2)", table, p.cfg.Upstream.Name).Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (p *proxied) ended(t *testing.T, id int64) statscheck.Refresh {
	t.Helper()
	var out statscheck.Refresh
	p.until(t, func(ctx context.Context) bool {
		r, err := p.proxy.Store().Refresh(ctx, id)
		if err != nil {
			return false
		}
		out = *r
		return r.State == statscheck.RefreshDone || r.State == statscheck.RefreshFailed
	})
	return out
}

// until polls for at most two minutes.
func (p *proxied) until(t *testing.T, ok func(context.Context) bool) {
	t.Helper()
	within(t, 2*time.Minute, "what was waited for", ok)
}
