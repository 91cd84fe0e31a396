package dynamicfilter

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/jsonl/jsonltest"
	"github.com/hs2proxy/hs2proxy/advisor/oracle"
)

// eachCase reads the cases kept in the repository, and the shared ones where HS2PROXY_SHARED names their folder.
func eachCase(t *testing.T, visit func(*oracle.Case)) {
	t.Helper()
	cases := jsonltest.Read[oracle.Case](t, "../testdata/cases.jsonl.gz")
	if jsonltest.HasShared() {
		cases = append(cases, jsonltest.Shared[oracle.Case](t, "oracle/cases.jsonl.gz")...)
	}
	for i := range cases {
		visit(&cases[i])
	}
}

func queryOf(t *testing.T, c *oracle.Case, text string) (advisor.Query, bool) {
	t.Helper()
	plan, err := explain.Parse(text)
	if err != nil {
		return advisor.Query{}, false // Hive refused the query
	}
	q := advisor.Query{Plan: plan, Settings: advisor.NewSettings(c.Settings)}
	joins := advisor.Joins(plan)
	q.Tables = c.Stats(joins)
	advisor.EnrichFor(joins, q.Tables, &q.Settings)
	for _, j := range joins {
		q.Verdicts = append(q.Verdicts, advisor.Judge(j, q.Settings))
	}
	return q, true
}

// TestNothingContradictsThePlan: every filter of a real plan is found and never called absent, the rules that keep filters out do not keep
// out those that Hive planned, and they explain nearly all that Hive did not plan.
func TestNothingContradictsThePlan(t *testing.T) {
	states := map[State]int{}
	causes := map[Cause]int{}
	unexplained, plans := 0, 0
	eachCase(t, func(c *oracle.Case) {
		for form, text := range map[string]string{"extended": c.Extended, "plain": c.Plain, "user": c.User} {
			q, ok := queryOf(t, c, text)
			if !ok || q.Plan.Engine != explain.EngineTez {
				continue
			}
			plans++
			list := Of(q)
			noValueIsCalledAbsent(t, c.ID+" "+form, &q, list)
			for i := range list {
				f := &list[i]
				where := fmt.Sprintf("%s %s join %d %s %d to %d %s.%v", c.ID, form, f.Join, f.Kind, f.Producer, f.Consumer, f.Alias, f.Columns)
				if form != "extended" { // the others print neither tables nor all statistics
					continue
				}
				states[f.State]++
				switch {
				case f.State == Absent && len(f.Reasons) == 0:
					unexplained++
					t.Logf("%s is absent for no reason known here", where)
				case f.State == Absent:
					causes[f.Reasons[0].Cause]++
				case f.State == Present && !slices.Contains(f.By, "probe decode") && len(q.Verdicts) == 1 && len(q.Verdicts[0].Join.Inputs) == 2:
					// With three tables and more, Hive shares branches of filters and overlooks some rules.
					d := deciding{query: &q, filter: f, all: list, join: joinOf(&q, f.Join)}
					for _, r := range d.reasons() {
						t.Errorf("%s is in the plan, which the rule %s forbids: %s", where, r.Cause, r.Text)
					}
				}
			}
			for _, found := range Find(q) {
				if found.Kind == FilterMissing || found.Kind == PruningMissing {
					agrees(t, c.ID+" "+form, &q, list, found)
				}
			}
		}
	})
	t.Logf("%d plans: %v, first causes %v, %d unexplained", plans, states, causes, unexplained)
	if plans < 500 {
		t.Errorf("only %d plans", plans)
	}
	if states[Present] < 20 || unexplained*100 > states[Absent] {
		t.Errorf("%d present; of %d absent %d unexplained", states[Present], states[Absent], unexplained)
	}
}

// noValueIsCalledAbsent: a scan with a value of run time on a column has no candidate of that column alone that is called absent while no
// other candidate accounts for the value.
func noValueIsCalledAbsent(t *testing.T, where string, q *advisor.Query, list []Filter) {
	t.Helper()
	m := read(q.Plan)
	for scan, vs := range m.values {
		for _, v := range vs {
			candidates, absent := 0, 0
			for i := range list {
				f := &list[i]
				if f.scan.Operator != scan || f.Kind != Semijoin || !slices.ContainsFunc(f.Columns, func(c string) bool { return slices.Contains(v.columns, c) }) {
					continue
				}
				candidates++
				if f.State == Absent {
					absent++
				}
			}
			if candidates > 0 && absent == candidates {
				t.Errorf("%s: %v is in the plan, and all %d candidates are called absent", where, v, candidates)
			}
		}
	}
}

// agrees: a finding that says a filter is missing is about one whose scan has no such value.
func agrees(t *testing.T, where string, q *advisor.Query, list []Filter, found advisor.Finding) {
	t.Helper()
	table, _ := found.Evidence["alias"].(string)
	columns, _ := found.Evidence["columns"].([]string)
	ok := false
	for i := range list {
		f := &list[i]
		ok = ok || f.Alias == table && slices.Equal(f.Columns, columns) && f.State == Absent && joinOf(q, f.Join).Subject() == found.Subject
	}
	if !ok {
		t.Errorf("%s: no absent filter behind %+v", where, found)
	}
}
