package antijoin

import (
	"slices"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// Kinds of findings.
const (
	// Missed: an outer join and a filter do the work of an anti join.
	Missed advisor.FindingKind = "anti_join_missed"
	// Saving: an anti join, and what it saves against an outer join.
	Saving advisor.FindingKind = "anti_join_saving"
	// WrongResult: a planned anti join of a form that loses rows in this version of Hive, or in one it may be.
	WrongResult advisor.FindingKind = "anti_join_wrong_result"
	// NullAware: NOT IN, which has to care for NULLs.
	NullAware advisor.FindingKind = "not_in_null_aware"
)

// Find lists what is to be said of the places where a query asks for rows without a match, in the order of its text. Without
// the text, or where it or the plan cannot be read, there is nothing to say.
func Find(q advisor.Query) []advisor.Finding {
	var list []advisor.Finding
	for _, f := range places(&q) {
		var found *advisor.Finding
		switch {
		case f.asked.form == notIn:
			found = f.nullAware(&q)
		case f.joined == nil:
		case f.joined.typ == advisor.Anti:
			if found = f.wrong(&q); found == nil {
				found = f.saving(&q)
			}
		default:
			found = f.missed(&q)
		}
		if found != nil {
			list = append(list, *found)
		}
	}
	return list
}

// place is where a query asks, with the join that answers.
type place struct {
	asked  asked
	joined *joined // nil for NOT IN, and where no join of the plan answers
}

func places(q *advisor.Query) []place {
	if q.SQL == "" || q.Plan == nil {
		return nil
	}
	ast, err := queryast.Parse(q.SQL)
	if err != nil {
		return nil
	}
	planned := plannedTables(q)
	var list []place
	claims := map[*advisor.JoinVerdict]int{}
	for _, a := range newCatalog(q, ast).find(ast, planned) {
		p := place{asked: a}
		if a.form != notIn {
			if p.joined = match(q, a.tables); p.joined != nil {
				claims[p.joined.verdict]++
			}
		}
		list = append(list, p)
	}
	// Two places and one join: shared work, or one of them was planned in another way.
	return slices.DeleteFunc(list, func(p place) bool { return p.joined != nil && claims[p.joined.verdict] > 1 })
}

// plannedTables are the base tables of the plan's joins, sorted.
func plannedTables(q *advisor.Query) []string {
	var list []string
	for i := range q.Verdicts {
		for pos := range q.Verdicts[i].Join.Inputs {
			list = append(list, q.Verdicts[i].Join.Inputs[pos].Tables...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// subject names the predicate and its join; literals are left out, since findings are kept.
func (p *place) subject() string {
	text := string(p.asked.form) + " on " + p.asked.name
	if p.joined != nil {
		text += " (" + p.joined.verdict.Join.Vertex + ")"
	}
	return text
}

// about are the tables of both sides.
func (p *place) about() []string {
	list := slices.Clone(p.asked.tables)
	if p.joined != nil {
		for _, in := range []int{p.joined.left, p.joined.right} {
			list = append(list, p.joined.verdict.Join.Inputs[in].Tables...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
