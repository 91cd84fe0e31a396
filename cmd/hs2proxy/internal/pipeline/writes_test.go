package pipeline

import (
	"testing"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

func TestWritesOf(t *testing.T) {
	type write struct {
		table   string
		op      hiveql.WriteOp
		rows    int64 // 0: not counted
		columns bool
	}
	tests := map[string]struct {
		sql      string
		modified *int64
		want     []write
	}{
		"insert":         {"INSERT INTO t VALUES (1)", new(int64(3)), []write{{"shop.t", hiveql.WriteInsertInto, 3, false}}},
		"other database": {"INSERT INTO Web.Clicks SELECT * FROM t", new(int64(3)), []write{{"web.clicks", hiveql.WriteInsertInto, 3, false}}},
		"overwrite":      {"INSERT OVERWRITE TABLE t SELECT * FROM u", new(int64(9)), []write{{"shop.t", hiveql.WriteInsertOverwrite, 9, false}}},
		"zero rows":      {"INSERT INTO t SELECT * FROM u", new(int64(0)), []write{{"shop.t", hiveql.WriteInsertInto, 0, false}}},
		"unknown rows":   {"INSERT INTO t SELECT * FROM u", nil, []write{{"shop.t", hiveql.WriteInsertInto, 0, false}}},
		"ctas":           {"CREATE TABLE n AS SELECT * FROM u", new(int64(4)), []write{{"shop.n", hiveql.WriteCreate, 4, false}}},
		"truncate":       {"TRUNCATE TABLE t", new(int64(4)), []write{{"shop.t", hiveql.WriteTruncate, 0, false}}},
		"delete":         {"DELETE FROM t WHERE a = 1", new(int64(4)), []write{{"shop.t", hiveql.WriteDelete, 0, false}}},
		"alter columns":  {"ALTER TABLE t ADD COLUMNS (z int)", new(int64(4)), []write{{"shop.t", hiveql.WriteAlterColumns, 0, true}}},
		"nothing":        {"SELECT * FROM t", new(int64(4)), nil},
		"multi-insert": {"FROM u INSERT INTO TABLE t SELECT a INSERT INTO TABLE web.v SELECT b", new(int64(8)), []write{
			{"shop.t", hiveql.WriteInsertInto, 0, false}, {"web.v", hiveql.WriteInsertInto, 0, false},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			st := statement("1", test.sql)
			st.State, st.ModifiedRows = intercept.StateFinished, test.modified
			got := writesOf(st)
			if len(got) != len(test.want) {
				t.Fatalf("got %+v", got)
			}
			for i, w := range test.want {
				g := got[i]
				rows := int64(0)
				if g.Rows != nil {
					rows = *g.Rows
				}
				if g.Table != w.table || g.Op != w.op || g.ColumnsChanged != w.columns || rows != w.rows || (g.Rows != nil) != (w.rows > 0) {
					t.Errorf("got %+v, want %+v", g, w)
				}
			}
		})
	}
}

// A statement that failed behind its writing wrote all the same; one that was refused, or failed while it ran, wrote nothing.
func TestWritesOfFailedStatements(t *testing.T) {
	for message, want := range map[string]int{
		"FAILED: Execution Error, return code 1 from org.apache.hadoop.hive.ql.exec.StatsTask. MetaException(message:Unable to update Column stats for  t)": 1,
		"FAILED: Execution Error, return code 40000 from org.apache.hadoop.hive.ql.exec.MoveTask. Unable to move":                                           1,
		"FAILED: Execution Error, return code 2 from org.apache.hadoop.hive.ql.exec.tez.TezTask. Vertex failed":                                             0,
		"Error while compiling statement: FAILED: SemanticException [Error 10001]: Table not found t":                                                       0,
	} {
		st := statement("1", "INSERT INTO t VALUES (1)")
		st.State, st.ErrorMessage, st.ModifiedRows = intercept.StateError, message, new(int64(1))
		got := writesLeft(st)
		if len(got) != want || want == 1 && (got[0].Table != "shop.t" || got[0].Rows != nil) {
			t.Errorf("%s: %+v, want %d writes without rows", message, got, want)
		}
	}
}

// A write whose rows nobody knows raises a suspicion of the tables that are judged; without a Watch of none.
func TestSuspectedWrites(t *testing.T) {
	p := newPost(t, statscheck.Thresholds{Tables: []statscheck.TableThresholds{{Pattern: "scratch.*", Off: true}}})
	for _, c := range []struct {
		sql    string
		rows   *int64
		judged func(string) bool
		want   bool
	}{
		{"TRUNCATE TABLE shop.t", nil, p.Judges, true},
		{"TRUNCATE TABLE scratch.t", nil, p.Judges, false},
		{"TRUNCATE TABLE shop.t", nil, nil, false},
		{"INSERT INTO shop.t VALUES (1)", new(int64(1)), p.Judges, false},
		{"INSERT INTO shop.t VALUES (1)", nil, p.Judges, true},
	} {
		var got []Record
		r := NewRecorder(RecorderConfig{Judged: c.judged, Record: func(r Record) { got = append(got, r) }, Log: quiet()}, &Counters{})
		st := statement("1", c.sql)
		st.State, st.ModifiedRows = intercept.StateFinished, c.rows
		r.hand(&store.Observation{Statement: *st})
		if len(got) != 1 || len(got[0].Observation.Writes) != 1 || got[0].Observation.Writes[0].Suspect != c.want {
			t.Errorf("%s: %+v", c.sql, got)
		}
	}
}
