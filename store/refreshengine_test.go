package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

func (f *fixture) finish(r *statscheck.Refresh, state statscheck.RefreshState) {
	f.t.Helper()
	r.State = state
	if state == statscheck.RefreshDone {
		r.Effect = statscheck.EffectNoChange
	}
	f.ok(f.FinishRefresh(f.t.Context(), *r))
}

// scheduled asks as a schedule does.
func (f *fixture) scheduled(table string, budget time.Duration) int64 {
	f.t.Helper()
	return f.request(store.RefreshRequest{
		Upstream: "hive-a", Table: table, RequestedBy: "schedule nightly", Schedule: "nightly", WindowStart: t0, NotAfter: f.now.Add(3 * time.Hour),
		Budget: budget, Scope: "COLUMNS: R4",
	})
}

// The factors of the scene: items is stale (HIGH by R3), joined four times, and the table is on the hashed side of a merge join that true
// numbers would make a map join.
func TestFactorsOfThePriority(t *testing.T) {
	f := newFixture(t, store.Options{})
	scene(f)
	got, err := f.RefreshFactors(t.Context(), "hive-a", []string{"shop.items"})
	f.ok(err)
	items := got["shop.items"]
	if items.Severity != 4 || items.Joins != 4 || items.Uncertainty != 10 || items.Seconds < 1 || len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	f.want(fmt.Sprint(items.Priority()), `SELECT f.priority FROM hs2proxy.refresh_factors f WHERE f.table_name = 'shop.items' AND f.joins_7d = 4`)
	if items.Flips {
		t.Error("a map join with room for a factor of 2000 flips within 10")
	}
	f.exec(`UPDATE hs2proxy.joins SET margin_factor = 9, margin_next = 'MERGE_JOIN'`)
	if got, err = f.RefreshFactors(t.Context(), "hive-a", nil); err != nil || !got["shop.items"].Flips {
		t.Errorf("a margin of 9 within 10: %+v, %v", got, err)
	}
	if got["shop.items"].Priority() != 4*items.Priority() {
		t.Errorf("a flip is not worth four times: %g and %g", got["shop.items"].Priority(), items.Priority())
	}
	// The streamed side grows without a flip.
	f.exec(`UPDATE hs2proxy.joins SET big_table = 1 WHERE big_table >= 0`)
	f.exec(`DELETE FROM hs2proxy.joins WHERE big_table < 0`)
	if got, err = f.RefreshFactors(t.Context(), "hive-a", nil); err != nil || got["shop.items"].Flips {
		t.Errorf("the streamed side flips: %+v, %v", got, err)
	}
}

func TestOrderOfTheQueue(t *testing.T) {
	f := newFixture(t, store.Options{RefreshesPerUpstream: 9})
	scene(f)
	low := f.scheduled("shop.low", 0)
	items := f.scheduled("shop.items", 0)
	person := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.person", RequestedBy: "ann"})
	urgent := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.urgent", RequestedBy: "ann", Priority: ptr(0.5)})
	want := []int64{urgent, person, items, low}
	var queue []int64
	for _, row := range f.report("refresh_queue") {
		queue = append(queue, row["id"].(int64))
	}
	if !reflect.DeepEqual(queue, want) {
		t.Errorf("queue %v, want %v", queue, want)
	}
	if rows := f.rows("refresh_queue", "place", "table_name", "priority_given", "severity", "joins_7d", "flips", "scope", "waits_for"); len(rows) != 4 ||
		rows[2] != "3 | shop.items | false | 4 | 4 | false | COLUMNS: R4 | a proxy with statistics.refresh.enabled" {
		t.Errorf("rows %q", rows)
	}
	for _, id := range want {
		if r := f.claim(f.Store, time.Minute, "hive-a"); r == nil || r.ID != id {
			t.Fatalf("claimed %+v, want %d", r, id)
		}
	}
	f.want("4 4", `SELECT concat_ws(' ', factors ->> 'severity', factors ->> 'joins_7d') FROM hs2proxy.refresh_attempts WHERE refresh_id = $1`, items)
}

