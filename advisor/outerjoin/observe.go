package outerjoin

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// observe fills in what the plan tells of a predicate of the text.
func (v *view) observe(p *Predicate) {
	if v.plan == nil {
		return
	}
	var joins []*explain.Operator
	p.Planned, joins = v.planned(p.at.scope, p.at.join)
	if v.below(p) {
		p.Found = BelowJoin
		return
	}
	text := shape(p.at.expr, anyColumn)
	for _, o := range joins {
		switch {
		case v.inside(p, o, text):
			p.Found = InJoin
		case filters(o, text):
			p.Found = AboveJoin
		}
	}
	if p.Found == NotFound && p.PartitionsRead > 0 && p.PartitionsNeedless == 0 {
		p.Found = BelowJoin // Hive drops a predicate once no other partition is left
	}
}

// below looks for the predicate among the filters of its table's scans, all of them, and at the partitions they read.
func (v *view) below(p *Predicate) bool {
	sc := p.at.scope
	var place int
	for place = range sc.from.Sources {
		if p.at.mask == 1<<uint(place) {
			break
		}
	}
	if p.at.mask != 1<<uint(place) {
		return false
	}
	column := func(c *queryast.ColumnRef) string { _, name := sc.source(c); return name }
	text := shape(p.at.expr, column)
	scans := v.named(&sc.from.Sources[place])
	found := len(scans) > 0
	for _, s := range scans {
		found = found && slices.ContainsFunc(s.filters, func(e queryast.Expr) bool { return shape(e, bare) == text })
	}
	if len(scans) == 1 && len(scans[0].partitions) > 0 && !v.shared(sc, scans[0].table) {
		for _, c := range queryast.Columns(p.at.expr) {
			if _, ok := scans[0].partitions[0].values[column(&c)]; !ok {
				return found
			}
		}
		p.PartitionsRead = len(scans[0].partitions)
		unknown := false
		for _, part := range scans[0].partitions {
			switch t := part.truth(p.at.expr, column); {
			case !t.can(isTrue):
				p.PartitionsNeedless++
			case t != isTrue:
				unknown = true
			}
		}
		if unknown && p.PartitionsNeedless == 0 {
			p.PartitionsRead = 0
		}
	}
	return found
}

// shared: the query names a table more often than the plan scans it, so that a scan reads for several names
// (SharedWorkOptimizer), and what it reads is no name's alone.
func (v *view) shared(sc *scope, table string) bool {
	names := 0
	for _, s := range sc.query.Selects() {
		if s.From == nil {
			continue
		}
		for i := range s.From.Sources {
			if t := s.From.Sources[i].Table; t != nil && (t.Name == table || strings.HasSuffix(table, "."+t.Name)) {
				names++
			}
		}
	}
	for _, s := range v.scans {
		if s.table == table {
			names--
		}
	}
	return names > 0
}

// inside looks for the predicate in the join operator: among its filter predicates, as they are or as a column that was
// computed below, and among the residual ones.
func (v *view) inside(p *Predicate, o *explain.Operator, text string) bool {
	if residual, ok := o.Attr("residual filter predicates"); ok && braced(residual, text) {
		return true
	}
	filtered := false
	for _, a := range o.Group("filter predicates") {
		if braced(a.Value, text) {
			return true
		}
		filtered = filtered || strings.TrimSpace(a.Value) != ""
	}
	if !filtered {
		return false
	}
	sc := p.at.scope
	column := func(c *queryast.ColumnRef) string { _, name := sc.source(c); return name }
	named := shape(p.at.expr, column)
	for i := range sc.from.Sources {
		if !p.at.mask.has(i) {
			continue
		}
		for _, s := range v.named(&sc.from.Sources[i]) {
			if slices.ContainsFunc(s.computed, func(e queryast.Expr) bool { return shape(e, bare) == named }) {
				return true
			}
		}
	}
	return false
}

// braced looks for a predicate in "{(VALUE._col1 = 'a')} {…}".
func braced(value, text string) bool {
	for _, part := range braces(value) {
		_, list := planPredicates(part)
		if slices.ContainsFunc(list, func(e queryast.Expr) bool { return shape(e, anyColumn) == text }) {
			return true
		}
	}
	return false
}

