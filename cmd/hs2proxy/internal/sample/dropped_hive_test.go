package sample

import (
	"slices"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/dynamicfilter"
	"github.com/hs2proxy/hs2proxy/advisor/movement"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// countDropped compares the estimates of a plan with a filter with those of the same plan without, and with the rows that really come to the
// join: Hive counts what the filter drops, and what the join moves is told without.
func countDropped(t *testing.T, session *client.Session, sql string, settings map[string]string, tables map[string]advisor.TableStats) {
	t.Helper()
	run(t, session, fewReducers)
	give(t, session, settings)
	rowsOf := func(q advisor.Query) (list []int64) {
		for pos := range q.Verdicts[0].Join.Inputs {
			list = append(list, q.Verdicts[0].Join.Inputs[pos].Rows)
		}
		return list
	}
	with := queryOf(t, planOf(t, session, "EXTENDED", sql), settings, tables)
	counted := queryOf(t, planOf(t, session, "ANALYZE", sql), settings, tables)
	run(t, session, "SET hive.tez.dynamic.semijoin.reduction=false")
	without := queryOf(t, planOf(t, session, "EXTENDED", sql), settings, tables)
	if got, want := rowsOf(with), rowsOf(without); !slices.Equal(got, want) {
		t.Errorf("with the filter the planner counts %v rows, without %v", got, want)
	}
	drops := dynamicfilter.Drops(dynamicfilter.Of(with))[0]
	v := with.Verdicts[0]
	all, left := movement.Of(v, 20, 0), movement.OfFiltered(v, 20, 0, drops)
	if len(drops) != 1 || left.PlannedBytes >= all.PlannedBytes/100 {
		t.Errorf("drops %v: %d bytes of %d are left", drops, left.PlannedBytes, all.PlannedBytes)
	}
	for pos := range drops {
		// 3,000 rows are in the table, those of 100 of 1,000 keys come through, and a few that the Bloom filter takes for them.
		if n := counted.Verdicts[0].Join.Inputs[pos].ActualRows(); n < 200 || n > 600 {
			t.Errorf("%d of 3,000 rows came to the join", n)
		} else {
			t.Logf("%d of 3,000 rows came to the join", n)
		}
	}
	t.Logf("moves: %s", movement.DescribeFiltered(v, 20, 0, drops))
}
