package advisor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// input reads one position of a join.
func (f *flow) input(o *explain.Operator, pos int) Input {
	s := f.sides[o][pos]
	in := Input{
		Position: pos, Vertex: s.from,
		Rows: -1, DataSize: -1, CumulativeRows: -1,
		Keys:   f.keys(o, pos),
		Layout: Layout{TotalSize: -1},
		origin: &origin{flow: f, join: o, pos: pos},
	}
	if len(s.feeds) == 0 {
		return in
	}
	st := f.unionEstimate(s.feeds)
	in.Rows, in.DataSize = st.Rows, st.DataSize
	in.BasicStats, in.ColumnStats = st.Basic, st.Column
	if in.Uncounted = f.uncounted(s); !in.Uncounted {
		in.CumulativeRows = f.inputCumulative(s)
	}
	scans := f.scans(s.feeds[0])
	for _, feed := range s.feeds[1:] {
		scans = append(scans, f.scans(feed)...)
	}
	for _, scan := range scans {
		t := tableOf(scan)
		if t == "" {
			t = unreadTable(scan)
		}
		if t != "" && !slices.Contains(in.Tables, t) {
			in.Tables = append(in.Tables, t)
		}
	}
	if len(scans) == 1 {
		in.Alias, _ = scans[0].Attr("alias")
	}
	for _, c := range f.inputColumns(o, pos) {
		in.Columns = append(in.Columns, Column{Name: c.name, Type: c.typ, Table: c.table, Column: c.column})
	}
	in.Layout = f.layout(s.feeds[0], len(s.feeds) > 1)
	return in
}

// estimate is the row and size estimate of what feeds a join. A Dummy Store prints none, nor do user-level plans for a
// shuffle: there it is that of the operator below.
func (f *flow) estimate(o *explain.Operator) *explain.Statistics {
	if o.Stats == nil && (o.Kind == kindDummyStore || isReduceSink(o)) {
		below := f.producer(o)
		// Hive parts parallel edges by a projection and a second shuffle, both without statistics (ParallelEdgeFixer).
		for range 3 {
			if below == nil || below.Stats != nil || below.Kind != kindSelect && !isReduceSink(below) {
				break
			}
			below = f.producer(below)
		}
		if below != nil {
			return below.Stats
		}
	}
	if from := f.producers(o); o.Stats == nil && o.Kind == kindUnion && len(from) > 0 {
		rows := int64(0)
		for _, p := range from {
			rows = addCount(rows, f.rows(p))
		}
		return &explain.Statistics{Rows: rows, DataSize: -1, Width: -1, ActualRows: -1}
	}
	return o.Stats
}

// unreadTable is the table of a scan all of whose partitions are pruned.
func unreadTable(scan *explain.Operator) string {
	if scan.Vertex != nil {
		alias, _ := scan.Attr("alias")
		for _, s := range scan.Vertex.Unread {
			if slices.Contains(s.Aliases, alias) {
				return strings.ToLower(s.Table)
			}
		}
	}
	return ""
}

// unionEstimate is the estimate of what feeds one input. The members of a union are joined before the shuffle when Hive
// decides; afterwards each has its own copy of what follows the union, which still prints the estimate of all of it.
func (f *flow) unionEstimate(feeds []*explain.Operator) *explain.Statistics {
	if len(feeds) == 1 || isReduceSink(feeds[0]) && f.sameEstimate(feeds) || f.wholeUnion(feeds) {
		if st := f.estimate(feeds[0]); st != nil {
			return st
		}
		return noStats
	}
	sum := *noStats
	for i, feed := range feeds {
		st := f.estimate(feed)
		switch {
		case st == nil:
			return noStats
		case i == 0:
			sum = *st
			continue
		}
		sum.Rows, sum.DataSize = addCount(sum.Rows, st.Rows), addCount(sum.DataSize, st.DataSize)
		sum.Basic, sum.Column = worseState(sum.Basic, st.Basic), worseState(sum.Column, st.Column)
	}
	return &sum
}

// sameEstimate tells whether operators print one and the same estimate; true when one of them prints none.
func (f *flow) sameEstimate(ops []*explain.Operator) bool {
	first := f.estimate(ops[0])
	for _, o := range ops {
		st := f.estimate(o)
		if first == nil || st == nil {
			return true
		}
		if *st != *first {
			return false
		}
	}
	return true
}

// addCount adds estimates; an unknown one makes the sum unknown.
func addCount(a, b int64) int64 {
	if a == -1 || b == -1 {
		return -1
	}
	return a + b
}

// worseState combines the states of a union's members: COMPLETE only when all are, NONE when none has any.
func worseState(a, b string) string {
	if a == b {
		return a
	}
	return "PARTIAL"
}

// keys are the key expressions of a position.
func (f *flow) keys(o *explain.Operator, pos int) []Key {
	s := f.sides[o][pos]
	var exprs []explain.Expr
	for _, a := range o.Group("keys") {
		if a.Name == strconv.Itoa(pos) {
			exprs = explain.Exprs(a.Value)
		}
	}
	var feed *explain.Operator
	if len(s.feeds) > 0 {
		feed = s.feeds[0]
	}
	if exprs == nil && feed != nil {
		exprs = userKeys(o, feed)
	}
	keys := make([]Key, 0, len(exprs))
	for _, e := range exprs {
		k := Key{Expr: e.Text, Type: e.Type}
		var c column
		switch {
		case feed == nil:
		case strings.HasPrefix(e.Text, "KEY."):
			c, _ = f.shuffled(o, feed, e.Text)
		case isColumnName(e.Text):
			c, _ = f.lookup(feed, e.Text)
		}
		k.Table, k.Column = c.table, c.column
		if k.Type == "" {
			k.Type = c.typ
		}
		keys = append(keys, k)
	}
	return keys
}

// inputColumns are the columns an input carries. A scan that streams into a join hands on all its table's columns in the
// plan's words: only those the join uses count.
func (f *flow) inputColumns(o *explain.Operator, pos int) []column {
	cols := f.carried(o, pos)
	feed := f.sides[o][pos].feeds[0]
	if isReduceSink(feed) || !f.wholeScan(feed) {
		return cols
	}
	var used []column
	for _, k := range f.keys(o, pos) {
		c, ok := f.lookup(feed, k.Expr)
		if !ok {
			c = column{name: k.Expr, typ: k.Type, index: -1}
		}
		if !hasColumn(used, c.name) {
			used = append(used, c)
		}
	}
	sources := f.outputSources(o)
	for i, c := range f.outputs(o) {
		for _, s := range cols {
			if i < len(sources) && sources[i].pos >= 0 && (sources[i].pos != pos || !strings.EqualFold(sources[i].name, s.name)) {
				continue // a self join: the other side has the column too
			}
			if c.table == s.table && c.column == s.column && s.column != "" && !hasColumn(used, s.name) {
				used = append(used, s)
			}
		}
	}
	return used
}

// wholeScan tells whether an operator hands on a scan's columns without a projection between.
func (f *flow) wholeScan(o *explain.Operator) bool {
	for range maxTrace {
		if o == nil || isJoin(o) || o.Kind == kindSelect || o.Kind == kindGroupBy {
			return false
		}
		if o.Kind == kindTableScan {
			return true
		}
		o = f.producer(o)
	}
	return false
}

// scans are the table scans below an operator, through nested joins too.
func (f *flow) scans(o *explain.Operator) []*explain.Operator {
	var scans []*explain.Operator
	for _, b := range f.below(o) {
		if b.Kind == kindTableScan {
			scans = append(scans, b)
		}
	}
	return scans
}
