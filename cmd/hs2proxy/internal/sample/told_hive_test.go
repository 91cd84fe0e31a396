package sample

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// pretend gives a table statistics of so many rows, and its columns so many distinct whole numbers from 0.
func pretend(table string, rows int64, ndvs map[string]int64) []string {
	list := []string{fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS SET ('numRows'='%d','rawDataSize'='%d')", table, rows, rows*12)}
	for _, column := range slices.Sorted(maps.Keys(ndvs)) {
		n := ndvs[column]
		list = append(list, fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS FOR COLUMN %s SET ('numDVs'='%d','numNulls'='0','lowValue'='0','highValue'='%d')", table, column, n, n-1))
	}
	return list
}

func number(n int64) *int64 { return &n }

// told is what pretend has told Hive, as the advisor reads it.
func told(table, kind string, rows int64, ndvs map[string]int64) advisor.TableStats {
	s := advisor.TableStats{Table: table, Kind: kind, Rows: number(rows), Columns: map[string]advisor.ColumnStats{}}
	for column, n := range ndvs {
		s.Columns[column] = advisor.ColumnStats{NDV: number(n), Nulls: number(0), Low: "0", High: fmt.Sprint(n - 1)}
		s.ColumnsRead = append(s.ColumnsRead, column)
	}
	return s
}

// anew takes back what a test before has set in the session. Its Tez goes on: a session of its own costs each test the seconds to start one.
func anew(t *testing.T, session *client.Session, db string) *client.Session {
	t.Helper()
	run(t, session, "RESET", use(db))
	return session
}

// answers are a query's rows, sorted.
func answers(t *testing.T, session *client.Session, sql string) []string {
	t.Helper()
	var list []string
	for _, row := range run(t, session, sql).Rows {
		line := ""
		for _, v := range row {
			if v != nil {
				line += *v
			}
			line += "|"
		}
		list = append(list, line)
	}
	slices.Sort(list)
	return list
}
