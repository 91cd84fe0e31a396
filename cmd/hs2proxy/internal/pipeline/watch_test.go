package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// tableRecords is a store in memory, of one upstream.
type tableRecords struct {
	mu        sync.Mutex
	usage     map[string]statscheck.Usage
	writes    map[string]statscheck.Writes
	baselines map[string]*statscheck.Baseline
	stats     []advisor.TableStats
	staleness map[string][]statscheck.Staleness
	health    map[string]statscheck.Health
	errs      map[string]error // by method
	saved     chan string      // the tables whose staleness was saved

	signals    map[string]store.Signals
	checked    map[string]store.Checked
	foreign    []statscheck.ForeignWrite
	partitions map[string]store.PartitionState // of one table
	failures   []failure
}

func newTableRecords() *tableRecords {
	return &tableRecords{
		usage: map[string]statscheck.Usage{}, writes: map[string]statscheck.Writes{}, baselines: map[string]*statscheck.Baseline{},
		staleness: map[string][]statscheck.Staleness{}, health: map[string]statscheck.Health{}, errs: map[string]error{}, saved: make(chan string, 100),
		signals: map[string]store.Signals{}, checked: map[string]store.Checked{}, partitions: map[string]store.PartitionState{},
	}
}

func (r *tableRecords) SaveTableStats(_ context.Context, _ string, stats []advisor.TableStats) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats = append(r.stats, stats...)
	return r.errs["SaveTableStats"]
}

func (r *tableRecords) Writes(_ context.Context, _, table string) (statscheck.Writes, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writes[table], r.errs["Writes"]
}

func (r *tableRecords) Baseline(_ context.Context, _, table string) (*statscheck.Baseline, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.baselines[table], r.errs["Baseline"]
}

func (r *tableRecords) Rebase(_ context.Context, _, table string, b statscheck.Baseline) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.baselines[table], r.writes[table] = &b, statscheck.Writes{}
	return r.errs["Rebase"]
}

func (r *tableRecords) UsageOf(_ context.Context, _, table string) (statscheck.Usage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usage[table], r.errs["UsageOf"]
}

func (r *tableRecords) EndStaleness(_ context.Context, _, table, why string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.errs["EndStaleness"]; err != nil {
		return err
	}
	r.staleness[table], r.health[table], r.checked[table] = nil, nil, store.Checked{By: why}
	r.saved <- table
	return nil
}

func (r *tableRecords) SaveCheckFailure(_ context.Context, _, table string, f store.CheckFailure) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, failure{table, f})
	return nil
}

// failure is a failed check on record.
type failure struct {
	table string
	store.CheckFailure
}

// post is a Watch over fakes.
type post struct {
	hive     *fakeHive
	records  *tableRecords
	clock    *clock
	cache    *Cache
	counters *Counters
	*Watch
}

func newPost(t *testing.T, limits statscheck.Thresholds) *post {
	t.Helper()
	p := &post{hive: newFakeHive(), records: newTableRecords(), clock: newClock(), counters: &Counters{}}
	p.cache = newCache(t, p.clock.now)
	tables := NewTables(p.hive, time.Hour, p.clock.now)
	p.Watch = NewWatch("main", tables, p.cache, p.records, limits, quiet(), p.counters, p.clock.now)
	return p
}

func (p *post) begin(t *testing.T) {
	t.Helper()
	p.Start()
	t.Cleanup(p.Stop)
}

// poke makes the Watch look at the clock again.
func (p *post) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *post) mustCheck(t *testing.T, table string) {
	t.Helper()
	if err := p.Check(within(t), table); err != nil {
		t.Fatal(err)
	}
}

func rules(found []statscheck.Staleness) (out []statscheck.Rule) {
	for _, s := range found {
		out = append(out, s.Rule)
	}
	return out
}

func shopTable(rows int64) table {
	return table{name: "t", rows: rows, bytes: 40 * rows, accurate: true, columns: []string{"a"}}
}

func wrote(table string) store.Observation {
	return store.Observation{Writes: []store.TableWrite{{Table: table}}}
}

