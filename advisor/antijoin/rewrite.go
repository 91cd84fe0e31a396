package antijoin

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// Rewritten is the query with each NOT IN over a simple subquery written as IS NOT NULL and NOT EXISTS; ok is false where
// there is none. It has the query's literals. It gives the same rows where no key of the subqueries is NULL and they are not
// empty.
func Rewritten(sql string) (rewritten string, ok bool) {
	ast, err := queryast.Parse(sql)
	if err != nil {
		return "", false
	}
	at := len(sql)
	rewritten = sql
	for _, sel := range backwards(ast.Selects()) {
		if sel.From == nil {
			continue
		}
		conjuncts := queryast.Conjuncts(sel.Where)
		for i := len(conjuncts) - 1; i >= 0; i-- {
			a, found := notInOf(ast, sel, conjuncts[i])
			span := conjuncts[i].Pos()
			if !found || span.End > at { // inside one that is written anew already
				continue
			}
			if text := a.notExists(func(e queryast.Expr) string { return ast.Text(e.Pos()) }); text != "" {
				rewritten = rewritten[:span.Start] + "(" + text + ")" + rewritten[span.End:]
				at, ok = span.Start, true
			}
		}
	}
	return rewritten, ok
}

// backwards orders selects so that those later in the text come first.
func backwards(list []*queryast.Select) []*queryast.Select {
	out := make([]*queryast.Select, 0, len(list))
	for _, s := range list {
		i := 0
		for i < len(out) && out[i].Pos().Start > s.Pos().Start {
			i++
		}
		out = append(out[:i], append([]*queryast.Select{s}, out[i:]...)...)
	}
	return out
}

func notInOf(ast *queryast.Query, sel *queryast.Select, e queryast.Expr) (asked, bool) {
	negated := false
	inner := e
	if not, ok := e.(*queryast.Not); ok {
		inner, negated = not.Operand, true
	}
	in, ok := inner.(*queryast.In)
	if !ok || in.Query == nil || in.Not == negated {
		return asked{}, false
	}
	return asked{form: notIn, query: ast, sel: sel, sub: in.Query, operand: in.Operand, test: e}, true
}

// asNotExists is the predicate with NOT EXISTS, its literals left out; empty where the subquery is not simple.
func (a *asked) asNotExists() string { return a.notExists(a.text) }

// notExists writes NOT IN with NOT EXISTS: for a subquery of one select over one table, without grouping and limit, whose
// column can be named from inside next to the operand.
func (a *asked) notExists(text func(queryast.Expr) string) string {
	selects := outerSelects(a.sub)
	if len(selects) != 1 || len(a.sub.With) > 0 {
		return ""
	}
	s := selects[0]
	if s.From == nil || len(s.From.Sources) != 1 || len(s.From.LateralViews) > 0 || s.GroupBy != nil || s.Having != nil ||
		s.Qualify != nil || s.Limit || len(s.Items) != 1 || s.From.Sources[0].Table == nil {
		return ""
	}
	inner, outer := s.From.Sources[0].Name(), ""
	column, ok := s.Items[0].Expr.(*queryast.ColumnRef)
	if !ok || len(column.Parts) > 2 || len(column.Parts) == 2 && column.Parts[0] != inner {
		return ""
	}
	operand, ok := a.operand.(*queryast.ColumnRef)
	if !ok || len(operand.Parts) > 2 {
		return ""
	}
	for i := range a.sel.From.Sources {
		if a.sel.From.Sources[i].Name() == inner { // from inside, the name is the subquery's
			return ""
		}
	}
	name := operand.Parts[len(operand.Parts)-1]
	switch {
	case len(operand.Parts) == 2 && a.sel.From.Source(operand.Parts[0]) >= 0:
		outer = operand.Parts[0]
	case len(operand.Parts) == 1 && len(a.sel.From.Sources) == 1:
		outer = a.sel.From.Sources[0].Name()
	}
	if outer == "" || inner == "" {
		return ""
	}
	x := quoted(outer) + "." + quoted(name)
	where := ""
	if s.Where != nil {
		where = text(s.Where)
		if _, or := s.Where.(*queryast.Or); or && !strings.HasPrefix(where, "(") {
			where = "(" + where + ")"
		}
		where += " AND "
	}
	return x + " IS NOT NULL AND NOT EXISTS (SELECT 1 FROM " + a.query.Text(s.From.Span) + " WHERE " + where +
		quoted(inner) + "." + quoted(column.Parts[len(column.Parts)-1]) + " = " + x + ")"
}

// quoted writes a name so that Hive reads it as one.
func quoted(name string) string {
	for i, r := range name {
		if r == '_' || r >= 'a' && r <= 'z' || i > 0 && r >= '0' && r <= '9' {
			continue
		}
		return "`" + strings.ReplaceAll(name, "`", "``") + "`"
	}
	return name
}

// subqueryNulls are the NULLs among the keys of the subquery by the column statistics; known is false without them, and
// where the subquery is more than a column of one table. A filter may let fewer through; IS NOT NULL lets none.
func (a *asked) subqueryNulls(q *advisor.Query) (nulls int64, known bool) {
	selects := outerSelects(a.sub)
	if len(selects) != 1 || len(a.tables) != 1 || len(selects[0].Items) != 1 || len(selects[0].From.Sources) != 1 {
		return 0, false
	}
	column, ok := selects[0].Items[0].Expr.(*queryast.ColumnRef)
	if !ok {
		return 0, false
	}
	name := column.Parts[len(column.Parts)-1]
	is := func(c *queryast.ColumnRef) bool { return c.Parts[len(c.Parts)-1] == name }
	for _, e := range queryast.Conjuncts(selects[0].Where) {
		if test, ok := e.(*queryast.Is); strict(e, is) || ok && test.Not && test.What == "NULL" && strict(test.Operand, is) {
			return 0, true
		}
	}
	stats, ok := q.Tables[a.tables[0]].Columns[name]
	if !ok || stats.Nulls == nil || selects[0].Where != nil && *stats.Nulls > 0 {
		return 0, false
	}
	return *stats.Nulls, true
}
