package store_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

func (f *fixture) request(r store.RefreshRequest) int64 {
	f.t.Helper()
	if r.Mode == "" {
		r.Mode = statscheck.ModeBasic
	}
	id, _, err := f.RequestRefresh(f.t.Context(), r)
	f.ok(err)
	return id
}

func (f *fixture) claim(s *store.Store, lease time.Duration, upstreams ...string) *statscheck.Refresh {
	f.t.Helper()
	r, err := s.ClaimRefresh(f.t.Context(), upstreams, lease)
	f.ok(err)
	return r
}

func TestRefreshFromRequestToEffect(t *testing.T) {
	f := newFixture(t, store.Options{Instance: "proxy-1"})
	window := t0.Add(8 * time.Hour)
	id, created, err := f.RequestRefresh(t.Context(), store.RefreshRequest{
		Upstream: "hive-a", Table: "`Shop`.Items ", Mode: statscheck.ModeColumns, Columns: []string{"id", "Brand", "id"}, Partitions: []string{"ds=1"},
		NotAfter: window, Reason: "R4: 300 rows", RequestedBy: "nightly",
	})
	if err != nil || !created {
		t.Fatal(created, err)
	}
	f.now = t0.Add(time.Minute)
	got := f.claim(f.Store, time.Minute, "hive-b", "hive-a")
	want := &statscheck.Refresh{
		ID: id, Upstream: "hive-a", Table: "shop.items", Mode: statscheck.ModeColumns, Columns: []string{"brand", "id"}, Partitions: []string{"ds=1"},
		NotAfter: window, Reason: "R4: 300 rows", RequestedBy: "nightly", RequestedAt: t0, StartedAt: f.now, State: statscheck.RefreshRunning, Attempt: 1,
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("claimed\n%+v, want\n%+v", got, want)
	}
	done := *got
	before, after := itemsStats(1000, t0), itemsStats(5000, t0.Add(time.Hour))
	done.State, done.Effect, done.Before, done.After = statscheck.RefreshDone, statscheck.EffectEffective, &before, &after
	done.Statements = []string{"ANALYZE TABLE `shop`.`items` COMPUTE STATISTICS"}
	done.EndedAt = t0.Add(time.Hour)
	done.Plans = []statscheck.PlanChange{
		{Fingerprint: "f1", Ordinal: 0, Before: advisor.MergeJoin, After: advisor.MapJoin}, {Fingerprint: "f1", Ordinal: 0, Before: advisor.SMB, After: advisor.SMB},
	}
	f.ok(f.FinishRefresh(t.Context(), done))
	f.ok(f.FinishRefresh(t.Context(), done)) // the first answer may have been lost
	read, err := f.Refresh(t.Context(), id)
	f.ok(err)
	if !reflect.DeepEqual(*read, done) {
		t.Errorf("read\n%+v, want\n%+v", *read, done)
	}
	list, err := f.Refreshes(t.Context(), store.RefreshFilter{Upstream: "hive-a", Table: "shop.items", States: []statscheck.RefreshState{statscheck.RefreshDone}, Since: t0})
	f.ok(err)
	if !reflect.DeepEqual(list, []statscheck.Refresh{done}) {
		t.Errorf("list %+v", list)
	}
	for _, none := range []store.RefreshFilter{
		{Upstream: "hive-b"}, {Table: "shop.sales"}, {States: []statscheck.RefreshState{statscheck.RefreshFailed}}, {Since: t0.Add(time.Second)},
	} {
		if list, err := f.Refreshes(t.Context(), none); err != nil || len(list) != 0 {
			t.Errorf("%+v: %+v, %v", none, list, err)
		}
	}
	if _, err := f.Refresh(t.Context(), id+1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown number: %v", err)
	}
	changed := done
	changed.EndedAt = t0.Add(2 * time.Hour)
	if err := f.FinishRefresh(t.Context(), changed); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("finished twice: %v", err)
	}
	if err := f.FinishRefresh(t.Context(), *want); !errors.Is(err, store.ErrData) {
		t.Errorf("finished as RUNNING: %v", err)
	}
}

