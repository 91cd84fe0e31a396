package pipeline

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/movement"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// mapJoinUser is the user-level text of mapJoinPlan; ~ stands for the rows that come out of the filter of t.
const mapJoinUser = `Plan optimized by CBO.

Vertex dependency in root stage
Map 2 <- Map 1 (BROADCAST_EDGE)

Stage-0
  Fetch Operator
    limit:-1
    Stage-1
      Map 2 vectorized
      File Output Operator [FS_24]
        Select Operator [SEL_23] (rows=2 width=93)
          Output:["_col0","_col1"]
          Map Join Operator [MAPJOIN_22] (rows=2 width=93)
            Conds:RS_19._col0=SEL_21._col0(Inner),Output:["_col0","_col2"]
          <-Map 1 [BROADCAST_EDGE] vectorized
            BROADCAST [RS_19]
              PartitionCols:_col0
              Select Operator [SEL_18] (rows=2~ width=4)
                Output:["_col0"]
                Filter Operator [FIL_17] (rows=2~ width=4)
                  predicate:a is not null
                  TableScan [TS_0] (rows=2~ width=4)
                    shop@t,t,Tbl:COMPLETE,Col:COMPLETE,Output:["a"]
          <-Select Operator [SEL_21] (rows=2 width=93)
              Output:["_col0","_col1"]
              Filter Operator [FIL_20] (rows=2 width=93)
                predicate:a is not null
                TableScan [TS_3] (rows=2 width=93)
                  shop@u,u,Tbl:COMPLETE,Col:COMPLETE,Output:["a","b"]`

func lines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }

// plans answers each form of EXPLAIN as Hive does.
func (h *hive2) plans(analyzed string) {
	h.set(func() {
		h.mu.reply = func(sql string) answer {
			switch {
			case strings.HasPrefix(sql, "EXPLAIN EXTENDED "):
				return answer{rows: lines(mapJoinPlan)}
			case strings.HasPrefix(sql, "EXPLAIN ANALYZE "):
				return answer{rows: lines(strings.ReplaceAll(mapJoinUser, "~", analyzed))}
			case strings.HasPrefix(sql, "EXPLAIN "):
				return answer{rows: lines(strings.ReplaceAll(mapJoinUser, "~", ""))}
			}
			return answer{}
		}
	})
}

// counts is what a client has fetched with a statement's log.
func (b *bench) counts(id string, counters ...string) {
	for i := range counters {
		counters[i] = "RECORDS_OUT_OPERATOR_" + counters[i]
	}
	b.events <- intercept.Event{Kind: intercept.StatementCounted, Session: &b.own, Statement: &intercept.Statement{
		ID: id, SessionID: b.own.Handle.ID(), OperatorCounters: strings.Join(counters, "\n"), State: intercept.StateRunning,
	}}
}

// actuals takes records up to the next with counted rows.
func (b *bench) actuals(t *testing.T) store.Actuals {
	t.Helper()
	for {
		if r := receive(t, b.records); r.Actuals != nil {
			return *r.Actuals
		}
	}
}

var shopCounters = []string{"MAP_0: 0", "TS_0: 600", "FIL_17: 500", "SEL_18: 500", "RS_19: 500", "TS_3: 2", "SEL_21: 2", "MAPJOIN_22: 2", "FS_24: 2"}

