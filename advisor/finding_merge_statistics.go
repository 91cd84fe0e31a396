package advisor

import (
	"slices"
	"strings"
)

// maxNamed is how many partitions one finding names.
const maxNamed = 5

// mergeWithoutStatistics names the tables and partitions whose statistics a merge join lacks, where the selector confirms that a
// smaller hashed side would be hashed. An input without any rows ends every map join attempt (ConvertJoinMapJoin.getMapJoinConversion);
// one with partial statistics is planned from file sizes and types.
func (f *finder) mergeWithoutStatistics(v *JoinVerdict) {
	j := &v.Join
	if j.Strategy != MergeJoin || v.Decision.Strategy != MergeJoin || isCross(j) {
		return
	}
	levers := Levers(*v, f.settings)
	at := slices.IndexFunc(levers, func(l Lever) bool { return l.Kind == LeverStatistics })
	if at < 0 || v.Verdict.Expected != "" && v.Verdict.Expected != v.Verdict.Simulated {
		return // none is missing; what is stale has a finding of its own
	}
	var lacking, partitions []string
	evidence := map[string]any{"budget": v.Decision.Budget, "online_data_sizes": v.Decision.OnlineDataSizes, "strategy_with_statistics": levers[at].Strategy}
	for pos := range j.Inputs {
		in := &j.Inputs[pos]
		column := lacks(in.ColumnStats) && f.settings.FetchColumnStats
		if in.Rows >= 0 && !lacks(in.BasicStats) && !column {
			continue
		}
		bare := f.partitionsWithout(j, in)
		partitions = append(partitions, bare...)
		lacking = append(lacking, inputName(j, pos)+" (basic "+stateWord(in.BasicStats)+", column "+stateWord(in.ColumnStats)+named(bare)+")")
	}
	if len(partitions) > 0 {
		evidence["partitions"] = partitions
	}
	f.add(Finding{
		Kind: MergeJoinMissingStatistics, Severity: Medium, Subject: subject(j),
		Summary: "a merge join without full statistics of " + strings.Join(lacking, " and ") + ": they give a " + strategyWords[levers[at].Strategy] +
			" " + levers[at].Effect,
		Evidence: evidence, Advice: levers[at].Apply,
	})
}

// partitionsWithout lists the partitions read of an input's tables that have no rows counted or lack column statistics of a key,
// as "database.table/ds=1".
func (f *finder) partitionsWithout(j *Join, in *Input) []string {
	var list []string
	for key := range f.read {
		t := f.read[key]
		if t.Partition == "" || !slices.Contains(in.Tables, t.Table) {
			continue
		}
		bare := t.Rows == nil
		for _, c := range columnsOf(j, t.Table) {
			_, has := t.Columns[strings.ToLower(c)]
			asked := slices.ContainsFunc(t.ColumnsRead, func(r string) bool { return strings.EqualFold(r, c) })
			bare = bare || asked && !has && f.settings.FetchColumnStats
		}
		if bare {
			list = append(list, t.Table+"/"+t.Partition)
		}
	}
	slices.Sort(list)
	return list
}

// named is a list of partitions for a sentence, the first few by name.
func named(partitions []string) string {
	if len(partitions) == 0 {
		return ""
	}
	shown := partitions[:min(len(partitions), maxNamed)]
	text := "; none of " + strings.Join(shown, ", ")
	if rest := len(partitions) - len(shown); rest > 0 {
		text += " and " + count(int64(rest), "partition") + " more"
	}
	return text
}
