package statscheck

import "github.com/hs2proxy/hs2proxy/advisor"

// Grade is how a prediction turned out.
type Grade string

// Grades of one join's prediction, and of all of a refresh together.
const (
	// GradeRight: the join has the strategy that was predicted; together: every known one is right.
	GradeRight Grade = "RIGHT"
	// GradeWrong: it stayed though a change was predicted, or changed though none was; together: every known one is wrong.
	GradeWrong Grade = "WRONG"
	// GradePartly: it changed as predicted, to another strategy than predicted; together: some are right, some are not.
	GradePartly Grade = "PARTLY"
	// GradeUnknown: nothing was predicted, or the join was not explained again.
	GradeUnknown Grade = "UNKNOWN"
)

// Prediction is what true statistics of the refreshed table should make of one join of an affected query. It is made before the
// ANALYZE and graded after.
type Prediction struct {
	Fingerprint string
	// Ordinal is the join's number in the plan, from 0.
	Ordinal int
	// Before is the strategy planned when the prediction was made, Expected the predicted one; empty: nothing was predicted.
	Before   advisor.Strategy
	Expected advisor.Strategy
	// Basis is the number that the prediction rests on, or why there is none.
	Basis string
	// After is the strategy planned after the ANALYZE; empty when it was not explained again.
	After advisor.Strategy
	Grade Grade
}

// Predict takes the predictions from the joins as explained before, one for each fingerprint and ordinal in their order. Where a query
// was explained under several settings the last one counts, as in PlanChanges.
func Predict(before []JoinStrategy) []Prediction {
	type key struct {
		fingerprint string
		ordinal     int
	}
	place := make(map[key]int, len(before))
	out := make([]Prediction, 0, len(before))
	for _, j := range before {
		p := Prediction{Fingerprint: j.Fingerprint, Ordinal: j.Ordinal, Before: j.Strategy, Expected: j.Expected, Basis: j.Basis, Grade: GradeUnknown}
		if i, ok := place[key{j.Fingerprint, j.Ordinal}]; ok {
			out[i] = p
			continue
		}
		place[key{j.Fingerprint, j.Ordinal}] = len(out)
		out = append(out, p)
	}
	return out
}

// GradePredictions compares predictions with the joins as explained after; they come back graded, with the grade of all together.
func GradePredictions(made []Prediction, plans []PlanChange) ([]Prediction, Grade) {
	out := make([]Prediction, len(made))
	counts := map[Grade]int{}
	for i, p := range made {
		p.After = ""
		for _, c := range plans {
			if c.Fingerprint == p.Fingerprint && c.Ordinal == p.Ordinal {
				p.After = c.After
			}
		}
		p.Grade = gradeOf(p)
		counts[p.Grade]++
		out[i] = p
	}
	known := len(made) - counts[GradeUnknown]
	switch {
	case known == 0:
		return out, GradeUnknown
	case counts[GradeRight] == known:
		return out, GradeRight
	case counts[GradeWrong] == known:
		return out, GradeWrong
	}
	return out, GradePartly
}

func gradeOf(p Prediction) Grade {
	switch {
	case unknown(p.Expected) || unknown(p.After):
		return GradeUnknown
	case p.After == p.Expected:
		return GradeRight
	case p.Expected != p.Before && p.After != p.Before:
		return GradePartly
	}
	return GradeWrong
}

func unknown(s advisor.Strategy) bool { return s == "" || s == advisor.Unknown }
