package app

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// logs collects log lines; safe for concurrent use.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func startFake(t *testing.T) *hs2test.Server {
	t.Helper()
	hive, err := hs2test.Start(hs2test.Config{Execute: func(sql string) hs2test.Outcome {
		if strings.Contains(sql, "no_such") {
			return hs2test.Outcome{Code: 10001, SQLState: "42S02", Message: "Table not found"}
		}
		return hs2test.Outcome{Rows: 3, Width: 8, Batch: 10}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hive.Close)
	return hive
}

func start(t *testing.T, hive, dsn string, change func(*config.Config)) (*App, *logs) {
	t.Helper()
	cfg := config.Default()
	cfg.Listen, cfg.Admin.Listen = "127.0.0.1:0", ""
	cfg.Upstream.Address = hive
	cfg.Upstream.DialTimeout = 2 * time.Second
	cfg.Explain.Timeout = 2 * time.Second
	cfg.Database.URL = dsn
	if change != nil {
		change(&cfg)
	}
	out := &logs{}
	a, err := New(t.Context(), cfg, zerolog.New(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a, out
}

func stop(t *testing.T, a *App) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
	defer cancel()
	if err := a.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// converse runs statements through the proxy as a client does and reports how many rows came back.
func converse(t *testing.T, addr string, statements ...string) (rows int) {
	t.Helper()
	c, err := hs2test.Dial(t.Context(), addr, "analyst", "secret-password")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Conn.Close() }()
	session, err := c.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range statements {
		res, err := c.Execute(t.Context(), session, sql, true)
		if err != nil {
			t.Fatal(err)
		}
		if res.OperationHandle == nil {
			continue
		}
		if _, err := c.Poll(t.Context(), res.OperationHandle); err != nil {
			t.Fatal(err)
		}
		n, err := c.Fetch(t.Context(), res.OperationHandle)
		if err != nil {
			t.Fatal(err)
		}
		rows += n
	}
	return rows
}

func report(t *testing.T, dsn, name string) store.Table {
	t.Helper()
	s, err := store.Open(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table, err := s.Report(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestStatementsAreRecordedOnceWithTheirOutcome(t *testing.T) {
	dsn := storetest.DSN(t)
	before := goleak.IgnoreCurrent() // the test's Postgres goes on
	hive := startFake(t)
	a, out := start(t, hive.Addr(), dsn, nil)
	if rows := converse(t, a.Addr().String(), "SELECT * FROM a JOIN b ON a.x = b.x", "SELECT 1", "SELECT * FROM no_such_table"); rows != 6 {
		t.Errorf("%d rows through the proxy, want 6", rows)
	}
	stop(t, a)
	table := report(t, dsn, "statements")
	states := map[any]int{}
	for _, row := range table.Rows {
		states[row[columnOf(t, table, "state")]]++
	}
	if len(table.Rows) != 3 || states["ERROR"] != 1 || states["FINISHED"] != 2 {
		t.Errorf("states recorded: %v", states)
	}
	if text := out.String(); strings.Contains(text, "secret-password") || strings.Contains(text, "SELECT * FROM") {
		t.Errorf("the log holds a password or SQL text:\n%s", text)
	}
	if connections, sessions, operations := hive.Open(); connections+sessions+operations != 0 {
		t.Errorf("left open in HiveServer2: %d connections, %d sessions, %d operations", connections, sessions, operations)
	}
	hive.Close()
	goleak.VerifyNone(t, before)
}

func columnOf(t *testing.T, table store.Table, name string) int {
	t.Helper()
	for i, c := range table.Columns {
		if c == name {
			return i
		}
	}
	t.Fatalf("report %s has no column %s", table.Name, name)
	return -1
}

// gateway forwards to Postgres only while it is open.
type gateway struct {
	l    net.Listener
	to   string
	mu   sync.Mutex
	open bool
	ups  []net.Conn // connections forwarded since the last cut
	wg   sync.WaitGroup
}

func newGateway(t *testing.T, to string) *gateway {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{l: l, to: to}
	g.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.wg.Go(func() { g.forward(c) })
		}
	})
	t.Cleanup(g.close)
	return g
}

func (g *gateway) close() {
	_ = g.l.Close()
	g.cut()
	g.wg.Wait()
}

// cut ends what is being forwarded.
func (g *gateway) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.ups {
		_ = c.Close()
	}
	g.ups = nil
}

func (g *gateway) set(open bool) {
	g.mu.Lock()
	g.open = open
	g.mu.Unlock()
}

func (g *gateway) forward(c net.Conn) {
	defer func() { _ = c.Close() }()
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if !open {
		return
	}
	var d net.Dialer
	up, err := d.DialContext(context.Background(), "tcp", g.to)
	if err != nil {
		return
	}
	defer func() { _ = up.Close() }()
	g.mu.Lock()
	g.ups = append(g.ups, up)
	g.mu.Unlock()
	g.wg.Go(func() {
		_, _ = io.Copy(up, c)
		_ = up.Close()
	})
	_, _ = io.Copy(c, up)
}

func TestPostgresDownAtTheStartLosesNothing(t *testing.T) {
	hive, dsn := startFake(t), storetest.EmptyDSN(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, u.Host)
	u.Host = g.l.Addr().String()
	a, out := start(t, hive.Addr(), u.String(), nil)
	if rows := converse(t, a.Addr().String(), "SELECT * FROM a JOIN b ON a.x = b.x", "INSERT INTO t SELECT * FROM a"); rows != 6 {
		t.Errorf("%d rows while Postgres is down, want 6", rows)
	}
	waitFor(t, func() bool { return strings.Contains(out.String(), "schema not ready") })
	g.set(true)
	waitFor(t, func() bool { return a.Counters().Recorded.Load() >= 3 })
	stop(t, a)
	if table := report(t, dsn, "statements"); len(table.Rows) != 2 {
		t.Errorf("%d statements recorded, want 2", len(table.Rows))
	}
}

// waitFor polls until ok, for at most half a minute.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited for half a minute")
		}
	}
}