// TestCountersMeetTheirPlan: counters from a log are joined with the plan's operators, whether they come while the statement runs or
// after its end, and a broadcast of many times its estimate is found. The plan with identifiers is asked for once.
func TestCountersMeetTheirPlan(t *testing.T) {
	b := newBench(t, nil)
	b.server.plans("")
	b.begin(t)
	early, late := statement("1", joinSQL), statement("2", joinSQL)
	b.start(early)
	b.counts("1", slices.Clone(shopCounters[:3])...)
	b.counts("1", slices.Clone(shopCounters[3:])...)
	b.end(early)
	got := b.actuals(t)
	if got.StatementID != "1" || got.Upstream != "main" || got.Source != store.SourceCounters || got.Analysis != nil || got.Fingerprint != early.Info.Fingerprint || got.At.IsZero() {
		t.Errorf("got %+v", got)
	}
	wantOperators := []advisor.OperatorActual{
		{ID: "FIL_17", Kind: "Filter Operator", Vertex: "Map 1", Estimated: 2, Actual: 500},
		{ID: "MAPJOIN_22", Kind: "Map Join Operator", Vertex: "Map 2", Estimated: 2, Actual: 2},
		{ID: "SEL_18", Kind: "Select Operator", Vertex: "Map 1", Estimated: 2, Actual: 500},
		{ID: "SEL_21", Kind: "Select Operator", Vertex: "Map 2", Estimated: 2, Actual: 2},
		{ID: "TS_0", Kind: "TableScan", Vertex: "Map 1", Estimated: 2, Actual: 600},
		{ID: "TS_3", Kind: "TableScan", Vertex: "Map 2", Estimated: 2, Actual: 2},
	}
	if !slices.Equal(got.Operators, wantOperators) {
		t.Errorf("operators %+v", got.Operators)
	}
	if len(got.Findings) != 1 || got.Findings[0].Kind != movement.BroadcastActualDwarfsEstimate || got.Findings[0].Evidence["actual_rows"] != int64(500) || got.Findings[0].Doc == "" {
		t.Errorf("findings %+v", got.Findings)
	}

	b.start(late)
	b.end(late)
	b.counts("2", "TS_0: 3", "SEL_18: 3")
	if got := b.actuals(t); got.StatementID != "2" || len(got.Operators) != 2 || len(got.Findings) != 0 {
		t.Errorf("late: %+v", got)
	}
	b.counts("2", "TS_3: 9")
	if got := b.actuals(t); len(got.Operators) != 3 {
		t.Errorf("later: %+v", got)
	}

	b.counts("2", "TS_77: 1", "SEL_78: 2", "TS_79: 1", "SEL_80: 2")      // no plan of ours
	b.counts("3", "TS_0: 1")                                             // nobody's
	b.counts("1", "RECORDS_OUT_OPERATOR_TS_0:1, ", "TS_0", "TS_0: many") // no counters
	b.Stop(within(t))
	for len(b.records) > 0 {
		if r := <-b.records; r.Actuals != nil {
			t.Errorf("unwanted: %+v", r.Actuals)
		}
	}
	var user []*hiveserver.TExecuteStatementReq
	for _, r := range b.server.requests() {
		if !strings.HasPrefix(r.Statement, "EXPLAIN EXTENDED ") {
			user = append(user, r)
		}
	}
	// The second run reused the first's analysis, so it is the same plan.
	if len(user) == 0 || len(user) > 2 || user[0].Statement != "EXPLAIN "+joinSQL || !maps.Equal(user[0].ConfOverlay, map[string]string{client.AsyncCompile: "true", keyExplainUser: "true"}) {
		t.Errorf("asked %d times, %+v", len(user), user)
	}
}

