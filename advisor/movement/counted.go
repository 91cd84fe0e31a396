package movement

import "github.com/hs2proxy/hs2proxy/advisor"

// Counted takes the rows that came into each input from the joins of another text of the same plan, in which they were counted
// (advisor.OperatorRows.Annotate, EXPLAIN ANALYZE). It is empty where the two texts do not show the same joins.
func Counted(verdicts []advisor.JoinVerdict, counted []advisor.Join) map[Place]int64 {
	if len(verdicts) != len(counted) {
		return nil
	}
	rows := map[Place]int64{}
	for i := range counted {
		j, c := &verdicts[i].Join, &counted[i]
		if j.Strategy != c.Strategy || j.Vertex != c.Vertex || len(j.Inputs) != len(c.Inputs) || j.BigTable != c.BigTable {
			return nil
		}
		for pos := range c.Inputs {
			if n := c.Inputs[pos].ActualRows(); n >= 0 {
				rows[Place{Join: j.Ordinal, Input: pos}] = n
			}
		}
	}
	return rows
}

// FindCounted lists the broadcasts whose counted rows dwarf the estimate, alone.
func FindCounted(q advisor.Query, m Measured) []advisor.Finding {
	f := finder{query: &q, measured: m, ceiling: ceiling(&q.Settings)}
	for i := range q.Verdicts {
		f.actual(&q.Verdicts[i])
	}
	return f.list
}
