package antijoin

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

const setting = "hive.auto.convert.anti.join"

// missed tells of an outer join that should be an anti join, and what was in the way. The query must be certain to ask for
// rows without a match, the plan must filter for NULL behind the join, and the condition must be one that is known.
func (p *place) missed(q *advisor.Query) *advisor.Finding {
	if !p.asked.certain() || nullFilter(p.joined.operator) == "" {
		return nil
	}
	why, advice := p.inTheWay(q)
	if why == "" {
		return nil
	}
	n := p.joined.numbers(q)
	in := &p.joined.verdict.Join
	kind := "LEFT OUTER"
	if p.joined.typ == advisor.RightOuter {
		kind = "RIGHT OUTER"
	}
	summary := "Hive joins " + kind + " to " + p.asked.name + " and filters for the rows without a match, where an anti join would do: " + why
	switch {
	case n.moved >= 0 && n.keys >= 0 && n.keys < n.moved:
		summary += "; " + rows(n.moved) + " of " + p.asked.name + " move to the join, an anti join needs " + counted(n.keys, "distinct key")
	case n.moved >= 0 && n.rows > n.moved:
		summary += "; the keys are taken together already, what it saves is the column that the filter reads"
	}
	if n.hashed && n.set >= 0 && n.table > n.set {
		summary += "; a hash table of " + human(n.table) + " would become a hash set of about " + human(n.set)
	}
	e := n.evidence(p.joined)
	e["filter_rows"] = in.OutputRows
	e["condition"] = why
	return &advisor.Finding{
		Kind: Missed, Severity: severity(&n, advice), Subject: p.subject(), Summary: summary, Advice: advice, Evidence: e, Tables: p.about(),
	}
}

// severity rises with the rows that need not move.
func severity(n *numbers, advice string) advisor.Severity {
	spared := n.moved - n.keys
	switch {
	case advice == "" || n.moved >= 0 && n.moved < 10_000:
		return advisor.Info
	case n.keys >= 0 && spared >= 100_000_000:
		return advisor.High
	case n.keys >= 0 && spared >= 1_000_000:
		return advisor.Medium
	}
	return advisor.Low
}

// inTheWay are the conditions of HiveAntiSemiJoinRule, and those before it, that do not hold, and what to do: at most one of the
// settings and one of the query. Empty where none is known.
func (p *place) inTheWay(q *advisor.Query) (why, advice string) {
	if v, ok := parseVersion(q.Version); q.Settings.Release != advisor.Hive4 || ok && v.before(hasAntiJoin) {
		return "Hive has anti joins since 4.0", ""
	}
	why, advice = switchedOff(q)
	own, change := p.ownForm()
	switch {
	case own == "":
		return why, advice
	case why == "":
		return own, change
	}
	return why + ", and " + own, advice + "\n" + change
}

// switchedOff tells that the conversion did not run at all.
func switchedOff(q *advisor.Query) (why, advice string) {
	switch {
	case !q.Settings.AntiJoin:
		return setting + " is off", "SET " + setting + "=true;"
	case !q.Settings.CBO:
		return "hive.cbo.enable is off, and only the cost-based optimizer converts", "SET hive.cbo.enable=true;"
	case strings.Contains(strings.ToLower(q.Plan.CBO), "not optimized"):
		return "the plan was not made by the cost-based optimizer, and only that converts",
			"-- the plan's first line says why the cost-based optimizer gave up; most often column statistics are missing"
	}
	return "", ""
}

// ownForm tells what of the query's form keeps it from being converted.
func (p *place) ownForm() (why, advice string) {
	a := &p.asked
	switch {
	case a.constant():
		return "the select has a constant, and Hive 4.0.1 then keeps the outer join", "-- leave the constant out of the select"
	case a.form == notExists:
		return "", ""
	case a.form == rightJoin:
		return "only LEFT joins are converted, not RIGHT ones", "-- write it as " + p.turned()
	case a.or:
		return "the tests for NULL stand in one OR (HIVE-23992)", "-- one test will do: WHERE " + a.text(a.tested[0]) + " IS NULL"
	}
	if e := a.readsRight(); e != "" {
		return "the filter also reads the right side: " + e, "-- without a match every column of " + a.name + " is NULL: take that part out, or write it without them"
	}
	if list := a.selected(); len(list) > 0 {
		what := strings.Join(list, ", ")
		return "columns of the right side are used above the join: " + what,
			"-- without a match they are all NULL: leave " + what + " out of the select"
	}
	return "", ""
}

// constant tells of a constant in the select list. Measured: Hive 4.0.1 plans such a query with an outer join, NOT EXISTS too.
func (a *asked) constant() bool {
	return slices.ContainsFunc(a.sel.Items, func(it queryast.Item) bool {
		e := it.Expr
		if c, ok := e.(*queryast.Cast); ok {
			e = c.Operand
		}
		_, ok := e.(*queryast.Literal)
		return ok
	})
}

// turned is a RIGHT join the other way round.
func (p *place) turned() string {
	from := p.asked.sel.From
	return from.Sources[1].Name() + " LEFT JOIN " + from.Sources[0].Name()
}

// readsRight is the first predicate of WHERE, beside the tests for NULL, that reads the side looked up.
func (a *asked) readsRight() string {
	for _, e := range queryast.Conjuncts(a.sel.Where) {
		if operand := isNull(e); operand != nil && a.scope.only(operand, a.source) {
			if hasCast(operand) {
				return a.text(e)
			}
			continue
		}
		if sources, _ := a.scope.reads(e); sources[a.source] {
			return a.text(e)
		}
	}
	return ""
}

// selected are the columns of the side looked up that the select uses above the join, in the order of the text, once each.
func (a *asked) selected() []string {
	var list []string
	seen := map[string]bool{}
	add := func(text string) {
		if !seen[text] {
			seen[text] = true
			list = append(list, text)
		}
	}
	read := func(e queryast.Expr) {
		for _, c := range queryast.Columns(e) {
			if a.scope.source(&c) == a.source {
				add(a.name + "." + a.scope.name(&c))
			}
		}
	}
	for _, it := range a.sel.Items {
		switch {
		case it.Star && (it.Qualifier == "" || a.scope.from.Source(it.Qualifier) == a.source):
			add(a.name + ".*")
		case it.Expr != nil:
			read(it.Expr)
		}
	}
	for i, j := range a.sel.From.Joins {
		if i != a.join {
			read(j.On)
		}
	}
	for _, e := range a.sel.GroupBy {
		read(e)
	}
	read(a.sel.Having)
	read(a.sel.Qualify)
	for _, e := range a.sel.OrderBy {
		read(e)
	}
	return list
}

// text is an expression as written, with ? for its literals: findings are kept, literals are not.
func (a *asked) text(e queryast.Expr) string { return withoutLiterals(a.query, e) }
