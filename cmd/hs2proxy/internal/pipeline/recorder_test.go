package pipeline

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// bench is a Recorder with a fake HiveServer2 on one side and its records on the other.
type bench struct {
	server   *hive2
	hive     *fakeHive
	own      intercept.Session
	clock    *clock
	events   chan intercept.Event
	records  chan Record
	counters *Counters
	cfg      RecorderConfig
	*Recorder
}

func newBench(t *testing.T, change func(*RecorderConfig)) *bench {
	t.Helper()
	b := &bench{
		server: startHive(t), hive: newFakeHive(), clock: newClock(),
		events: make(chan intercept.Event, 1<<15), records: make(chan Record, 1<<15), counters: &Counters{},
	}
	handle := b.server.session()
	b.own = sessionOf(&handle)
	b.cfg = RecorderConfig{
		Events: b.events, Analyzer: shopAnalyzer(t, b.server, b.hive), Cache: newCache(t, b.clock.now), Samples: newSamples(t), Workers: 2,
		Record: func(r Record) { b.records <- r }, Log: quiet(),
	}
	if change != nil {
		change(&b.cfg)
	}
	b.Recorder = NewRecorder(b.cfg, b.counters)
	return b
}

// begin starts the Recorder and ends it with the test, if the test does not.
func (b *bench) begin(t *testing.T) *bench {
	t.Helper()
	b.Start()
	t.Cleanup(func() {
		if b.ctxLives() {
			b.server.release()
			b.Stop(within(t))
		}
	})
	return b
}

func (b *bench) ctxLives() bool {
	select {
	case <-b.drain:
		return false
	default:
		return true
	}
}

// at is a snapshot of the statement in the bench's session, its text as unread as the relay leaves it.
func (b *bench) at(st *intercept.Statement) *intercept.Statement {
	snapshot := *st
	snapshot.Info = hiveql.Peek(st.SQL)
	snapshot.SessionID = b.own.Handle.ID()
	return &snapshot
}

func (b *bench) start(st *intercept.Statement) {
	b.events <- intercept.Event{Kind: intercept.StatementStarted, Session: &b.own, Statement: b.at(st)}
}

func (b *bench) end(st *intercept.Statement) {
	ended := b.at(st)
	ended.State, ended.EndedAt = intercept.StateFinished, time.Now()
	b.events <- intercept.Event{Kind: intercept.StatementEnded, Session: &b.own, Statement: ended}
}

// observation takes the next record, which must be one.
func (b *bench) observation(t *testing.T) store.Observation {
	t.Helper()
	r := receive(t, b.records)
	if r.Observation == nil {
		t.Fatalf("got a session, want an observation: %+v", r.Session)
	}
	return *r.Observation
}

func TestRecorderReadsTexts(t *testing.T) {
	b := newBench(t, nil).begin(t)
	const sql = "INSERT INTO t VALUES (7)"
	kept, onlyEnd := statement("1", sql), statement("2", sql)
	b.start(kept)
	b.end(kept)
	b.end(onlyEnd)
	for _, want := range []*intercept.Statement{kept, onlyEnd} {
		if o := b.observation(t); o.Statement.ID != want.ID || !reflect.DeepEqual(o.Statement.Info, hiveql.Parse(sql)) {
			t.Errorf("statement %s is recorded with %+v", want.ID, o.Statement.Info)
		}
	}
}

func (b *bench) wantNoMore(t *testing.T) {
	t.Helper()
	if n := len(b.records); n != 0 {
		t.Errorf("%d records too many, the next %+v", n, <-b.records)
	}
}

