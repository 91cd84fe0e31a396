package advisor_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// countedLog is the end of a log of Hive 4 with hive.tez.exec.print.summary, as Beeline prints it.
const countedLog = `INFO  : org.apache.tez.common.counters.TaskCounter:
INFO  :    OUTPUT_RECORDS: 7
INFO  : HIVE:
INFO  :    CREATED_FILES: 1
INFO  :    DESERIALIZE_ERRORS: 0
INFO  :    RECORDS_IN_Map_1: 98911960
INFO  :    RECORDS_OUT_0: 1
INFO  :    RECORDS_OUT_INTERMEDIATE_Map_1: 7
INFO  :    RECORDS_OUT_OPERATOR_FS_11: 1
INFO  :    RECORDS_OUT_OPERATOR_GBY_10: 1
INFO  :    RECORDS_OUT_OPERATOR_MAP_0: 0
INFO  :    RECORDS_OUT_OPERATOR_TS_0: 98914484
INFO  : org.apache.hadoop.hive.ql.exec.tez.HiveInputCounters:
INFO  :    GROUPED_INPUT_SPLITS_Map_1: 7
INFO  : Completed executing command(queryId=hive_20260420081748_a); Time taken: 38.905 seconds
`

func TestParseOperatorRows(t *testing.T) {
	summary := advisor.OperatorRows{"FS_11": 1, "GBY_10": 1, "MAP_0": 0, "TS_0": 98914484}
	for name, c := range map[string]struct {
		log  string
		want advisor.OperatorRows
	}{
		"a summary":             {countedLog, summary},
		"with carriage returns": {strings.ReplaceAll(countedLog, "\n", "\r\n"), summary},
		"what the relay keeps":  {"RECORDS_OUT_OPERATOR_TS_0: 5\nRECORDS_OUT_OPERATOR_LIST_SINK_10: 4", advisor.OperatorRows{"TS_0": 5, "LIST_SINK_10": 4}},
		"two DAGs, one again":   {"   RECORDS_OUT_OPERATOR_TS_0: 5\n   RECORDS_OUT_OPERATOR_TS_7: 8\n   RECORDS_OUT_OPERATOR_TS_0: 6\n", advisor.OperatorRows{"TS_0": 6, "TS_7": 8}},
		"a task's figures":      {"exec.TableScanOperator: RECORDS_OUT_OPERATOR_TS_3:100, RECORDS_OUT_INTERMEDIATE:0, \n", nil},
		"no numbers":            {"RECORDS_OUT_OPERATOR_TS_0: many\nRECORDS_OUT_OPERATOR_TS_0: -1\nRECORDS_OUT_OPERATOR_TS_0: 99999999999999999999\n", nil},
		"no identifiers":        {"RECORDS_OUT_OPERATOR_: 1\nRECORDS_OUT_OPERATOR_TS: 1\nRECORDS_OUT_OPERATOR_TS_: 1\nRECORDS_OUT_OPERATOR__1: x\nRECORDS_OUT_OPERATOR_TS_x: 1\n", nil},
		"nothing":               {"", nil},
	} {
		if got := advisor.ParseOperatorRows(c.log); !maps.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestQError(t *testing.T) {
	for _, c := range []struct {
		estimated, actual int64
		want              float64
	}{{10, 10, 1}, {10, 100, 10}, {100, 10, 10}, {0, 0, 1}, {0, 5, 5}, {5, 0, 5}, {1, 0, 1}, {-1, 4, 4}} {
		if got := advisor.QError(c.estimated, c.actual); got != c.want {
			t.Errorf("%d against %d: %g, want %g", c.estimated, c.actual, got, c.want)
		}
	}
}

func goldenText(t *testing.T, name, form string) *explain.Plan {
	t.Helper()
	for _, f := range goldenHive(t) {
		if strings.TrimSuffix(filepath.Base(f.path), ".txtar") == name {
			p, err := explain.Parse(f.section(form))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("no golden plan %s", name)
	return nil
}

// TestAnnotate: counters meet the operators of a plan by identifier, also those of other vertices.
func TestAnnotate(t *testing.T) {
	rows := advisor.OperatorRows{"TS_3": 20_000, "SEL_18": 4_000_000, "TS_0": 5_000_000, "MAPJOIN_22": 7, "RS_19": 20_000, "MAP_0": 0}
	p := goldenText(t, "map_join_inner", "user")
	if n := rows.Annotate(p); n != 4 {
		t.Errorf("%d operators were counted", n)
	}
	want := []advisor.OperatorActual{
		{"MAPJOIN_22", "Map Join Operator", "Map 1", 40_000, 7},
		{"SEL_18", "Select Operator", "Map 2", 20_000, 4_000_000},
		{"TS_0", "TableScan", "Map 1", 5_000_000, 5_000_000},
		{"TS_3", "TableScan", "Map 2", 20_000, 20_000},
	}
	if got := advisor.OperatorActuals(p); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if in := advisor.Joins(p)[0].Inputs[1]; in.Rows != 20_000 || in.ActualRows() != 4_000_000 {
		t.Errorf("input of %d rows, counted %d", in.Rows, in.ActualRows())
	}
	if e := goldenText(t, "map_join_inner", "extended"); rows.Annotate(e) != 0 || advisor.OperatorActuals(e) != nil {
		t.Error("a plan without identifiers was counted")
	}
}

// TestOperatorActualsOfAnalyze reads what EXPLAIN ANALYZE prints.
func TestOperatorActualsOfAnalyze(t *testing.T) {
	user, err := explain.Parse(`Plan optimized by CBO.

Vertex dependency in root stage
Reducer 2 <- Map 1 (SIMPLE_EDGE)

Stage-0
  Fetch Operator
    limit:-1
    Stage-1
      Reducer 2
      File Output Operator [FS_6]
        Group By Operator [GBY_4] (rows=25/319 width=8)
          Output:["_col0"],keys:KEY._col0
        <-Map 1 [SIMPLE_EDGE]
          SHUFFLE [RS_3]
            PartitionCols:_col0
            TableScan [TS_0] (rows=500/500 width=8)
              default@src,src,Tbl:COMPLETE,Col:COMPLETE,Output:["key"]
`)
	if err != nil {
		t.Fatal(err)
	}
	got := advisor.OperatorActuals(user)
	if len(got) != 2 || got[0].ID != "GBY_4" || got[0].Actual != 319 || got[0].QError() != 319.0/25 || got[0].Vertex != "Reducer 2" || got[1].QError() != 1 {
		t.Errorf("got %+v", got)
	}
	plain, err := explain.Parse(`STAGE DEPENDENCIES:
  Stage-1 is a root stage
STAGE PLANS:
  Stage: Stage-1
    Tez
      Vertices:
        Map 1 
            Map Operator Tree:
                TableScan
                  alias: src
                  Statistics: Num rows: 500/37 Data size: 4000 Basic stats: COMPLETE Column stats: COMPLETE
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := advisor.OperatorActuals(plain); len(got) != 1 || got[0] != (advisor.OperatorActual{"#1", "TableScan", "Map 1", 500, 37}) {
		t.Errorf("got %+v", got)
	}
}

// TestWrittenRows: the estimate of what an INSERT writes; none of a query, nor of a multi-insert.
func TestWrittenRows(t *testing.T) {
	for _, name := range []string{"map_join_inner", "shape_multi_insert"} {
		if got := advisor.WrittenRows(goldenText(t, name, "extended")); got != -1 {
			t.Errorf("%s: %d rows written", name, got)
		}
	}
	insert, err := explain.Parse(`STAGE DEPENDENCIES:
  Stage-1 is a root stage
STAGE PLANS:
  Stage: Stage-1
    Tez
      Vertices:
        Map 1 
            Map Operator Tree:
                TableScan
                  alias: s
                  Statistics: Num rows: 10 Data size: 40 Basic stats: COMPLETE Column stats: COMPLETE
                  GatherStats: false
                  File Output Operator
                    compressed: false
                    Statistics: Num rows: 10 Data size: 40 Basic stats: COMPLETE Column stats: COMPLETE
                    GatherStats: true
                  Group By Operator
                    Statistics: Num rows: 1 Data size: 4 Basic stats: COMPLETE Column stats: COMPLETE
                    File Output Operator
                      Statistics: Num rows: 1 Data size: 4 Basic stats: COMPLETE Column stats: COMPLETE
                      GatherStats: false
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := advisor.WrittenRows(insert); got != 10 {
		t.Errorf("%d rows", got)
	}
}

func FuzzParseOperatorRows(f *testing.F) {
	f.Add(countedLog)
	f.Add("RECORDS_OUT_OPERATOR_RECORDS_OUT_OPERATOR_TS_0: 1")
	f.Fuzz(func(t *testing.T, log string) {
		rows := advisor.ParseOperatorRows(log)
		for id, n := range rows {
			if n < 0 || id == "" || !strings.Contains(log, "RECORDS_OUT_OPERATOR_"+id+": ") {
				t.Fatalf("%q: %d", id, n)
			}
		}
		if (rows == nil) != (len(rows) == 0) {
			t.Fatal("empty")
		}
	})
}
