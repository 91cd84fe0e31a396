package antijoin_test

import (
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// planText is an EXPLAIN EXTENDED of d.l joined with d.r, cut down to what is read: the join's type, its operator, the filter
// behind it (none where empty) and the mode of its vertex are the caller's. d.l has k, v; d.r has k, k2, v.
func planText(operator, typ, filter, mode string) string {
	text := `STAGE DEPENDENCIES:
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
        Map 1 
            Map Operator Tree:
                TableScan
                  alias: l
                  Statistics: Num rows: 5000000 Data size: 40000000 Basic stats: COMPLETE Column stats: COMPLETE
                  Reduce Output Operator
                    key expressions: k (type: bigint)
                    sort order: +
                    Map-reduce partition columns: k (type: bigint)
                    Statistics: Num rows: 5000000 Data size: 40000000 Basic stats: COMPLETE Column stats: COMPLETE
                    tag: 0
                    value expressions: v (type: string)
            Path -> Alias:
              file:/w/d.db/l [l]
            Path -> Partition:
              file:/w/d.db/l 
                Partition
                  base file name: l
                  properties:
                    columns k,v
                    name d.l
        Map 3 
            Map Operator Tree:
                TableScan
                  alias: r
                  Statistics: Num rows: 30000000 Data size: 240000000 Basic stats: COMPLETE Column stats: COMPLETE
                  Reduce Output Operator
                    key expressions: k (type: bigint)
                    sort order: +
                    Map-reduce partition columns: k (type: bigint)
                    Statistics: Num rows: 30000000 Data size: 240000000 Basic stats: COMPLETE Column stats: COMPLETE
                    tag: 1
            Path -> Alias:
              file:/w/d.db/r [r]
            Path -> Partition:
              file:/w/d.db/r 
                Partition
                  base file name: r
                  properties:
                    columns k,k2,v
                    name d.r
        Reducer 2 
            Execution mode: MODE
            Reduce Operator Tree:
              OPERATOR
                condition map:
                     TYPE 0 to 1
                keys:
                  0 k (type: bigint)
                  1 k (type: bigint)
                outputColumnNames: _col0, _col1, _col2
                Statistics: Num rows: 5000000 Data size: 40000000 Basic stats: COMPLETE Column stats: COMPLETE
                FILTER
                File Output Operator
                  compressed: false

  Stage: Stage-0
    Fetch Operator
      limit: -1
      Processor Tree:
        ListSink
`
	if filter != "" {
		text = strings.ReplaceAll(text, "                FILTER\n                File Output Operator\n                  compressed: false\n",
			"                Filter Operator\n                  predicate: "+filter+" (type: boolean)\n                  File Output Operator\n                    compressed: false\n")
	}
	return strings.NewReplacer("                FILTER\n", "", "OPERATOR", operator, "TYPE", typ, "MODE", mode).Replace(text)
}

const merge = "Merge Join Operator"

// outer is a plan with an outer join and the filter that makes it an anti join; anti has the anti join itself.
func outer(t *testing.T, sql string, settings map[string]string) advisor.Query {
	t.Helper()
	return queryOf(t, sql, planText(merge, "Left Outer Join", "_col2 is null", "vectorized"), settings)
}

func anti(t *testing.T, sql string) advisor.Query {
	t.Helper()
	return queryOf(t, sql, planText(merge, "Anti Join", "", "vectorized"), nil)
}

// with adds what is known of d.r.k: its distinct values, and the NULLs of column k2 (−1: not known).
func with(q advisor.Query, ndv, nulls int64) advisor.Query {
	zero := int64(0)
	columns := map[string]advisor.ColumnStats{"k": {NDV: &ndv, Nulls: &zero}}
	if nulls >= 0 {
		columns["k2"] = advisor.ColumnStats{NDV: &ndv, Nulls: &nulls}
	}
	q.Tables = map[string]advisor.TableStats{"d.r": {Table: "d.r", Columns: columns}}
	for i := range q.Verdicts {
		in := q.Verdicts[i].Join.Inputs
		for pos := range in {
			if len(in[pos].Tables) == 1 && in[pos].Tables[0] == "d.r" {
				in[pos].Keys[0].NDV = &ndv
			}
		}
	}
	return q
}
