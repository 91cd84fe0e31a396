package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

func (r *tableRecords) SaveChecked(_ context.Context, _, table string, c store.Checked) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.errs["SaveChecked"]; err != nil {
		return err
	}
	r.staleness[table], r.health[table], r.checked[table] = c.Holds, c.Health, c
	r.saved <- table
	return nil
}

func (r *tableRecords) Signals(_ context.Context, _, table string) (store.Signals, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.signals[table], r.errs["Signals"]
}

// Readings are the last ones saved, as the store's are.
func (r *tableRecords) Readings(_ context.Context, _, table string, names []string) (map[string]statscheck.Reading, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]statscheck.Reading{}
	for _, s := range r.stats {
		if s.Table == table && slices.Contains(names, s.Partition) {
			out[s.Partition] = statscheck.ReadingOf(s)
		}
	}
	return out, r.errs["Readings"]
}

func (r *tableRecords) AddForeignWrites(_ context.Context, _, table string, list []statscheck.ForeignWrite) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range list {
		r.foreign = append(r.foreign, f)
		switch {
		case f.Followed || f.Listed:
		case f.Partition == "":
			w := r.writes[table]
			w.Foreign = true
			r.writes[table] = w
		default:
			p := r.partitions[f.Partition]
			p.Foreign = true
			r.partitions[f.Partition] = p
		}
	}
	return r.errs["AddForeignWrites"]
}

func (r *tableRecords) PartitionStates(_ context.Context, _, _ string, names []string) (map[string]store.PartitionState, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]store.PartitionState{}
	for _, n := range names {
		if p, ok := r.partitions[n]; ok {
			out[n] = p
		}
	}
	return out, r.errs["PartitionStates"]
}

func (r *tableRecords) RebasePartition(_ context.Context, _, _, partition string, b statscheck.Baseline) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.partitions[partition] = store.PartitionState{Baseline: &b, ReadAt: b.At}
	return r.errs["RebasePartition"]
}

// part answers the DESCRIBE of a partition of shop.p as Hive 4.0.1 prints it.
func (h *fakeHive) part(ds string, rows, bytes int64, accurate string) {
	h.rows(describePartitionSQL("p", ds), []string{"a", "string", ""}, []string{"", "", ""},
		[]string{"# Partition Information", "", ""}, []string{"# col_name            ", "data_type           ", "comment             "}, []string{"ds", "string", ""},
		[]string{"", "", ""}, []string{"# Detailed Partition Information", "", ""}, []string{"Partition Value:    ", "[" + ds + "]", ""},
		[]string{"Location:           ", "file:/warehouse/shop.db/p/ds=" + ds, ""}, []string{"Partition Parameters:", "", ""},
		[]string{"", "COLUMN_STATS_ACCURATE", strings.ReplaceAll(accurate, `"`, `\"`)}, []string{"", "numFiles            ", "1"},
		[]string{"", "numRows             ", strconv.FormatInt(rows, 10)}, []string{"", "totalSize           ", strconv.FormatInt(bytes, 10)})
}

const (
	basicOnly = `{"BASIC_STATS":"true"}`
	withA     = `{"BASIC_STATS":"true","COLUMN_STATS":{"a":"true"}}`
)

// files answers SHOW TABLE EXTENDED of a table or one of its partitions, for files that were left alone for an hour.
func (h *fakeHive) files(name, ds string, bytes int64) {
	sql := "SHOW TABLE EXTENDED IN `shop` LIKE '" + name + "'"
	if ds != "" {
		sql += " PARTITION (`ds`='" + ds + "')"
	}
	h.rows(sql, []string{"tableName:" + name}, []string{"owner:hive"}, []string{"totalNumberFiles:2"},
		[]string{"totalFileSize:" + strconv.FormatInt(bytes, 10)}, []string{"lastUpdateTime:" + strconv.FormatInt(time.Now().Add(-time.Hour).UnixMilli(), 10)})
}