func TestPutBackWaitsAndIsNoLoss(t *testing.T) {
	f := newFixture(t, store.Options{Instance: "proxy-1"})
	id := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items"})
	for back := range 7 { // more often than a refresh may lose its proxy
		r := f.claim(f.Store, time.Minute, "hive-a")
		if r == nil || r.ID != id || r.PutBacks != back || r.Attempt != back+1 || r.Lost != 0 {
			t.Fatalf("claimed %+v", r)
		}
		r.State, r.NotBefore, r.Error = statscheck.RefreshRequested, f.now.Add(time.Minute), "put back: a writer's lock"
		f.ok(f.FinishRefresh(t.Context(), *r))
		if r := f.claim(f.Store, time.Minute, "hive-a"); r != nil {
			t.Fatalf("claimed before its time: %+v", r)
		}
		f.now = f.now.Add(time.Minute)
	}
	f.want("7 PUT_BACK put back: a writer's lock", `SELECT concat_ws(' ', count(*), min(outcome), min(reason)) FROM hs2proxy.refresh_attempts`)
}

func TestBothAttemptsAreOnRecord(t *testing.T) {
	f := newFixture(t, store.Options{Instance: "proxy-1"})
	other := f.open(store.Options{Instance: "proxy-2"})
	id := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items"})
	f.claim(f.Store, time.Minute, "hive-a")
	f.expire(id)
	r := f.claim(other, time.Minute, "hive-a")
	if r == nil || r.Lost != 1 || r.Attempt != 2 {
		t.Fatalf("claimed %+v", r)
	}
	r.State, r.Effect, r.Analyzed, r.Statements = statscheck.RefreshDone, statscheck.EffectNoChange, 90*time.Second, []string{"ANALYZE"}
	f.ok(other.FinishRefresh(t.Context(), *r))
	rows := f.rows("refresh_attempts", "attempt", "outcome", "claimed_by", "analyze_seconds", "statements")
	if len(rows) != 2 || !strings.Contains(strings.Join(rows, "\n"), "1 | LOST | proxy-1 | ∅ | []") || !strings.Contains(strings.Join(rows, "\n"), "2 | DONE | proxy-2 | 90 | [ANALYZE]") {
		t.Errorf("attempts %q", rows)
	}
	f.want("true", `SELECT reason LIKE 'the proxy proxy-1 was gone: its lease ended at %' FROM hs2proxy.refresh_attempts WHERE attempt = 1`)
	f.want("90", `SELECT seconds FROM hs2proxy.refresh_factors WHERE table_name = 'shop.items' UNION ALL SELECT 90 LIMIT 1`)
}

func TestWindowsEndRequestsAndBudgets(t *testing.T) {
	f := newFixture(t, store.Options{})
	first, second, third := f.scheduled("shop.a", 2*time.Minute), f.scheduled("shop.b", 2*time.Minute), f.scheduled("shop.c", 2*time.Minute)
	r := f.claim(f.Store, time.Hour, "hive-a")
	if r == nil || r.ID != first || r.Budget != 2*time.Minute || r.BudgetLeft != 2*time.Minute || r.Schedule != "nightly" || !r.WindowStart.Equal(t0) || r.Scope == "" {
		t.Fatalf("claimed %+v", r)
	}
	r.Analyzed = 90 * time.Second
	f.finish(r, statscheck.RefreshDone)
	if r = f.claim(f.Store, time.Hour, "hive-a"); r == nil || r.ID != second || r.BudgetLeft != 30*time.Second {
		t.Fatalf("claimed %+v", r)
	}
	r.Analyzed = 31 * time.Second
	f.finish(r, statscheck.RefreshDone)
	if r = f.claim(f.Store, time.Hour, "hive-a"); r != nil {
		t.Fatalf("claimed without a budget: %+v", r)
	}
	f.want("CANCELED not started: the 120 s that the schedule has for ANALYZE in a window are used up", `SELECT concat_ws(' ', state, error) FROM hs2proxy.refreshes WHERE id = $1`, third)
	// A person's word takes a request out of its window.
	fourth, fifth := f.scheduled("shop.d", 0), f.scheduled("shop.e", 0)
	if id := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.e", RequestedBy: "ann"}); id != fifth {
		t.Errorf("a second request: %d", id)
	}
	f.now = t0.Add(3 * time.Hour)
	if r = f.claim(f.Store, time.Hour, "hive-a"); r == nil || r.ID != fifth {
		t.Fatalf("claimed %+v", r)
	}
	f.want("CANCELED not started: the schedule's window ended at "+t0.Add(3*time.Hour).Format(time.RFC3339), `SELECT concat_ws(' ', state, error) FROM hs2proxy.refreshes WHERE id = $1`, fourth)
	f.want("schedule nightly, ann", `SELECT string_agg(requested_by, ', ' ORDER BY id) FROM hs2proxy.refresh_requests WHERE refresh_id = $1`, fifth)
}

