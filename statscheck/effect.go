package statscheck

import (
	"math"
	"slices"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// JoinStrategy is one join of one affected query as explained at one time.
type JoinStrategy struct {
	Fingerprint string
	Ordinal     int
	Strategy    advisor.Strategy
	// Expected is the strategy that true numbers of the refreshed table would give, before a refresh; empty: no prediction. Basis is the
	// number it rests on, or why there is none.
	Expected advisor.Strategy
	Basis    string
}

// PlanChanges pairs the joins before and after by fingerprint and ordinal, in the order of before, then of after. A query that
// was not explained on one of the sides is left out; a join that is only on one side has an empty strategy on the other.
func PlanChanges(before, after []JoinStrategy) []PlanChange {
	type key struct {
		fingerprint string
		ordinal     int
	}
	seenBefore, seenAfter := map[string]bool{}, map[string]bool{}
	then, now := map[key]advisor.Strategy{}, map[key]advisor.Strategy{}
	for _, j := range before {
		seenBefore[j.Fingerprint] = true
		then[key{j.Fingerprint, j.Ordinal}] = j.Strategy
	}
	for _, j := range after {
		seenAfter[j.Fingerprint] = true
		now[key{j.Fingerprint, j.Ordinal}] = j.Strategy
	}
	var out []PlanChange
	done := map[key]bool{}
	for _, j := range slices.Concat(before, after) {
		k := key{j.Fingerprint, j.Ordinal}
		if done[k] || !seenBefore[k.fingerprint] || !seenAfter[k.fingerprint] {
			continue
		}
		done[k] = true
		out = append(out, PlanChange{Fingerprint: k.fingerprint, Ordinal: k.ordinal, Before: then[k], After: now[k]})
	}
	return out
}

// EffectOf grades a refresh that Hive carried out: INEFFECTIVE when Hive still does not flag the statistics as accurate (the basic ones,
// or a column's of columns); EFFECTIVE when numRows moved beyond ±5 %, came into being, or a join's strategy
// changed; else NO_CHANGE.
func EffectOf(before, after advisor.TableStats, columns []string, plans []PlanChange) Effect {
	if !after.BasicAccurate || after.Rows == nil {
		return EffectIneffective
	}
	for _, c := range columns {
		if *after.Rows != 0 && !flagged(after, c) {
			return EffectIneffective // a table without rows keeps no column statistics
		}
	}
	changed := func(p PlanChange) bool { return p.Before != p.After }
	if rowsMoved(before.Rows, *after.Rows) || slices.ContainsFunc(plans, changed) {
		return EffectEffective
	}
	return EffectNoChange
}

// flagged gives a partitioned table's column that was not read the benefit of the doubt: only its own output has its flag.
func flagged(t advisor.TableStats, column string) bool {
	unread := sumOfPartitions(t) && !slices.Contains(t.ColumnsRead, column)
	return unread || slices.Contains(t.ColumnsAccurate, column)
}

func rowsMoved(before *int64, after int64) bool {
	if before == nil {
		return true
	}
	return math.Abs(float64(after)-float64(*before)) > rowTolerance*math.Abs(float64(*before))
}
