package advisor

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// stale tells of a join whose strategy is due to row counts that were overtaken by writes.
func (f *finder) stale(v *JoinVerdict) {
	expected := v.Verdict.Expected
	if expected == "" || expected == v.Verdict.Simulated {
		return
	}
	var grown, advice []string
	for _, table := range slices.Sorted(maps.Keys(v.Verdict.Growth)) {
		grown = append(grown, table+" holds "+strconv.FormatFloat(v.Verdict.Growth[table], 'g', 3, 64)+" times the rows Hive counts")
		if text := analyze(table, columnsOf(&v.Join, table), true); text != "" {
			advice = append(advice, text)
		}
	}
	f.add(Finding{
		Kind: StaleStatistics, Severity: High, Subject: subject(&v.Join),
		Summary: strings.Join(grown, " and ") + ": Hive planned a " + strategyWords[v.Verdict.Planned] +
			", with the true numbers the rules give a " + strategyWords[expected],
		Evidence: map[string]any{"planned": v.Verdict.Planned, "expected": expected, "growth": v.Verdict.Growth},
		Advice:   strings.Join(advice, "\n"),
	})
}
