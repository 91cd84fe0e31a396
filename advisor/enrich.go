package advisor

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// origin is where in a plan an input was read.
type origin struct {
	flow *flow
	join *explain.Operator
	pos  int
}

// Enrich adds what the metastore knows of the tables to the inputs of joins read from a plan: column statistics scaled as the planner
// scales them on the way from the scan (StatsRulesProcFactory), sort columns, bytes on disk. Tables are keyed "database.table"; a
// partition's own statistics are keyed "database.table/" and its name as SHOW PARTITIONS prints it. Where all partitions a scan reads
// are given, with the column read, they are added up; otherwise the table's statistics count as they are, and the input is marked
// WholeTable unless the scan reads every partition. Settings decide what the planner makes up for columns
// without statistics; these are the defaults (see EnrichFor).
func Enrich(joins []Join, tables map[string]TableStats) {
	s := NewSettings(nil)
	EnrichFor(joins, tables, &s)
}

// EnrichFor is Enrich under the given settings.
func EnrichFor(joins []Join, tables map[string]TableStats, s *Settings) {
	var p *propagation
	for i := range joins {
		for k := range joins[i].Inputs {
			in := &joins[i].Inputs[k]
			if in.origin == nil {
				recorded(in, tables)
				continue
			}
			if p == nil || p.flow != in.origin.flow {
				p = newPropagation(in.origin.flow, tables, s)
			}
			p.enrich(in)
		}
	}
}

// recorded refreshes an input without a plan: base columns that were carried as they are, scaled by the rows left of their table's.
func recorded(in *Input, tables map[string]TableStats) {
	for i := range in.Keys {
		k := &in.Keys[i]
		t, ok := tables[k.Table]
		if !ok || k.Column == "" {
			continue
		}
		if c, ok := t.Columns[strings.ToLower(k.Column)]; ok {
			k.NDV, k.Nulls = cloneNumber(c.NDV), scaledNulls(c.Nulls, t.Rows, in.Rows)
			if k.NDV != nil && in.Rows >= 0 {
				*k.NDV = min(*k.NDV, max(in.Rows, 1))
			}
		}
	}
	for i := range in.Columns {
		c := &in.Columns[i]
		t, ok := tables[c.Table]
		if !ok || c.Column == "" {
			continue
		}
		if st, ok := t.Columns[strings.ToLower(c.Column)]; ok {
			c.HasStats, c.Estimated = true, false
			c.Nulls = scaledNulls(st.Nulls, t.Rows, in.Rows)
		}
	}
}

func scaledNulls(nulls, rows *int64, left int64) *int64 {
	if nulls == nil || left < 0 {
		return nil
	}
	n := *nulls
	if rows != nil && *rows > 0 && left <= *rows {
		n = roundHalfUp(float64(left) / float64(*rows) * float64(n))
	}
	n = min(n, left)
	return &n
}

// enrich fills one input.
func (p *propagation) enrich(in *Input) {
	o := in.origin
	side := o.flow.sides[o.join][o.pos]
	if len(side.feeds) == 0 {
		return
	}
	p.inputColumns(in, side)
	in.WholeTable = p.wholeTable(side)
	p.inputLayout(in, side)
}

// inputColumns replaces what the text told of the columns by what the planner's statistics hold.
func (p *propagation) inputColumns(in *Input, side side) {
	feed := side.feeds[0]
	st := p.at(feed)
	if len(side.feeds) > 1 {
		st = p.union(side.feeds)
	}
	if st.scaled && !isReduceSink(feed) {
		st = p.shuffledBy(st, in)
	}
	columns := make([]Column, 0, len(st.columns))
	for i := range st.columns {
		c := &st.columns[i]
		col := Column{Name: c.name, Type: c.typ, Table: c.table, Column: c.column, HasStats: !c.estimated, Estimated: c.estimated}
		if c.known {
			nulls := c.nulls
			col.Nulls = &nulls
		}
		columns = append(columns, col)
	}
	in.Columns = columns
	// A shuffle names its keys only when its input has column statistics; the planner looks them up under that name.
	named := st.scaled
	if below := p.flow.producer(feed); below != nil && isReduceSink(feed) && len(side.feeds) == 1 {
		named = p.at(below).scaled
	}
	for i := range in.Keys {
		in.Keys[i].NDV, in.Keys[i].Nulls = nil, nil
		if !named {
			continue
		}
		if c := p.keyStats(in, side, st, i); c != nil && c.known {
			ndv, nulls := c.ndv, c.nulls
			in.Keys[i].NDV, in.Keys[i].Nulls = &ndv, &nulls
		}
	}
}

// keyStats finds the statistics of a key: by its place among the shuffle's keys, or by the expression.
func (p *propagation) keyStats(in *Input, side side, st *flowStats, i int) *columnStat {
	feed := side.feeds[0]
	if isReduceSink(feed) {
		list, _ := feed.Attr("key expressions")
		if exprs := explain.Exprs(list); i < len(exprs) {
			return st.named(exprs[i].Text)
		}
		return nil
	}
	return st.named(in.Keys[i].Expr)
}

