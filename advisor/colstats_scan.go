package advisor

import (
	"maps"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// scan gives the statistics of the columns a scan is asked for (StatsUtils.collectStatistics). The state the plan prints has the last word:
// NONE means the planner found none of them, whatever the metastore holds. branch narrows the needed columns to those of one operator above.
func (p *propagation) scan(o *explain.Operator, st *explain.Statistics, branch *explain.Operator) []columnStat {
	table := tableName(o)
	if unread(o) {
		return p.unreadScan(o, table)
	}
	t, given := p.tables[table]
	parts := partitionsRead(o)
	none := strings.EqualFold(st.Column, "NONE")
	needed := p.needed(o, branch)
	lost := none || strings.EqualFold(st.Column, "PARTIAL") && p.allFound(&t, needed, parts)
	var out []columnStat
	for _, c := range needed {
		col := columnStat{name: c.name, typ: c.typ, table: table, column: c.column, length: declaredLength(c.typ)}
		if containsFold(t.PartitionColumns, c.column) {
			col.ndv, col.known = distinctValues(parts, c.column), len(parts) > 0
			if !none {
				out = append(out, col)
			}
			continue
		}
		cs, found, asked, whole := p.columnStats(&t, c.column, parts)
		switch {
		case lost || given && asked && !found:
			p.makeUp(&col, st.Rows)
		case found:
			measured(&col, &cs)
			p.whole[o] = p.whole[o] || whole
		}
		out = append(out, col)
	}
	return p.withoutUnmade(out, &t)
}

// allFound: partitions have statistics of every column needed. A plan that calls them PARTIAL nevertheless was made with those of its
// partition columns alone: the metastore did not tell the others.
func (p *propagation) allFound(t *TableStats, needed []column, parts []string) bool {
	ofPartitions := 0
	for _, c := range needed {
		if containsFold(t.PartitionColumns, c.column) {
			ofPartitions++
			continue
		}
		if _, have, ok := p.partitionStats(t.Table, strings.ToLower(c.column), parts); !ok || have < len(parts) {
			return false
		}
	}
	return ofPartitions > 0 && ofPartitions < len(needed)
}

// unread: the plan prints no path for the scan, which then reads no partition of its table.
func unread(o *explain.Operator) bool {
	s := sourceOf(o)
	return s == nil || s.Path == "" && s.Properties == nil
}

// unreadScan gives the columns of a scan that reads no partition: the planner counts no nulls and no values there.
func (p *propagation) unreadScan(o *explain.Operator, table string) []columnStat {
	if !p.flow.extended() {
		return nil
	}
	var out []columnStat
	seen := map[string]bool{}
	for _, c := range o.Children {
		p.typedNames(c, func(name, typ string) {
			if !seen[name] {
				seen[name] = true
				out = append(out, columnStat{name: name, typ: typ, table: table, column: name, known: true, length: -1})
			}
		})
	}
	return out
}

// typedNames yields the plain columns with types in the expressions of the operators that see a scan's columns under their own names.
func (p *propagation) typedNames(o *explain.Operator, yield func(name, typ string)) {
	for _, a := range []string{"expressions", "keys", "key expressions", "value expressions"} {
		list, _ := o.Attr(a)
		for _, e := range explain.Exprs(list) {
			if isColumnName(e.Text) && e.Type != "" {
				yield(e.Text, e.Type)
			}
		}
	}
	if o.Kind == kindSelect && len(outputNames(o)) > 0 || o.Kind == kindGroupBy || isReduceSink(o) || isJoin(o) {
		return
	}
	for _, c := range o.Children {
		p.typedNames(c, yield)
	}
}

// makeUp is what the planner assumes of a column without statistics.
func (p *propagation) makeUp(c *columnStat, rows int64) {
	c.estimated, c.known = true, true
	c.nulls = percentOf(rows, p.settings.NullPercent, 0)
	c.ndv = percentOf(rows, p.settings.NDVPercent, 1)
	if strings.EqualFold(c.typ, "boolean") {
		c.ndv = 2
	}
}

// measured takes a column's statistics as StatsUtils.getColStatistics does: it leaves the distinct values of dates, timestamps and binaries
// at 0, and the nulls of timestamps with time zone.
func measured(c *columnStat, cs *ColumnStats) {
	if cs.Nulls == nil {
		return
	}
	c.known, c.nulls = true, *cs.Nulls
	if c.length = -1; cs.AvgLen != nil {
		c.length = *cs.AvgLen
	}
	switch t := baseType(c.typ); t {
	case "boolean":
		c.ndv = booleanValues(cs)
	case "date", "timestamp", "binary":
	case "timestamp with local time zone":
		c.nulls = 0
	default:
		c.known = cs.NDV != nil
		if c.known {
			c.ndv = *cs.NDV
		}
	}
}

// withoutUnmade drops the made-up statistics the planner does not make up: none at all when estimating is off. For a partitioned table it
// asks for columns in batches, with the cost-based optimizer first the keys of the table's joins and then the rest, and makes up only a
// batch of which no column has any (RelOptHiveTable.updateColStats).
func (p *propagation) withoutUnmade(columns []columnStat, t *TableStats) []columnStat {
	if !p.settings.EstimateStats {
		return slices.DeleteFunc(columns, func(c columnStat) bool { return c.estimated })
	}
	if len(t.PartitionColumns) == 0 {
		return columns
	}
	keys := map[string]bool{}
	if p.optimized() {
		keys = p.joinKeys(t.Table)
	}
	found := map[bool]bool{}
	for _, c := range columns {
		if !c.estimated && !containsFold(t.PartitionColumns, c.column) {
			found[keys[strings.ToLower(c.column)]] = true
		}
	}
	return slices.DeleteFunc(columns, func(c columnStat) bool { return c.estimated && found[keys[strings.ToLower(c.column)]] })
}

// optimized: the cost-based optimizer planned the query. It gives up on some, and the plan then prints no optimized SQL.
func (p *propagation) optimized() bool {
	return p.settings.CBO && (!p.flow.extended() || p.flow.plan.OptimizedSQL != "")
}

// joinKeys are the columns of a table that joins compare, also inside of expressions.
func (p *propagation) joinKeys(table string) map[string]bool {
	out := map[string]bool{}
	for _, j := range p.flow.joins {
		for pos, s := range p.flow.sides[j] {
			for _, k := range p.flow.keys(j, pos) {
				if len(s.feeds) > 0 {
					names := map[string]bool{}
					words(k.Expr, names)
					p.bases(s.feeds[0], names, table, out, maxBases)
				}
			}
		}
	}
	return out
}

// maxBases bounds the projections an expression is followed through.
const maxBases = 50

// bases adds the columns of a table that the named columns of an operator's output are made of. Names are lower case.
func (p *propagation) bases(o *explain.Operator, names map[string]bool, table string, out map[string]bool, depth int) {
	if depth == 0 || o == nil || len(names) == 0 {
		return
	}
	if o.Kind == kindTableScan {
		if tableName(o) == table {
			maps.Copy(out, names)
		}
		return
	}
	list := "expressions"
	if o.Kind == kindGroupBy {
		list = "keys"
	}
	value, _ := o.Attr(list)
	exprs := explain.Exprs(value)
	if outputs := outputNames(o); len(outputs) > 0 && len(exprs) > 0 {
		below := map[string]bool{}
		for i, name := range outputs {
			if i < len(exprs) && names[strings.ToLower(name)] {
				words(exprs[i].Text, below)
			}
		}
		names = below
	}
	for _, from := range p.flow.producers(o) {
		p.bases(from, names, table, out, depth-1)
	}
}

// percentOf is rows × percent / 100 in Hive's float arithmetic, at least least and at most the rows.
func percentOf(rows int64, percent float32, least int64) int64 {
	n := toInt(float64(float32(rows)*min(percent, 100)) / 100)
	if least > 0 {
		return max(n, least)
	}
	return min(n, rows)
}

func booleanValues(c *ColumnStats) int64 {
	if c.Trues != nil && c.Falses != nil && *c.Trues > 0 && *c.Falses > 0 {
		return 2
	}
	return 1
}

// columnStats finds a column's statistics: of the partitions read that have any, added up as the metastore does without bit vectors
// (nulls summed, the largest number of distinct values and average length), or the table's where not every partition was asked for the
// column. asked: somebody looked, so their absence means there are none. whole: the table has other partitions than those too.
func (p *propagation) columnStats(t *TableStats, column string, parts []string) (stats ColumnStats, found, asked, whole bool) {
	column = strings.ToLower(column)
	if sum, have, ok := p.partitionStats(t.Table, column, parts); ok {
		return sum, have > 0, true, false
	}
	c, ok := t.Columns[column]
	whole = len(parts) > 0 && (t.PartitionsNum == nil || *t.PartitionsNum != int64(len(parts)))
	return c, ok, containsFold(t.ColumnsRead, column), whole
}

// partitionStats adds up a column's statistics over partitions; have is how many have any. It reports false unless all were asked for it.
func (p *propagation) partitionStats(table, column string, parts []string) (sum ColumnStats, have int, ok bool) {
	for _, name := range parts {
		ps, ok := p.tables[table+"/"+name]
		if !ok {
			return ColumnStats{}, 0, false
		}
		c, there := ps.Columns[column]
		if !there {
			if !containsFold(ps.ColumnsRead, column) {
				return ColumnStats{}, 0, false
			}
			continue
		}
		have++
		sum.Nulls = addNumbers(sum.Nulls, c.Nulls)
		sum.NDV = maxNumbers(sum.NDV, c.NDV)
		sum.Trues = addNumbers(sum.Trues, c.Trues)
		sum.Falses = addNumbers(sum.Falses, c.Falses)
		if c.AvgLen != nil && (sum.AvgLen == nil || *c.AvgLen > *sum.AvgLen) {
			sum.AvgLen = c.AvgLen
		}
	}
	if have >= 2 && have < len(parts) {
		sum.Nulls = extrapolate(sum.Nulls, have, len(parts))
	}
	return sum, have, len(parts) > 0
}

func addNumbers(a, b *int64) *int64 {
	if a == nil || b == nil {
		return cloneNumber(either(a, b))
	}
	n := addSaturating(*a, *b)
	return &n
}

func maxNumbers(a, b *int64) *int64 {
	if a == nil || b == nil {
		return cloneNumber(either(a, b))
	}
	n := max(*a, *b)
	return &n
}

func either(a, b *int64) *int64 {
	if a != nil {
		return a
	}
	return b
}

// extrapolate stretches a sum over some partitions to all of them in whole numbers, as MetaStoreDirectSql does from two partitions on.
func extrapolate(sum *int64, have, all int) *int64 {
	if sum == nil {
		return nil
	}
	n := *sum / int64(have) * int64(all)
	return &n
}

// distinctValues counts the values a partition column has among partitions ("ds=2024-01-01/h=3").
func distinctValues(parts []string, column string) int64 {
	values := map[string]bool{}
	for _, p := range parts {
		for field := range strings.SplitSeq(p, "/") {
			name, value, _ := strings.Cut(field, "=")
			if strings.EqualFold(name, column) {
				values[value] = true
			}
		}
	}
	return int64(len(values))
}

// needed are the columns of a scan's table that the operators above use: the planner keeps statistics of these.
func (p *propagation) needed(o, branch *explain.Operator) []column {
	all := p.flow.outputs(o)
	if len(all) == 0 {
		return nil
	}
	used := map[string]bool{}
	children := o.Children
	if branch != nil {
		children = []*explain.Operator{branch}
	}
	p.usedAbove(o, children, used)
	var out []column
	for _, c := range all {
		if used[strings.ToLower(c.name)] {
			out = append(out, c)
		}
	}
	return out
}

// usedAbove collects the names in the expressions of the operators that see a scan's columns under their own names.
func (p *propagation) usedAbove(o *explain.Operator, children []*explain.Operator, used map[string]bool) {
	for _, c := range children {
		if isJoin(c) || c.Kind == kindDummyStore {
			p.usedByJoin(c, o, used)
			continue
		}
		for _, a := range []string{"predicate", "expressions", "keys", "aggregations", "key expressions", "value expressions", "Map-reduce partition columns"} {
			if v, ok := c.Attr(a); ok {
				words(v, used)
			}
		}
		if c.Kind == kindSelect && len(outputNames(c)) > 0 || c.Kind == kindGroupBy || isReduceSink(c) {
			continue
		}
		p.usedAbove(c, c.Children, used)
	}
}

// usedByJoin collects what a join uses of the side an operator streams into it, directly or through a Dummy Store.
func (p *propagation) usedByJoin(c, from *explain.Operator, used map[string]bool) {
	for _, j := range p.flow.joins {
		for pos, s := range p.flow.sides[j] {
			if len(s.feeds) != 1 || (s.feeds[0] != c && (s.feeds[0] != from || j != c)) {
				continue
			}
			for _, k := range p.flow.keys(j, pos) {
				words(k.Expr, used)
			}
			for _, src := range p.outputSources(j) {
				if src.pos == pos {
					used[strings.ToLower(src.name)] = true
				}
			}
		}
	}
}

// words collects the lower-case names in an expression, without function names, types and string constants.
func words(expr string, into map[string]bool) {
	for i := 0; i < len(expr); {
		c := expr[i]
		switch {
		case c == '\'' || c == '"':
			i = skipQuoted(expr, i)
		case isWordStart(c):
			end := i
			for end < len(expr) && (isWordStart(expr[end]) || expr[end] >= '0' && expr[end] <= '9') {
				end++
			}
			word := expr[i:end]
			if word == "type" && end < len(expr) && expr[end] == ':' {
				// "(type: decimal(10,2))" closes its own bracket.
				i = skipType(expr, end)
				continue
			}
			if end >= len(expr) || expr[end] != '(' {
				into[strings.ToLower(word)] = true
			}
			i = end
		default:
			i++
		}
	}
}

func isWordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// skipQuoted returns the index after the string constant at i.
func skipQuoted(s string, i int) int {
	quote := s[i]
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		}
	}
	return len(s)
}

// skipType returns the index of the bracket that ends "(type: …)".
func skipType(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '(', '<':
			depth++
		case ')', '>':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return i
}

func containsFold(list []string, s string) bool {
	for _, l := range list {
		if strings.EqualFold(l, s) {
			return true
		}
	}
	return false
}
