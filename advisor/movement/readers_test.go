package movement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// mergePlan is a merge join of d.a, of so many rows, and d.b of 30 GB, whose scan has the filter.
func mergePlan(t *testing.T, rows int64, filter string) advisor.Query {
	t.Helper()
	scan := func(number int, alias, filter string, rows, size int64) string {
		stats := fmt.Sprintf("Statistics: Num rows: %d Data size: %d Basic stats: COMPLETE Column stats: COMPLETE", rows, size)
		return fmt.Sprintf(`        Map %d
            Map Operator Tree:
                TableScan
                  alias: %s
                  filterExpr: %s (type: boolean)
                  %s
                  Reduce Output Operator
                    key expressions: k (type: bigint)
                    sort order: +
                    Map-reduce partition columns: k (type: bigint)
                    %s
`, number, alias, filter, stats, stats)
	}
	plan, err := explain.Parse(`STAGE DEPENDENCIES:
  Stage-1 is a root stage
  Stage-0 depends on stages: Stage-1

STAGE PLANS:
  Stage: Stage-1
    Tez
      DagId: hive_1
      Edges:
        Reducer 2 <- Map 1 (SIMPLE_EDGE), Map 3 (SIMPLE_EDGE)
      DagName: hive_1
      Vertices:
` + scan(1, "a", "k is not null", rows, rows*8) + scan(3, "b", filter, 300_000_000, 30*gb) + `        Reducer 2
            Reduce Operator Tree:
              Merge Join Operator
                condition map:
                     Inner Join 0 to 1
                keys:
                  0 k (type: bigint)
                  1 k (type: bigint)
                Statistics: Num rows: 10 Data size: 100 Basic stats: COMPLETE Column stats: COMPLETE

  Stage: Stage-0
    Fetch Operator
      limit: -1
`)
	if err != nil {
		t.Fatal(err)
	}
	q := advisor.Query{Plan: plan, Settings: advisor.NewSettings(map[string]string{"hive.auto.convert.join": "false"})}
	q.Settings.Nodes = 20
	for _, j := range advisor.Joins(plan) {
		q.Verdicts = append(q.Verdicts, advisor.Judge(j, q.Settings))
	}
	if len(q.Verdicts) != 1 || len(q.Verdicts[0].Join.Inputs) != 2 {
		t.Fatalf("%+v", q.Verdicts)
	}
	return q
}

// What a runtime filter drops does not move, though the planner's estimates count it.
func TestRuntimeFiltersAreNotCounted(t *testing.T) {
	found := Find(mergePlan(t, 1000, "k is not null"))
	if len(found) != 1 || found[0].Kind != RedistributionCostsMore || !strings.Contains(found[0].Summary, "moves 30 GB") {
		t.Errorf("%+v", found)
	}
	filtered := "(k is not null and k BETWEEN DynamicValue(RS_1_a_k_min) AND DynamicValue(RS_1_a_k_max))"
	if found := Find(mergePlan(t, 1000, filtered)); len(found) > 0 {
		t.Errorf("with a runtime filter: %+v", found)
	}
}

// A scan is read by no more nodes than it has rows, or its files make tasks: there are as many copies.
func TestCopiesGoToWhoReads(t *testing.T) {
	for name, c := range map[string]struct{ rows, size, want int64 }{
		"one row": {rows: 1, want: 1}, "seven rows": {rows: 7, want: 7}, "many": {rows: 1000, want: 20}, "many in one file": {rows: 1000, size: 1000, want: 1},
		"in three": {rows: 1000, size: 2*minSplit + 1, want: 3},
	} {
		j := mergePlan(t, c.rows, "k is not null").Verdicts[0].Join
		j.Inputs[0].Layout.TotalSize = c.size
		j.Strategy, j.BigTable = advisor.MapJoin, 0
		j.Conditions[0].Type = advisor.LeftOuter
		cost := Of(advisor.JoinVerdict{Join: j}, 20, 0)
		if got := cost.PlannedBytes / (30 * gb); got != c.want || cost.Option(Broadcast).Bytes != cost.PlannedBytes || cost.At(20).Broadcast != cost.PlannedBytes {
			t.Errorf("%s: %d copies, want %d: %+v", name, got, c.want, cost)
		}
	}
}
