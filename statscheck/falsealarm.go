package statscheck

import "slices"

const (
	// alarmStep is by how much a false alarm raises a table's thresholds, alarmMost the ratio up to which it does.
	alarmStep = 1.5
	alarmMost = 0.5
)

// FalseAlarm reports whether a schedule's refresh shows that there was nothing to refresh: rows within ±5 %, no join with another strategy
// (NO_CHANGE), and no column that had no valid statistics before. What a person asked for is no alarm.
func FalseAlarm(r Refresh) bool {
	if r.State != RefreshDone || r.Effect != EffectNoChange || r.Schedule == "" || r.Before == nil || r.After == nil {
		return false
	}
	return !slices.ContainsFunc(r.After.ColumnsAccurate, func(c string) bool { return !slices.Contains(r.Before.ColumnsAccurate, c) })
}

// Raised are the thresholds after false alarms: R4's ratios and R5's drift times factor, each at most 0.5, or what it is where it is
// more already.
// A factor of 1 or less changes nothing.
func (t Thresholds) Raised(factor float64) Thresholds {
	if !(factor > 1) {
		return t
	}
	raise := func(ratio float64) float64 { return min(ratio*factor, max(ratio, alarmMost)) }
	t.Watch, t.Stale, t.High, t.Drift = raise(t.Watch), raise(t.Stale), raise(t.High), raise(t.Drift)
	return t
}

// NextFactor is the factor after one more false alarm: 1.5 times the one before, and no more than takes Stale to 0.5.
func (t Thresholds) NextFactor(factor float64) float64 {
	most := 1.0
	if t.Stale > 0 {
		most = max(1, alarmMost/t.Stale)
	}
	return min(max(1, factor)*alarmStep, most)
}
