package antijoin_test

import (
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/antijoin"
)

// notInPlan is the plan of an outer join with the counts that Hive makes for NOT IN.
func notInPlan() string {
	return strings.Replace(planText(merge, "Left Outer Join", "((_col4 = 0L) or (_col2 is null and (_col5 >= _col4)))", "vectorized"),
		"                  Reduce Output Operator\n                    key expressions: k (type: bigint)\n                    sort order: +\n                    Map-reduce partition columns: k (type: bigint)\n                    Statistics: Num rows: 30000000",
		"                  Group By Operator\n                    aggregations: count(), count(k)\n                    mode: hash\n                  Reduce Output Operator\n                    key expressions: k (type: bigint)\n                    sort order: +\n                    Map-reduce partition columns: k (type: bigint)\n                    Statistics: Num rows: 30000000", 1)
}

func TestNullAware(t *testing.T) {
	plan := notInPlan()
	if !strings.Contains(plan, "count(), count(k)") {
		t.Fatal("the plan has no counts")
	}
	for name, c := range map[string]struct {
		sql      string
		nulls    int64 // of r.k2, −1: not known
		severity advisor.Severity
		advice   string
	}{
		"none NULL":         {"SELECT l.v FROM l WHERE l.k NOT IN (SELECT k2 FROM r)", 0, advisor.Low, "-- no key of the subquery is NULL by the statistics: l.k IS NOT NULL AND NOT EXISTS (SELECT 1 FROM r WHERE r.k2 = l.k)"},
		"not known":         {"SELECT l.v FROM l WHERE l.k NOT IN (SELECT k2 FROM r)", -1, advisor.Low, "-- where no key of the subquery is NULL: l.k IS NOT NULL"},
		"some NULL":         {"SELECT l.v FROM l WHERE NOT (l.k IN (SELECT k2 FROM r))", 7, advisor.High, "-- if rows were expected"},
		"NULLs filtered":    {"SELECT l.v FROM l WHERE l.k NOT IN (SELECT k2 FROM r WHERE k2 IS NOT NULL AND v = 'secret')", 7, advisor.Low, "WHERE k2 IS NOT NULL AND v = ? AND r.k2 = l.k"},
		"perhaps filtered":  {"SELECT l.v FROM l WHERE l.k NOT IN (SELECT k2 FROM r WHERE v = 'secret')", 7, advisor.Low, "-- where no key"},
		"no simple query":   {"SELECT l.v FROM l WHERE l.k NOT IN (SELECT max(k2) FROM r)", 7, advisor.Low, "x IS NOT NULL AND NOT EXISTS"},
		"IN is not NOT IN":  {"SELECT l.v FROM l WHERE l.k IN (SELECT k2 FROM r)", 7, "", ""},
		"a list":            {"SELECT l.v FROM l WHERE l.k NOT IN (1, 2, NULL)", 7, "", ""},
		"an unknown table":  {"SELECT l.v FROM l WHERE l.k NOT IN (SELECT k FROM elsewhere)", 7, "", ""},
		"inside of an OR":   {"SELECT l.v FROM l WHERE l.v = 1 OR l.k NOT IN (SELECT k FROM r)", 7, "", ""},
		"the query's alone": {"", 7, "", ""},
	} {
		found := antijoin.Find(with(queryOf(t, c.sql, plan, nil), 1000, c.nulls))
		if c.severity == "" {
			if len(found) > 0 {
				t.Errorf("%s: false alarm: %+v", name, found)
			}
			continue
		}
		if len(found) != 1 || found[0].Kind != antijoin.NullAware {
			t.Errorf("%s: %+v", name, found)
			continue
		}
		f := found[0]
		if f.Severity != c.severity || !strings.Contains(f.Advice, c.advice) || strings.Contains(f.Advice+f.Summary, "secret") {
			t.Errorf("%s: %s %q", name, f.Severity, f.Advice)
		}
		if !strings.Contains(f.Summary, "every row (5,000,000)") {
			t.Errorf("%s: %q", name, f.Summary)
		}
	}
	swapped := strings.NewReplacer("Left Outer Join 0 to 1", "Right Outer Join 1 to 0").Replace(plan)
	for text, want := range map[string]string{plan: "joins the subquery itself LEFT OUTER, and filters after both joins", swapped: "joins the subquery itself RIGHT OUTER"} {
		found := antijoin.Find(queryOf(t, "SELECT l.v FROM l WHERE l.k NOT IN (SELECT k2 FROM r)", text, nil))
		if len(found) != 1 || !strings.Contains(found[0].Summary, want) {
			t.Errorf("want %q: %+v", want, found)
		}
	}
	uncounted := outer(t, "SELECT l.v FROM l WHERE l.k NOT IN (SELECT k FROM r)", nil)
	if found := antijoin.Find(uncounted); len(found) > 0 {
		t.Errorf("a plan without counts: %+v", found)
	}
}
