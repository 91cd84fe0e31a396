package movement

import (
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// goldenPlan is a form of a plan of our own Hive's.
func goldenPlan(t *testing.T, name, form string) *explain.Plan {
	t.Helper()
	a, err := txtar.ParseFile("../explain/testdata/golden-hive/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		if f.Name == form {
			p, err := explain.Parse(string(f.Data))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("%s has no %s", name, form)
	return nil
}

func judgedPlan(p *explain.Plan) (list []advisor.JoinVerdict) {
	for _, j := range advisor.Joins(p) {
		list = append(list, advisor.Judge(j, advisor.Settings{}))
	}
	return list
}

// TestCounted: rows counted by operator identifier, which EXTENDED does not print, reach the joins of EXTENDED by the user-level text of
// the same plan, and a broadcast of ten times its estimate is told.
func TestCounted(t *testing.T) {
	q := advisor.Query{Verdicts: judgedPlan(goldenPlan(t, "map_join_inner", "extended"))}
	for actual, want := range map[int64]int{20_000: 0, 199_999: 0, 200_000: 1, 4_000_000: 1, 10: 0} {
		user := goldenPlan(t, "map_join_inner", "user")
		advisor.ParseOperatorRows("").Annotate(user) // nothing
		advisor.OperatorRows{"SEL_18": actual, "SEL_21": 5_000_000}.Annotate(user)
		rows := Counted(q.Verdicts, advisor.Joins(user))
		if len(rows) != 2 || rows[Place{0, 1}] != actual || rows[Place{0, 0}] != 5_000_000 {
			t.Fatalf("counted %v", rows)
		}
		found := FindCounted(q, Measured{ActualRows: rows})
		if len(found) != want {
			t.Errorf("%d rows: found %+v", actual, found)
			continue
		}
		if want == 1 && (found[0].Kind != BroadcastActualDwarfsEstimate || found[0].Evidence["actual_rows"] != actual || found[0].Evidence["estimated_rows"] != int64(20_000)) {
			t.Errorf("found %+v", found[0])
		}
	}
}

// TestCountedOfAnotherPlan: the counts of a plan with other joins are not taken.
func TestCountedOfAnotherPlan(t *testing.T) {
	verdicts := judgedPlan(goldenPlan(t, "map_join_inner", "extended"))
	for _, name := range []string{"merge_join_inner", "map_join_nway", "dphj_inner"} {
		other := goldenPlan(t, name, "user")
		if got := Counted(verdicts, advisor.Joins(other)); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := Counted(verdicts, nil); len(got) > 0 {
		t.Errorf("no joins: %v", got)
	}
	if got := Counted(verdicts, advisor.Joins(goldenPlan(t, "map_join_inner", "user"))); len(got) > 0 {
		t.Errorf("nothing counted: %v", got)
	}
}