func TestWithoutADatabaseFindingsAreLogged(t *testing.T) {
	hive := startFake(t)
	a, out := start(t, hive.Addr(), "", nil)
	converse(t, a.Addr().String(), "SELECT * FROM a JOIN b ON a.x = b.x")
	stop(t, a)
	// The fake's EXPLAIN is no plan: the log says so, once, without the SQL text.
	if text := out.String(); !strings.Contains(text, "query not explained") || strings.Contains(text, "SELECT") {
		t.Errorf("log:\n%s", text)
	}
}

func TestHiveServer2DownClosesTheClientAtOnce(t *testing.T) {
	hive := startFake(t)
	hive.Close()
	a, out := start(t, hive.Addr(), "", nil)
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", a.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the client got a byte from nowhere")
	}
	_ = c.Close()
	stop(t, a)
	if n := strings.Count(out.String(), `"side":"HiveServer2"`); n != 1 {
		t.Errorf("%d lines name HiveServer2 as the side that failed, want 1:\n%s", n, out)
	}
}

func TestStartStopLeavesNothing(t *testing.T) {
	dsn := storetest.DSN(t)
	before := goleak.IgnoreCurrent() // the test's Postgres goes on
	hive := startFake(t)
	for range 5 {
		a, _ := start(t, hive.Addr(), dsn, func(c *config.Config) {
			c.Stats.Refresh.Enabled = true
			c.Stats.Refresh.Schedules = []statscheck.Schedule{{Name: "often", Cron: "@every 1s"}}
		})
		converse(t, a.Addr().String(), "SELECT * FROM a JOIN b ON a.x = b.x")
		stop(t, a)
	}
	hive.Close()
	goleak.VerifyNone(t, before)
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"listen":       func(c *config.Config) { c.Listen = "nowhere" },
		"database.url": func(c *config.Config) { c.Database.URL = "mysql://x" },
		"schedules[0]": func(c *config.Config) {
			c.Stats.Refresh.Schedules = []statscheck.Schedule{{Name: "bad", Cron: "61 * * * *"}}
		},
	} {
		cfg := config.Default()
		cfg.Upstream.Address = "127.0.0.1:1"
		change(&cfg)
		if _, err := New(t.Context(), cfg, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	hive := startFake(t)
	cfg := config.Default()
	cfg.Upstream.Address, cfg.Listen = hive.Addr(), hive.Addr()
	a, err := New(t.Context(), cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "listen") {
		t.Errorf("a taken port: got %v", err)
	}
}