func TestRecorderKeepsTheOrder(t *testing.T) {
	b := newBench(t, nil).begin(t)
	b.events <- intercept.Event{Kind: intercept.SessionOpened, Session: &b.own}
	for i, sql := range []string{"SET a=1", "INSERT INTO t VALUES (1)"} {
		st := statement(fmt.Sprint(i), sql)
		b.start(st)
		b.end(st)
	}
	closed := b.own
	closed.ClosedAt = time.Now()
	b.events <- intercept.Event{Kind: intercept.SessionClosed, Session: &closed}

	if r := receive(t, b.records); r.Session == nil || !r.Session.ClosedAt.IsZero() {
		t.Errorf("first %+v", r)
	}
	if o := b.observation(t); o.Statement.ID != "0" || o.Statement.State != intercept.StateFinished || o.Analysis != nil || len(o.Writes) > 0 {
		t.Errorf("second %+v", o)
	}
	if o := b.observation(t); o.Statement.ID != "1" || len(o.Writes) != 1 || o.Writes[0].Table != "shop.t" {
		t.Errorf("third %+v", o)
	}
	if r := receive(t, b.records); r.Session == nil || r.Session.ClosedAt.IsZero() {
		t.Errorf("last %+v", r)
	}
	b.Stop(within(t))
	b.wantNoMore(t)
}

func TestRecorderAnalysisBeforeTheEnd(t *testing.T) {
	b := newBench(t, nil).begin(t)
	st := statement("1", joinSQL)
	b.start(st)
	running := b.observation(t)
	if running.Statement.State != intercept.StateRunning || running.Analysis == nil || len(running.Analysis.Joins) != 1 || running.Analysis.Reused {
		t.Fatalf("got %+v", running)
	}
	b.end(st)
	ended := b.observation(t)
	if ended.Statement.State != intercept.StateFinished || ended.Analysis != running.Analysis {
		t.Errorf("got %+v", ended)
	}
	b.Stop(within(t))
	b.wantNoMore(t)
	if n := b.counters.Explained.Load(); n != 1 {
		t.Errorf("%d explained", n)
	}
	b.server.wantOpen(t, 1)
}

func TestRecorderAnalysisAfterTheEnd(t *testing.T) {
	b := newBench(t, nil).begin(t)
	b.server.hold()
	st := statement("1", joinSQL)
	b.start(st)
	receive(t, b.server.arrived)
	b.end(st)
	other := statement("2", "SET a=1")
	b.start(other)
	b.end(other)
	if o := b.observation(t); o.Statement.ID != "2" {
		t.Fatalf("the statement still being explained came first: %+v", o)
	}
	b.server.release()
	if o := b.observation(t); o.Statement.ID != "1" || o.Statement.State != intercept.StateFinished || o.Analysis == nil {
		t.Errorf("got %+v", o)
	}
	b.Stop(within(t))
	b.wantNoMore(t)
}

func TestRecorderReuses(t *testing.T) {
	b := newBench(t, nil).begin(t)
	run := func(id string, settings map[string]string) *store.Analysis {
		t.Helper()
		st := statement(id, joinSQL)
		st.Settings = settings
		b.start(st)
		b.end(st)
		for {
			if o := b.observation(t); o.Statement.State.Final() {
				if o.Statement.ID != id || o.Analysis == nil {
					t.Fatalf("got %+v", o)
				}
				return o.Analysis
			}
		}
	}
	if a := run("1", nil); a.Reused || a.Cause != store.CauseFirst || a.PlanText == "" {
		t.Errorf("first: %+v", a)
	}
	if a := run("2", nil); !a.Reused {
		t.Errorf("again: %+v", a)
	}
	if a := run("3", map[string]string{"hive.auto.convert.join": "false"}); a.Reused || a.Cause != store.CauseSettings {
		t.Errorf("other settings: %+v", a)
	}
	b.cfg.Cache.Invalidate("shop.u")
	if a := run("4", nil); a.Reused || a.Cause != store.CauseStatistics {
		t.Errorf("changed statistics: %+v", a)
	}
	b.clock.pass(2 * time.Hour)
	if a := run("5", nil); a.Reused || a.Cause != store.CauseAge {
		t.Errorf("old: %+v", a)
	}
	if b.counters.Reused.Load() != 1 || b.counters.Explained.Load() != 4 {
		t.Errorf("%d reused, %d explained", b.counters.Reused.Load(), b.counters.Explained.Load())
	}
	a := run("6", nil)
	if s, ok := b.cfg.Samples.Get(a.Fingerprint, a.Database, a.Settings); !ok || s.SQL != joinSQL {
		t.Errorf("no sample: %+v", s)
	}
}