// inputLayout adds sort columns, bytes on disk and what lies below.
func (p *propagation) inputLayout(in *Input, side side) {
	o := side.feeds[0]
	if isReduceSink(o) || o.Kind == kindDummyStore {
		o = p.flow.producer(o)
	}
	var scan *explain.Operator
	scans, groups, counting := 0, 0, true
	for _, b := range p.flow.below(o) {
		switch {
		case b.Kind == kindTableScan:
			scans++
			scan = b
		case isJoin(b):
			in.OverJoin = true
		}
	}
	for b := o; b != nil && counting; {
		if b.Kind == kindGroupBy {
			groups++
		}
		from := p.flow.producers(b)
		if counting = len(from) == 1 && !isReduceSink(b); counting {
			b = from[0]
		}
	}
	in.GroupBys = groups
	// Only an input over one scan is looked at (OperatorUtils.findSingleOperatorUpstream); other storage than Hive's own may say what it holds.
	if scans != 1 || p.providesStats(tableName(scan)) {
		in.Layout.External = false
	}
	if in.OverJoin {
		p.joinedLayout(in, o)
	}
	if scans != 1 {
		return
	}
	t, ok := p.tables[tableName(scan)]
	if !ok {
		return
	}
	if unread(scan) {
		p.unreadLayout(in, o, &t)
	}
	if in.Layout.Buckets > 0 && in.Layout.SortColumns == nil {
		in.Layout.SortColumns = lowered(t.SortColumns)
	}
	p.diskSize(in, scan, &t)
}

// tableName is a scan's table, also where it reads no partition.
func tableName(scan *explain.Operator) string {
	if t := tableOf(scan); t != "" {
		return t
	}
	return unreadTable(scan)
}

// unreadLayout takes the bucketing of a table the plan prints nothing of from the metastore.
func (p *propagation) unreadLayout(in *Input, o *explain.Operator, t *TableStats) {
	chain, end := p.flow.chain(o)
	in.Layout.External = strings.EqualFold(t.Kind, "EXTERNAL_TABLE") && !p.providesStats(t.Table)
	if p.flow.scanInVertex(o) != nil {
		in.Layout.BucketingVersion = t.BucketingVersion
	}
	if end == nil || end.Kind != kindTableScan || t.Buckets <= 0 {
		return
	}
	var columns []column
	for _, name := range lowered(t.BucketColumns) {
		columns = append(columns, column{name: name, table: t.Table, column: name})
	}
	if kept := p.flow.surviving(columns, chain); kept != nil {
		in.Layout.BucketColumns, in.Layout.Buckets = kept, t.Buckets
	}
}

// providesStats: a non-native table whose handler gives statistics, as Iceberg's does.
func (p *propagation) providesStats(table string) bool {
	return strings.Contains(strings.ToLower(p.tables[table].StorageHandler), "iceberg")
}

func lowered(names []string) []string {
	if names == nil {
		return nil
	}
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ToLower(n)
	}
	return out
}

// wholeTable tells whether column statistics of a whole table stand for those of the partitions that a scan below reads.
func (p *propagation) wholeTable(side side) bool {
	for _, feed := range side.feeds {
		if slices.ContainsFunc(p.flow.scans(feed), func(scan *explain.Operator) bool { return p.whole[scan] }) {
			return true
		}
	}
	return false
}

// diskSize adds up totalSize of what the scan reads; a size the metastore does not have counts as nothing.
func (p *propagation) diskSize(in *Input, scan *explain.Operator, t *TableStats) {
	if len(t.PartitionColumns) == 0 {
		if t.TotalSize != nil {
			in.Layout.TotalSize = *t.TotalSize
		}
		return
	}
	parts := partitionsRead(scan)
	if in.Layout.Partitions = len(parts); len(parts) == 0 {
		in.Layout.Partitions = -1
	}
	var sum int64
	for _, name := range parts {
		if ps, ok := p.tables[t.Table+"/"+name]; ok && ps.TotalSize != nil {
			sum += *ps.TotalSize
		} else if t.TotalSize != nil && !ok {
			in.Layout.TotalSize = *t.TotalSize
			return
		}
	}
	in.Layout.TotalSize = sum
}

// partitionsRead lists the partitions of the scan's paths.
func partitionsRead(scan *explain.Operator) []string {
	if scan.Vertex == nil {
		return nil
	}
	alias, _ := scan.Attr("alias")
	table := tableOf(scan)
	var names []string
	for i := range scan.Vertex.Sources {
		s := &scan.Vertex.Sources[i]
		if s.Partition == "" || !strings.EqualFold(s.Table, table) {
			continue
		}
		if len(s.Aliases) > 0 && !contains(s.Aliases, alias) {
			continue
		}
		names = append(names, s.Partition)
	}
	return names
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