func readBy(tables ...string) store.Observation {
	return store.Observation{Analysis: &store.Analysis{Tables: tables}}
}

func TestWatchRecorded(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.Recorded(readBy("shop.r"))
	p.Recorded(wrote("shop.w"))
	p.Recorded(store.Observation{})
	if got, _ := p.next(); got != "shop.r" {
		t.Errorf("first %q, want the table read at once", got)
	}
	got, wait := p.next()
	if got != "" || wait != settleDelay {
		t.Errorf("next %q, or in %s", got, wait)
	}
	p.clock.pass(settleDelay / 2)
	p.Recorded(wrote("shop.w"))
	p.clock.pass(settleDelay / 2)
	if got, _ = p.next(); got != "shop.w" {
		t.Errorf("next %q, want the table written, once the burst is over", got)
	}
	if got, wait = p.next(); got != "" || wait != time.Hour {
		t.Errorf("next %q, or in %s", got, wait)
	}
}

func TestWatchBoundsWhatIsDue(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	for i := range maxDue + 10 {
		p.Recorded(wrote(fmt.Sprintf("shop.t%d", i)))
	}
	if n := len(p.mu.due); n != maxDue {
		t.Errorf("%d due", n)
	}
}

func TestWatchChecksByItself(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.hive.table(shopTable(5))
	p.begin(t)
	p.Recorded(readBy("shop.t"))
	receive(t, p.records.saved)
	eventually(t, "the table is young", func() bool { return p.isYoung("shop.t") })
	p.Recorded(readBy("shop.t"))
	if n := len(p.mu.due); n != 0 {
		t.Errorf("%d due, though the table was just checked", n)
	}
	p.Recorded(wrote("shop.t"))
	p.clock.pass(settleDelay)
	p.poke()
	receive(t, p.records.saved)
	eventually(t, "the second check is over", func() bool { return p.isYoung("shop.t") })
	p.clock.pass(time.Hour)
	p.Recorded(readBy("shop.t"))
	receive(t, p.records.saved)
	if n := p.hive.times(describeSQL("t")); n != 3 {
		t.Errorf("read %d times", n)
	}
}

// A table that could not be checked comes again with a query, but not with every one.
func TestWatchAfterAFailure(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.hive.fails(describeSQL("t"), errors.New("connection reset"))
	p.begin(t)
	p.Recorded(readBy("shop.t"))
	eventually(t, "it was tried", func() bool { return p.hive.times(describeSQL("t")) == 1 })
	if !p.isYoung("shop.t") {
		t.Error("the next query brings it back at once")
	}
	p.hive.table(shopTable(5))
	p.clock.pass(retryDelay)
	p.Recorded(readBy("shop.t"))
	receive(t, p.records.saved)
}

func TestWatchIsolatesPanics(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.hive.answer(describeSQL("bad"), panicking)
	p.hive.table(shopTable(5))
	p.begin(t)
	p.Recorded(readBy("shop.bad", "shop.t"))
	if got := receive(t, p.records.saved); got != "shop.t" {
		t.Errorf("saved %s", got)
	}
	eventually(t, "the panic is counted", func() bool { return p.counters.Panics.Load() == 1 })
}

func TestWatchStopEndsACheck(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	entered := make(chan struct{})
	p.hive.answer(describeSQL("t"), waiting(entered))
	p.Start()
	p.Recorded(readBy("shop.t"))
	receive(t, entered)
	p.Stop()
	if len(p.records.saved) != 0 {
		t.Error("something was saved")
	}
}