// filters looks for the predicate in the filters above a join, up to the next join.
func filters(o *explain.Operator, text string) bool {
	for _, f := range filtersAbove(o, 0) {
		predicate, _ := f.Attr("predicate")
		_, list := planPredicates(predicate)
		if slices.ContainsFunc(list, func(e queryast.Expr) bool { return shape(e, anyColumn) == text }) {
			return true
		}
	}
	return false
}

func filtersAbove(o *explain.Operator, depth int) []*explain.Operator {
	var list []*explain.Operator
	if depth > maxFilters {
		return nil
	}
	for _, c := range o.Children {
		if strings.HasSuffix(c.Kind, "Join Operator") || c.Kind == kindGroupBy {
			continue
		}
		if c.Kind == kindFilter {
			list = append(list, c)
		}
		list = append(list, filtersAbove(c, depth+1)...)
	}
	return list
}

// planned is the type the plan has for a join of the text, as if its tables stood in the text's order, and the operators
// that do it. It is empty where the plan's joins cannot be told apart by their tables, or do not agree.
func (v *view) planned(sc *scope, join int) (queryast.JoinType, []*explain.Operator) {
	var left []string
	for i := range join + 1 {
		left = append(left, v.aliases(sc, i)...)
	}
	right := v.aliases(sc, join+1)
	for _, a := range right {
		if slices.Contains(left, a) {
			return "", nil
		}
	}
	types := map[queryast.JoinType]bool{}
	var operators []*explain.Operator
	for i := range v.joins {
		j := &v.joins[i]
		for k, c := range j.Conditions {
			if c.Left >= len(j.Inputs) || c.Right >= len(j.Inputs) {
				continue
			}
			l, r := inputAliases(&j.Inputs[c.Left]), inputAliases(&j.Inputs[c.Right])
			switch {
			case within(r, right) && meets(l, left):
				types[textType(c.Type, false)] = true
			case k == 0 && within(l, right) && meets(r, left):
				types[textType(c.Type, true)] = true
			default:
				continue
			}
			if o, _ := j.Inputs[c.Right].Operators(); o != nil {
				operators = append(operators, o)
			}
		}
	}
	if len(types) != 1 {
		return "", nil
	}
	for t := range types {
		return t, operators
	}
	return "", nil
}

func within(list, all []string) bool {
	for _, a := range list {
		if !slices.Contains(all, a) {
			return false
		}
	}
	return len(list) > 0
}

func meets(list, all []string) bool {
	return slices.ContainsFunc(list, func(a string) bool { return slices.Contains(all, a) })
}

// inputAliases are the names of the tables below an input.
func inputAliases(in *advisor.Input) []string {
	var list []string
	for _, s := range in.Scans() {
		list = append(list, strings.ToLower(s.Alias))
	}
	return list
}

// aliases are the names that the scans of a source have in a plan: its own, or those inside a subquery or a CTE.
func (v *view) aliases(sc *scope, i int) []string {
	src := &sc.from.Sources[i]
	if src.Query != nil {
		return inner(src.Query)
	}
	if src.Table == nil {
		return nil
	}
	if src.Table.Database == "" {
		for _, c := range sc.query.With {
			if c.Name == src.Table.Name {
				return inner(c.Query)
			}
		}
	}
	return []string{src.Name()}
}

func inner(q *queryast.Query) []string {
	var list []string
	for _, s := range q.Selects() {
		if s.From == nil {
			continue
		}
		for i := range s.From.Sources {
			if s.From.Sources[i].Table != nil {
				list = append(list, s.From.Sources[i].Name())
			}
		}
	}
	return list
}

// textType is a plan's join type; turned says that the plan's left side is the text's right one.
func textType(t advisor.JoinType, turned bool) queryast.JoinType {
	switch t {
	case advisor.Inner, advisor.Cross:
		return queryast.Inner
	case advisor.LeftOuter:
		if turned {
			return queryast.RightOuter
		}
		return queryast.LeftOuter
	case advisor.RightOuter:
		if turned {
			return queryast.LeftOuter
		}
		return queryast.RightOuter
	case advisor.FullOuter:
		return queryast.FullOuter
	case advisor.LeftSemi:
		return queryast.LeftSemi
	case advisor.Anti:
		return queryast.LeftAnti
	default:
		return ""
	}
}

// position reads the name of a line in a group.
func position(a explain.Attr) int {
	n, err := strconv.Atoi(a.Name)
	if err != nil {
		return -1
	}
	return n
}