func TestRecorderStartWasDropped(t *testing.T) {
	b := newBench(t, nil).begin(t)
	b.end(statement("1", joinSQL))
	if o := b.observation(t); o.Statement.ID != "1" || o.Analysis != nil {
		t.Errorf("got %+v", o)
	}
	b.Stop(within(t))
	if len(b.pending) != 0 || b.order.Len() != 0 {
		t.Errorf("%d statements are still pending", len(b.pending))
	}
}

// What a closed session left running is recorded before it, and forgotten.
func TestRecorderEndWasDropped(t *testing.T) {
	b := newBench(t, func(c *RecorderConfig) { c.Analyzer = nil })
	b.start(statement("1", joinSQL))
	elsewhere := statement("2", joinSQL)
	b.events <- intercept.Event{Kind: intercept.StatementStarted, Session: new(sessionOf(nil)), Statement: elsewhere}
	b.events <- intercept.Event{Kind: intercept.SessionClosed, Session: &b.own}
	b.takeEvents()
	if o := b.observation(t); o.Statement.ID != "1" || o.Statement.State != intercept.StateRunning {
		t.Errorf("got %+v", o)
	}
	if r := receive(t, b.records); r.Session == nil {
		t.Errorf("got %+v", r)
	}
	if len(b.pending) != 1 || b.pending["2"] == nil {
		t.Errorf("pending %v", b.pending)
	}
}

func TestRecorderBoundsWhatIsPending(t *testing.T) {
	b := newBench(t, func(c *RecorderConfig) { c.Analyzer = nil })
	for i := range maxPending + 3 {
		b.event(intercept.Event{Kind: intercept.StatementStarted, Session: &b.own, Statement: b.at(statement(fmt.Sprint(i), "SET a=1"))})
	}
	if len(b.pending) != maxPending || b.order.Len() != maxPending {
		t.Errorf("%d pending", len(b.pending))
	}
	for i := range 3 {
		if o := b.observation(t); o.Statement.ID != fmt.Sprint(i) {
			t.Errorf("gave up %s, want the oldest", o.Statement.ID)
		}
	}
	b.wantNoMore(t)
}

func TestRecorderBacklogIsFull(t *testing.T) {
	b := newBench(t, func(c *RecorderConfig) { c.Workers = 1 }).begin(t)
	b.server.hold()
	b.start(statement("working", joinSQL))
	receive(t, b.server.arrived)
	for i := range taskBacklog + 1 {
		b.start(statement(fmt.Sprint(i), joinSQL))
	}
	eventually(t, "one statement is skipped", func() bool { return b.counters.Skipped.Load() == 1 })
	last := statement(fmt.Sprint(taskBacklog), joinSQL)
	b.end(last)
	if o := b.observation(t); o.Statement.ID != last.ID || o.Analysis != nil {
		t.Errorf("got %+v", o)
	}
	b.server.release()
	b.Stop(within(t))
	if e, r := b.counters.Explained.Load(), b.counters.Reused.Load(); e != 1 || r != taskBacklog {
		t.Errorf("%d explained, %d reused", e, r)
	}
}

func TestRecorderIsolatesPanics(t *testing.T) {
	b := newBench(t, nil).begin(t)
	b.hive.answer("SET -v", func(context.Context) (client.Result, error) { panic("defect") })
	st := statement("1", joinSQL)
	b.start(st)
	b.end(st)
	if o := b.observation(t); o.Analysis != nil || o.Statement.State != intercept.StateFinished {
		t.Errorf("got %+v", o)
	}
	b.events <- intercept.Event{Kind: intercept.StatementStarted} // without a statement
	b.hive.rows("SET -v", []string{"hive.execution.engine=tez"})
	st = statement("2", joinSQL)
	b.start(st)
	b.end(st)
	for {
		if o := b.observation(t); o.Statement.ID == "2" && o.Statement.State.Final() {
			if o.Analysis == nil {
				t.Error("the worker is gone")
			}
			break
		}
	}
	if n := b.counters.Panics.Load(); n != 2 {
		t.Errorf("%d panics counted, want 2", n)
	}
}

