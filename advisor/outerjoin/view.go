package outerjoin

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

const (
	kindTableScan = "TableScan"
	kindFilter    = "Filter Operator"
	kindSelect    = "Select Operator"
	kindGroupBy   = "Group By Operator"
)

// view is a plan as this package asks it.
type view struct {
	plan  *explain.Plan
	joins []advisor.Join
	scans []*scan
}

// scan is a table scan with what is done to its rows before any other operator.
type scan struct {
	alias, table string
	columns      []string
	filters      []queryast.Expr
	// computed are the expressions of the projection above the filters.
	computed   []queryast.Expr
	partitions []partition
}

func newView(q advisor.Query) *view {
	v := &view{plan: q.Plan}
	if q.Plan == nil {
		return v
	}
	for i := range q.Verdicts {
		v.joins = append(v.joins, q.Verdicts[i].Join)
	}
	if v.joins == nil {
		v.joins = advisor.Joins(q.Plan)
	}
	for _, stage := range q.Plan.Stages {
		for _, vertex := range stage.Vertices {
			v.vertex(vertex)
		}
	}
	return v
}

func (v *view) vertex(vertex *explain.Vertex) {
	var scans []*explain.Operator
	for o := range vertex.Operators() {
		if o.Kind == kindTableScan {
			scans = append(scans, o)
		}
	}
	for _, o := range scans {
		s := &scan{}
		s.alias, _ = o.Attr("alias")
		s.alias = strings.ToLower(s.alias)
		s.read(vertex, len(scans))
		if text, ok := o.Attr("filterExpr"); ok {
			s.filter(text)
		}
		s.above(o, 0)
		v.scans = append(v.scans, s)
	}
}

// read finds what the vertex reads for the scan.
func (s *scan) read(vertex *explain.Vertex, scans int) {
	var sources []*explain.Source
	tables := map[string]bool{}
	for i := range vertex.Sources {
		src := &vertex.Sources[i]
		tables[src.Table] = true
		if slices.ContainsFunc(src.Aliases, func(a string) bool { return strings.EqualFold(a, s.alias) }) {
			sources = append(sources, src)
		}
	}
	if sources == nil && scans == 1 && len(tables) == 1 {
		for i := range vertex.Sources {
			sources = append(sources, &vertex.Sources[i])
		}
	}
	if len(sources) == 0 {
		return
	}
	properties := sources[0].Properties
	s.table = strings.ToLower(sources[0].Table)
	s.columns = explain.Names(strings.ToLower(properties["columns"]))
	names := strings.ToLower(properties["partition_columns"])
	if names == "" {
		return
	}
	s.columns = append(s.columns, strings.Split(names, "/")...)
	if scans > 1 {
		return // two scans of one table share what is read
	}
	types := strings.Split(properties["partition_columns.types"], ":")
	for _, src := range sources {
		if src.Partition != "" {
			s.partitions = append(s.partitions, newPartition(src.Partition, strings.Split(names, "/"), types))
		}
	}
}

// maxFilters bounds the filters that are followed one above the other.
const maxFilters = 50

// above collects the filters above an operator up to the first other one.
func (s *scan) above(o *explain.Operator, depth int) {
	if depth > maxFilters {
		return
	}
	for _, c := range o.Children {
		switch c.Kind {
		case kindFilter:
			if text, ok := c.Attr("predicate"); ok {
				s.filter(text)
			}
			s.above(c, depth+1)
		case kindSelect:
			text, _ := c.Attr("expressions")
			for _, e := range explain.Exprs(text) {
				_, list := planPredicates(e.Text)
				s.computed = append(s.computed, list...)
			}
		}
	}
}

func (s *scan) filter(text string) {
	_, list := planPredicates(text)
	s.filters = append(s.filters, list...)
}

// named are the scans of a table of the query's text.
func (v *view) named(src *queryast.Source) []*scan {
	if src.Table == nil {
		return nil
	}
	var list []*scan
	for _, s := range v.scans {
		if s.alias != src.Name() {
			continue
		}
		_, table, _ := strings.Cut(s.table, ".")
		if s.table == "" || table == src.Table.Name {
			list = append(list, s)
		}
	}
	return list
}

// columnsOf are the columns of a source, nil where they are not known.
func (v *view) columnsOf(src *queryast.Source) []string {
	if src.Query != nil {
		return outputs(src.Query.Branches[0].Body)
	}
	var columns []string
	for _, s := range v.named(src) {
		if columns != nil && !slices.Equal(columns, s.columns) {
			return nil
		}
		columns = s.columns
	}
	return columns
}

// outputs are the names of a select list, nil where it has a star.
func outputs(b queryast.Body) []string {
	for {
		o, ok := b.(*queryast.SetOperation)
		if !ok {
			break
		}
		b = o.Left
	}
	s, ok := b.(*queryast.Select)
	if !ok {
		return nil
	}
	names := []string{}
	for _, it := range s.Items {
		c, isColumn := it.Expr.(*queryast.ColumnRef)
		switch {
		case it.Star:
			return nil
		case len(it.Aliases) > 0:
			names = append(names, it.Aliases...)
		case isColumn:
			names = append(names, c.Parts[len(c.Parts)-1])
		}
	}
	return names
}
