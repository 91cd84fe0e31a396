package advisor

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MapJoinMemory: a statement ended because a hash table of its plan did not fit into memory.
const MapJoinMemory FindingKind = "map_join_memory"

// OverflowFindings joins the error message of a statement that failed with the joins of its plan: which hash table did not fit,
// and which estimate was wrong. Nothing when the message tells of no lack of memory, or the plan hashes nothing.
func OverflowFindings(message string, verdicts []JoinVerdict, s Settings) []Finding {
	o, ok := ParseOverflow(message)
	if !ok {
		return nil
	}
	v, pos, others := overflowed(&o, verdicts)
	if v == nil {
		return nil
	}
	j := &v.Join
	severity := High
	name := hashedName(v, pos)
	summary := "the hash table of " + name + " did not fit (" + o.Words + ")"
	if !o.Certain {
		severity = Medium
		summary = "a task ran out of memory (" + o.Words + ") where the " + strategyWords[j.Strategy] + " hashes " + name
	}
	if others > 0 {
		summary += ", or that of one of " + count(int64(others), "more join") + " in the same place"
	}
	evidence := map[string]any{
		"strategy": j.Strategy, "vertex": j.Vertex, "estimated_bytes": estimatedBytes(v, pos), "estimated_rows": estimatedRows(v, pos),
		"budget": v.Decision.Budget, "certain": o.Certain,
	}
	for name, n := range map[string]int64{"loaded_rows": o.Entries, "used_bytes": o.Used, "limit_bytes": o.Limit} {
		if n > 0 {
			evidence[name] = n
		}
	}
	list := []Finding{{
		Kind: MapJoinMemory, Severity: severity, Subject: subject(j), Evidence: evidence,
		Summary: summary + ": " + wrongEstimate(&o, v, pos, &s), Advice: overflowAdvice(v, pos, &s),
	}}
	Complete(list, verdicts)
	return list
}