func TestCheckRebases(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.hive.table(shopTable(1000))
	p.mustCheck(t, "shop.t")
	if b := p.records.baselines["shop.t"]; b == nil || *b.Rows != 1000 {
		t.Fatalf("baseline %+v, want the table as first seen", b)
	}
	if h := p.records.health["shop.t"]; h == nil || *h != 1 || len(p.records.staleness["shop.t"]) != 0 || len(p.records.stats) != 1 {
		t.Errorf("health %v, staleness %v, %d snapshots", h, p.records.staleness, len(p.records.stats))
	}

	// Rows come in, and autogather keeps up.
	p.records.writes["shop.t"] = statscheck.Writes{Rows: 5000, Counted: 1, LastAt: time.Now()}
	p.hive.table(shopTable(6000))
	p.mustCheck(t, "shop.t")
	if b := p.records.baselines["shop.t"]; *b.Rows != 6000 || p.records.writes["shop.t"].Rows != 0 || len(p.records.staleness["shop.t"]) != 0 {
		t.Errorf("baseline %+v, writes %+v, staleness %v", b, p.records.writes["shop.t"], p.records.staleness["shop.t"])
	}

	// Rows come in, and Hive does not notice.
	p.records.writes["shop.t"] = statscheck.Writes{Rows: 5000, Counted: 1, LastAt: time.Now()}
	p.mustCheck(t, "shop.t")
	if b := p.records.baselines["shop.t"]; *b.Rows != 6000 || !slices.Contains(rules(p.records.staleness["shop.t"]), statscheck.R4Rows) {
		t.Errorf("baseline %+v, staleness %v", b, p.records.staleness["shop.t"])
	}
	if h := p.records.health["shop.t"]; h == nil || *h >= 0.5 {
		t.Errorf("health %v", h)
	}

	// A refresh mends it.
	p.hive.table(shopTable(11000))
	p.mustCheck(t, "shop.t")
	if len(p.records.staleness["shop.t"]) != 0 {
		t.Errorf("staleness %v", p.records.staleness["shop.t"])
	}
}

func TestCheckReadsTheColumnsInUse(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.hive.table(shopTable(1000))
	p.hive.rows(describeColumnSQL("t", "a"), []string{"col_name", "a"}, []string{"data_type", "int"}, []string{"num_nulls", ""}, []string{"distinct_count", ""})
	p.records.usage["shop.t"] = statscheck.Usage{JoinColumns: []string{"a"}}
	p.mustCheck(t, "shop.t")
	if got := rules(p.records.staleness["shop.t"]); !slices.Equal(got, []statscheck.Rule{statscheck.R3Columns}) {
		t.Errorf("rules %v", got)
	}
}

func TestCheckOptedOut(t *testing.T) {
	limits := statscheck.DefaultThresholds()
	limits.Tables = []statscheck.TableThresholds{{Pattern: "shop.*", Off: true}}
	p := newPost(t, limits)
	bad := shopTable(0)
	bad.bytes, bad.accurate = 1<<20, false
	p.hive.table(bad)
	p.mustCheck(t, "shop.t")
	if len(p.records.staleness["shop.t"]) != 0 || len(p.records.stats) != 1 {
		t.Errorf("staleness %v, %d snapshots", p.records.staleness, len(p.records.stats))
	}
	p.SetThresholds(statscheck.DefaultThresholds())
	p.mustCheck(t, "shop.t")
	if got := rules(p.records.staleness["shop.t"]); !slices.Contains(got, statscheck.R1Corrupt) {
		t.Errorf("rules %v for a table of 0 rows and a mebibyte", got)
	}
}

func TestCheckTableGone(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.hive.table(shopTable(10))
	p.mustCheck(t, "shop.t")
	p.records.staleness["shop.t"], p.records.health["shop.t"] = []statscheck.Staleness{{Rule: statscheck.R1Corrupt}}, new(0.0)
	st := statement("1", joinSQL)
	p.cache.Put("k", &store.Analysis{Tables: []string{"shop.t"}, ExplainedAt: p.clock.now()})
	p.hive.gone("t")
	p.mustCheck(t, "shop.t")
	if b := p.records.baselines["shop.t"]; b == nil || b.Rows != nil || !b.At.Equal(p.clock.now()) {
		t.Errorf("a table of the same name would be measured against this one: %+v", b)
	}
	if len(p.records.staleness["shop.t"]) != 0 || p.records.health["shop.t"] != nil || len(p.records.stats) != 1 {
		t.Errorf("staleness %v, health %v, %d snapshots", p.records.staleness, p.records.health, len(p.records.stats))
	}
	if _, cause := p.cache.Lookup("k", st); cause != store.CauseStatistics {
		t.Errorf("a plan over a dropped table is still believed: %q", cause)
	}
}

