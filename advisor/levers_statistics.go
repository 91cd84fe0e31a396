package advisor

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// statistics: ANALYZE where row counts were overtaken by writes, or where an input was planned without full statistics. What the
// missing ones would say nobody knows; the selector is asked how small the hashed side has to turn out.
func (l *leverage) statistics() {
	if l.stale() {
		return
	}
	if !l.better(MapJoin) {
		return // nothing is cheaper
	}
	apply := l.analyzeMissing()
	if apply == "" {
		return
	}
	if unknown := l.unknownInputs(); len(unknown) > 0 {
		l.withoutRows(apply, unknown)
		return
	}
	d := &l.verdict.Decision
	sides := hashedSide(l.join, l.settings, d)
	if !l.lacksAny(sides) {
		return // what is hashed is known well
	}
	m := newScaling(l.join, sides)
	factor, next, ok := m.flip(l.settings, l.now, false)
	if !ok || !l.better(next) {
		return
	}
	small, _, _ := l.hashed()
	effect := "if the hashed side turns out at " + percent(factor) + " of its estimate of " + human(small)
	if !strings.HasPrefix(percent(factor), "less") {
		effect += " or less"
	}
	l.add(Lever{Kind: LeverStatistics, Apply: apply, Strategy: next, Effect: effect})
}

func (l *leverage) stale() bool {
	v := &l.verdict.Verdict
	if v.Expected == "" || v.Expected == v.Simulated {
		return false
	}
	var apply, grown []string
	for _, table := range slices.Sorted(maps.Keys(v.Growth)) {
		if text := analyze(table, columnsOf(l.join, table), true); text != "" {
			apply = append(apply, text)
			grown = append(grown, table+" has "+strconv.FormatFloat(v.Growth[table], 'g', 3, 64)+" times the rows Hive counts")
		}
	}
	if len(apply) == 0 {
		return false
	}
	l.add(Lever{Kind: LeverStatistics, Apply: strings.Join(apply, "\n"), Strategy: v.Expected, Effect: strings.Join(grown, " and ")})
	return true
}

// analyzeMissing is the ANALYZE of the tables whose inputs lack statistics.
func (l *leverage) analyzeMissing() string {
	var list []string
	done := map[string]bool{}
	for pos := range l.join.Inputs {
		in := &l.join.Inputs[pos]
		basic := lacks(in.BasicStats) || in.Rows < 0
		column := lacks(in.ColumnStats) && l.settings.FetchColumnStats
		if !basic && !column {
			continue
		}
		for _, table := range in.Tables {
			if done[table] {
				continue
			}
			done[table] = true
			if text := analyze(table, columnsOf(l.join, table), basic); text != "" {
				list = append(list, text)
			}
		}
	}
	return strings.Join(list, "\n")
}

// lacksAny: one of the inputs marked was planned without full statistics.
func (l *leverage) lacksAny(marked []bool) bool {
	for pos, is := range marked {
		in := &l.join.Inputs[pos]
		if is && (lacks(in.BasicStats) || in.Rows < 0 || lacks(in.ColumnStats) && l.settings.FetchColumnStats) {
			return true
		}
	}
	return false
}

// unknownInputs are those whose rows the planner does not know at all.
func (l *leverage) unknownInputs() []int {
	var list []int
	for pos := range l.join.Inputs {
		if l.join.Inputs[pos].Rows < 0 {
			list = append(list, pos)
		}
	}
	return list
}

// withoutRows asks the selector what the join is when the inputs without rows turn out tiny: their statistics alone stand in the way.
func (l *leverage) withoutRows(apply string, unknown []int) {
	known := *l.join
	known.Inputs = slices.Clone(l.join.Inputs)
	var names []string
	for _, pos := range unknown {
		in := &known.Inputs[pos]
		in.Rows, in.DataSize, in.CumulativeRows, in.OnlineDataSize = 1, 0, 1, nil
		names = append(names, inputName(l.join, pos))
	}
	got, _ := Choose(&known, l.settings)
	if !l.better(got) {
		return
	}
	l.add(Lever{
		Kind: LeverStatistics, Apply: apply, Strategy: got,
		Effect: "if " + strings.Join(names, " and ") + ", of which nothing is known, is within the budget of " + human(l.verdict.Decision.Budget),
	})
}
