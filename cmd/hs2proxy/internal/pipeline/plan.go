package pipeline

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

// tablesOf lists the base tables a plan reads.
func tablesOf(plan *explain.Plan) []string {
	var out []string
	for _, st := range plan.Stages {
		for _, v := range st.Vertices {
			for _, src := range v.Sources {
				if src.Table != "" && !strings.HasPrefix(src.Table, "_dummy_database.") && !slices.Contains(out, src.Table) {
					out = append(out, src.Table)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// columnsOf lists the base columns of a table that joins use or carry, keys first.
func columnsOf(joins []advisor.Join, table string) []string {
	var out []string
	add := func(t, c string) {
		if t == table && c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	for _, j := range joins {
		for _, in := range j.Inputs {
			for _, k := range in.Keys {
				add(k.Table, k.Column)
			}
		}
	}
	for _, j := range joins {
		for _, in := range j.Inputs {
			for _, c := range in.Columns {
				add(c.Table, c.Column)
			}
		}
	}
	return out
}

// usageOf tells, for each table, the columns its joins use, those its filters and groupings use besides, the worst statistics state
// its scans print, and the rows the planner takes it for where all of it is scanned.
func usageOf(plan *explain.Plan, joins []advisor.Join) map[string]statscheck.Usage {
	out := map[string]statscheck.Usage{}
	for _, j := range joins {
		for _, in := range j.Inputs {
			for _, k := range in.Keys {
				if k.Table == "" || k.Column == "" {
					continue
				}
				u := out[k.Table]
				if !slices.Contains(u.JoinColumns, k.Column) {
					u.JoinColumns = append(u.JoinColumns, k.Column)
				}
				out[k.Table] = u
			}
		}
	}
	for _, st := range plan.Stages {
		for _, v := range st.Vertices {
			for _, op := range v.Roots {
				table := scanTable(op, v)
				if table == "" || op.Stats == nil {
					continue
				}
				u := out[table]
				u.PlanBasic, u.PlanColumn = worse(u.PlanBasic, op.Stats.Basic), worse(u.PlanColumn, op.Stats.Column)
				if op.Stats.Rows >= 0 && !partitioned(v, table) {
					u.PlanRows = &op.Stats.Rows
				}
				out[table] = u
			}
		}
	}
	for table, columns := range advisor.UsedColumns(plan) {
		u := out[table]
		u.OtherColumns = slices.DeleteFunc(columns, func(c string) bool { return slices.Contains(u.JoinColumns, c) })
		out[table] = u
	}
	return out
}

func partitioned(v *explain.Vertex, table string) bool {
	return slices.ContainsFunc(v.Sources, func(s explain.Source) bool { return s.Table == table && s.Partition != "" })
}

// readsOf tells, for each partitioned table, the partitions read and whether its rows go into a hash table.
func readsOf(plan *explain.Plan, joins []advisor.Join) map[string]statscheck.PlanRead {
	out := map[string]statscheck.PlanRead{}
	for _, st := range plan.Stages {
		for _, v := range st.Vertices {
			for _, src := range v.Sources {
				read := out[src.Table]
				if src.Table == "" || src.Partition == "" || slices.Contains(read.Partitions, src.Partition) {
					continue
				}
				read.Partitions = append(read.Partitions, src.Partition)
				read.Total = len(read.Partitions)
				out[src.Table] = read
			}
		}
	}
	for _, j := range joins {
		if j.BigTable < 0 { // nothing is hashed
			continue
		}
		for i, in := range j.Inputs {
			for _, table := range in.Tables {
				if read, ok := out[table]; ok && i != j.BigTable {
					read.Build = true
					out[table] = read
				}
			}
		}
	}
	return out
}

// scanTable is the table a TableScan reads, by its alias among the vertex's sources.
func scanTable(op *explain.Operator, v *explain.Vertex) string {
	if op.Kind != "TableScan" {
		return ""
	}
	alias, _ := op.Attr("alias")
	for _, src := range v.Sources {
		if slices.Contains(src.Aliases, alias) || len(v.Roots) == 1 {
			return src.Table
		}
	}
	return ""
}

// worse orders NONE before PARTIAL before COMPLETE; an empty state says nothing.
func worse(a, b string) string {
	rank := map[string]int{"NONE": 1, "PARTIAL": 2, "COMPLETE": 3}
	switch {
	case rank[a] == 0:
		return b
	case rank[b] == 0 || rank[a] <= rank[b]:
		return a
	default:
		return b
	}
}
