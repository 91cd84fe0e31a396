package advisor

import "strings"

// mergeJoin proposes something cheaper for a merge join of a large and a smaller side: its levers, in their order.
func (f *finder) mergeJoin(v *JoinVerdict) {
	j, d := &v.Join, &v.Decision
	if j.Strategy != MergeJoin || d.Strategy != MergeJoin || isFullOuter(j) || isCross(j) || len(j.Inputs) < 2 {
		return
	}
	hashed := hashedSide(j, &f.settings, d)
	var small, large int64
	for pos, is := range hashed {
		if is {
			small += d.OnlineDataSizes[pos]
		} else {
			large += d.OnlineDataSizes[pos]
		}
	}
	if small <= 0 || small >= large {
		return
	}
	levers := Levers(*v, f.settings)
	if len(levers) == 0 {
		return
	}
	evidence := map[string]any{"hashed_bytes": small, "streamed_bytes": large, "budget": d.Budget, "levers": levers}
	severity := Info // nothing a session can do
	options := make([]string, len(levers))
	for i := range levers {
		l := &levers[i]
		options[i] = option(l)
		if l.Refused == "" && l.Kind != LeverLayout {
			severity = mergeSeverity(small, large)
		}
	}
	f.add(Finding{
		Kind: MergeJoinLargeSmall, Severity: severity, Subject: subject(j),
		Summary: "a merge join sorts " + names(j) + ", " + human(large) + " against " + human(small) + ": " + strings.Join(options, "; "),
		Advice:  AdviceOf(levers), Evidence: evidence,
	})
}

// option is a lever as part of a sentence.
func option(l *Lever) string {
	word := strategyWords[l.Strategy]
	switch {
	case l.Refused != "":
		return "a larger budget would give a " + word + ", but " + l.Refused
	case l.Kind == LeverStatistics:
		return "statistics give a " + word + " " + l.Effect
	case l.Kind == LeverBudget:
		return "a larger budget gives a " + word
	case l.Kind == LeverLayout:
		return "buckets by the keys give a " + word
	default:
		name, _, _ := strings.Cut(strings.TrimPrefix(l.Apply, "SET "), "=")
		return name + " gives a " + word + ": " + l.Effect
	}
}

func mergeSeverity(small, large int64) Severity {
	if large/max(small, 1) >= 10 && large >= 10_000_000_000 {
		return High
	}
	return Medium
}
