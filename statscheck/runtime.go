package statscheck

import (
	"math"
	"time"
)

// What later runs of the affected queries say of a refresh. They stand beside the effects that the statistics and plans show.
const (
	EffectImproved  Effect = "IMPROVED"
	EffectRegressed Effect = "REGRESSED"
)

const (
	// MinRuns is the least number of runs before a refresh that make a baseline, and of later runs that say something about it.
	MinRuns = 3
	// spread is how many standard deviations of the baseline a run must be away from its mean to count.
	spread = 3
	// A run that is less than this share of the mean away, or less than this time, never counts: three equal runs show no spread,
	// and clients ask for the state of a statement a few times a second only.
	leastShare = 0.1
	leastMove  = 100 * time.Millisecond
)

// Runtime is the mean and standard deviation of some runs of a query.
type Runtime struct {
	Runs         int
	Mean, StdDev time.Duration
}

// RuntimeOf sums up runs; the standard deviation is the sample's (n−1), 0 below two runs.
func RuntimeOf(runs []time.Duration) Runtime {
	out := Runtime{Runs: len(runs)}
	if len(runs) == 0 {
		return out
	}
	var sum float64
	for _, d := range runs {
		sum += float64(d)
	}
	mean := sum / float64(len(runs))
	out.Mean = time.Duration(math.Round(mean))
	if len(runs) > 1 {
		var squares float64
		for _, d := range runs {
			squares += (float64(d) - mean) * (float64(d) - mean)
		}
		out.StdDev = time.Duration(math.Round(math.Sqrt(squares / float64(len(runs)-1))))
	}
	return out
}

// RuntimeEffect compares runs of one query after a refresh with those before. REGRESSED: at least three of the later runs, and at
// least half of them, took longer than the baseline's mean and three standard deviations; IMPROVED: the same below it; NO_CHANGE:
// neither. Empty: the baseline has fewer than three runs, or the later ones are too few.
func RuntimeEffect(before, after []time.Duration) Effect {
	if len(before) < MinRuns || len(after) < MinRuns {
		return ""
	}
	base := RuntimeOf(before)
	margin := max(spread*base.StdDev, time.Duration(leastShare*float64(base.Mean)), leastMove)
	slower, faster := 0, 0
	for _, d := range after {
		switch {
		case d > base.Mean+margin:
			slower++
		case d < base.Mean-margin:
			faster++
		}
	}
	counts := func(n int) bool { return n >= MinRuns && 2*n >= len(after) }
	switch {
	case counts(slower): // before faster: of two halves the bad one is told
		return EffectRegressed
	case counts(faster):
		return EffectImproved
	}
	return EffectNoChange
}

// LaterEffect sums up the affected queries of a refresh: one that regressed outweighs all that improved, and those outweigh the rest.
// Empty: none of them says anything yet.
func LaterEffect(queries []Effect) Effect {
	rank := map[Effect]int{EffectNoChange: 1, EffectImproved: 2, EffectRegressed: 3}
	var out Effect
	for _, e := range queries {
		if rank[e] > rank[out] {
			out = e
		}
	}
	return out
}
