package outerjoin

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// The kinds of findings.
const (
	// BecomesInner: a predicate behind an outer join throws away all rows that the join pads with nulls.
	BecomesInner advisor.FindingKind = "outer_join_becomes_inner"
	// PreservedFilter: a predicate in the condition of an outer join is about the table whose rows the join keeps anyway.
	PreservedFilter advisor.FindingKind = "during_join_preserved_filter"
	// PruningLost: a predicate on partition columns stands where it cannot keep partitions from being read.
	PruningLost advisor.FindingKind = "partition_pruning_lost"
)

// Find lists what is worth telling a person about the predicates of a query's outer joins. It is silent where the plan
// shows something else than the rule says. Findings are kept, literals are not: they are ? in all texts.
func Find(q advisor.Query) []advisor.Finding {
	return find(q, queryast.WithoutLiterals)
}

// FindVerbatim is Find with the query's literals, to be shown to who asked: the advice can be run as it is.
func FindVerbatim(q advisor.Query) []advisor.Finding {
	return find(q, func(text string) string { return text })
}

// show is how texts of the query are written.
type show func(string) string

func find(q advisor.Query, w show) []advisor.Finding {
	all := Classify(q)
	var list []advisor.Finding
	for _, group := range groups(all) {
		if f, ok := w.becomesInner(group); ok {
			list = append(list, f)
		}
		if f, ok := w.preservedFilter(group); ok {
			list = append(list, f)
		}
		for i := range group {
			if f, ok := w.pruningLost(group, &group[i]); ok {
				list = append(list, f)
			}
		}
	}
	v := newView(q)
	for i := range list {
		list[i].Tables = v.tables(all, list[i].Subject)
	}
	return list
}

// groups are the predicates of one outer join each.
func groups(all []Predicate) [][]Predicate {
	var list [][]Predicate
	for _, p := range all {
		at := slices.IndexFunc(list, func(g []Predicate) bool { return sameJoin(&g[0], &p) })
		if at < 0 {
			list = append(list, nil)
			at = len(list) - 1
		}
		list[at] = append(list[at], p)
	}
	return list
}

func sameJoin(a, b *Predicate) bool {
	if a.at == nil || b.at == nil {
		return a.at == b.at && a.Join == b.Join
	}
	return a.at.scope == b.at.scope && a.at.join == b.at.join
}

