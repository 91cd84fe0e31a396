package dynamicfilter

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Rules about dynamic filters.
const (
	// FilterMissing: a Bloom filter of one side's keys would remove most rows of the other, and the plan has none.
	FilterMissing advisor.FindingKind = "dynamic_filter_missing"
	// PruningMissing: one side's keys would prune partitions of the other, and the plan reads them all.
	PruningMissing advisor.FindingKind = "partition_pruning_missing"
)

const (
	// worthRows is the least number of rows that has to be removed before a person is told; worthShare is the least share of the scan's.
	worthRows  = int64(1_000_000)
	worthShare = 0.5
	// grave is how many rows have to be removed for a filter that no setting brings.
	grave = int64(100_000_000)
)

// Find lists the dynamic filters that would remove most of a side's rows and that the plan does not have, with what keeps Hive from them, the
// statements that take it away, and the same in MaxCompute's terms. Filters that are there, or save little, are not told: see Of.
func Find(q advisor.Query) []advisor.Finding {
	var list []advisor.Finding
	for _, f := range Of(q) {
		if found, ok := f.finding(&q); ok {
			list = append(list, found)
		}
	}
	return list
}

func (f *Filter) finding(q *advisor.Query) (advisor.Finding, bool) {
	if f.State != Absent || len(f.Reasons) == 0 || f.Removed < worthRows || f.Share() < worthShare {
		return advisor.Finding{}, false
	}
	advice, fixable := f.statements()
	grade := severity(f.Removed)
	for _, r := range f.Reasons {
		switch r.Cause {
		case Cycle, OnePerScan, SortMergeJoin:
			return advisor.Finding{}, false // the plan has something as good
		case NullSafeKey:
			return advisor.Finding{}, false // no filter is allowed
		case BesideMapJoin:
			grade = advisor.Info
		default:
		}
	}
	if !fixable {
		if f.Removed < grave {
			return advisor.Finding{}, false
		}
		grade = advisor.Info
	}
	j := joinOf(q, f.Join)
	kind, what := FilterMissing, "a Bloom filter"
	if f.Kind == Pruning {
		kind, what = PruningMissing, "partition pruning"
	}
	maxCompute := f.maxCompute(q)
	if also := commented("on MaxCompute:", maxCompute); advice == "" {
		advice = also
	} else if also != "" {
		advice += "\n" + also
	}
	reasons := make([]string, len(f.Reasons))
	causes := make([]string, len(f.Reasons))
	for i, r := range f.Reasons {
		reasons[i], causes[i] = r.Text, string(r.Cause)
	}
	e := map[string]any{
		"alias": f.Alias, "columns": f.Columns, "producer": j.InputName(f.Producer), "rows": f.Rows, "scan_rows": f.ScanRows, "removed": f.Removed,
		"producer_ndv": f.ProducerNDV, "consumer_ndv": f.ConsumerNDV, "causes": causes, "maxcompute": maxCompute,
	}
	for _, r := range f.Reasons {
		if r.Limit != 0 {
			e[string(r.Cause)] = []float64{r.Have, r.Limit}
		}
	}
	if f.Partitions > 0 {
		e["partitions"], e["partitions_left"] = f.Partitions, f.PartitionsLeft
	}
	return advisor.Finding{
		Kind: kind, Severity: grade, Subject: j.Subject(), Evidence: e, Advice: advice,
		Summary: "Hive's plan has no " + strings.TrimPrefix(what, "a ") + " of " + f.Alias + "." + strings.Join(f.Columns, ", ") + " by the keys of " + j.InputName(f.Producer) +
			", which would " + f.effect() + ": " + strings.Join(reasons, "; "),
	}, true
}

// effect says what the filter is expected to save.
func (f *Filter) effect() string {
	text := "remove about " + advisor.Grouped(f.Removed) + " of " + advisor.CountOf(f.Rows, "row") + " (" + advisor.CountOf(f.ProducerNDV, "key") + " of " +
		advisor.Grouped(f.ConsumerNDV) + ")"
	if f.Partitions > 0 {
		text = "leave about " + advisor.Grouped(f.PartitionsLeft) + " of " + advisor.CountOf(f.Partitions, "partition") + " and " + text
	}
	return text
}

// statements are the SETs that take every reason away; false when one of them has none.
func (f *Filter) statements() (string, bool) {
	var list []string
	for _, r := range f.Reasons {
		if r.Fix == "" {
			return "", false
		}
		list = append(list, r.Fix)
	}
	return strings.Join(list, "\n"), true
}

func severity(rows int64) advisor.Severity {
	switch {
	case rows >= 10*grave:
		return advisor.High
	case rows >= grave:
		return advisor.Medium
	}
	return advisor.Low
}
