package movement

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// TopKeyQuery is a query that counts the rows with the most frequent key of an input and all rows that have one, in that order: one row of two
// numbers. It reads the whole table, without the query's own filters. ok is false where the strategy shuffles nothing, or the input is not one
// table with its own columns as keys.
func TopKeyQuery(j *advisor.Join, pos int) (sql string, ok bool) {
	in := &j.Inputs[pos]
	if wayOf(j.Strategy) != Redistribute || in.OverJoin || in.GroupBys > 0 || len(in.Tables) != 1 || len(in.Keys) == 0 {
		return "", false
	}
	table := advisor.QuotedTable(in.Tables[0])
	var columns, tests []string
	for i := range in.Keys {
		k := &in.Keys[i]
		column := advisor.Quoted(k.Column)
		if column == "" || k.Table != in.Tables[0] {
			return "", false
		}
		columns, tests = append(columns, column), append(tests, column+" IS NOT NULL")
	}
	if table == "" {
		return "", false
	}
	return "SELECT MAX(n), SUM(n) FROM (SELECT COUNT(*) AS n FROM " + table + " WHERE " + strings.Join(tests, " AND ") + " GROUP BY " + strings.Join(columns, ", ") + ") q", true
}
