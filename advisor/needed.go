package advisor

import "slices"

// TableNeed is what the simulation wants to know of one table: DESCRIBE FORMATTED of these columns, in these partitions where it is
// partitioned (as SHOW PARTITIONS prints them; none means the table itself).
type TableNeed struct {
	// Table is "database.table", lower case.
	Table      string   `json:"table"`
	Columns    []string `json:"columns"`
	Partitions []string `json:"partitions,omitempty"`
}

// Needed lists, by table, the columns whose statistics Enrich can use for joins read from a plan, and the partitions the plan reads.
// Joins that were recorded before need nothing but the columns they name.
func Needed(joins []Join) []TableNeed {
	needs := map[string]*TableNeed{}
	need := func(table string) *TableNeed {
		if needs[table] == nil {
			needs[table] = &TableNeed{Table: table}
		}
		return needs[table]
	}
	for _, j := range joins {
		for k := range j.Inputs {
			j.Inputs[k].need(need)
		}
	}
	list := make([]TableNeed, 0, len(needs))
	for _, n := range needs {
		slices.Sort(n.Columns)
		slices.Sort(n.Partitions)
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b TableNeed) int {
		if a.Table < b.Table {
			return -1
		}
		return 1
	})
	return list
}

// need adds what one input wants to know: the scans below it, or for a recorded one the base columns it names.
func (in *Input) need(of func(string) *TableNeed) {
	if in.origin != nil {
		in.origin.needed(of)
		return
	}
	for _, key := range in.Keys {
		if key.Table != "" && key.Column != "" {
			of(key.Table).add(key.Column)
		}
	}
	for _, c := range in.Columns {
		if c.Table != "" && c.Column != "" {
			of(c.Table).add(c.Column)
		}
	}
}

func (n *TableNeed) add(column string) {
	if !containsFold(n.Columns, column) {
		n.Columns = append(n.Columns, column)
	}
}

// needed adds what the scans below an input are asked for.
func (o *origin) needed(need func(string) *TableNeed) {
	p := newPropagation(o.flow, nil, &Settings{})
	for _, feed := range o.flow.sides[o.join][o.pos].feeds {
		for _, b := range o.flow.below(feed) {
			if b.Kind != kindTableScan {
				continue
			}
			table := tableName(b)
			if table == "" {
				continue
			}
			n := need(table)
			partitions := partitionsRead(b)
			for _, name := range partitions {
				if !slices.Contains(n.Partitions, name) {
					n.Partitions = append(n.Partitions, name)
				}
			}
			for _, c := range p.needed(b, nil) {
				if !isPartitionColumn(partitions, c.column) {
					n.add(c.column)
				}
			}
		}
	}
}

// isPartitionColumn: the names of the partitions hold the column ("ds=2024-01-01").
func isPartitionColumn(partitions []string, column string) bool {
	return len(partitions) > 0 && distinctValues(partitions[:1], column) > 0
}
