package movement

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

const (
	// minSplit is tez.grouping.min-size, in bytes: Tez gives a task at least as much of a table's files, where there is as much.
	minSplit = int64(50 << 20)
	// widestRow is more bytes than a row has: a scan of more for each of its rows was never counted.
	widestRow = int64(1 << 20)
)

// readers is the most nodes that can read a scanned input: no more than it has rows, and than its files make tasks. 0 where nothing bounds
// them: behind a shuffle there are as many as reducers.
func readers(in *advisor.Input) int64 {
	scans := in.Scans()
	if in.OverJoin || in.Layout.Shuffled || len(scans) != 1 || scans[0].Operator.Stats == nil {
		return 0
	}
	s := scans[0].Operator.Stats
	if s.Rows < 0 || s.DataSize/max(s.Rows, 1) > widestRow {
		return 0
	}
	most := max(s.Rows, 1)
	if size := in.Layout.TotalSize; size > 0 {
		most = min(most, size/minSplit+1)
	}
	return most
}

// copies are the nodes that get a copy of the small side.
func copies(nodes, readers int64) int64 {
	if readers > 0 {
		return min(nodes, readers)
	}
	return nodes
}

// filteredAtRunTime: the plan drops rows of the input before they move by keys of another one, which its estimates do not count.
func filteredAtRunTime(in *advisor.Input) bool {
	for _, s := range in.Scans() {
		if text, _ := s.Operator.Attr("filterExpr"); strings.Contains(text, "DynamicValue(") {
			return true
		}
		for _, c := range s.Operator.Children {
			if text, _ := c.Attr("predicate"); strings.Contains(text, "DynamicValue(") {
				return true
			}
		}
	}
	return false
}

// uncertain: what inputs of the join move is not what the planner estimates.
func uncertain(j *advisor.Join, but int) bool {
	for pos := range j.Inputs {
		if pos != but && filteredAtRunTime(&j.Inputs[pos]) {
			return true
		}
	}
	return false
}