// TestWrittenRowsMeetTheEstimate: rows modified stand beside the planner's estimate of what is written.
func TestWrittenRowsMeetTheEstimate(t *testing.T) {
	for name, c := range map[string]struct {
		modified, estimated *int64
		sql                 string
		want                bool
	}{
		"insert":       {new(int64(500)), new(int64(2)), "INSERT INTO t SELECT a FROM u", true},
		"no estimate":  {new(int64(500)), nil, "INSERT INTO t SELECT a FROM u", false},
		"not counted":  {nil, new(int64(2)), "INSERT INTO t SELECT a FROM u", false},
		"perhaps none": {new(int64(0)), new(int64(2)), "INSERT INTO t SELECT a FROM u", false},
		"two tables":   {new(int64(500)), new(int64(2)), "FROM u INSERT INTO t SELECT a INSERT INTO v SELECT b", false},
	} {
		var got []Record
		r := NewRecorder(RecorderConfig{Record: func(r Record) { got = append(got, r) }, Log: quiet()}, &Counters{})
		st := statement("1", c.sql)
		st.State, st.ModifiedRows, st.EndedAt = intercept.StateFinished, c.modified, time.Now()
		r.ran(&job{Observation: store.Observation{Session: sessionOf(nil), Statement: *st, Analysis: &store.Analysis{WrittenRows: c.estimated}}, ended: true})
		if (len(got) == 1) != c.want {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		if c.want && (got[0].Actuals.Source != store.SourceRowsModified || !slices.Equal(got[0].Actuals.Operators, []advisor.OperatorActual{
			{ID: "WRITE", Kind: "File Output Operator", Estimated: 2, Actual: 500},
		})) {
			t.Errorf("%s: %+v", name, got[0].Actuals)
		}
	}
}

// TestGrownTablesDwarfTheirBroadcast: rows seen written since the statistics make a broadcast many times its estimate.
func TestGrownTablesDwarfTheirBroadcast(t *testing.T) {
	plan, err := explain.Parse(mapJoinPlan)
	if err != nil {
		t.Fatal(err)
	}
	q := advisor.Query{Plan: plan}
	for _, j := range advisor.Joins(plan) {
		q.Verdicts = append(q.Verdicts, advisor.Judge(j, advisor.Settings{}))
	}
	for factor, want := range map[float64]int{0.01: 0, 1: 0, 9: 0, 10: 1, 1e30: 1} {
		found := dwarfed(q, map[string]float64{"shop.t": factor})
		if len(found) != want || want == 1 && (found[0].Kind != movement.BroadcastActualDwarfsEstimate || found[0].Evidence["counted_by"] == nil) {
			t.Errorf("grown by %g: %+v", factor, found)
		}
	}
	if found := dwarfed(q, map[string]float64{"shop.u": 100}); len(found) > 0 { // it is streamed
		t.Errorf("got %+v", found)
	}
}

// TestExplainAnalyze runs a SELECT in a session of our own and reads the counts.
func TestExplainAnalyze(t *testing.T) {
	server := startHive(t)
	a := shopAnalyzer(t, server, newFakeHive())
	server.plans("/500")
	q := shopQuery(server)
	got, err := a.ExplainAnalyze(within(t), q, time.Minute)
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	if got.Source != store.SourceExplainAnalyze || got.StatementID != "" || got.Analysis == nil || got.Fingerprint != "f" || len(got.Operators) != 3 ||
		got.Operators[0].Actual != 500 || len(got.Findings) != 1 {
		t.Errorf("got %+v", got)
	}
	asked := server.requests()
	last := asked[len(asked)-1]
	if last.Statement != "EXPLAIN ANALYZE "+joinSQL || last.ConfOverlay[keyExplainUser] != "true" || last.ConfOverlay[client.AsyncCompile] != "true" {
		t.Errorf("sent %q with %v", last.Statement, last.ConfOverlay)
	}
	if guid := [16]byte(last.SessionHandle.SessionId.GUID); guid == q.Target.Session.GUID {
		t.Error("it ran in the client's session")
	}
	server.wantOpen(t, 1)

	for _, sql := range []string{"INSERT INTO t SELECT 1", "DROP TABLE t", "FROM u INSERT INTO t SELECT a", "EXPLAIN SELECT 1", "SET x=1", "", "CREATE TABLE x AS SELECT 1"} {
		q.SQL = sql
		if _, err := a.ExplainAnalyze(within(t), q, time.Minute); !errors.Is(err, errNoSelect) {
			t.Errorf("%q: %v", sql, err)
		}
	}
	if n := len(server.requests()); n != len(asked) {
		t.Errorf("%d statements were sent", n-len(asked))
	}
}

// TestExplainAnalyzeNeedsACancel: where the server forbids what makes it possible to stop it, it is not run.
func TestExplainAnalyzeNeedsACancel(t *testing.T) {
	server := startHive(t)
	e := server.explainer(t, nil)
	server.set(func() {
		server.mu.refuse = func(r *hiveserver.TExecuteStatementReq) *hiveserver.TStatus {
			if _, ok := r.ConfOverlay[client.AsyncCompile]; ok {
				return refusedStatus(0, "Cannot modify "+client.AsyncCompile+" at runtime")
			}
			return nil
		}
	})
	for range 2 {
		if _, err := e.ExplainAnalyze(within(t), Target{}, "SELECT 1", time.Minute); !errors.Is(err, errNoCancel) {
			t.Errorf("got %v", err)
		}
	}
	if n := len(server.requests()); n != 1 {
		t.Errorf("%d statements were sent", n)
	}
	server.wantOpen(t, 0)
}
