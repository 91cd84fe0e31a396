package store_test

import (
	"encoding/json"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

func itemsStats(rows int64, at time.Time) advisor.TableStats {
	return advisor.TableStats{
		Table: "shop.items", Kind: "MANAGED_TABLE", Rows: &rows, TotalSize: ptr(rows * 20), Files: ptr(int64(1)), BasicAccurate: true,
		ColumnsAccurate: []string{"id"}, BucketColumns: []string{"id"}, Buckets: 4, BucketingVersion: 2,
		ColumnTypes: []advisor.ColumnType{{Name: "id", Type: "bigint"}, {Name: "price", Type: "decimal(10,2)"}},
		Columns:     map[string]advisor.ColumnStats{"id": {NDV: ptr(int64(9_007_199_254_740_993)), Nulls: ptr(int64(0)), AvgLen: ptr(8.5), Low: "1", High: "99"}},
		ColumnsRead: []string{"id", "price"}, ReadAt: at,
	}
}

func TestTableStatsSnapshots(t *testing.T) {
	f := newFixture(t, store.Options{})
	first := itemsStats(1000, t0)
	f.ok(f.SaveTableStats(t.Context(), "hive-a", []advisor.TableStats{first}))
	again := itemsStats(1000, t0.Add(time.Hour))
	f.ok(f.SaveTableStats(t.Context(), "hive-a", []advisor.TableStats{again}))
	f.want("1 01:00:00", `SELECT concat_ws(' ', count(*), max(read_at - first_read_at)) FROM hs2proxy.table_stats`)
	// A late, older reading does not take the time back.
	f.ok(f.SaveTableStats(t.Context(), "hive-a", []advisor.TableStats{first}))
	f.want("01:00:00", `SELECT read_at - first_read_at FROM hs2proxy.table_stats`)

	grown := itemsStats(2000, t0.Add(2*time.Hour))
	part := advisor.TableStats{Table: "shop.items", Partition: "ds=2024-01-01/h=3", ReadAt: t0.Add(2 * time.Hour)}
	f.ok(f.SaveTableStats(t.Context(), "hive-a", []advisor.TableStats{part, grown}))
	got, err := f.LatestTableStats(t.Context(), "hive-a", []string{"shop.items", "shop.nothing"})
	f.ok(err)
	want := map[string][]advisor.TableStats{"shop.items": {grown, part}}
	if !reflect.DeepEqual(got, want) {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		t.Errorf("\n got %s\nwant %s", g, w)
	}
	f.want("2 2000 40000 {id,price} 9007199254740993", `SELECT concat_ws(' ', count(*) OVER (), s.num_rows, s.total_size, s.columns_read, c.ndv)
		FROM hs2proxy.table_stats s JOIN hs2proxy.column_stats c ON c.table_stats_id = s.id ORDER BY s.id DESC LIMIT 1`)
	// Values that come back after others are a snapshot again.
	back := itemsStats(1000, t0.Add(3*time.Hour))
	f.ok(f.SaveTableStats(t.Context(), "hive-a", []advisor.TableStats{back}))
	all, err := f.LatestTableStats(t.Context(), "hive-a", nil)
	if err != nil || len(all["shop.items"]) != 2 || *all["shop.items"][0].Rows != 1000 {
		t.Errorf("all: %+v, %v", all, err)
	}
	f.want("3", `SELECT count(*) FROM hs2proxy.table_stats WHERE partition_name = ''`)
	if other, err := f.LatestTableStats(t.Context(), "hive-b", nil); err != nil || len(other) != 0 {
		t.Errorf("another upstream: %+v, %v", other, err)
	}
}

func TestWritesCountOnce(t *testing.T) {
	f := newFixture(t, store.Options{})
	id := func() string { return uuid.Must(uuid.NewV7()).String() }
	w := func(rows *int64, at time.Time) store.TableWrite {
		return store.TableWrite{Upstream: "hive-a", Table: "shop.items", StatementID: id(), Op: hiveql.WriteInsertInto, Rows: rows, At: at}
	}
	counted, uncounted := w(ptr(int64(10)), t0.Add(time.Minute)), w(nil, t0.Add(2*time.Minute))
	altered := w(nil, t0.Add(time.Second))
	altered.ColumnsChanged, altered.Op = true, hiveql.WriteAlterColumns
	for range 3 {
		f.ok(f.AddWrites(t.Context(), []store.TableWrite{counted, uncounted, altered}))
	}
	check := func(want statscheck.Writes) {
		t.Helper()
		got, err := f.Writes(t.Context(), "hive-a", "shop.items")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("writes %+v, want %+v, %v", got, want, err)
		}
	}
	check(statscheck.Writes{Rows: 10, Counted: 1, Uncounted: 2, LastAt: t0.Add(2 * time.Minute), ColumnsChanged: true})

	// One statement that names a table twice is one write of both parts.
	twice := w(ptr(int64(3)), t0.Add(3*time.Minute))
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{twice, twice}))
	check(statscheck.Writes{Rows: 16, Counted: 2, Uncounted: 2, LastAt: t0.Add(3 * time.Minute), ColumnsChanged: true})

	if b, err := f.Baseline(t.Context(), "hive-a", "shop.items"); err != nil || b != nil {
		t.Errorf("baseline before there is one: %+v, %v", b, err)
	}
	base := statscheck.Baseline{Rows: ptr(int64(1000)), Bytes: ptr(int64(20000)), Columns: []string{"id"}, At: t0.Add(90 * time.Second)}
	f.ok(f.SetBaseline(t.Context(), "hive-a", "shop.items", base))
	check(statscheck.Writes{Rows: 16, Counted: 2, Uncounted: 2, LastAt: t0.Add(3 * time.Minute), ColumnsChanged: true})
	// From the baseline on: what was written after it still counts.
	f.ok(f.Rebase(t.Context(), "hive-a", "shop.items", base))
	check(statscheck.Writes{Rows: 6, Counted: 1, Uncounted: 1, LastAt: t0.Add(3 * time.Minute)})
	got, err := f.Baseline(t.Context(), "hive-a", "shop.items")
	if err != nil || !reflect.DeepEqual(*got, base) {
		t.Errorf("baseline %+v, want %+v, %v", got, base, err)
	}
	// A spool brings a write from before the baseline: the ANALYZE has seen it.
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{w(ptr(int64(500)), base.At), counted}))
	check(statscheck.Writes{Rows: 6, Counted: 1, Uncounted: 1, LastAt: t0.Add(3 * time.Minute)})
	replaced := w(ptr(int64(7)), t0.Add(4*time.Minute))
	replaced.Op = hiveql.WriteInsertOverwrite
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{replaced}))
	check(statscheck.Writes{Rows: 13, Counted: 2, Uncounted: 1, Overwrites: 1, Left: ptr(int64(7)), LastAt: t0.Add(4 * time.Minute)})
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{w(ptr(int64(4)), t0.Add(5*time.Minute))}))
	check(statscheck.Writes{Rows: 17, Counted: 3, Uncounted: 1, Overwrites: 1, Left: ptr(int64(11)), LastAt: t0.Add(5 * time.Minute)})
	replaced.StatementID, replaced.At, replaced.Partitions = id(), t0.Add(6*time.Minute), []string{"ds=1"}
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{replaced})) // of one partition: the sum is of no use, but tables with partitions have none
	check(statscheck.Writes{Rows: 24, Counted: 4, Uncounted: 1, Overwrites: 2, Left: ptr(int64(18)), LastAt: t0.Add(6 * time.Minute)})
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{w(nil, t0.Add(7*time.Minute))}))
	check(statscheck.Writes{Rows: 24, Counted: 4, Uncounted: 2, Overwrites: 2, LastAt: t0.Add(7 * time.Minute)})
	f.ok(f.Rebase(t.Context(), "hive-a", "shop.items", statscheck.Baseline{At: t0.Add(time.Hour)}))
	check(statscheck.Writes{})
	// Rows beyond what fits.
	huge := int64(1<<63 - 1)
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{w(&huge, t0.Add(2*time.Hour)), w(&huge, t0.Add(2*time.Hour))}))
	check(statscheck.Writes{Rows: huge, Counted: 2, LastAt: t0.Add(2 * time.Hour)})
	if w, err := f.Writes(t.Context(), "hive-a", "no.such"); err != nil || w != (statscheck.Writes{}) {
		t.Errorf("unknown table: %+v, %v", w, err)
	}
}

