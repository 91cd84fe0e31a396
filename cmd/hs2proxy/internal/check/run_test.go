package check

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/store"
)

// crowd lets a statement go on when so many are there at once, and the last ones when all others are through.
type crowd struct {
	mu        sync.Mutex
	full      chan struct{}
	here      int
	most      int
	together  int
	explained []string
}

func (c *crowd) Explain(_ context.Context, s Statement) (Judged, error) {
	c.mu.Lock()
	c.here++
	c.most = max(c.most, c.here)
	if c.here == c.together {
		select {
		case <-c.full:
		default:
			close(c.full)
		}
	}
	c.mu.Unlock()
	<-c.full
	c.mu.Lock()
	defer c.mu.Unlock()
	c.here--
	c.explained = append(c.explained, s.SQL)
	if strings.Contains(s.SQL, "t7") {
		return Judged{}, errors.New(" refused\n")
	}
	return judged(verdict(0, advisor.MapJoin, 0, "d."+s.SQL[len("select * from "):], "d.u")), nil
}

func TestRunKeepsTheOrderAndTheBound(t *testing.T) {
	var script strings.Builder
	for i := range 20 {
		fmt.Fprintf(&script, "select * from t%d;\n", i)
	}
	script.WriteString("create table x (a int);\nuse ${x};\nselect * from last;")
	c := &crowd{full: make(chan struct{}), together: 3}
	out, err := Run(t.Context(), c, Read("a.sql", script.String(), Session{}), 3)
	if err != nil || len(out) != 22 || c.most != 3 || len(c.explained) != 20 {
		t.Fatalf("%d outcomes, %v; %d at once, %d explained", len(out), err, c.most, len(c.explained))
	}
	for i := range 20 {
		want := fmt.Sprintf("d.t%d", i)
		switch {
		case i == 7:
			if out[i].Error != "refused" {
				t.Errorf("statement 7: %+v", out[i])
			}
		case out[i].Line != i+1 || out[i].Error != "" || out[i].Joins[0].Join.Inputs[0].Tables[0] != want:
			t.Errorf("statement %d: %+v", i, out[i])
		}
	}
	if out[20].Skipped == "" || !strings.Contains(out[21].Error, "USE at line 22") {
		t.Errorf("the last two: %+v", out[20:])
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, answers{}, Read("a.sql", "select * from t", Session{}), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

type analyzer func(pipeline.Query) (*store.Analysis, error)

func (a analyzer) Analyze(_ context.Context, q pipeline.Query) (*store.Analysis, error) { return a(q) }

func TestLiveAsksInTheStatementsSession(t *testing.T) {
	st := Read("a.sql", "set a=1; use d; create table t as select * from x join y", Session{})[0]
	var asked pipeline.Query
	got, err := Live{analyzer(func(q pipeline.Query) (*store.Analysis, error) {
		asked = q
		return &store.Analysis{Joins: []advisor.JoinVerdict{verdict(0, advisor.SMB, 0, "d.x", "d.y")}, Findings: []advisor.Finding{{Kind: "k"}}}, nil
	})}.Explain(t.Context(), st)
	if err != nil || len(got.Joins) != 1 || len(got.Findings) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if asked.SQL != st.SQL || asked.Fallback != "select * from x join y" || asked.Target.Database != "d" || asked.Target.Settings["a"] != "1" || asked.Target.Session != nil {
		t.Errorf("asked %+v", asked)
	}
	for _, a := range []analyzer{
		func(pipeline.Query) (*store.Analysis, error) { return &store.Analysis{Error: "no such table"}, nil },
		func(pipeline.Query) (*store.Analysis, error) { return nil, errors.New("no such table") },
	} {
		if _, err := (Live{a}).Explain(t.Context(), st); err == nil || err.Error() != "no such table" {
			t.Errorf("error %v", err)
		}
	}
}

func TestSavedFindsThePlan(t *testing.T) {
	plan := func(table string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(strings.ReplaceAll(savedPlan, "TABLE", table))}
	}
	saved := Saved{Plans: fstest.MapFS{"d/a.plan": plan("one"), "d/a.3.plan": plan("three"), "b.1.plan": plan("other"), "c.plan": {Data: []byte("no plan")}}}
	for _, tt := range []struct {
		st    Statement
		table string
		err   string
	}{
		{Statement{File: "d/a.sql", Ordinal: 1}, "one", ""},
		{Statement{File: "d/a.sql", Ordinal: 2}, "", "there is no plan d/a.2.plan"},
		{Statement{File: "d/a.sql", Ordinal: 3}, "three", ""},
		{Statement{File: "b.hql", Ordinal: 1}, "other", ""},
		{Statement{File: "e.sql", Ordinal: 1}, "", "there is no plan e.plan or e.1.plan"},
		{Statement{File: "c.sql", Ordinal: 1}, "", "the plan could not be read"},
	} {
		got, err := saved.Explain(t.Context(), tt.st)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v, want %q", tt.st.File, err, tt.err)
			}
		case err != nil || len(got.Joins) != 1 || got.Joins[0].Join.Strategy != advisor.MergeJoin || got.Joins[0].Join.Inputs[0].Alias != tt.table:
			t.Errorf("%s: %+v, %v", tt.st.File, got, err)
		}
	}
}

// savedPlan is EXPLAIN output in the form of Hive 4.
const savedPlan = `STAGE DEPENDENCIES:
  Stage-1 is a root stage

STAGE PLANS:
  Stage: Stage-1
    Tez
      Edges:
        Reducer 2 <- Map 1 (SIMPLE_EDGE), Map 3 (SIMPLE_EDGE)
      Vertices:
        Map 1 
            Map Operator Tree:
                TableScan
                  alias: TABLE
                  Statistics: Num rows: 1000 Data size: 8000 Basic stats: COMPLETE Column stats: COMPLETE
                  Reduce Output Operator
                    key expressions: k (type: bigint)
                    sort order: +
                    Map-reduce partition columns: k (type: bigint)
                    Statistics: Num rows: 1000 Data size: 8000 Basic stats: COMPLETE Column stats: COMPLETE
        Map 3 
            Map Operator Tree:
                TableScan
                  alias: b
                  Statistics: Num rows: 30 Data size: 240 Basic stats: COMPLETE Column stats: COMPLETE
                  Reduce Output Operator
                    key expressions: k (type: bigint)
                    sort order: +
                    Map-reduce partition columns: k (type: bigint)
                    Statistics: Num rows: 30 Data size: 240 Basic stats: COMPLETE Column stats: COMPLETE
        Reducer 2 
            Reduce Operator Tree:
              Merge Join Operator
                condition map:
                     Inner Join 0 to 1
                keys:
                  0 k (type: bigint)
                  1 k (type: bigint)
                outputColumnNames: _col0
                Statistics: Num rows: 1000 Data size: 8000 Basic stats: COMPLETE Column stats: COMPLETE
                File Output Operator
                  compressed: false
`
