package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/admin"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// describedTable is what DESCRIBE FORMATTED prints of a table that Hive's fake has.
var describedTable = [][]string{
	{"id", "int", ""},
	{"", "", ""},
	{"# Detailed Table Information", "", ""},
	{"Table Type:         ", "MANAGED_TABLE", ""},
	{"Table Parameters:", "", ""},
	{"", "COLUMN_STATS_ACCURATE", `{\"BASIC_STATS\":\"true\"}`},
	{"", "numFiles", "1"},
	{"", "numRows", "3"},
	{"", "totalSize", "28"},
	{"", "", ""},
	{"# Storage Information", "", ""},
	{"Num Buckets:", "-1", ""},
}

// analyzing is a fake HiveServer2 that describes any table and runs ANALYZE: to its end where finish is closed, else until it is canceled.
// It notes the statements.
type analyzing struct {
	*hs2test.Server
	mu       sync.Mutex
	asked    []string
	finishes bool
}

func startAnalyzing(t *testing.T) *analyzing {
	t.Helper()
	a := &analyzing{}
	var err error
	a.Server, err = hs2test.Start(hs2test.Config{Execute: func(sql string) hs2test.Outcome {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked = append(a.asked, sql)
		switch {
		case strings.HasPrefix(sql, "DESCRIBE FORMATTED"):
			return hs2test.Outcome{Cells: describedTable}
		case strings.HasPrefix(sql, "ANALYZE"):
			return hs2test.Outcome{Block: !a.finishes}
		case strings.HasPrefix(sql, "KILL QUERY"):
			return hs2test.Outcome{Code: 10, Message: "no such query"}
		default:
			return hs2test.Outcome{}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func (a *analyzing) statements(prefix string) (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.asked {
		if strings.HasPrefix(s, prefix) {
			out = append(out, s)
		}
	}
	return out
}

func (a *analyzing) finish() {
	a.mu.Lock()
	a.finishes = true
	a.mu.Unlock()
}

func refreshing(c *config.Config) {
	adminOn(c)
	c.Explain.Enabled = false
	c.Stats.Refresh.Enabled = true
	c.Stats.Refresh.Queue = "stats"
}

// ask posts to the admin port and decodes the answer.
func ask(t *testing.T, a *App, path, body string, into any) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.AdminAddr().String()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%d %s: %v", resp.StatusCode, text, err)
		}
	}
	return resp.StatusCode
}

// A refresh asked for on the admin port runs; canceled there, its ANALYZE is canceled in HiveServer2, and the reason is on record.
func TestRefreshIsCanceledInHive(t *testing.T) {
	hive, dsn := startAnalyzing(t), storetest.DSN(t)
	a, out := start(t, hive.Addr(), dsn, refreshing)
	defer stop(t, a)
	waitFor(t, func() bool { status, _ := get(t, a, "/readyz"); return status == http.StatusOK })
	var accepted admin.RefreshAccepted
	if status := ask(t, a, "/refreshes", `{"table": "sales.orders", "mode": "basic", "reason": "loaded", "by": "ann"}`, &accepted); status != http.StatusAccepted || !accepted.Created {
		t.Fatalf("%d %+v", status, accepted)
	}
	waitFor(t, func() bool { return len(hive.statements("ANALYZE")) == 1 })
	waitFor(t, func() bool {
		_, body := get(t, a, "/refreshes/1")
		return strings.Contains(body, `"step": 1`) && strings.Contains(body, `"state": "RUNNING"`)
	})
	if tags := hive.statements("SET hive.query.tag"); len(tags) != 1 || tags[0] != "SET hive.query.tag=hs2proxy_refresh_1" || len(hive.statements("KILL")) != 0 {
		t.Errorf("tags %q", tags)
	}
	if status := ask(t, a, "/refreshes/1/cancel", `{"reason": "month end", "by": "bo"}`, nil); status != http.StatusAccepted {
		t.Errorf("cancel: %d", status)
	}
	waitFor(t, func() bool { return slices.Contains(hive.Calls(), "CancelOperation") })
	waitFor(t, func() bool {
		r, err := a.Store().Refresh(t.Context(), 1)
		return err == nil && r.State == statscheck.RefreshCanceled && strings.HasPrefix(r.Error, "canceled by bo (admin port, 127.0.0.1:") &&
			strings.HasSuffix(r.Error, "): month end (canceled in Hive)") && strings.HasPrefix(r.RequestedBy, "ann (admin port, ")
	})
	if _, _, operations := hive.Open(); operations != 0 {
		t.Errorf("%d operations left running in HiveServer2\n%s", operations, out)
	}
}

// The window's end cancels what runs in HiveServer2.
func TestWindowsEndCancelsInHive(t *testing.T) {
	hive, dsn := startAnalyzing(t), storetest.DSN(t)
	a, _ := start(t, hive.Addr(), dsn, refreshing)
	defer stop(t, a)
	waitFor(t, func() bool { status, _ := get(t, a, "/readyz"); return status == http.StatusOK })
	now := time.Now()
	_, _, err := a.Store().RequestRefresh(t.Context(), store.RefreshRequest{
		Upstream: "default", Table: "sales.orders", Mode: statscheck.ModeBasic, RequestedBy: "schedule nightly", Schedule: "nightly", WindowStart: now,
		NotAfter: now.Add(10 * time.Second), Reason: "R4",
	})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		r, err := a.Store().Refresh(t.Context(), 1)
		return err == nil && r.State == statscheck.RefreshFailed && r.Error == "canceled in Hive: the schedule's window is over"
	})
	if !slices.Contains(hive.Calls(), "CancelOperation") {
		t.Error("HiveServer2 was not asked to cancel")
	}
}

