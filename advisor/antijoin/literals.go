package antijoin

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// withoutLiterals is the text of an expression on one line, with ? for each literal of it. Literals of subqueries inside
// cannot be told apart from here: the subquery is left out whole.
func withoutLiterals(q *queryast.Query, e queryast.Expr) string {
	type cut struct {
		span queryast.Span
		with string
	}
	var cuts []cut
	queryast.Walk(e, func(e queryast.Expr) bool {
		if l, ok := e.(*queryast.Literal); ok && l.Kind != queryast.Null && l.Kind != queryast.Boolean {
			cuts = append(cuts, cut{l.Pos(), "?"})
		}
		return true
	})
	for _, sub := range queryast.Subqueries(e) {
		cuts = append(cuts, cut{sub.Span, "…"})
	}
	slices.SortFunc(cuts, func(x, y cut) int { return x.span.Start - y.span.Start })
	var b strings.Builder
	at, end := e.Pos().Start, e.Pos().End
	for _, c := range cuts {
		if c.span.Start < at || c.span.End > end {
			continue
		}
		b.WriteString(q.SQL[at:c.span.Start])
		b.WriteString(c.with)
		at = c.span.End
	}
	b.WriteString(q.SQL[at:end])
	return strings.Join(strings.Fields(b.String()), " ")
}
