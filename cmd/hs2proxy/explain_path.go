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
