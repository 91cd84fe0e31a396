package antijoin

import (
	"slices"

	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// form is how a query asks for rows without a match.
type form string

const (
	leftJoin  form = "LEFT JOIN and IS NULL"
	rightJoin form = "RIGHT JOIN and IS NULL"
	notExists form = "NOT EXISTS"
	notIn     form = "NOT IN"
)

// asked is one such place in the query.
type asked struct {
	form  form
	query *queryast.Query
	sel   *queryast.Select
	scope *scope
	// tables are the base tables of the side that is looked up; name is what the query calls it.
	tables []string
	name   string
	// test is the predicate of WHERE or HAVING.
	test queryast.Expr
	// source is the place among the sources of the side looked up, join that of its join, for the forms written as a join.
	source, join int
	// tested are the operands of IS NULL; or tells that they stand in one OR.
	tested []queryast.Expr
	or     bool
	// operand and sub are those of NOT IN; sub is that of NOT EXISTS too.
	operand queryast.Expr
	sub     *queryast.Query
}

// find lists what a query asks for, in the order of the text.
func (c *catalog) find(ast *queryast.Query, planned []string) []asked {
	var list []asked
	for _, sel := range ast.Selects() {
		if sel.From == nil || len(sel.From.LateralViews) > 0 {
			continue
		}
		base := asked{query: ast, sel: sel, scope: c.scope(sel.From, planned)}
		for i, j := range sel.From.Joins {
			switch {
			case j.Type == queryast.LeftOuter:
				list = c.padded(list, base, leftJoin, i, i+1, planned)
			case j.Type == queryast.RightOuter && len(sel.From.Joins) == 1:
				list = c.padded(list, base, rightJoin, i, 0, planned)
			}
		}
		for _, clause := range []queryast.Expr{sel.Where, sel.Having} {
			for _, e := range queryast.Conjuncts(clause) {
				list = c.subquery(list, base, e, planned)
			}
		}
	}
	return list
}

// looked adds a place whose side that is looked up is a source.
func (c *catalog) looked(list []asked, a asked, planned []string) []asked {
	src := &a.sel.From.Sources[a.source]
	a.tables, a.name = c.tables(src, planned), src.Name()
	if len(a.tables) == 0 {
		return list
	}
	return append(list, a)
}

// padded adds an outer join whose padded side WHERE wants NULL: by predicates joined with AND, or by one OR of them.
func (c *catalog) padded(list []asked, a asked, f form, join, source int, planned []string) []asked {
	a.form, a.join, a.source = f, join, source
	for _, e := range queryast.Conjuncts(a.sel.Where) {
		if operand := isNull(e); operand != nil && a.scope.only(operand, source) {
			a.tested = append(a.tested, operand)
			if a.test == nil {
				a.test = e
			}
		}
	}
	if len(a.tested) == 0 {
		for _, e := range queryast.Conjuncts(a.sel.Where) {
			if tested := eitherNull(e, a.scope, source); tested != nil {
				a.tested, a.test, a.or = tested, e, true
				break
			}
		}
	}
	if len(a.tested) == 0 {
		return list
	}
	return c.looked(list, a, planned)
}

// isNull is the operand of IS NULL, nil for anything else.
func isNull(e queryast.Expr) queryast.Expr {
	if is, ok := e.(*queryast.Is); ok && is.What == "NULL" && !is.Not {
		return is.Operand
	}
	return nil
}

// eitherNull are the operands of x IS NULL OR y IS NULL, both of the source; nil for anything else.
func eitherNull(e queryast.Expr, s *scope, source int) []queryast.Expr {
	or, ok := e.(*queryast.Or)
	if !ok {
		return nil
	}
	var tested []queryast.Expr
	for _, o := range or.Operands {
		operand := isNull(o)
		if operand == nil || !s.only(operand, source) {
			return nil
		}
		tested = append(tested, operand)
	}
	return tested
}

// subquery adds NOT EXISTS and NOT IN.
func (c *catalog) subquery(list []asked, a asked, e queryast.Expr, planned []string) []asked {
	a.test, a.source, a.join = e, -1, -1
	inner := e
	not, negated := e.(*queryast.Not)
	if negated {
		inner = not.Operand
	}
	switch x := inner.(type) {
	case *queryast.Exists:
		if !negated {
			return list
		}
		a.form, a.sub = notExists, x.Query
	case *queryast.In:
		if x.Query == nil || x.Not == negated {
			return list
		}
		a.form, a.sub, a.operand = notIn, x.Query, x.Operand
	default:
		return list
	}
	a.tables = c.tablesOf(a.sub, planned)
	if len(a.tables) == 0 {
		return list
	}
	a.name = a.tables[0]
	if selects := outerSelects(a.sub); len(selects) == 1 && len(selects[0].From.Sources) == 1 {
		a.name = selects[0].From.Sources[0].Name()
	}
	if a.name == "" {
		a.name = "the subquery"
	}
	slices.Sort(a.tables)
	a.tables = slices.Compact(a.tables)
	return append(list, a)
}
