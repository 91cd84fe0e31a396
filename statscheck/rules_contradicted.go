package statscheck

import (
	"fmt"
)

// checkR8: a statement showed that the planner's numbers of the table are wrong: the rows it moved, or a hash table that did not
// fit. The worst of those since the last ANALYZE counts. Rows are compared with what Hive says now too: it may have learnt since.
func checkR8(s Subject, limits Thresholds) (Staleness, bool) {
	var worst Staleness
	for _, c := range s.Contradictions {
		if !c.At.After(s.AnalyzedAt) {
			continue
		}
		var r Staleness
		switch c.Kind {
		case ContradictedMemory:
			r = overflowed(c)
		case ContradictedRows:
			r = misjudged(c, s, limits)
		}
		if levels[r.Level] > levels[worst.Level] {
			worst = r
		}
	}
	return worst, worst.Rule != ""
}

func overflowed(c Contradiction) Staleness {
	r := Staleness{
		Rule: R8Contradicted, Level: LevelHigh, Evidence: map[string]any{"at": c.At, "certain": c.Certain},
		Reason: fmt.Sprintf("a task that hashes the table ran out of memory (%s)", c.Words),
	}
	if c.Certain {
		r.Level = LevelCritical
		r.Reason = fmt.Sprintf("the table's hash table did not fit into memory (%s)", c.Words)
	}
	if c.Estimated != nil {
		r.Evidence["rows_estimated"] = *c.Estimated
		r.Reason += fmt.Sprintf(", estimated at %d rows", *c.Estimated)
	}
	if c.Actual != nil {
		r.Evidence["rows_actual"] = *c.Actual
		r.Reason += fmt.Sprintf(", at least %d were loaded", *c.Actual)
	}
	return r
}

func misjudged(c Contradiction, s Subject, limits Thresholds) Staleness {
	if c.Estimated == nil || c.Actual == nil {
		return Staleness{}
	}
	factor := c.factor(*c.Estimated)
	if s.Stats.Rows != nil && s.Stats.BasicAccurate && readAfter(s, c) {
		factor = min(factor, c.factor(*s.Stats.Rows))
	}
	r := Staleness{
		Rule: R8Contradicted, Evidence: map[string]any{"rows_estimated": *c.Estimated, "rows_actual": *c.Actual, "factor": factor, "at": c.At},
		Reason: fmt.Sprintf("the planner took the table for %d rows, and a statement read %d from it", *c.Estimated, *c.Actual),
	}
	switch {
	case factor >= limits.ContradictedStale:
		r.Level = LevelStale
	case factor >= limits.Contradicted:
		r.Level = LevelWatch
	default:
		return Staleness{}
	}
	return r
}

func readAfter(s Subject, c Contradiction) bool {
	return wasRead(s.Stats) && s.Stats.ReadAt.After(c.At)
}

// factor is by how much an estimate misses the actual rows, 1 or more.
func (c Contradiction) factor(estimated int64) float64 {
	e, a := float64(max(estimated, 1)), float64(max(*c.Actual, 1))
	if a < e && !c.AtLeast {
		return e / a
	}
	return max(1, a/e)
}
