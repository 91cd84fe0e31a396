package outerjoin

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// classify reads the rule backwards where only the plan is known: what Hive evaluates below an outer join can only have
// been an after-join predicate of a preserved row table or a during-join predicate of a null supplying one, and so on. A
// filter of a subquery looks like the latter. Of a FULL join's inputs nothing can be said, nor of filters such as
// "id is not null", which Hive adds to the keys itself.
func (v *view) classify() []Predicate {
	var list []Predicate
	for i := range v.joins {
		j := &v.joins[i]
		seen := map[int]bool{}
		var o *explain.Operator
		for _, c := range j.Conditions {
			if c.Left >= len(j.Inputs) || c.Right >= len(j.Inputs) {
				break
			}
			if len(seen) == 0 {
				seen[c.Left] = true
				o, _ = j.Inputs[c.Right].Operators()
			}
			if t := textType(c.Type, false); t.Outer() {
				list = v.condition(list, j, o, c, t, seen)
			}
			seen[c.Right] = true
		}
	}
	return list
}

func (v *view) condition(list []Predicate, j *advisor.Join, o *explain.Operator, c advisor.Condition, t queryast.JoinType, seen map[int]bool) []Predicate {
	var left []string
	for pos := range j.Inputs {
		if seen[pos] {
			left = append(left, inputAliases(&j.Inputs[pos])...)
		}
	}
	right := inputAliases(&j.Inputs[c.Right])
	base := Predicate{Join: strings.Join(left, ", ") + " " + string(t) + " JOIN " + strings.Join(right, ", "), Type: t, Planned: t}
	add := func(text string, place Place, where Side, found Found, tables []string) {
		p := base
		p.Text, p.Place, p.Side, p.Found, p.Tables = text, place, where, found, tables
		p.Pushable = pushable(place, where)
		list = append(list, p)
	}
	for pos := range j.Inputs {
		if !seen[pos] && pos != c.Right {
			continue
		}
		in := &j.Inputs[pos]
		where := PreservedRow
		switch {
		case t == queryast.FullOuter:
			where = Both
		case (pos == c.Right) == (t == queryast.LeftOuter):
			where = NullSupplying
		}
		for _, text := range joinFilters(o, pos) {
			add(text, DuringJoin, where, InJoin, inputAliases(in))
		}
		if where == Both || in.OverJoin {
			continue
		}
		for _, s := range in.Scans() {
			place := AfterJoin
			if where == NullSupplying {
				place = DuringJoin
			}
			for _, text := range scanFilters(s.Operator) {
				add(text, place, where, BelowJoin, inputAliases(in))
			}
		}
	}
	if o != nil && len(j.Conditions) == 1 {
		where := NullSupplying
		if t == queryast.FullOuter {
			where = Both
		}
		for _, f := range filtersAbove(o, 0) {
			for _, text := range predicates(f) {
				add(text, AfterJoin, where, AboveJoin, nil)
			}
		}
	}
	return list
}

// joinFilters are the filter predicates of a position.
func joinFilters(o *explain.Operator, pos int) []string {
	if o == nil {
		return nil
	}
	var list []string
	for _, a := range o.Group("filter predicates") {
		if position(a) == pos {
			list = append(list, braces(a.Value)...)
		}
	}
	return list
}

// scanFilters are the predicates of the filters above a scan.
func scanFilters(o *explain.Operator) []string {
	var list []string
	for len(o.Children) == 1 && o.Children[0].Kind == kindFilter {
		o = o.Children[0]
		list = append(list, predicates(o)...)
	}
	return list
}

// predicates are those of a filter without what Hive adds itself: the IS NOT NULL of a column, and runtime filters.
func predicates(o *explain.Operator) []string {
	text, _ := o.Attr("predicate")
	q, conjuncts := planPredicates(text)
	var list []string
	for _, e := range conjuncts {
		if is, ok := e.(*queryast.Is); ok && is.Not && is.What == "NULL" || runtime(e) {
			continue
		}
		list = append(list, q.Text(e.Pos()))
	}
	return list
}
