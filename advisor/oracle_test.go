package advisor_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/jsonl/jsonltest"
	"github.com/hs2proxy/hs2proxy/advisor/oracle"
)

// recordedCases are the decisions of the real planner that the repository carries.
const recordedCases = "testdata/cases.jsonl.gz"

func planJoins(t testing.TB, c *oracle.Case) []advisor.Join {
	t.Helper()
	joins, err := c.PlanJoins()
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	return joins
}

// TestOracleSteps checks the order of attempts apart from the estimates (sizes and distinct keys are the planner's own), and the
// estimates that no verdict shows.
func TestOracleSteps(t *testing.T) {
	cases := jsonltest.Read[*oracle.Case](t, recordedCases)
	if jsonltest.HasShared() {
		cases = append(cases, jsonltest.Shared[*oracle.Case](t, "oracle/cases.jsonl.gz")...)
	}
	a := oracle.Agreement{Differs: func(kind, sentence string) { t.Errorf("%s: %s", kind, sentence) }}
	buckets, reducers, keys := 0, 0, 0
	for _, c := range cases {
		joins, s, err := c.Joins()
		if len(joins) != len(c.Truth) {
			t.Errorf("%s: %d joins, the planner decided %d (%v)", c.ID, len(joins), len(c.Truth), err)
			continue
		}
		for i := range joins {
			j, want := &joins[i], &c.Truth[i]
			where := fmt.Sprintf("%s join %d", c.ID, i)
			if want.Buckets != nil {
				got := int64(1)
				if s.BucketMapJoin {
					got = advisor.BucketEstimate(j)
				}
				buckets++
				if got != *want.Buckets {
					t.Errorf("%s: %d buckets estimated, by the planner %d", where, got, *want.Buckets)
				}
			}
			if want.Buckets != nil && want.Reducers != nil {
				reducers++
				if got := advisor.ReducersFor(j, &s); got != *want.Reducers {
					t.Errorf("%s: %d reducers, by the planner %d", where, got, *want.Reducers)
				}
			}
			for _, n := range want.NDVs {
				keys++
				if got, known := advisor.DistinctKeys(&j.Inputs[n.Input]); !known || got != n.NDV {
					t.Errorf("%s input %d: %d distinct keys (%t), by the planner %d", where, n.Input, got, known, n.NDV)
				}
			}
			witness(j, want)
			d := advisor.Decide(j, &s)
			a.Compare(where, want, j, &d)
		}
	}
	t.Logf("%s buckets=%d reducers=%d distinct_keys=%d", &a, buckets, reducers, keys)
	if a.Joins < 500 || buckets == 0 || reducers == 0 || keys == 0 {
		t.Error("too little was compared")
	}
}

// witness gives a join the planner's own numbers.
func witness(j *advisor.Join, truth *oracle.Join) {
	for _, in := range truth.Inputs {
		j.Inputs[in.Pos].OnlineDataSize = new(in.OnlineSize)
	}
	for _, n := range truth.NDVs {
		if in := &j.Inputs[n.Input]; len(in.Keys) == 1 {
			in.Keys[0].NDV = new(n.NDV)
		}
	}
}

// TestFidelityOfRegressionCases: on decisions of a real planner the comparison finds no difference, and finds one that is made.
func TestFidelityOfRegressionCases(t *testing.T) {
	matched, sizes, entries := 0, 0, 0
	for _, c := range jsonltest.Read[*oracle.Case](t, recordedCases) {
		if len(c.Truth) != 1 { // equal inputs could be taken for each other
			continue
		}
		joins, s, err := c.Joins()
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		w := advisor.ParseWitness(c.Log)
		decision := w.Attach(joins)[0]
		v := advisor.Judge(joins[0], s)
		f := advisor.Compare(&v, decision, 0)
		if f == nil {
			t.Errorf("%s: no decision", c.ID)
			continue
		}
		matched++
		sizes += len(f.Sizes)
		entries += len(f.Entries)
		if !f.Budget.Equal() || f.Strategy != joins[0].Strategy {
			t.Errorf("%s: %s", c.ID, shown(f))
		}
		for _, in := range slices.Concat(f.Sizes, f.Entries) {
			if !in.Equal() || !in.Near() {
				t.Errorf("%s: %s", c.ID, shown(f))
			}
		}
		s.NoConditionalTaskSize += 1 << 20
		if v = advisor.Judge(joins[0], s); advisor.Compare(&v, decision, 0).Budget.Equal() {
			t.Errorf("%s: a megabyte more makes no difference", c.ID)
		}
	}
	t.Logf("%d joins, %d sizes, %d numbers of keys", matched, sizes, entries)
	if matched < 300 || sizes < 500 || entries < 100 {
		t.Errorf("only %d joins, %d sizes, %d numbers of keys were compared", matched, sizes, entries)
	}
}

func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
