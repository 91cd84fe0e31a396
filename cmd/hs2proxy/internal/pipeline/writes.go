package pipeline

import (
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store"
)

// writesOf tells what a finished statement wrote. The rows of a multi-insert are one number for all its tables, so they
// count for none (rule R6), and 0 may mean that Hive does not know; columns changed by ALTER TABLE count no rows.
func writesOf(st *intercept.Statement) []store.TableWrite {
	out := make([]store.TableWrite, 0, len(st.Info.Writes))
	for _, w := range st.Info.Writes {
		tw := store.TableWrite{
			Table: w.Table.In(st.Database).String(), Op: w.Op, ColumnsChanged: w.Op == hiveql.WriteAlterColumns,
		}
		if oneTable(st) && st.ModifiedRows != nil && *st.ModifiedRows > 0 {
			tw.Rows = st.ModifiedRows
		}
		out = append(out, tw)
	}
	return out
}

// countsRows: numModifiedRows are the rows that came into the table.
func countsRows(op hiveql.WriteOp) bool {
	return op == hiveql.WriteInsertInto || op == hiveql.WriteInsertOverwrite || op == hiveql.WriteCreate
}
