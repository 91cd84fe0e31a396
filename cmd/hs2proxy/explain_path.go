package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// printPath prints the attempts of the selector in their order.
func printPath(w io.Writer, d *advisor.Decision) {
	for i, line := range advisor.Path(d) {
		label := "        "
		if i == 0 {
			label = "  path: "
		}
		fmt.Fprintln(w, label+line)
	}
}

// printLevers prints what would give the join a cheaper strategy, in the order worth trying.
func printLevers(w io.Writer, levers []advisor.Lever) {
	for i := range levers {
		l := &levers[i]
		fmt.Fprintf(w, "  lever %d, %s: %s", i+1, strings.ToLower(string(l.Kind)), l.Strategy)
		if l.Refused != "" {
			fmt.Fprintf(w, ", refused: %s\n", l.Refused)
			continue
		}
		fmt.Fprintf(w, ", %s\n", l.Effect)
		for line := range strings.SplitSeq(l.Apply, "\n") {
			fmt.Fprintf(w, "      %s\n", line)
		}
	}
}

// shownLevers are the levers printed, by the beginning of their join's subject in findings.
type shownLevers map[string][]advisor.Lever

func (s shownLevers) add(join int, levers []advisor.Lever) {
	if len(levers) > 0 {
		s[fmt.Sprintf("join %d", join)] = levers
	}
}

// refer is a finding's advice, or where it has been printed: all levers of its join, or one of them.
func (s shownLevers) refer(f advisor.Finding) string {
	subject := strings.Fields(f.Subject)
	if len(subject) < 2 {
		return f.Advice
	}
	join := subject[0] + " " + strings.TrimRight(subject[1], ":,")
	levers := s[join]
	for i := range levers {
		if l := &levers[i]; l.Apply != "" && l.Apply == f.Advice {
			return fmt.Sprintf("lever %d of %s", i+1, join)
		}
	}
	switch {
	case len(levers) == 0 || f.Advice != advisor.AdviceOf(levers):
		return f.Advice
	case len(levers) == 1:
		return "lever 1 of " + join
	default:
		return fmt.Sprintf("levers 1 to %d of %s", len(levers), join)
	}
}
