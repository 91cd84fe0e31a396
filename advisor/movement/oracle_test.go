package movement

import (
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/jsonl/jsonltest"
)

// oracleCase is a query and what the planner of Hive 4.0.1 made of it.
type oracleCase struct {
	ID       string            `json:"id"`
	Settings map[string]string `json:"settings"`
	Extended string            `json:"explain_extended"`
	Truth    []struct {
		Strategy advisor.Strategy `json:"strategy"`
	} `json:"truth"`
}

// eachCase reads the cases kept in the repository, and the shared ones where HS2PROXY_SHARED names their folder.
func eachCase(t *testing.T, visit func(oracleCase)) {
	t.Helper()
	cases := jsonltest.Read[oracleCase](t, "../testdata/cases.jsonl.gz")
	if jsonltest.HasShared() {
		cases = append(cases, jsonltest.Shared[oracleCase](t, "oracle/cases.jsonl.gz")...)
	}
	for _, c := range cases {
		visit(c)
	}
}

// TestNothingContradictsThePlan: what the planner did is among the ways that are said to be possible, and no finding is about another way
// than the plan's.
func TestNothingContradictsThePlan(t *testing.T) {
	ways := map[advisor.Strategy]Way{
		advisor.MapJoin: Broadcast, advisor.BucketMapJoin: SingleSided, advisor.SMB: CoLocated, advisor.DPHJ: Redistribute, advisor.MergeJoin: Redistribute,
	}
	joins, described := 0, 0
	counted := map[advisor.FindingKind]int{}
	eachCase(t, func(c oracleCase) {
		if len(c.Truth) == 0 {
			return
		}
		plan, err := explain.Parse(c.Extended)
		if err != nil {
			t.Fatal(err)
		}
		q := advisor.Query{Plan: plan, Settings: advisor.NewSettings(c.Settings)}
		if q.Settings.Nodes == 0 {
			q.Settings.Nodes = 20
		}
		for i, j := range advisor.Joins(plan) {
			v := advisor.Judge(j, q.Settings)
			q.Verdicts = append(q.Verdicts, v)
			cost := Of(v, q.Settings.Nodes, 0)
			if joins++; !cost.Known() {
				continue
			}
			if Describe(cost) != "" {
				described++
			}
			want := ways[c.Truth[i].Strategy]
			if cost.Planned != want {
				t.Errorf("%s join %d: planned %s, the planner %s", c.ID, i, cost.Planned, c.Truth[i].Strategy)
			}
			if o := cost.Option(want); !o.Allowed && keyed(&j) {
				t.Errorf("%s join %d: a %s is said to be impossible: %s", c.ID, i, c.Truth[i].Strategy, o.Why)
			}
			if cost.Ratio != 0 && cost.Ratio < 1 {
				t.Errorf("%s join %d: %+v", c.ID, i, cost)
			}
			for pos := range j.Inputs {
				if unused := j.Inputs[pos].Unused(); len(unused) > 0 {
					counted["unused"]++
					crosses(t, c.ID, &j.Inputs[pos], unused)
					t.Logf("%s join %d input %d: unused %v", c.ID, i, pos, unused)
				}
			}
		}
		for _, f := range Find(q) {
			counted[f.Kind]++
			v := &q.Verdicts[0]
			for i := range q.Verdicts {
				if q.Verdicts[i].Join.Subject() == f.Subject {
					v = &q.Verdicts[i]
				}
			}
			broadcast := f.Kind == BroadcastCostsMore || f.Kind == BroadcastOverMemory || f.Kind == BroadcastActualDwarfsEstimate
			if f.Kind != WideRows && broadcast != (v.Join.Strategy == advisor.MapJoin) {
				t.Errorf("%s: %s about a %s", c.ID, f.Kind, v.Join.Strategy)
			}
		}
	})
	if joins < 500 || described < joins*9/10 {
		t.Errorf("%d joins, %d described", joins, described)
	}
	t.Logf("%d joins, %d described, findings %v", joins, described, counted)
}

// crosses: what is said to cross an exchange is among what the plan sends over it.
func crosses(t *testing.T, id string, in *advisor.Input, unused []string) {
	t.Helper()
	_, below := in.Operators()
	if len(below) == 0 || !strings.HasPrefix(below[0].Kind, "Reduce Output") {
		return
	}
	keys, _ := below[0].Attr("key expressions")
	values, _ := below[0].Attr("value expressions")
	for _, name := range unused {
		if !strings.Contains(keys+values, name) {
			t.Errorf("%s: %s is said to be sent, of %s, %s", id, name, keys, values)
		}
	}
}