func TestCancellation(t *testing.T) {
	f := newFixture(t, store.Options{Instance: "proxy-1"})
	waiting := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.waits"})
	if state, err := f.CancelRefresh(t.Context(), waiting, "ann", "not tonight"); err != nil || state != statscheck.RefreshCanceled {
		t.Errorf("%s, %v", state, err)
	}
	f.want("canceled by ann before it ran: not tonight", `SELECT error FROM hs2proxy.refreshes WHERE id = $1`, waiting)
	id := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items"})
	r := f.claim(f.Store, time.Minute, "hive-a")
	f.ok(f.SaveProgress(t.Context(), id, 2, 3, "ANALYZE TABLE x"))
	if p, err := f.RefreshProgress(t.Context(), id); err != nil || p.Step != 2 || p.Steps != 3 || p.Doing != "ANALYZE TABLE x" || p.State != statscheck.RefreshRunning {
		t.Errorf("%+v, %v", p, err)
	}
	if state := f.one(`SELECT hs2proxy.cancel_refresh($1, 'month end')`, id); state != "RUNNING" {
		t.Errorf("state %s", state)
	}
	for s, want := range map[*store.Store]int{f.Store: 1, f.open(store.Options{Instance: "proxy-2"}): 0} { // only its proxy
		if got, err := s.Cancellations(t.Context(), []int64{id, waiting}); err != nil || len(got) != want || want == 1 && got[id].Reason != "month end" {
			t.Errorf("%v, %v", got, err)
		}
	}
	// Asked for again, it is another one: this one ends.
	if again := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items"}); again == id {
		t.Error("a refresh that is being canceled stands for a new request")
	}
	r.Error = "canceled by postgres: month end (canceled in Hive)"
	f.finish(r, statscheck.RefreshCanceled)
	f.want("CANCELED CANCELED ∅", `SELECT concat_ws(' ', r.state, a.outcome, coalesce(r.effect, '∅')) FROM hs2proxy.refreshes r JOIN hs2proxy.refresh_attempts a ON a.refresh_id = r.id WHERE r.id = $1`, id)
	for _, gone := range []int64{id, waiting, 999} {
		if _, err := f.CancelRefresh(t.Context(), gone, "ann", ""); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%d: %v", gone, err)
		}
	}
	// A proxy that dies before it could cancel: nobody runs the refresh again.
	next := f.claim(f.Store, time.Minute, "hive-a")
	_, err := f.CancelRefresh(t.Context(), next.ID, "bo", "why not")
	f.ok(err)
	f.expire(next.ID)
	if r := f.claim(f.Store, time.Minute, "hive-a"); r != nil {
		t.Errorf("claimed %+v", r)
	}
	f.want("CANCELED LOST canceled by bo: why not", `SELECT concat_ws(' ', r.state, a.outcome, r.error) FROM hs2proxy.refreshes r JOIN hs2proxy.refresh_attempts a ON a.refresh_id = r.id WHERE r.id = $1`, next.ID)
}