func TestConcurrentWritesCountOnce(t *testing.T) {
	f := newFixture(t, store.Options{MaxConns: 2})
	ids := make([]string, 50)
	for i := range ids {
		ids[i] = uuid.NewString()
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, id := range ids {
				if err := f.AddWrites(t.Context(), []store.TableWrite{
					{Upstream: "hive-a", Table: "b", StatementID: id, Rows: ptr(int64(1)), At: t0}, {Upstream: "hive-a", Table: "a", StatementID: id, Rows: ptr(int64(2)), At: t0},
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	f.want("100 50,50 50", `SELECT string_agg(concat_ws(' ', writes_rows, writes_counted), ',' ORDER BY name) FROM hs2proxy.tables`)
}

func TestStaleTables(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	f.ok(f.RecordStatement(t.Context(), store.Observation{
		Session: s, Statement: statement(s, "SELECT 1", "f1", t0), Analysis: analysis("hive-a", "f1", t0, verdict(advisor.MapJoin, 1000)),
	}))
	r4 := statscheck.Staleness{Table: "shop.items", Rule: statscheck.R4Rows, Level: statscheck.LevelStale, Reason: "rows", Evidence: map[string]any{"rows": 300.0}}
	r3 := statscheck.Staleness{Table: "shop.items", Rule: statscheck.R3Columns, Level: statscheck.LevelHigh, Reason: "columns", Columns: []string{"id"}}
	r2 := statscheck.Staleness{Table: "shop.logs", Partition: "ds=1", Rule: statscheck.R2NoBasic, Level: statscheck.LevelCritical, Reason: "none"}
	f.ok(f.SaveStaleness(t.Context(), "hive-a", "shop.items", []statscheck.Staleness{r4, r3}, ptr(0.7)))
	f.now = t0.Add(time.Hour)
	f.ok(f.SaveStaleness(t.Context(), "hive-a", "shop.logs", []statscheck.Staleness{r2}, ptr(0.0)))
	f.ok(f.SaveStaleness(t.Context(), "hive-a", "shop.items", []statscheck.Staleness{r4, r3}, ptr(0.6)))
	f.ok(f.SaveStaleness(t.Context(), "hive-b", "shop.items", []statscheck.Staleness{r4}, nil))
	id, _, err := f.RequestRefresh(t.Context(), store.RefreshRequest{Upstream: "hive-a", Table: "shop.items", Mode: statscheck.ModeBasic, RequestedBy: "nightly"})
	f.ok(err)

	got, err := f.StaleTables(t.Context(), "hive-a")
	f.ok(err)
	if len(got) != 2 || got[0].Table != "shop.logs" || got[1].Table != "shop.items" {
		t.Fatalf("got %+v", got)
	}
	items := got[1]
	if !reflect.DeepEqual(items.Staleness, []statscheck.Staleness{r3, r4}) || !items.Since.Equal(t0) || *items.Health != 0.6 || items.Joins7d != 1 ||
		!items.CheckedAt.Equal(f.now) || !reflect.DeepEqual(items.JoinColumns, []string{"id"}) {
		t.Errorf("got %+v", items)
	}
	if h := items.History; len(h) != 1 || h[0].ID != id || h[0].State != statscheck.RefreshRequested || h[0].RequestedBy != "nightly" || h[0].Table != "shop.items" {
		t.Errorf("history %+v", h)
	}
	if len(got[0].History) != 0 || got[0].Staleness[0].Partition != "ds=1" {
		t.Errorf("logs: %+v", got[0])
	}
	if all, err := f.StaleTables(t.Context(), ""); err != nil || len(all) != 3 {
		t.Errorf("all: %+v, %v", all, err)
	}

	// What holds no longer is cleared, and begins anew when it holds again.
	f.now = t0.Add(2 * time.Hour)
	f.ok(f.SaveStaleness(t.Context(), "hive-a", "shop.items", []statscheck.Staleness{r3}, nil))
	f.want("R3 ,R4 02:00:00", `SELECT string_agg(concat_ws(' ', rule, coalesce((cleared_at - since)::text, '')), ',' ORDER BY rule)
		FROM hs2proxy.staleness s JOIN hs2proxy.tables t ON t.id = s.table_id JOIN hs2proxy.upstreams u ON u.id = t.upstream_id WHERE u.name = 'hive-a' AND t.name = 'shop.items'`)
	f.now = t0.Add(3 * time.Hour)
	f.ok(f.SaveStaleness(t.Context(), "hive-a", "shop.items", []statscheck.Staleness{r4}, ptr(7.0)))
	got, err = f.StaleTables(t.Context(), "hive-a")
	if err != nil || len(got) != 2 || len(got[1].Staleness) != 1 || !got[1].Since.Equal(f.now) || *got[1].Health != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	f.ok(f.SaveStaleness(t.Context(), "hive-a", "shop.items", nil, ptr(1.0)))
	f.ok(f.SaveStaleness(t.Context(), "hive-a", "shop.logs", nil, ptr(1.0)))
	if got, err = f.StaleTables(t.Context(), "hive-a"); err != nil || len(got) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestSettingsAreReplaced(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.ok(f.SaveSettings(t.Context(), "hive-a", []store.Setting{{Name: "a", Value: "1", Default: ptr("1")}, {Name: "b", Value: "2"}}))
	f.ok(f.SaveSettings(t.Context(), "hive-b", []store.Setting{{Name: "a", Value: "9"}}))
	f.ok(f.SaveSettings(t.Context(), "hive-a", []store.Setting{{Name: "c", Value: "3"}, {Name: "a", Value: "5", Default: ptr("1")}}))
	f.want("hive-a a 5 1,hive-a c 3,hive-b a 9", `SELECT string_agg(concat_ws(' ', u.name, s.name, value, hive_default), ',' ORDER BY u.name, s.name)
		FROM hs2proxy.settings s JOIN hs2proxy.upstreams u ON u.id = s.upstream_id`)
}