// A proxy is gone in mid-ANALYZE: the other one ends what it left by its tag, runs the refresh, and both attempts are on record.
func TestRefreshOfAKilledProxy(t *testing.T) {
	hive, dsn := startAnalyzing(t), storetest.DSN(t)
	dead, err := store.Open(t.Context(), dsn, store.Options{Instance: "dead"})
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	if _, _, err := dead.RequestRefresh(t.Context(), store.RefreshRequest{Upstream: "default", Table: "sales.orders", Mode: statscheck.ModeBasic, RequestedBy: "ann"}); err != nil {
		t.Fatal(err)
	}
	if r, err := dead.ClaimRefresh(t.Context(), []string{"default"}, time.Microsecond); err != nil || r == nil {
		t.Fatal(r, err)
	}
	hive.finish()
	a, _ := start(t, hive.Addr(), dsn, refreshing)
	defer stop(t, a)
	waitFor(t, func() bool {
		r, err := dead.Refresh(t.Context(), 1)
		return err == nil && r.State == statscheck.RefreshDone
	})
	if n, killed := len(hive.statements("ANALYZE")), hive.statements("KILL"); n != 1 || len(killed) != 1 || killed[0] != "KILL QUERY 'hs2proxy_refresh_1'" {
		t.Errorf("%d ANALYZE, %q", n, killed)
	}
	attempts := report(t, dsn, "refresh_attempts")
	var outcomes []any
	for _, row := range attempts.Rows {
		outcomes = append(outcomes, row[columnOf(t, attempts, "outcome")])
	}
	if len(outcomes) != 2 || !slices.Contains(outcomes, any("LOST")) || !slices.Contains(outcomes, any("DONE")) {
		t.Errorf("attempts %v", outcomes)
	}
}

// Sessions that run ANALYZE have the configured queue and settings, those of the refreshes over those of the service.
func TestSettingsOfTheRefreshSession(t *testing.T) {
	cfg := config.Default()
	cfg.Service.Settings = map[string]string{"a": "1", "b": "1"}
	cfg.Stats.Refresh.Settings, cfg.Stats.Refresh.Queue = map[string]string{"b": "2"}, "stats"
	got := (&refresher{cfg: cfg}).refreshConf()
	if len(got) != 3 || got["set:hiveconf:a"] != "1" || got["set:hiveconf:b"] != "2" || got["set:hiveconf:tez.queue.name"] != "stats" {
		t.Errorf("got %v", got)
	}
	if cfg.Service.Settings["b"] != "1" {
		t.Error("the service's settings were changed")
	}
}

// A lease that another proxy took, and one that cannot be extended any more, end what runs.
func TestLostLeases(t *testing.T) {
	for name, answer := range map[string]error{"taken": store.ErrLeaseLost, "away": errors.New("connection refused")} {
		t.Run(name, func(t *testing.T) {
			lost := make(chan int64, 1)
			l := leases{
				extend: func(context.Context, int64, time.Duration) error { return answer },
				lost:   func(id int64) { lost <- id }, lasts: 40 * time.Millisecond, log: zerolog.Nop(),
			}
			l.hold(7)
			if ids := l.ids(); len(ids) != 1 || ids[0] != 7 {
				t.Errorf("held %v", ids)
			}
			if id := <-lost; id != 7 {
				t.Errorf("lost %d", id)
			}
			l.release(7)
			l.stop()
			if ids := l.ids(); len(ids) != 0 {
				t.Errorf("held %v", ids)
			}
		})
	}
}
