package antijoin

import "github.com/hs2proxy/hs2proxy/advisor"

// saving tells what an anti join saves.
func (p *place) saving(q *advisor.Query) *advisor.Finding {
	n := p.joined.numbers(q)
	summary := string(p.asked.form) + " runs as an anti join"
	switch {
	case n.uncounted:
		return &advisor.Finding{
			Kind: Saving, Severity: advisor.Info, Subject: p.subject(), Evidence: map[string]any{"join_type": p.joined.typ}, Tables: p.about(),
			Summary: summary + "; the rows of " + p.asked.name + " were never counted, so that the plan does not tell what it saves",
		}
	case n.rows > n.moved && n.moved >= 0:
		summary += ": of " + rows(n.rows) + " of " + p.asked.name + ", the distinct keys move to the join, " + grouped(n.moved) + " by the estimate"
	case n.keys >= n.moved:
		summary += ": " + rows(n.moved) + " of " + p.asked.name + " move to the join, by the estimate none has the key of another"
	case n.keys >= 0:
		summary += ": " + rows(n.moved) + " of " + p.asked.name + " with " + counted(n.keys, "distinct key")
	}
	if n.hashed && n.set >= 0 {
		summary += "; it keeps a hash set of " + human(n.set)
		if n.table > n.set {
			summary += ", where an outer join would keep a hash table of at least " + human(n.table)
		} else {
			summary += ", where an outer join would keep a hash table"
		}
	}
	return &advisor.Finding{
		Kind: Saving, Severity: advisor.Info, Subject: p.subject(), Summary: summary, Evidence: n.evidence(p.joined), Tables: p.about(),
	}
}