func TestRequestsForOneTableAreOne(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	f.ok(f.RecordStatement(t.Context(), store.Observation{ // shop.items is joined by id
		Session: s, Statement: statement(s, "SELECT 1", "f1", t0), Analysis: analysis("hive-a", "f1", t0, verdict(advisor.MapJoin, 1000)),
	}))
	ask := func(table string, mode statscheck.Mode, columns, partitions []string) (int64, bool) {
		t.Helper()
		id, created, err := f.RequestRefresh(t.Context(), store.RefreshRequest{Upstream: "hive-a", Table: table, Mode: mode, Columns: columns, Partitions: partitions})
		f.ok(err)
		return id, created
	}
	state := func(id int64) string {
		return f.one(`SELECT concat_ws(' ', mode, columns, partitions) FROM hs2proxy.refreshes WHERE id = $1`, id)
	}
	first, created := ask("shop.items", "BASIC", nil, []string{"ds=1"})
	if !created {
		t.Error("the first is not new")
	}
	for _, c := range []struct {
		mode                statscheck.Mode
		columns, partitions []string
		want                string
	}{
		{"BASIC", nil, []string{"ds=2"}, "BASIC {} {ds=1,ds=2}"},
		{"COLUMNS", []string{"brand"}, []string{"ds=2"}, "COLUMNS {brand} {ds=1,ds=2}"},
		{"BASIC", nil, nil, "COLUMNS {brand} {}"},
		{"COLUMNS", []string{"Price"}, []string{"ds=9"}, "COLUMNS {brand,price} {}"},
		{"COLUMNS", nil, nil, "COLUMNS {brand,id,price} {}"},
	} {
		id, created := ask("SHOP.Items", c.mode, c.columns, c.partitions)
		if id != first || created || state(id) != c.want {
			t.Errorf("%+v: request %d (new %v) is %s", c, id, created, state(id))
		}
	}
	if id, created := ask("shop.sales", "BASIC", nil, nil); id == first || !created {
		t.Error("another table's request is the same")
	}
	// One that runs is enough for those that ask for no more.
	if r := f.claim(f.Store, time.Minute, "hive-a"); r.ID != first {
		t.Fatalf("claimed %+v", r)
	}
	if id, created := ask("shop.items", "COLUMNS", []string{"brand", "id"}, nil); id != first || created {
		t.Errorf("covered by the running one: %d, new %v", id, created)
	}
	more, created := ask("shop.items", "COLUMNS", []string{"size"}, nil)
	if more == first || !created {
		t.Errorf("not covered by the running one: %d, new %v", more, created)
	}
}

func TestRequestsThatMakeNoSense(t *testing.T) {
	f := newFixture(t, store.Options{})
	for _, table := range []string{"", "items", "a.b.c", "shop.it ems", "shop.items; DROP TABLE x", "shop.'items'", "shop.", ".items", "shop.items\n--", "shop.i/tems"} {
		if _, _, err := f.RequestRefresh(t.Context(), store.RefreshRequest{Upstream: "hive-a", Table: table, Mode: "BASIC"}); !errors.Is(err, store.ErrData) {
			t.Errorf("table %q: %v", table, err)
		}
	}
	if _, _, err := f.RequestRefresh(t.Context(), store.RefreshRequest{Upstream: "hive-a", Table: "shop.items", Mode: "FULL"}); !errors.Is(err, store.ErrData) {
		t.Errorf("mode: %v", err)
	}
	f.want("0", `SELECT count(*) FROM hs2proxy.refreshes`)
}