func TestPoliciesOfTables(t *testing.T) {
	f := newFixture(t, store.Options{})
	set := func(p statscheck.TablePolicy) {
		t.Helper()
		p.By, p.Reason = "ann", "because"
		f.ok(f.SetRefreshPolicy(t.Context(), p))
	}
	set(statscheck.TablePolicy{Pattern: "raw.*", Never: true})
	set(statscheck.TablePolicy{Pattern: "Raw.One", Schedules: []string{"nightly"}, Columns: []string{"ID"}, Partitions: []string{"ds=2026-*"}, Cooldown: 36 * time.Hour})
	set(statscheck.TablePolicy{Pattern: "raw.a_b", Cooldown: time.Hour})
	got, err := f.RefreshPolicies(t.Context())
	f.ok(err)
	want := []statscheck.TablePolicy{
		{Pattern: "raw.a_b", Cooldown: time.Hour, Reason: "because", By: "ann"},
		{Pattern: "raw.one", Schedules: []string{"nightly"}, Columns: []string{"id"}, Partitions: []string{"ds=2026-*"}, Cooldown: 36 * time.Hour, Reason: "because", By: "ann"},
		{Pattern: "raw.*", Never: true, Reason: "because", By: "ann"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	// Postgres and PolicyOf agree on which one holds.
	for _, table := range []string{"raw.one", "raw.two", "raw.a_b", "raw.axb", "rawx.t"} {
		f.want(fmt.Sprint(statscheck.PolicyOf(table, got, nil).Never), `SELECT coalesce((SELECT never FROM hs2proxy.refresh_policy_of($1)), false)`, table)
	}
	if _, _, err := f.RequestRefresh(t.Context(), store.RefreshRequest{Upstream: "hive-a", Table: "raw.two", Mode: "BASIC"}); !errors.Is(err, store.ErrData) ||
		!strings.Contains(err.Error(), "raw.two is never refreshed: because") {
		t.Errorf("asked for what is never refreshed: %v", err)
	}
	f.request(store.RefreshRequest{Upstream: "hive-a", Table: "raw.one"})
	f.ok(f.EnableRefresh(t.Context(), "raw.two", "bo", "needed"))
	f.request(store.RefreshRequest{Upstream: "hive-a", Table: "raw.two"})
	if got, err = f.RefreshPolicies(t.Context()); err != nil || got[0].Pattern != "raw.two" || !got[0].FailuresSince.Equal(t0) || got[0].Never {
		t.Errorf("%+v, %v", got, err)
	}
	f.ok(f.DropRefreshPolicy(t.Context(), "raw.*", "ann", "done"))
	f.request(store.RefreshRequest{Upstream: "hive-a", Table: "raw.three"})
	if err := f.DropRefreshPolicy(t.Context(), "raw.*", "ann", "done"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("dropped twice: %v", err)
	}
	for _, bad := range []statscheck.TablePolicy{{Pattern: "orders", By: "a", Reason: "r"}, {Pattern: "a.b", By: "a", Reason: " "}, {Pattern: "a.b; c", By: "a", Reason: "r"}} {
		if err := f.SetRefreshPolicy(t.Context(), bad); !errors.Is(err, store.ErrData) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	f.want("5 raw.two", `SELECT count(*) || ' ' || max(table_pattern) FROM hs2proxy.refresh_policies WHERE person IN ('ann', 'bo')`)
}

func TestRequestOfPartitionsWithAPriority(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.ok(f.SaveTableStats(t.Context(), "hive-a", []advisor.TableStats{{Table: "shop.items"}}))
	f.one(`SELECT hs2proxy.request_refresh('shop.items', mode => 'noscan', partitions => ARRAY['ds=1', 'ds=1', 'ds=2'], priority => 7, reason => 'x')`)
	f.want("NOSCAN {ds=1,ds=2} 7", `SELECT concat_ws(' ', mode, partitions, priority) FROM hs2proxy.refreshes`)
	f.one(`SELECT hs2proxy.request_refresh('shop.items', mode => 'basic', partitions => ARRAY['ds=3'], priority => 3)`)
	f.want("BASIC {ds=1,ds=2,ds=3} 7", `SELECT concat_ws(' ', mode, partitions, priority) FROM hs2proxy.refreshes`)
	f.want("2", `SELECT count(*) FROM hs2proxy.refresh_requests WHERE requested_by = 'postgres'`)
	for _, sql := range []string{
		`SELECT hs2proxy.request_refresh('shop.items', priority => -1)`, `SELECT hs2proxy.request_refresh('shop.items', priority => 'Infinity')`,
		`SELECT hs2proxy.request_refresh('shop.items', priority => 'NaN')`,
		`SELECT hs2proxy.request_refresh('shop.items', partitions => ARRAY(SELECT 'ds=' || g FROM generate_series(1, 1001) g))`,
	} {
		if _, err := f.db.Exec(t.Context(), sql); sqlState(err) != "22023" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
