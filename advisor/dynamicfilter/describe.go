package dynamicfilter

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Describe writes a filter as one line for a person: what would be filtered by what, whether the plan does, what keeps it from it.
func Describe(q advisor.Query, f Filter) string {
	j := joinOf(&q, f.Join)
	if j == nil {
		return ""
	}
	kind := "semijoin reduction"
	if f.Kind == Pruning {
		kind = "partition pruning"
	}
	text := kind + " of " + f.Alias + "." + strings.Join(f.Columns, ", ") + " by " + j.InputName(f.Producer) + ": "
	switch f.State {
	case Present:
		text += "in the plan (" + strings.Join(f.By, ", ") + ")"
	case Unclear:
		text += "not told by the plan's text"
	case Absent:
		text += "not in the plan"
		for i, r := range f.Reasons {
			if i == 0 {
				text += ", "
			} else {
				text += "; "
			}
			text += r.Text
		}
	}
	if f.Removed > 0 {
		text += "; expected to remove " + advisor.Grouped(f.Removed) + " of " + advisor.CountOf(f.Rows, "row")
	}
	return text
}