func TestRequestFromSQL(t *testing.T) {
	f := newFixture(t, store.Options{})
	const call = `SELECT hs2proxy.request_refresh('shop.items')`
	// No upstream is known yet: any proxy may take it.
	first := f.one(call)
	f.want("∅ COLUMNS {} postgres REQUESTED", `SELECT concat_ws(' ', coalesce(upstream_id::text, '∅'), mode, columns, requested_by, state) FROM hs2proxy.refreshes`)
	r := f.claim(f.Store, time.Minute, "hive-a")
	if r == nil || r.Upstream != "hive-a" || strconv.FormatInt(r.ID, 10) != first {
		t.Fatalf("claimed %+v", r)
	}
	r.State, r.Effect = statscheck.RefreshFailed, statscheck.EffectFailed
	f.ok(f.FinishRefresh(t.Context(), *r))
	// One upstream: that one. Two: the one that knows the table, or the caller says.
	f.want("true", `SELECT hs2proxy.request_refresh('shop.items', mode => 'basic', reason => 'because') > $1::bigint`, first)
	f.want("hive-a BASIC because", `SELECT concat_ws(' ', u.name, mode, reason) FROM hs2proxy.refreshes r JOIN hs2proxy.upstreams u ON u.id = r.upstream_id WHERE state = 'REQUESTED'`)
	f.ok(f.SaveTableStats(t.Context(), "hive-b", []advisor.TableStats{{Table: "shop.b_only"}}))
	f.one(`SELECT hs2proxy.request_refresh('shop.b_only', columns => ARRAY['ID'])`)
	f.want("hive-b COLUMNS {id}", `SELECT concat_ws(' ', u.name, mode, columns) FROM hs2proxy.refreshes r JOIN hs2proxy.upstreams u ON u.id = r.upstream_id WHERE table_name = 'shop.b_only'`)
	f.one(`SELECT hs2proxy.request_refresh('shop.unknown', upstream => 'hive-b')`)
	for _, sql := range []string{
		`SELECT hs2proxy.request_refresh('shop.nobody_knows')`, `SELECT hs2proxy.request_refresh('shop.items', upstream => 'hive-c')`,
		`SELECT hs2proxy.request_refresh(NULL)`, `SELECT hs2proxy.request_refresh('items')`, `SELECT hs2proxy.request_refresh('shop.items', 'FULL')`,
	} {
		if _, err := f.db.Exec(t.Context(), sql); sqlState(err) != "22023" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// Who asked is the person who logged in, not the owner of the function.
func TestRequestRecordsWhoLoggedIn(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.exec(`DO $$ BEGIN CREATE ROLE hs2proxy_test_ops LOGIN PASSWORD 'pw' IN ROLE hs2proxy_operator; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
	ops := f.connect(dsnAs(f.db.Config(), "hs2proxy_test_ops", "pw"))
	var id int64
	f.ok(ops.QueryRow(t.Context(), `SELECT hs2proxy.request_refresh('shop.items')`).Scan(&id))
	r, err := f.Refresh(t.Context(), id)
	if err != nil || r.RequestedBy != "hs2proxy_test_ops" || r.Reason == "" {
		t.Errorf("got %+v, %v", r, err)
	}
	var state string
	f.ok(ops.QueryRow(t.Context(), `SELECT state FROM hs2proxy.report_refreshes WHERE id = $1`, id).Scan(&state))
}

func TestClaimsOfSeveralProxies(t *testing.T) {
	f := newFixture(t, store.Options{Instance: "proxy-0", RefreshesPerUpstream: 100})
	const requests, proxies = 24, 4
	for i := range requests {
		f.request(store.RefreshRequest{Upstream: []string{"hive-a", "hive-b"}[i%2], Table: fmt.Sprintf("shop.t%d", i)})
	}
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		claimed = map[int64]int{}
	)
	for i := range proxies {
		s := f.open(store.Options{Instance: fmt.Sprintf("proxy-%d", i+1), RefreshesPerUpstream: 100})
		wg.Go(func() {
			for {
				r, err := s.ClaimRefresh(t.Context(), []string{"hive-a", "hive-b"}, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				if r == nil {
					return
				}
				mu.Lock()
				claimed[r.ID]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for id, n := range claimed {
		if n != 1 {
			t.Errorf("refresh %d was claimed %d times", id, n)
		}
	}
	if len(claimed) != requests {
		t.Errorf("%d of %d were claimed", len(claimed), requests)
	}
}

func TestOneRefreshPerUpstreamAtATime(t *testing.T) {
	f := newFixture(t, store.Options{})
	a1 := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.a1"})
	a2 := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.a2"})
	b1 := f.request(store.RefreshRequest{Upstream: "hive-b", Table: "shop.b1"})
	f.request(store.RefreshRequest{Upstream: "hive-c", Table: "shop.c1"})
	upstreams := []string{"hive-a", "hive-b"}
	first := f.claim(f.Store, time.Minute, upstreams...)
	second := f.claim(f.Store, time.Minute, upstreams...)
	if first.ID != a1 || second.ID != b1 {
		t.Errorf("claimed %d and %d", first.ID, second.ID)
	}
	if r := f.claim(f.Store, time.Minute, upstreams...); r != nil {
		t.Errorf("claimed a third: %+v", r)
	}
	first.State, first.Effect = statscheck.RefreshDone, statscheck.EffectNoChange
	f.ok(f.FinishRefresh(t.Context(), *first))
	if r := f.claim(f.Store, time.Minute, upstreams...); r == nil || r.ID != a2 {
		t.Errorf("after the first ended: %+v", r)
	}
}

// expire lets a lease run out without waiting for it.
func (f *fixture) expire(id int64) {
	f.t.Helper()
	f.exec(`UPDATE hs2proxy.refreshes SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, id)
}

func TestRefreshOfADeadProxyIsTakenOver(t *testing.T) {
	f := newFixture(t, store.Options{Instance: "proxy-1"})
	other := f.open(store.Options{Instance: "proxy-2"})
	id := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items"})
	mine := f.claim(f.Store, time.Minute, "hive-a")
	if r := f.claim(other, time.Minute, "hive-a"); r != nil {
		t.Errorf("claimed while the lease holds: %+v", r)
	}
	f.expire(id)
	f.ok(f.ExtendRefresh(t.Context(), id, time.Minute)) // late, but nobody has taken it
	if r := f.claim(other, time.Minute, "hive-a"); r != nil {
		t.Errorf("claimed after the lease was extended: %+v", r)
	}
	f.expire(id)
	taken := f.claim(other, time.Minute, "hive-a")
	if taken == nil || taken.ID != id {
		t.Fatalf("claimed %+v", taken)
	}
	if err := f.ExtendRefresh(t.Context(), id, time.Minute); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("extend: %v", err)
	}
	mine.State, mine.Effect = statscheck.RefreshDone, statscheck.EffectEffective
	if err := f.FinishRefresh(t.Context(), *mine); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("finish: %v", err)
	}
	taken.State, taken.Effect = statscheck.RefreshDone, statscheck.EffectNoChange
	f.ok(other.FinishRefresh(t.Context(), *taken))
	f.want("2 NO_CHANGE proxy-2", `SELECT concat_ws(' ', attempts, effect, claimed_by) FROM hs2proxy.refreshes`)
}