func TestCheckTemporaryTable(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	tb := shopTable(0)
	tb.location, tb.bytes = "hdfs://shop/tmp/hive/u/1/_tmp_space.db/t", 1<<20
	p.hive.table(tb)
	p.mustCheck(t, "shop.t")
	if len(p.records.stats) != 0 || len(p.records.staleness["shop.t"]) != 0 {
		t.Errorf("%d snapshots, staleness %v", len(p.records.stats), p.records.staleness)
	}
}

// Whoever reads changed statistics first, the plans of the table are forgotten.
func TestChangedStatisticsInvalidate(t *testing.T) {
	for _, who := range []string{"watch", "analyzer"} {
		t.Run(who, func(t *testing.T) {
			p := newPost(t, statscheck.DefaultThresholds())
			st := statement("1", joinSQL)
			p.hive.table(shopTable(10))
			p.mustCheck(t, "shop.t")
			p.clock.pass(time.Second)
			p.cache.Put("k", &store.Analysis{Tables: []string{"shop.t"}, ExplainedAt: p.clock.now()})
			p.mustCheck(t, "shop.t")
			if _, cause := p.cache.Lookup("k", st); cause != "" {
				t.Fatalf("forgotten without a change: %q", cause)
			}
			p.hive.table(shopTable(20))
			if who == "watch" {
				p.mustCheck(t, "shop.t")
			} else if _, err := p.tables.Read(within(t), "shop.t", nil); err != nil {
				t.Fatal(err)
			}
			if _, cause := p.cache.Lookup("k", st); cause != store.CauseStatistics {
				t.Errorf("got %q", cause)
			}
		})
	}
}

func TestCheckErrors(t *testing.T) {
	for _, method := range []string{"UsageOf", "SaveTableStats", "Baseline", "Writes", "Rebase", "SaveChecked", "Signals", "Readings", "AddForeignWrites"} {
		t.Run(method, func(t *testing.T) {
			p := newPost(t, statscheck.DefaultThresholds())
			p.hive.table(shopTable(10))
			p.records.errs[method] = store.ErrUnavailable
			if err := p.Check(within(t), "shop.t"); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
			if len(p.records.saved) != 0 {
				t.Error("staleness was saved")
			}
		})
	}
}

func TestKnownRows(t *testing.T) {
	tests := map[string]struct {
		baseline *statscheck.Baseline
		writes   statscheck.Writes
		err      string
		want     int64
		ok       bool
	}{
		"counted":       {&statscheck.Baseline{Rows: new(int64(10))}, statscheck.Writes{Rows: 5, Counted: 1}, "", 15, true},
		"no baseline":   {nil, statscheck.Writes{Rows: 5, Counted: 1}, "", 0, false},
		"no rows":       {&statscheck.Baseline{}, statscheck.Writes{Rows: 5, Counted: 1}, "", 0, false},
		"no writes":     {&statscheck.Baseline{Rows: new(int64(10))}, statscheck.Writes{}, "", 0, false},
		"overwritten":   {&statscheck.Baseline{Rows: new(int64(10))}, statscheck.Writes{Rows: 5, Counted: 1, Overwrites: 1}, "", 0, false},
		"replaced":      {nil, statscheck.Writes{Rows: 5, Counted: 1, Overwrites: 1, Left: new(int64(5))}, "", 5, true},
		"uncounted":     {&statscheck.Baseline{Rows: new(int64(10))}, statscheck.Writes{Rows: 5, Counted: 1, Uncounted: 1}, "", 0, false},
		"store is away": {&statscheck.Baseline{Rows: new(int64(10))}, statscheck.Writes{Rows: 5, Counted: 1}, "Writes", 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPost(t, statscheck.DefaultThresholds())
			p.records.baselines["shop.t"], p.records.writes["shop.t"] = test.baseline, test.writes
			p.records.errs[test.err] = store.ErrUnavailable
			if got, ok := p.KnownRows(within(t), "main", "shop.t", false); got != test.want || ok != test.ok {
				t.Errorf("got %d, %v", got, ok)
			}
		})
	}
}
