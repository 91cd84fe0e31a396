package outerjoin

import (
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// innerAdvice offers both meanings: the outer join, with the predicate where it filters before the padding, and the join
// that is left. Where both sides are filtered the form is the one of which Hive pushes both predicates below the join:
// the preserved row table's in WHERE, the null supplying table's in ON.
func (w show) innerAdvice(group []Predicate, rejecting []*Predicate, becomes queryast.JoinType, padded string) string {
	sc, join := rejecting[0].at.scope, rejecting[0].at.join
	outer := newRewrite(sc)
	also := ""
	for _, p := range rejecting {
		if rejecting[0].Type == queryast.FullOuter {
			outer.toSource(p)
		} else {
			outer.toOn(p, join)
		}
	}
	for i := range group {
		if p := &group[i]; p.Place == DuringJoin && p.Side == PreservedRow && !repeated(p) {
			outer.toWhere(p)
			also = " (and " + strings.Join(p.Tables, ", ") + " after it)"
		}
	}
	where := " during the join"
	if rejecting[0].Type == queryast.FullOuter {
		where = " before the join"
	}
	var lines []string
	if sql := outer.sql(); sql != "" {
		lines = append(lines, "-- if rows without a match are wanted too, filter "+padded+where+also+":", w(sql))
	} else {
		lines = append(lines, "-- if rows without a match are wanted too, filter "+padded+where+": in ON or in a subquery")
	}
	inner := newRewrite(sc)
	inner.retype(join, keyword(becomes))
	if sql := inner.sql(); sql != "" {
		lines = append(lines, "-- if not, say so:", w(sql))
	} else {
		lines = append(lines, "-- if not, say so: "+keyword(becomes))
	}
	return strings.Join(lines, "\n")
}

// filterAdvice puts predicates where they filter the table whose rows the join keeps: behind the join, from where Hive
// pushes them below it, or into a subquery where another join would pad the table.
func (w show) filterAdvice(kept []*Predicate, table string) string {
	head := "-- if " + table + " is to be filtered, put the predicate behind the join, from where Hive pushes it below"
	if kept[0].at == nil {
		return head + "; as it is, it only limits which rows find a match"
	}
	behind, below := newRewrite(kept[0].at.scope), newRewrite(kept[0].at.scope)
	for _, p := range kept {
		behind.toWhere(p)
		below.toSource(p)
	}
	if sql := behind.sql(); sql != "" {
		return head + ":\n" + w(sql)
	}
	head = "-- if " + table + " is to be filtered, filter it in a subquery before the join"
	if sql := below.sql(); sql != "" {
		return head + ":\n" + w(sql)
	}
	return head
}

// keyword is how a join is written.
func keyword(t queryast.JoinType) string {
	if t == queryast.Inner {
		return "JOIN"
	}
	return string(t) + " JOIN"
}

func article(t queryast.JoinType) string {
	if t == queryast.Inner {
		return "an inner"
	}
	return "a " + string(t)
}

func (w show) list(predicates []*Predicate) []string {
	texts := make([]string, len(predicates))
	for i, p := range predicates {
		texts[i] = w(p.Text)
	}
	return texts
}

func (w show) texts(predicates []*Predicate) string { return strings.Join(w.list(predicates), " and ") }

func count(n int) string { return strconv.Itoa(n) }
