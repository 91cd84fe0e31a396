package movement

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Dropped are the shares, from 0 to 1, of the inputs' rows that filters of the plan are expected to drop at run time before they move, by
// position. An input that has such a filter and is not listed loses rows that nobody knows.
type Dropped map[int]float64

// OfFiltered is Of with the rows taken off that are dropped before they move. Hive's planner counts them: it gives a scan, and every operator
// above, the same rows and bytes with a semijoin reduction or partition pruning as without (StatsRulesProcFactory leaves synthetic
// predicates out).
func OfFiltered(v advisor.JoinVerdict, nodes, ceiling int64, dropped Dropped) Cost {
	left := v
	left.Join.Inputs = slices.Clone(v.Join.Inputs)
	left.Decision.OnlineDataSizes = slices.Clone(v.Decision.OnlineDataSizes)
	for pos, share := range dropped {
		if pos < 0 || pos >= len(left.Join.Inputs) || share <= 0 {
			continue
		}
		in := &left.Join.Inputs[pos]
		in.Rows, in.DataSize = rest(in.Rows, share), rest(in.DataSize, share)
		if pos < len(left.Decision.OnlineDataSizes) {
			left.Decision.OnlineDataSizes[pos] = rest(left.Decision.OnlineDataSizes[pos], share)
		}
	}
	return Of(left, nodes, ceiling)
}

// rest is what a share leaves of a known number.
func rest(n int64, share float64) int64 {
	if n <= 0 {
		return n
	}
	return int64(float64(n) * (1 - min(share, 1)))
}

// DescribeFiltered writes the cost of a join of which rows are dropped at run time as one line, with what is taken off, or that nothing is
// because nobody knows how much.
func DescribeFiltered(v advisor.JoinVerdict, nodes, ceiling int64, dropped Dropped) string {
	text := Describe(OfFiltered(v, nodes, ceiling, dropped))
	if text == "" {
		return ""
	}
	var known, unknown []string
	for pos := range v.Join.Inputs {
		in, name := &v.Join.Inputs[pos], v.Join.InputName(pos)
		if share, is := dropped[pos]; is {
			known = append(known, strconv.FormatFloat(100*min(max(share, 0), 1), 'g', 4, 64)+" % of "+name+" ("+advisor.Bytes(in.DataSize)+" by the planner)")
		} else if filteredAtRunTime(in) {
			unknown = append(unknown, name)
		}
	}
	if len(known) > 0 {
		text += "; without the rows that filters should drop before they move: " + strings.Join(known, ", ")
	}
	if len(unknown) > 0 {
		text += "; with rows of " + strings.Join(unknown, " and ") + " that a filter drops before they move, nobody knows how many"
	}
	return text
}
