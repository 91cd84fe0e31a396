package outerjoin

import (
	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// Classify tells where each predicate of the query's outer joins stands and what the plan makes of it, in the order of
// the text. Predicates whose tables are not certain (a column without qualifier in a table whose columns the plan does not
// print, a subquery) are left out, as are those that join the two sides. Without the text, or where it cannot be read, the
// plan alone is asked.
func Classify(q advisor.Query) []Predicate {
	v := newView(q)
	if q.SQL == "" {
		return v.classify()
	}
	ast, err := queryast.Parse(q.SQL)
	if err != nil {
		return v.classify()
	}
	var list []Predicate
	for _, sc := range scopes(ast, v) {
		list = append(list, sc.classify(v)...)
	}
	return list
}

// scopes are the selects with outer joins.
func scopes(ast *queryast.Query, v *view) []*scope {
	var list []*scope
	for _, s := range ast.Selects() {
		if sc := newScope(ast, s, v); sc != nil {
			for _, other := range list {
				if other.from.Span == sc.from.Span {
					other.shared, sc.shared = true, true
				}
			}
			list = append(list, sc)
		}
	}
	return list
}

func (sc *scope) classify(v *view) []Predicate {
	var list []Predicate
	for i, j := range sc.from.Joins {
		for _, e := range queryast.Conjuncts(j.On) {
			if j.Type.Outer() {
				list = sc.during(list, e, i)
			} else if j.Type == queryast.Inner || j.Type == queryast.Cross {
				list = sc.after(list, e, i)
			}
		}
	}
	for _, e := range queryast.Conjuncts(sc.sel.Where) {
		list = sc.after(list, e, -1)
	}
	for i := range list {
		v.observe(&list[i])
	}
	return list
}

// during adds a predicate of an outer join's own condition, unless it is about both sides.
func (sc *scope) during(list []Predicate, e queryast.Expr, join int) []Predicate {
	m, ok := sc.sources(e)
	if !ok {
		return list
	}
	for _, s := range sc.sides {
		if s.join != join {
			continue
		}
		full := sc.from.Joins[join].Type == queryast.FullOuter
		switch {
		case m.within(s.padded) && full:
			return append(list, sc.predicate(e, m, DuringJoin, Both, s.join, join))
		case m.within(s.padded):
			return append(list, sc.predicate(e, m, DuringJoin, NullSupplying, s.join, join))
		case m.within(s.preserved) && !full:
			return append(list, sc.predicate(e, m, DuringJoin, PreservedRow, s.join, join))
		}
	}
	return list
}

// after adds a predicate that is evaluated behind outer joins: once for each that may pad its tables with nulls, and
// where none may, for the first that preserves them. Written is the inner join in whose condition it stands, −1 for WHERE.
func (sc *scope) after(list []Predicate, e queryast.Expr, written int) []Predicate {
	m, ok := sc.sources(e)
	if !ok {
		return list
	}
	before := len(list)
	for _, s := range sc.sides {
		if written >= 0 && s.join > written || !m.meets(s.padded) {
			continue
		}
		where := NullSupplying
		if sc.from.Joins[s.join].Type == queryast.FullOuter {
			where = Both
		}
		p := sc.predicate(e, m, AfterJoin, where, s.join, written)
		p.at.pads = m & s.padded
		p.RejectsNulls = sc.rejects(e, s.padded)
		list = append(list, p)
	}
	if len(list) > before {
		return list
	}
	for _, s := range sc.sides {
		if m.within(s.preserved) && (written < 0 || s.join < written) {
			return append(list, sc.predicate(e, m, AfterJoin, PreservedRow, s.join, written))
		}
	}
	return list
}

func (sc *scope) predicate(e queryast.Expr, m mask, place Place, where Side, join, written int) Predicate {
	return Predicate{
		Text: sc.query.Text(e.Pos()), Span: e.Pos(), Join: sc.joinName(join), Type: sc.from.Joins[join].Type,
		Tables: sc.names(m), Place: place, Side: where, Pushable: pushable(place, where),
		at: &site{scope: sc, expr: e, mask: m, join: join, written: written},
	}
}