func TestRefreshThatKillsItsProxiesIsGivenUp(t *testing.T) {
	f := newFixture(t, store.Options{})
	id := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items"})
	next := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.sales"})
	for range 5 {
		if r := f.claim(f.Store, time.Minute, "hive-a"); r == nil || r.ID != id {
			t.Fatalf("claimed %+v", r)
		}
		f.expire(id)
	}
	if r := f.claim(f.Store, time.Minute, "hive-a"); r == nil || r.ID != next {
		t.Errorf("claimed %+v", r)
	}
	f.want("FAILED FAILED true", `SELECT concat_ws(' ', state, effect, (error LIKE 'given up%5 times')::text) FROM hs2proxy.refreshes WHERE id = $1`, id)
}

func TestInterruptedRefreshGoesBack(t *testing.T) {
	f := newFixture(t, store.Options{})
	id := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items"})
	r := f.claim(f.Store, time.Minute, "hive-a")
	r.State, r.Error, r.Statements = statscheck.RefreshRequested, "interrupted", []string{"ANALYZE"}
	f.ok(f.FinishRefresh(t.Context(), *r))
	f.want("REQUESTED interrupted 1", `SELECT concat_ws(' ', state, error, attempts) FROM hs2proxy.refreshes`)
	again := f.claim(f.Store, time.Minute, "hive-a")
	if again == nil || again.ID != id || again.Error != "" {
		t.Fatalf("claimed %+v", again)
	}
	// A wider request came in meanwhile: it does the work.
	wider := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items", Mode: statscheck.ModeColumns})
	again.State, again.Error = statscheck.RefreshRequested, "interrupted"
	f.ok(f.FinishRefresh(t.Context(), *again))
	f.want("FAILED superseded by a newer request: interrupted ∅", `SELECT concat_ws(' ', state, error, coalesce(started_at::text, '∅')) FROM hs2proxy.refreshes WHERE id = $1`, id)
	if r := f.claim(f.Store, time.Minute, "hive-a"); r == nil || r.ID != wider {
		t.Errorf("claimed %+v", r)
	}
}

func TestListenersAreWoken(t *testing.T) {
	f := newFixture(t, store.Options{ApplicationName: "listening"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	woken := make(chan struct{}, 100)
	ended := make(chan error, 1)
	go func() { ended <- f.ListenRefresh(ctx, func() { woken <- struct{}{} }) }()
	wait := func(why string) {
		t.Helper()
		timeout, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		select {
		case <-woken:
		case <-timeout.Done():
			t.Fatalf("not woken: %s", why)
		}
	}
	wait("connected")
	f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items"})
	wait("a request of the store")
	f.one(`SELECT hs2proxy.request_refresh('shop.sales')`)
	wait("a request in SQL")
	// The connection is cut: it connects again and wakes for what it missed.
	f.want("1", `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'listening' AND query LIKE 'LISTEN%' AND datname = current_database()`)
	wait("connected again")
	f.one(`SELECT hs2proxy.request_refresh('shop.logs')`)
	wait("a request after that")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