func TestRecorderCountsWhatFails(t *testing.T) {
	b := newBench(t, nil).begin(t)
	run := func(id, sql string) store.Observation {
		t.Helper()
		st := statement(id, sql)
		b.start(st)
		b.end(st)
		for {
			if o := b.observation(t); o.Statement.State.Final() {
				return o
			}
		}
	}
	b.hive.fails("SET -v", errors.New("connection refused"))
	if o := run("1", joinSQL); o.Analysis != nil || b.counters.Failed.Load() != 1 {
		t.Errorf("got %+v, %d failed", o.Analysis, b.counters.Failed.Load())
	}
	b.hive.rows("SET -v")
	b.hive.fails("SELECT version()", fmt.Errorf("wait: %w", ErrBusy))
	if o := run("2", joinSQL); o.Analysis != nil || b.counters.Skipped.Load() != 1 {
		t.Errorf("got %+v, %d skipped", o.Analysis, b.counters.Skipped.Load())
	}
	b.hive.rows("SELECT version()", []string{"4.0.1 r1"})
	b.server.plan("no plan")
	if o := run("3", joinSQL); o.Analysis == nil || o.Analysis.Error == "" || b.counters.Refused.Load() != 1 {
		t.Errorf("got %+v, %d refused", o.Analysis, b.counters.Refused.Load())
	}
	truncated := statement("4", joinSQL)
	truncated.Truncated = true
	b.start(truncated)
	b.end(truncated)
	if o := b.observation(t); o.Analysis != nil || o.Statement.ID != "4" {
		t.Errorf("got %+v", o)
	}
}

func TestRecorderStopDrains(t *testing.T) {
	b := newBench(t, nil)
	b.server.hold()
	const n = 20
	for i := range n {
		st := statement(fmt.Sprint(i), joinSQL)
		b.start(st)
		b.end(st)
	}
	b.Start()
	stopped := make(chan struct{})
	go func() {
		b.Stop(within(t))
		close(stopped)
	}()
	receive(t, b.server.arrived)
	select {
	case <-stopped:
		t.Error("stopped without the analyses")
	default:
	}
	b.server.release()
	receive(t, stopped)
	final := 0
	for len(b.records) > 0 {
		if o := b.observation(t); o.Statement.State.Final() {
			final++
			if o.Analysis == nil {
				t.Errorf("statement %s has no analysis", o.Statement.ID)
			}
		}
	}
	if final != n || len(b.pending) != 0 {
		t.Errorf("%d ended statements recorded, %d pending", final, len(b.pending))
	}
}

func TestRecorderStopInAHurry(t *testing.T) {
	b := newBench(t, func(c *RecorderConfig) { c.Workers = 1 })
	asked := make(chan struct{}, 1)
	b.hive.answer("SET -v", func(ctx context.Context) (client.Result, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return client.Result{}, ctx.Err()
	})
	b.Start()
	b.start(statement("1", joinSQL))
	receive(t, asked)
	b.start(statement("2", joinSQL))
	b.end(statement("3", "INSERT INTO t VALUES (1)"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b.Stop(ctx)
	got := map[string]store.Observation{}
	for len(b.records) > 0 {
		o := b.observation(t)
		if _, twice := got[o.Statement.ID]; twice {
			t.Errorf("statement %s came twice", o.Statement.ID)
		}
		got[o.Statement.ID] = o
	}
	if len(got) != 3 || got["1"].Analysis != nil || got["2"].Statement.State != intercept.StateRunning || len(got["3"].Writes) != 1 {
		t.Errorf("got %+v", got)
	}
}