// overflowed finds the join and the hashed input: the one the text names, else the largest hash table of the vertex that failed, else
// the largest of the plan. pos is −1 for all hashed inputs together; others counts the joins that could be meant as well.
func overflowed(o *Overflow, verdicts []JoinVerdict) (found *JoinVerdict, pos, others int) {
	var hashing []*JoinVerdict
	for i := range verdicts {
		switch verdicts[i].Join.Strategy {
		case MapJoin, BucketMapJoin, DPHJ:
			hashing = append(hashing, &verdicts[i])
		default:
		}
	}
	if here := keep(hashing, func(v *JoinVerdict) bool { return o.Vertex != "" && v.Join.Vertex == o.Vertex }); len(here) > 0 {
		hashing = here
	}
	if from := keep(hashing, func(v *JoinVerdict) bool { return inputFrom(v, o.Input) >= 0 }); len(from) > 0 {
		hashing = from
	}
	if len(hashing) == 0 {
		return nil, -1, 0
	}
	found = slices.MaxFunc(hashing, func(a, b *JoinVerdict) int {
		x, y := estimatedBytes(a, inputFrom(a, o.Input)), estimatedBytes(b, inputFrom(b, o.Input))
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	pos = inputFrom(found, o.Input)
	if pos < 0 && len(found.Join.Inputs) == 2 {
		pos = 1 - max(found.Join.BigTable, 0)
	}
	return found, pos, len(hashing) - 1
}

func keep(list []*JoinVerdict, ok func(*JoinVerdict) bool) []*JoinVerdict {
	return slices.DeleteFunc(slices.Clone(list), func(v *JoinVerdict) bool { return !ok(v) })
}

// inputFrom is the hashed input that a vertex feeds; −1 when there is none.
func inputFrom(v *JoinVerdict, vertex string) int {
	return slices.IndexFunc(v.Join.Inputs, func(in Input) bool {
		return vertex != "" && in.Vertex == vertex && in.Position != v.Join.BigTable
	})
}

func hashedName(v *JoinVerdict, pos int) string {
	if pos >= 0 {
		return inputName(&v.Join, pos)
	}
	var list []string
	for i := range v.Join.Inputs {
		if i != v.Join.BigTable {
			list = append(list, inputName(&v.Join, i))
		}
	}
	return strings.Join(list, ", ")
}

// overInputs adds a figure of the hashed input, or of all of them.
func overInputs(v *JoinVerdict, pos int, of func(int) int64) int64 {
	if pos >= 0 {
		return of(pos)
	}
	var sum int64
	for i := range v.Join.Inputs {
		if i != v.Join.BigTable {
			sum = addSaturating(sum, of(i))
		}
	}
	return sum
}

func estimatedBytes(v *JoinVerdict, pos int) int64 {
	return overInputs(v, pos, func(i int) int64 {
		if i >= len(v.Decision.OnlineDataSizes) {
			return 0
		}
		return v.Decision.OnlineDataSizes[i]
	})
}

func estimatedRows(v *JoinVerdict, pos int) int64 {
	return overInputs(v, pos, func(i int) int64 { return max(v.Join.Inputs[i].Rows, 0) })
}

// wrongEstimate says which number was wrong: the rows, the size of a row, or the budget that has no memory behind it.
func wrongEstimate(o *Overflow, v *JoinVerdict, pos int, s *Settings) string {
	bytes, rows := estimatedBytes(v, pos), estimatedRows(v, pos)
	text := "estimated at " + human(bytes) + " and " + grouped(rows) + " rows"
	if o.Entries > 0 {
		text += ", loading stopped at " + human(o.Used) + " after " + grouped(o.Entries) + " rows"
		if o.Limit > 0 {
			text += ", the limit was " + human(o.Limit)
		}
	}
	switch {
	case o.Entries > rows:
		return text + "; there are at least " + times(o.Entries, rows) + " the estimated rows"
	case o.Entries > 0 && o.Used > bytes:
		return text + "; the rows are within their estimate, their size is at least " + times(o.Used, bytes) + " what was estimated"
	}
	if grown := grownInputs(v, pos); len(grown) > 0 {
		return text + "; " + strings.Join(grown, " and ")
	}
	for i := range v.Join.Inputs {
		in := &v.Join.Inputs[i]
		if (i == pos || pos < 0 && i != v.Join.BigTable) && (lacks(in.BasicStats) || lacks(in.ColumnStats)) {
			return text + ", without full statistics (basic " + stateWord(in.BasicStats) + ", column " + stateWord(in.ColumnStats) + ")"
		}
	}
	if ok, why := MemoryOf(s).Backs(s.NoConditionalTaskSize); !ok {
		return text + "; the budget has no memory behind it: " + why
	}
	return text + "; that was within the budget of " + human(v.Decision.Budget) + ", so the estimate is too low"
}

// times is how many times b goes into a, in words; b below 1 counts as 1.
func times(a, b int64) string {
	return strconv.FormatFloat(float64(a)/float64(max(b, 1)), 'g', 3, 64) + " times"
}

func grownInputs(v *JoinVerdict, pos int) []string {
	var list []string
	for _, table := range slices.Sorted(maps.Keys(v.Verdict.Growth)) {
		for i := range v.Join.Inputs {
			if (i == pos || pos < 0 && i != v.Join.BigTable) && slices.Contains(v.Join.Inputs[i].Tables, table) && v.Verdict.Growth[table] > 1 {
				list = append(list, table+" holds "+strconv.FormatFloat(v.Verdict.Growth[table], 'g', 3, 64)+" times the rows Hive counts")
			}
		}
	}
	return list
}

// overflowAdvice is what helps, in order: true statistics, a budget under which the selector hashes nothing, a table that spills.
func overflowAdvice(v *JoinVerdict, pos int, s *Settings) string {
	j := &v.Join
	var lines []string
	for i := range j.Inputs {
		if i != pos && (pos >= 0 || i == j.BigTable) {
			continue
		}
		for _, table := range j.Inputs[i].Tables {
			if text := analyze(table, columnsOf(j, table), true); text != "" && !slices.Contains(lines, text) {
				lines = append(lines, text)
			}
		}
	}
	if size, got, ok := shrinkBudget(j, s, j.Strategy); ok {
		lines = append(lines, setNumber(budgetSetting, size)+" -- "+strategyWords[got]+" until the statistics are true")
	} else if got := chooseUnder(j, s, func(s *Settings) { s.AutoConvertJoin = false }); got != j.Strategy && got != Unknown {
		lines = append(lines, set(toggleAuto.name, "false")+" -- "+strategyWords[got]+" until the statistics are true")
	}
	// LLAP takes the spilling table for partitioned joins only (LlapDecider); cross products never have it.
	spills := !s.HybridGrace && !isCross(j) && (!s.LLAP || j.Strategy == DPHJ)
	if spills && chooseUnder(j, s, func(s *Settings) { s.HybridGrace = true }) == j.Strategy {
		lines = append(lines, set(toggleGrace.name, "true")+" -- spills parts of the table to disk rather than fail")
	}
	return strings.Join(lines, "\n")
}

// shrinkBudget finds the largest configured size, at two leading digits, under which the selector no longer chooses the strategy.
func shrinkBudget(j *Join, s *Settings, from Strategy) (int64, Strategy, bool) {
	with := func(n int64) Strategy {
		return chooseUnder(j, s, func(s *Settings) { s.NoConditionalTaskSize = n })
	}
	low, high := int64(0), s.NoConditionalTaskSize
	if high <= 0 || with(high) != from || with(low) == from || with(low) == Unknown {
		return 0, "", false
	}
	for low+1 < high {
		mid := low + (high-low)/2
		if with(mid) == from {
			high = mid
		} else {
			low = mid
		}
	}
	if round := roundDown(low); with(round) != from {
		low = round
	}
	return low, with(low), true
}

func roundDown(n int64) int64 {
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return n / unit * unit
}