func mustRead(t *testing.T, p *post, table string) advisor.TableStats {
	t.Helper()
	stats, err := p.tables.Read(within(t), table, nil)
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

func holds(r *tableRecords, table string) (out []string) {
	for _, s := range r.staleness[table] {
		out = append(out, strings.TrimSpace(s.Partition+" "+string(s.Rule)))
	}
	slices.Sort(out)
	return out
}

func wantHolds(t *testing.T, p *post, table string, want ...string) {
	t.Helper()
	if got := holds(p.records, table); !slices.Equal(got, want) {
		t.Errorf("holds %q, want %q: %+v", got, want, p.records.staleness[table])
	}
}

func TestCheckSeesForeignWriters(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.hive.table(shopTable(1000))
	p.mustCheck(t, "shop.t")
	wantHolds(t, p, "shop.t")

	// Files come in through the metastore, rows do not.
	tb := shopTable(1000)
	tb.bytes *= 2
	p.hive.table(tb)
	p.mustCheck(t, "shop.t")
	wantHolds(t, p, "shop.t", "R5")
	if len(p.records.foreign) != 1 || p.records.foreign[0].Followed || *p.records.baselines["shop.t"].Rows != 1000 {
		t.Errorf("foreign writes %+v, baseline %+v", p.records.foreign, p.records.baselines["shop.t"])
	}
	// The next check finds it still, and records nothing new.
	p.mustCheck(t, "shop.t")
	wantHolds(t, p, "shop.t", "R5")
	if len(p.records.foreign) != 1 {
		t.Errorf("%d foreign writes", len(p.records.foreign))
	}
	// A client analyses the table through the proxy.
	tb.rows = 2000
	p.hive.table(tb)
	p.records.signals["shop.t"] = store.Signals{AnalyzedAt: time.Now()}
	p.mustCheck(t, "shop.t")
	wantHolds(t, p, "shop.t")
	c := p.records.checked["shop.t"]
	if *p.records.baselines["shop.t"].Rows != 2000 || c.Known.RowsFrom != statscheck.FromAnalyze || *c.Known.Rows != 2000 {
		t.Errorf("baseline %+v, known %+v", p.records.baselines["shop.t"], c.Known)
	}
	// Somebody whose HiveServer2 we do not see inserts, and Hive counts.
	p.hive.table(shopTable(4000))
	p.mustCheck(t, "shop.t")
	wantHolds(t, p, "shop.t")
	if n := len(p.records.foreign); n < 2 || !p.records.foreign[n-1].Followed || *p.records.baselines["shop.t"].Rows != 4000 {
		t.Errorf("foreign writes %+v, baseline %+v", p.records.foreign, p.records.baselines["shop.t"])
	}
}

func TestCheckListsFiles(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.hive.table(shopTable(1000))
	p.hive.files("t", "", 40_000)
	p.mustCheck(t, "shop.t")
	wantHolds(t, p, "shop.t")
	if c := p.records.checked["shop.t"]; c.Known.BytesFrom != statscheck.FromFiles {
		t.Errorf("known %+v", c.Known)
	}
	p.hive.files("t", "", 90_000) // behind Hive's back
	p.mustCheck(t, "shop.t")
	wantHolds(t, p, "shop.t", "R5")
	if len(p.records.foreign) != 1 || !p.records.foreign[0].Listed || *p.records.foreign[0].After.Bytes != 90_000 {
		t.Errorf("foreign writes %+v", p.records.foreign)
	}
}

func TestCheckPartitions(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	now := time.Now()
	p.hive.partitioned("p", 3000, 3, "a")
	p.hive.rows(describeColumnSQL("p", "a"), []string{"col_name", "a"}, []string{"data_type", "string"}, []string{"num_nulls", "0"},
		[]string{"COLUMN_STATS_ACCURATE", `{\"COLUMN_STATS\":{\"a\":\"true\"}}`})
	p.hive.part("1", 1000, 1000, withA)
	p.hive.part("2", 1000, 1000, basicOnly) // lost its column statistics
	p.hive.part("3", 0, 500, "{}")          // added with files
	p.records.usage["shop.p"] = statscheck.Usage{JoinColumns: []string{"a"}}
	p.records.signals["shop.p"] = store.Signals{
		Writes: []statscheck.Write{{Specs: []string{"ds=3"}, At: now.Add(-time.Minute)}},
		Reads:  []statscheck.PlanRead{{Fingerprint: "f", Partitions: []string{"ds=1", "ds=2"}, Total: 2, Build: true}},
	}
	p.mustCheck(t, "shop.p")
	wantHolds(t, p, "shop.p", "ds=2 R3", "ds=2 R7", "ds=3 R1", "ds=3 R3")
	if got := p.records.checked["shop.p"].Partitions; !slices.Equal(got, []string{"ds=3", "ds=1", "ds=2"}) {
		t.Errorf("looked at %v: what was written comes first", got)
	}
	if b := p.records.partitions["ds=1"].Baseline; b == nil || *b.Rows != 1000 {
		t.Errorf("baseline of a good partition: %+v", b)
	}

	// Its rows are counted on the wire, and Hive does not keep up; others drop a partition.
	p.hive.part("2", 1000, 1000, withA)
	p.hive.fails(describePartitionSQL("p", "3"), &client.Error{Code: 10006, Message: "Partition not found"})
	p.records.signals["shop.p"] = store.Signals{
		Writes: []statscheck.Write{
			{Specs: []string{"ds=1"}, Rows: new(int64(5000)), At: time.Now()}, {Specs: []string{"ds=3"}, At: now.Add(-time.Minute)},
		},
		Stale: []statscheck.Staleness{{Partition: "ds=2", Rule: statscheck.R3Columns, Level: statscheck.LevelHigh}},
		Reads: []statscheck.PlanRead{{Fingerprint: "f", Partitions: []string{"ds=1", "ds=2"}, Total: 2}},
	}
	p.records.partitions["ds=2"] = store.PartitionState{Baseline: p.records.partitions["ds=2"].Baseline, ReadAt: now.Add(-2 * time.Hour)}
	p.mustCheck(t, "shop.p")
	wantHolds(t, p, "shop.p", "ds=1 R4", "ds=1 R7")
	if c := p.records.checked["shop.p"]; !slices.Contains(c.Gone, "ds=3") || !slices.Contains(c.Partitions, "ds=2") {
		t.Errorf("checked %+v", c)
	}
}

// Ten thousand partitions, all written and all read: sixteen a check, and no other is asked for.
func TestCheckOfManyPartitionsIsBounded(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.hive.partitioned("p", 10_000, 10_000, "a")
	all := make([][]string, 10_000)
	names := make([]string, len(all))
	for i := range all {
		names[i] = fmt.Sprintf("ds=%05d", i)
		all[i] = []string{names[i]}
		p.hive.part(names[i][3:], 1, 10, withA)
	}
	p.hive.rows("SHOW PARTITIONS `shop`.`p`", all...)
	written := statscheck.Write{Specs: []string{""}, At: p.clock.now().Add(-time.Second)} // dynamic partitions
	p.records.signals["shop.p"] = store.Signals{Writes: []statscheck.Write{written}, Reads: []statscheck.PlanRead{{Partitions: names[:64], Total: len(names)}}}
	described := func() (n int) {
		for _, sql := range p.hive.asked {
			if strings.Contains(sql, "PARTITION (") && strings.HasPrefix(sql, "DESCRIBE") {
				n++
			}
		}
		return n
	}
	p.mustCheck(t, "shop.p")
	if n := described(); n != maxPartitionsChecked {
		t.Errorf("%d partitions described", n)
	}
	if n := p.hive.times(describePartitionSQL("p", "09999")); n != 1 {
		t.Errorf("the youngest partition was described %d times", n)
	}
	// The next checks read others, and list nothing again.
	for range 3 {
		p.mustCheck(t, "shop.p")
	}
	if n := described(); n != 4*maxPartitionsChecked {
		t.Errorf("%d partitions described", n)
	}
	if n := p.hive.times("SHOW PARTITIONS `shop`.`p`"); n != 1 {
		t.Errorf("listed %d times", n)
	}
	if len(p.records.staleness["shop.p"]) != 0 {
		t.Errorf("holds %v", holds(p.records, "shop.p"))
	}
}

func TestCheckGoesOnWithoutAPartition(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.hive.partitioned("p", 10, 2, "a")
	p.hive.part("1", 0, 500, "{}")
	p.hive.fails(describePartitionSQL("p", "2"), errors.New("connection reset"))
	p.records.signals["shop.p"] = store.Signals{Reads: []statscheck.PlanRead{{Partitions: []string{"ds=1", "ds=2"}, Total: 2}}}
	p.mustCheck(t, "shop.p")
	wantHolds(t, p, "shop.p", "ds=1 R1", "ds=1 R7")
	for _, method := range []string{"PartitionStates", "RebasePartition"} {
		p.hive.part("1", 5, 500, withA)
		p.records.errs = map[string]error{method: store.ErrUnavailable}
		delete(p.records.partitions, "ds=1")
		if err := p.Check(within(t), "shop.p"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: got %v", method, err)
		}
	}
}

func TestWatchComesAtOnceForAnAnalyze(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.Recorded(wrote("shop.t"))
	if got, _ := p.next(); got != "" {
		t.Fatalf("next %q, before the burst is over", got)
	}
	p.Recorded(store.Observation{Analyzed: &store.TableAnalyze{Table: "shop.t", CountsRows: true}})
	if got, _ := p.next(); got != "shop.t" {
		t.Errorf("next %q, want the table analysed at once", got)
	}
	p.Recorded(store.Observation{Contradictions: []store.TableContradiction{{Table: "shop.u"}}})
	if got, _ := p.next(); got != "shop.u" {
		t.Errorf("next %q, want the table contradicted", got)
	}
}

func TestWritesByPartition(t *testing.T) {
	for sql, want := range map[string]store.TableWrite{
		"INSERT INTO t PARTITION (hr=3, ds='x') SELECT 1":                                            {Partitions: []string{"ds=x/hr=3"}, Rows: new(int64(9))},
		"INSERT INTO t PARTITION (ds='x', hr) SELECT 1, 2":                                           {Partitions: []string{"ds=x"}, Rows: new(int64(9))},
		"INSERT INTO t SELECT * FROM u":                                                              {Partitions: []string{""}, Rows: new(int64(9))},
		"FROM u INSERT INTO t PARTITION (ds='x') SELECT a INSERT INTO t PARTITION (ds='y') SELECT b": {Partitions: []string{"ds=x", "ds=y"}, Rows: new(int64(9))},
		"FROM u INSERT INTO t SELECT a INSERT OVERWRITE DIRECTORY '/x' SELECT b":                     {Partitions: []string{""}},
		"ALTER TABLE t DROP PARTITION (ds < 'x'), PARTITION (ds='y')":                                {Partitions: []string{"", "ds=y"}},
		"MSCK REPAIR TABLE t": {Partitions: []string{""}},
	} {
		st := statement("1", sql)
		st.State, st.ModifiedRows = intercept.StateFinished, new(int64(9))
		got := writesOf(st)
		if len(got) != 1 || got[0].Table != "shop.t" || !slices.Equal(got[0].Partitions, want.Partitions) || (got[0].Rows == nil) != (want.Rows == nil) {
			t.Errorf("%s: got %+v", sql, got)
		}
	}
}

func TestAnalyzedOf(t *testing.T) {
	for sql, want := range map[string]store.TableAnalyze{
		"ANALYZE TABLE t COMPUTE STATISTICS":                                    {Table: "shop.t", CountsRows: true},
		"ANALYZE TABLE d.t PARTITION (ds='x') COMPUTE STATISTICS FOR COLUMNS a": {Table: "d.t", Partition: "ds=x", ForColumns: true, CountsRows: true},
		"ANALYZE TABLE t COMPUTE STATISTICS NOSCAN":                             {Table: "shop.t"},
		"ALTER TABLE t UPDATE STATISTICS SET ('numRows'='1')":                   {Table: "shop.t"},
	} {
		got := analyzedOf(statement("1", sql))
		if got == nil || got.Table != want.Table || got.Partition != want.Partition || got.ForColumns != want.ForColumns || got.CountsRows != want.CountsRows {
			t.Errorf("%s: got %+v", sql, got)
		}
	}
	if got := analyzedOf(statement("1", "SELECT 1")); got != nil {
		t.Errorf("got %+v", got)
	}
}

func TestPlanUsesAndReads(t *testing.T) {
	plan, err := explain.Parse(mapJoinPlan)
	if err != nil {
		t.Fatal(err)
	}
	u := usageOf(plan, advisor.Joins(plan))
	for table, rows := range map[string]int64{"shop.t": 2, "shop.u": 2} {
		if got := u[table]; !slices.Equal(got.JoinColumns, []string{"a"}) || len(got.OtherColumns) != 0 || got.PlanRows == nil || *got.PlanRows != rows {
			t.Errorf("%s: %+v", table, got)
		}
	}
	filtered, err := explain.Parse(strings.ReplaceAll(mapJoinPlan, "predicate: a is not null (type: boolean)", "predicate: (a is not null and (b > 5)) (type: boolean)"))
	if err != nil {
		t.Fatal(err)
	}
	if got := usageOf(filtered, advisor.Joins(filtered))["shop.u"]; !slices.Equal(got.OtherColumns, []string{"b"}) {
		t.Errorf("filtered: %+v", got)
	}
	if got := readsOf(plan, advisor.Joins(plan)); len(got) != 0 {
		t.Errorf("no partitions are read: %+v", got)
	}
	parts, err := explain.Parse(partitionsPlan)
	if err != nil {
		t.Fatal(err)
	}
	got := readsOf(parts, advisor.Joins(parts))["shop.p"]
	if !slices.Equal(got.Partitions, []string{"ds=2024-01-01", "ds=2024-01-02"}) || got.Total != 2 {
		t.Errorf("reads %+v", got)
	}
	if p := usageOf(parts, advisor.Joins(parts))["shop.p"]; p.PlanRows != nil {
		t.Errorf("two of three partitions give no rows of the table: %d", *p.PlanRows)
	}
}

// insertPlan is EXPLAIN EXTENDED of Hive 4.0.1 for INSERT INTO shop.n SELECT a FROM shop.t, cut to its operators.
const insertPlan = `STAGE DEPENDENCIES:
  Stage-1 is a root stage

STAGE PLANS:
  Stage: Stage-1
    Tez
      Vertices:
        Map 1 
            Map Operator Tree:
                TableScan
                  alias: t
                  Statistics: Num rows: 2 Data size: 8 Basic stats: COMPLETE Column stats: COMPLETE
                  Select Operator
                    expressions: a (type: int)
                    outputColumnNames: _col0
                    Statistics: Num rows: 2 Data size: 8 Basic stats: COMPLETE Column stats: COMPLETE
                    File Output Operator
                      Statistics: Num rows: 2 Data size: 8 Basic stats: COMPLETE Column stats: COMPLETE
                      table:
                          input format: org.apache.hadoop.mapred.TextInputFormat
                          name: shop.n
            Path -> Alias:
              hdfs://shop/warehouse/shop.db/t [t]
            Path -> Partition:
              hdfs://shop/warehouse/shop.db/t 
                Partition
                  base file name: t
                  properties:
                    name shop.t
                  name: shop.t
`

func TestContradictionsOf(t *testing.T) {
	run := func(sql, plan string, rows *int64) []store.TableContradiction {
		st := statement("1", sql)
		st.State, st.ModifiedRows = intercept.StateFinished, rows
		return contradictionsOf(&store.Observation{Statement: *st, Analysis: &store.Analysis{PlanText: plan, Tables: []string{"shop.t"}}})
	}
	const insert = "INSERT INTO n SELECT a FROM t"
	got := run(insert, insertPlan, new(int64(500)))
	if len(got) != 1 || got[0].Table != "shop.t" || *got[0].Estimated != 2 || *got[0].Actual != 500 || got[0].AtLeast {
		t.Errorf("got %+v", got)
	}
	filtered := strings.Replace(insertPlan, "alias: t\n", "alias: t\n                  filterExpr: (a > 1) (type: boolean)\n", 1)
	if got := run(insert, filtered, new(int64(500))); len(got) != 1 || !got[0].AtLeast {
		t.Errorf("filtered: %+v", got)
	}
	for name, got := range map[string][]store.TableContradiction{
		"no count":        run(insert, insertPlan, nil),
		"several targets": run("FROM t INSERT INTO n SELECT a INSERT INTO m SELECT a", insertPlan, new(int64(500))),
		"rows multiplied": run(insert, strings.Replace(insertPlan, "Select Operator", "UDTF Operator", 1), new(int64(500))),
		"no plan":         run(insert, "", new(int64(500))),
	} {
		if len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestOverflowContradictions(t *testing.T) {
	plan, err := explain.Parse(mapJoinPlan)
	if err != nil {
		t.Fatal(err)
	}
	joins := advisor.Joins(plan)
	hashed := joins[0].Inputs[1-joins[0].BigTable].Tables[0]
	st := statement("1", joinSQL)
	st.State, st.ErrorMessage = intercept.StateError, "Hash table loading exceeded memory limits for input: x numEntries: 1000 estimatedMemoryUsage: 5 effectiveThreshold: 4"
	o := &store.Observation{Statement: *st, Analysis: &store.Analysis{Joins: []advisor.JoinVerdict{advisor.Judge(joins[0], advisor.NewSettings(nil))}}}
	got := contradictionsOf(o)
	if len(got) != 1 || got[0].Table != hashed || got[0].Kind != statscheck.ContradictedMemory || !got[0].Certain || *got[0].Actual != 1000 {
		t.Errorf("got %+v", got)
	}
	o.Statement.ErrorMessage = "Table not found"
	if got := contradictionsOf(o); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}
