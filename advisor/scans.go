package advisor

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// Scan is a table scan whose rows come into an input of a join, also through joins below.
type Scan struct {
	Operator *explain.Operator
	// Table is "database.table", empty where the plan's form does not print it; Alias is the query's.
	Table, Alias string
	// PartitionColumns are the table's, where the plan prints them.
	PartitionColumns []string
	// Reached: a condition on one of the scan's columns that the input hands on may be checked at the scan instead: nothing but filters,
	// projections, groupings and shuffles lies between, and joins that pad no row of the scan with nulls.
	Reached bool
}

// Scans lists the table scans below the input in the plan it was read from; nil for a recorded input.
func (in *Input) Scans() []Scan {
	var list []Scan
	seen := map[*explain.Operator]bool{}
	in.feeds(func(f *flow, feed *explain.Operator) {
		f.scansBelow(feed, true, seen, func(o *explain.Operator, reached bool) {
			s := Scan{Operator: o, Table: tableName(o), Reached: reached}
			s.Alias, _ = o.Attr("alias")
			if from := sourceOf(o); from != nil {
				s.PartitionColumns = explain.Names(slashed(from.Properties["partition_columns"]))
			}
			list = append(list, s)
		})
	})
	return list
}

// ActualRows are the rows EXPLAIN ANALYZE counted of the input, −1 where the plan holds no such count.
func (in *Input) ActualRows() int64 {
	rows := int64(-1)
	in.feeds(func(f *flow, feed *explain.Operator) {
		st := f.estimate(feed)
		if st == nil || st.ActualRows < 0 {
			if below := f.producer(feed); isReduceSink(feed) && below != nil {
				st = below.Stats
			}
		}
		if st != nil && st.ActualRows >= 0 {
			rows = max(rows, 0) + st.ActualRows
		}
	})
	return rows
}

// Edge is the type of the edge that brings the input from another vertex; empty for a recorded input and one of the join's own vertex.
func (in *Input) Edge() explain.EdgeType {
	if in.origin == nil {
		return ""
	}
	return in.origin.flow.sides[in.origin.join][in.origin.pos].edge
}

// Operators lists the operators below the input down to the scans, and the join itself first; nil for a recorded input.
func (in *Input) Operators() (join *explain.Operator, below []*explain.Operator) {
	in.feeds(func(f *flow, feed *explain.Operator) {
		join = in.origin.join
		below = append(below, f.below(feed)...)
	})
	return join, below
}

func (in *Input) feeds(visit func(f *flow, feed *explain.Operator)) {
	o := in.origin
	if o == nil || o.pos >= len(o.flow.sides[o.join]) {
		return
	}
	for _, feed := range o.flow.sides[o.join][o.pos].feeds {
		visit(o.flow, feed)
	}
}

func (f *flow) scansBelow(o *explain.Operator, reached bool, seen map[*explain.Operator]bool, yield func(*explain.Operator, bool)) {
	if o == nil || seen[o] {
		return
	}
	seen[o] = true
	switch {
	case o.Kind == kindTableScan:
		yield(o, reached)
		return
	case isJoin(o):
		for pos, s := range f.sides[o] {
			for _, feed := range s.feeds {
				f.scansBelow(feed, reached && keepsRows(conditions(o), pos), seen, yield)
			}
		}
		return
	case o.Kind == kindSelect, o.Kind == kindGroupBy, o.Kind == kindFilter, o.Kind == kindDummyStore, isReduceSink(o):
	default:
		reached = false
	}
	for _, p := range f.producers(o) {
		f.scansBelow(p, reached, seen, yield)
	}
}

// keepsRows: rows of that side never get lost for a condition checked below the join that would not get lost for it above.
func keepsRows(conditions []Condition, pos int) bool {
	for _, c := range conditions {
		switch c.Type {
		case Inner, LeftSemi:
		case LeftOuter, Anti:
			if pos == c.Right {
				return false
			}
		case RightOuter:
			if pos != c.Right {
				return false
			}
		default:
			return false
		}
	}
	return true
}

const kindFilter = "Filter Operator"

// slashed turns "ds/hr", as plans print partition columns, into a list of names.
func slashed(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '/' {
			b[i] = ','
		}
	}
	return string(b)
}

// Unused lists the columns that cross the exchange into the join and leave it no more, other than the keys: dead weight of the exchange.
// nil where that cannot be told, as with a condition besides the keys.
func (in *Input) Unused() []string {
	if in.origin == nil {
		return nil
	}
	f, o := in.origin.flow, in.origin.join
	out := f.outputs(o)
	if _, residual := o.Attr("residual filter predicates"); residual || len(out) == 0 || len(o.Group("filter predicates")) > 0 {
		return nil
	}
	for _, c := range out {
		if c.column == "" { // an expression could be any of them
			return nil
		}
	}
	var list []string
	for _, c := range in.Columns {
		if c.Column == "" || c.NotCarried || c.Estimated || in.inKey(c) || !in.sends(c.Name) { // estimated are the columns that the scan reads, carried on or not
			continue
		}
		used := false
		for _, u := range out {
			used = used || u.table == c.Table && u.column == c.Column
		}
		if !used {
			list = append(list, c.Name)
		}
	}
	return list
}

// sends: the shuffle into the join carries the name; true where there is none.
func (in *Input) sends(name string) bool {
	sent := true
	in.feeds(func(_ *flow, feed *explain.Operator) {
		if !isReduceSink(feed) {
			return
		}
		keys, _ := feed.Attr("key expressions")
		values, _ := feed.Attr("value expressions")
		names := map[string]bool{}
		words(keys+", "+values, names)
		sent = sent && names[name]
	})
	return sent
}

// inKey: a key is the column or is computed from it.
func (in *Input) inKey(c Column) bool {
	for i := range in.Keys {
		k := &in.Keys[i]
		names := map[string]bool{}
		words(k.Expr, names)
		if names[strings.ToLower(c.Name)] || k.Column == c.Column && k.Table == c.Table {
			return true
		}
	}
	return false
}