// tables are the base tables of the join that is a finding's subject.
func (v *view) tables(all []Predicate, subject string) []string {
	var list []string
	for i := range all {
		p := &all[i]
		if p.Join != subject || p.at == nil {
			continue
		}
		for place := range p.at.join + 2 {
			src := &p.at.scope.from.Sources[place]
			for _, s := range v.named(src) {
				if s.table != "" {
					list = append(list, s.table)
				}
			}
			if src.Table != nil && src.Table.Database != "" {
				list = append(list, src.Table.String())
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// becomesInner looks at the predicates that no padded row passes.
func (w show) becomesInner(group []Predicate) (advisor.Finding, bool) {
	var rejecting []*Predicate
	var pads mask
	for i := range group {
		if p := &group[i]; p.Place == AfterJoin && p.RejectsNulls {
			rejecting = append(rejecting, p)
			pads |= p.at.pads
		}
	}
	if len(rejecting) == 0 {
		return advisor.Finding{}, false
	}
	first := rejecting[0]
	becomes := reduced(first, pads)
	planned := first.Planned == becomes || first.Planned == queryast.LeftSemi
	filtered := slices.ContainsFunc(rejecting, func(p *Predicate) bool { return p.Found == AboveJoin })
	if !planned && !filtered {
		return advisor.Finding{}, false // the plan shows neither
	}
	plan, severity := "Hive planned it as one", advisor.Low
	if !planned {
		plan, severity = "Hive joins first and filters the padded rows afterwards", advisor.Medium
	}
	verb := " is"
	if len(rejecting) > 1 {
		verb = " are"
	}
	padded := strings.Join(first.at.scope.names(pads), " and ")
	return advisor.Finding{
		Kind: BecomesInner, Severity: severity, Subject: first.Join,
		Summary: w.texts(rejecting) + ", evaluated after the join," + verb + " never true where the " + string(first.Type) + " join has put NULLs for " +
			padded + ": its result is that of " + article(becomes) + " join. " + plan,
		Evidence: map[string]any{"predicates": w.list(rejecting), "join_type": first.Type, "becomes": becomes, "planned": first.Planned},
		Advice:   w.innerAdvice(group, rejecting, becomes, padded),
	}, true
}

// reduced is the type of join that is left when the padded rows of some sources are gone.
func reduced(p *Predicate, pads mask) queryast.JoinType {
	if p.Type != queryast.FullOuter {
		return queryast.Inner
	}
	right := mask(1) << uint(p.at.join+1)
	switch {
	case pads.meets(right) && pads.meets(right-1):
		return queryast.Inner
	case pads.meets(right):
		return queryast.RightOuter
	default:
		return queryast.LeftOuter
	}
}

// preservedFilter looks at the predicates of ON about the table all of whose rows stay.
func (w show) preservedFilter(group []Predicate) (advisor.Finding, bool) {
	var kept []*Predicate
	for i := range group {
		p := &group[i]
		if p.RejectsNulls || p.Planned != "" && p.Planned != p.Type && p.Planned != queryast.LeftAnti {
			return advisor.Finding{}, false // an inner join in effect: its condition filters both sides
		}
		if p.at == nil && p.Found == AboveJoin {
			return advisor.Finding{}, false // it may be one
		}
		if p.Place == DuringJoin && p.Side != NullSupplying && p.Found != BelowJoin && !repeated(p) {
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		return advisor.Finding{}, false
	}
	first := kept[0]
	var names []string
	for _, p := range kept {
		names = append(names, p.Tables...)
	}
	slices.Sort(names)
	table := strings.Join(slices.Compact(names), " and ")
	verb := " does not filter "
	if len(kept) > 1 {
		verb = " do not filter "
	}
	return advisor.Finding{
		Kind: PreservedFilter, Severity: advisor.Medium, Subject: first.Join,
		Summary: w.texts(kept) + " in the condition of the " + string(first.Type) + " join" + verb + table +
			": the join keeps all of its rows, and those for which it is not true come with NULLs",
		Evidence: map[string]any{"predicates": w.list(kept), "join_type": first.Type, "planned": first.Planned, "found": first.Found},
		Advice:   w.filterAdvice(kept, table),
	}, true
}

// repeated: WHERE has the same predicate, so that the rows are filtered.
func repeated(p *Predicate) bool {
	if p.at == nil {
		return false
	}
	column := func(c *queryast.ColumnRef) string { return strings.Join(c.Parts, ".") }
	text := shape(p.at.expr, column)
	return slices.ContainsFunc(queryast.Conjuncts(p.at.scope.sel.Where), func(e queryast.Expr) bool { return shape(e, column) == text })
}

// pruningLost looks at the partitions that are read although the predicate is true in none of their rows.
func (w show) pruningLost(group []Predicate, p *Predicate) (advisor.Finding, bool) {
	if p.PartitionsNeedless == 0 || p.Pushable || p.at == nil || p.Found == BelowJoin {
		return advisor.Finding{}, false
	}
	table := p.Tables[0]
	why := "in the condition of the " + string(p.Type) + " join, which keeps all rows of " + table
	advice := ""
	switch {
	case p.Place == DuringJoin:
		advice = w.filterAdvice([]*Predicate{p}, table)
	case p.RejectsNulls:
		why = "after the " + string(p.Type) + " join, which supplies NULLs for " + table
		advice = w.innerAdvice(group, []*Predicate{p}, reduced(p, p.at.pads), table)
	default:
		why = "after the " + string(p.Type) + " join, and it is true for NULLs too"
		advice = "-- filter " + table + " in a subquery (in ON it prunes with the cost-based optimizer only); rows whose only matches lie in other partitions then come with NULLs"
	}
	severity := advisor.Medium
	if p.PartitionsNeedless >= 100 {
		severity = advisor.High
	}
	return advisor.Finding{
		Kind: PruningLost, Severity: severity, Subject: p.Join,
		Summary: w(p.Text) + " does not keep Hive from reading partitions of " + table + ": " + count(p.PartitionsNeedless) + " of the " +
			count(p.PartitionsRead) + " it reads have no such row. The predicate is evaluated " + why,
		Evidence: map[string]any{
			"predicate": w(p.Text), "place": p.Place, "side": p.Side,
			"partitions_read": p.PartitionsRead, "partitions_needless": p.PartitionsNeedless,
		},
		Advice: advice,
	}, true
}
