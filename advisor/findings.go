package advisor

import (
	"strconv"
	"strings"
)

// Rules about joins.
const (
	// StrategyUnexplained: the simulation does not arrive at what Hive planned.
	StrategyUnexplained FindingKind = "strategy_unexplained"
	// StaleStatistics: with the rows that were really written the rules would choose another strategy.
	StaleStatistics FindingKind = "stale_statistics"
	// MissingStatistics: an input of a join was estimated without full statistics.
	MissingStatistics FindingKind = "missing_statistics"
	// MergeJoinLargeSmall: a merge join sorts both sides although one of them could be hashed.
	MergeJoinLargeSmall FindingKind = "merge_join_large_small"
	// NearFlip: a change of the hashed side within a factor of two changes the strategy.
	NearFlip FindingKind = "near_flip"
	// FullOuterNoBroadcast: a FULL OUTER join, which is never broadcast.
	FullOuterNoBroadcast FindingKind = "full_outer_no_broadcast"
	// CrossProduct: a join without keys.
	CrossProduct FindingKind = "cross_product"
	// BucketedButShuffled: an input is bucketed and the join shuffles it all the same.
	BucketedButShuffled FindingKind = "bucketed_but_shuffled"
	// MergeJoinMissingStatistics: a merge join that statistics of an input could make a hash join.
	MergeJoinMissingStatistics FindingKind = "merge_join_missing_statistics"
)

// Findings lists what is worth telling a person about the joins of one plan, in plan order, table findings once per table.
func Findings(verdicts []JoinVerdict, s Settings) []Finding {
	return FindingsFor(Query{Verdicts: verdicts, Settings: s})
}

// FindingsFor is Findings with the statistics that were read, which name the partitions that have none.
func FindingsFor(q Query) []Finding {
	f := finder{settings: q.Settings, tables: map[string]int{}, read: q.Tables}
	for i := range q.Verdicts {
		v := &q.Verdicts[i]
		f.statistics(v)
		if v.Join.Strategy == Unknown || v.Decision.Refused {
			continue
		}
		f.unexplained(v)
		f.stale(v)
		f.crossProduct(v)
		f.fullOuter(v)
		f.mergeWithoutStatistics(v)
		f.mergeJoin(v)
		f.bucketed(v)
		f.nearFlip(v)
	}
	return f.list
}

type finder struct {
	settings Settings
	list     []Finding
	// tables maps a table to its statistics finding in the list.
	tables map[string]int
	// read are the statistics of tables and of the partitions the joins read, nil where none were read.
	read map[string]TableStats
}

func (f *finder) add(found Finding) { f.list = append(f.list, found) }

// subject names a join the way the plan's reader finds it.
func subject(j *Join) string {
	text := "join " + strconv.Itoa(j.Ordinal)
	if j.OperatorID != "" {
		text += " " + j.OperatorID
	}
	if j.Vertex != "" {
		text += " (" + j.Vertex + ")"
	}
	return text
}

// names lists the inputs for a sentence: "d.orders and d.customers".
func names(j *Join) string {
	list := make([]string, len(j.Inputs))
	for i := range j.Inputs {
		list[i] = inputName(j, i)
	}
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// replay chooses again under changed settings.
func (f *finder) replay(j *Join, change func(*Settings)) Strategy {
	return chooseUnder(j, &f.settings, change)
}

// unexplained tells of a gap in the simulation, or of a planner whose defaults are not ours.
func (f *finder) unexplained(v *JoinVerdict) {
	if v.Verdict.Agrees {
		return
	}
	j, d := &v.Join, &v.Decision
	summary := "Hive planned a " + strategyWords[j.Strategy] + " where the rules give a " + strategyWords[d.Strategy] + ": " + d.Reason
	if j.Strategy == d.Strategy {
		summary = "Hive streams " + inputName(j, j.BigTable) + " where the rules stream " + inputName(j, d.BigTable)
	}
	evidence := map[string]any{
		"planned": j.Strategy, "simulated": d.Strategy, "planned_big_table": j.BigTable, "simulated_big_table": d.BigTable,
		"budget": d.Budget, "online_data_sizes": d.OnlineDataSizes,
	}
	if len(d.Uncertain) > 0 {
		evidence["uncertain"] = d.Uncertain
		summary += "; assumed: " + strings.Join(d.Uncertain, ", ")
	}
	f.add(Finding{
		Kind: StrategyUnexplained, Severity: Low, Subject: subject(j), Summary: summary, Evidence: evidence,
		Advice: "SET hive.auto.convert.join.noconditionaltask.size; -- compare the session's settings with those the simulation read",
	})
}

// nearFlip warns where the estimate decides by less than a factor of two.
func (f *finder) nearFlip(v *JoinVerdict) {
	m := v.Decision.Margin
	if m == nil || m.Factor > 2 || m.Factor < 0.5 || !v.Verdict.Agrees {
		return
	}
	j := &v.Join
	grows := m.Factor > 1
	change := "shrinks to " + percent(m.Factor)
	if grows {
		change = "grows by " + percent(m.Factor-1)
	}
	severity := Info
	if grows && rank(m.Next) > rank(v.Decision.Strategy) {
		severity = Low
		if m.Factor <= 1.2 {
			severity = Medium
		}
	}
	f.add(Finding{
		Kind: NearFlip, Severity: severity, Subject: subject(j),
		Summary: "the " + strategyWords[v.Decision.Strategy] + " of " + names(j) + " becomes a " + strategyWords[m.Next] +
			" when the hashed side " + change + " (of its estimate)",
		Evidence: map[string]any{"factor": m.Factor, "strategy": v.Decision.Strategy, "next": m.Next, "budget": v.Decision.Budget},
		Advice:   analyzeInputs(j),
	})
}

func percent(f float64) string {
	if f < 0.0005 {
		return "less than 0.1 %"
	}
	return strings.TrimSuffix(strconv.FormatFloat(f*100, 'f', 1, 64), ".0") + " %"
}

// rank orders the strategies by what they cost at run time.
func rank(s Strategy) int {
	switch s {
	case MapJoin:
		return 0
	case BucketMapJoin:
		return 1
	case SMB:
		return 2
	case DPHJ:
		return 3
	default:
		return 4
	}
}
