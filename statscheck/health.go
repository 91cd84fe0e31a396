package statscheck

import "math"

// HealthOf is what a table's statistics are worth: 1 − min(1, max(M/N0, drift)), where drift is the relative move of the files'
// bytes since the baseline when no rows were counted (they have M for that), or how far the files listed are from those counted. It is 0 under R1 and R2, and nil when unknown: no
// baseline, nothing read, an R1 or R6 that is only a suspicion, or a view or temporary table. Unknown is never 1.
func HealthOf(s Subject) Health {
	if s.Stats.Kind == kindView || s.Stats.Temporary {
		return nil
	}
	if r, ok := checkR1(s.Stats, DefaultThresholds()); ok {
		if r.Level == LevelSuspect {
			return nil
		}
		return new(0.0)
	}
	if _, ok := checkR2(s); ok {
		return new(0.0)
	}
	if _, suspect := checkR6(s, Thresholds{}); suspect {
		return nil
	}
	if s.Baseline == nil || s.Baseline.Rows == nil || *s.Baseline.Rows < 0 || !wasRead(s.Stats) {
		return nil
	}
	lost := float64(max(s.Writes.Rows, 0)) / float64(max(*s.Baseline.Rows, 1))
	if s.Writes.Counted == 0 && s.Writes.Rows == 0 && !compacted(s.Baseline, s.Stats) {
		lost = max(lost, drift(s.Baseline.Bytes, s.Stats.TotalSize))
	}
	if behindHive(s, 0) {
		lost = max(lost, drift(s.Stats.TotalSize, &s.Files.Bytes))
	}
	return new(1 - math.Min(1, lost))
}

// drift is |now − then| / max(then, 1); 0 when either is unknown.
func drift(then, now *int64) float64 {
	if then == nil || now == nil {
		return 0
	}
	return math.Abs(float64(*now)-float64(*then)) / float64(max(*then, 1))
}
