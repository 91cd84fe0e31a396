package advisor

import (
	"maps"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// UsedColumns lists, by table, the base columns that the plan's filters and groupings read: those whose statistics, beside the join
// keys', the planner's estimates rest on. Names are in lower case and sorted.
func UsedColumns(p *explain.Plan) map[string][]string {
	f := newFlow(p)
	found := map[string]map[string]bool{}
	add := func(c column) {
		if c.table == "" || c.column == "" {
			return
		}
		if found[c.table] == nil {
			found[c.table] = map[string]bool{}
		}
		found[c.table][strings.ToLower(c.column)] = true
	}
	for _, st := range p.Stages {
		for _, v := range st.Vertices {
			for o := range v.Operators() {
				f.usedBy(o, add)
			}
		}
	}
	out := map[string][]string{}
	for table, columns := range found {
		out[table] = slices.Sorted(maps.Keys(columns))
	}
	return out
}

// usedBy visits the columns that one operator filters or groups by.
func (f *flow) usedBy(o *explain.Operator, yield func(column)) {
	names := map[string]bool{}
	switch o.Kind {
	case kindTableScan:
		// What is left of a filter in the scan itself names the table's own columns.
		predicate, _ := o.Attr("filterExpr")
		words(predicate, names)
		f.resolve(o, names, f.lookup, yield)
		return
	case kindFilter:
		predicate, _ := o.Attr("predicate")
		words(predicate, names)
	case kindGroupBy:
		keys, _ := o.Attr("keys")
		for _, e := range explain.Exprs(keys) {
			if strings.Contains(e.Text, "KEY.") {
				names[e.Text] = true // across a shuffle, in upper case
				continue
			}
			words(e.Text, names)
		}
	}
	f.resolve(f.producer(o), names, func(_ *explain.Operator, name string) (column, bool) { return f.expr(o, name) }, yield)
}

// expressionWords stand in expressions without being columns, unless a column has that name.
var expressionWords = []string{
	"and", "or", "not", "is", "null", "true", "false", "between", "in", "like", "rlike", "regexp", "case", "when", "then", "else", "end", "div",
	"date", "timestamp", "interval", "day", "month", "year", "hour", "minute", "second",
}

// resolve visits the columns among the words of an expression over what an operator hands on.
func (f *flow) resolve(from *explain.Operator, names map[string]bool, find func(*explain.Operator, string) (column, bool), yield func(column)) {
	known := f.outputs(from)
	for name := range names {
		is := slices.ContainsFunc(known, func(c column) bool { return strings.EqualFold(c.name, name) })
		if !is && slices.Contains(expressionWords, name) {
			continue
		}
		if c, ok := find(from, name); ok {
			yield(c)
		}
	}
}

// OverflowTables are the base tables of the hash table that did not fit, by the error message of a statement and its joins; false
// when the message tells of no lack of memory or the plan hashes nothing. rows is what the planner took them for together.
func OverflowTables(message string, verdicts []JoinVerdict) (tables []string, rows int64, o Overflow, ok bool) {
	if o, ok = ParseOverflow(message); !ok {
		return nil, 0, o, false
	}
	v, pos, _ := overflowed(&o, verdicts)
	if v == nil {
		return nil, 0, o, false
	}
	for i := range v.Join.Inputs {
		if i == pos || pos < 0 && i != v.Join.BigTable {
			tables = append(tables, v.Join.Inputs[i].Tables...)
		}
	}
	slices.Sort(tables)
	return slices.Compact(tables), estimatedRows(v, pos), o, true
}
