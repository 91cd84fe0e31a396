package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/outerjoin"
)

// verbatim puts the query's literals back into the findings about its outer joins, so that their advice can be run.
func verbatim(findings []advisor.Finding, q advisor.Query) []advisor.Finding {
	kept, shown := outerjoin.Find(q), outerjoin.FindVerbatim(q)
	findings = slices.Clone(findings)
	for i := range findings {
		f := &findings[i]
		at := slices.IndexFunc(kept, func(k advisor.Finding) bool {
			return k.Kind == f.Kind && k.Subject == f.Subject && k.Summary == f.Summary
		})
		if at >= 0 && at < len(shown) {
			f.Summary, f.Advice, f.Evidence = shown[at].Summary, shown[at].Advice, shown[at].Evidence
			kept[at].Kind = "" // taken
		}
	}
	return findings
}

// printPredicates prints where the predicates of outer joins stand, what the rule says and what the plan does.
func printPredicates(w io.Writer, q advisor.Query) {
	join := ""
	for _, p := range outerjoin.Classify(q) {
		if p.Join != join {
			join = p.Join
			planned := ""
			if p.Planned != "" && p.Planned != p.Type {
				planned = ", planned as " + string(p.Planned)
			}
			fmt.Fprintf(w, "%s%s\n", join, planned)
		}
		rule := "stays where it is"
		if p.Pushable {
			rule = "goes below the join"
		}
		fmt.Fprintf(w, "  %s: %s, %s, by the rule %s%s\n", strings.Join(strings.Fields(p.Text), " "), placeWords[p.Place], sideWords[p.Side], rule, foundWords[p.Found])
	}
}

var placeWords = map[outerjoin.Place]string{outerjoin.DuringJoin: "during join", outerjoin.AfterJoin: "after join"}

var sideWords = map[outerjoin.Side]string{
	outerjoin.PreservedRow:  "preserved row table",
	outerjoin.NullSupplying: "null supplying table",
	outerjoin.Both:          "preserved row and null supplying table",
}

var foundWords = map[outerjoin.Found]string{
	outerjoin.BelowJoin: "; in the plan below the join",
	outerjoin.InJoin:    "; in the plan in the join",
	outerjoin.AboveJoin: "; in the plan above the join",
}
