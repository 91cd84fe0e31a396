package pipeline

import (
	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// contradictionsOf tells what a statement's end says of the planner's numbers: the rows that an INSERT … SELECT or CTAS over one table
// moved, or a hash table that did not fit into memory.
func contradictionsOf(o *store.Observation) []store.TableContradiction {
	if o.Analysis == nil || o.Analysis.Error != "" {
		return nil
	}
	if o.Statement.ErrorMessage != "" {
		return overflowContradictions(o)
	}
	rows := o.Statement.ModifiedRows
	if rows == nil || *rows <= 0 || !oneTable(&o.Statement) || len(o.Analysis.Tables) != 1 || len(o.Analysis.Joins) > 0 {
		return nil
	}
	plan, err := explain.Parse(o.Analysis.PlanText)
	if err != nil {
		return nil
	}
	table, estimated, exact := soleScan(plan)
	if table == "" || table != o.Analysis.Tables[0] {
		return nil
	}
	return []store.TableContradiction{{Table: table, Contradiction: statscheck.Contradiction{
		Kind: statscheck.ContradictedRows, Estimated: &estimated, Actual: rows, AtLeast: !exact, At: o.Statement.EndedAt,
	}}}
}

func overflowContradictions(o *store.Observation) (out []store.TableContradiction) {
	tables, estimated, found, ok := advisor.OverflowTables(o.Statement.ErrorMessage, o.Analysis.Joins)
	if !ok {
		return nil
	}
	for _, table := range tables {
		c := statscheck.Contradiction{Kind: statscheck.ContradictedMemory, Certain: found.Certain && len(tables) == 1, Words: found.Words, At: o.Statement.EndedAt}
		if len(tables) == 1 { // otherwise the numbers are of all of them together
			c.Estimated = &estimated
			if found.Entries > 0 {
				c.Actual = &found.Entries
			}
		}
		out = append(out, store.TableContradiction{Table: table, Contradiction: c})
	}
	return out
}

// keepsOrDrops are the operators that make no rows.
var keepsOrDrops = map[string]bool{
	"TableScan": true, "Select Operator": true, "Filter Operator": true, "Group By Operator": true, "Limit": true, "Reduce Output Operator": true,
	"File Output Operator": true, "Top N Key Operator": true, "PTF Operator": true, "Dummy Store": true, "Spill": true,
}

// soleScan is the one table that a plan scans as a whole, with the planner's rows. The statement's rows are then at most the table's;
// exact: they are all of them. The table is empty when the plan is not of that kind.
func soleScan(plan *explain.Plan) (table string, rows int64, exact bool) {
	for _, st := range plan.Stages {
		for _, v := range st.Vertices {
			for _, src := range v.Sources {
				if src.Partition != "" { // the estimate is of the partitions read
					return "", 0, false
				}
			}
			for op := range v.Operators() {
				if !keepsOrDrops[op.Kind] {
					return "", 0, false
				}
				switch op.Kind {
				case "TableScan":
					if table != "" || op.Stats == nil || op.Stats.Rows < 0 {
						return "", 0, false
					}
					if table = scanTable(op, v); table == "" {
						return "", 0, false
					}
					rows = op.Stats.Rows
				case "File Output Operator":
					exact = exact || copies(op)
				}
			}
		}
	}
	return table, rows, exact
}

// copies: what a sink into a table writes is what the scan reads, row by row.
func copies(sink *explain.Operator) bool {
	if len(sink.Group("table")) == 0 {
		return false
	}
	for op := sink.Parent; op != nil; op = op.Parent {
		switch op.Kind {
		case "TableScan":
			filter, _ := op.Attr("filterExpr")
			return filter == ""
		case "Select Operator":
		default:
			return false
		}
	}
	return false
}
