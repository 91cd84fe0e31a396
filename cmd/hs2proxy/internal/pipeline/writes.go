package pipeline

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// writesOf tells what a finished statement wrote, one entry for each table. The rows of a multi-insert into several tables are one
// number for them all, so they count for none (rule R6), and 0 may mean that Hive does not know; columns changed by ALTER TABLE
// count no rows.
func writesOf(st *intercept.Statement) []store.TableWrite {
	out := make([]store.TableWrite, 0, len(st.Info.Writes))
	for _, w := range st.Info.Writes {
		tw := store.TableWrite{
			Table: w.Table.In(st.Database).String(), Op: w.Op, Partitions: []string{statscheck.PartitionSpec(w.Partition)},
			ColumnsChanged: w.Op == hiveql.WriteAlterColumns,
		}
		if oneTable(st) && st.ModifiedRows != nil && *st.ModifiedRows > 0 {
			tw.Rows = st.ModifiedRows
		}
		i := slices.IndexFunc(out, func(o store.TableWrite) bool { return o.Table == tw.Table })
		if i < 0 {
			out = append(out, tw)
			continue
		}
		same := &out[i]
		if tw.Op == hiveql.WriteInsertOverwrite {
			same.Op = tw.Op
		}
		same.ColumnsChanged = same.ColumnsChanged || tw.ColumnsChanged
		if !slices.Contains(same.Partitions, tw.Partitions[0]) {
			same.Partitions = append(same.Partitions, tw.Partitions[0])
		}
	}
	return out
}

// writesLeft tells what a failed statement wrote all the same, for it failed behind its writing: in Hive's StatsTask, which follows
// the MoveTasks, or in one of several of those. How many rows that are nobody knows.
func writesLeft(st *intercept.Statement) []store.TableWrite {
	if !strings.Contains(st.ErrorMessage, "exec.StatsTask") && !strings.Contains(st.ErrorMessage, "exec.MoveTask") {
		return nil
	}
	out := writesOf(st)
	for i := range out {
		out[i].Rows = nil
	}
	return out
}

// analyzedOf tells whose statistics a finished statement set; nil for every other statement.
func analyzedOf(st *intercept.Statement) *store.TableAnalyze {
	a := st.Info.Analyze
	if a == nil {
		return nil
	}
	// A clause that names no value stands for all partitions, as none does.
	return &store.TableAnalyze{
		Table: a.Table.In(st.Database).String(), Partition: statscheck.PartitionSpec(a.Partition), ForColumns: a.ForColumns, Columns: a.Columns,
		CountsRows: !a.NoScan && !a.ByHand,
	}
}

// countsRows: numModifiedRows are the rows that came into the table.
func countsRows(op hiveql.WriteOp) bool {
	return op == hiveql.WriteInsertInto || op == hiveql.WriteInsertOverwrite || op == hiveql.WriteCreate
}

// oneTable: the rows modified are those of the one table written, whatever its partitions.
func oneTable(st *intercept.Statement) bool {
	writes := st.Info.Writes
	return len(writes) > 0 && st.Info.OtherTargets == 0 && !slices.ContainsFunc(writes, func(w hiveql.Write) bool {
		return !countsRows(w.Op) || w.Table.In(st.Database) != writes[0].Table.In(st.Database)
	})
}
