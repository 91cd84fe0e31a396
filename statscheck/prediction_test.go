package statscheck

import (
	"reflect"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func TestPredictTakesTheLastOfAQuery(t *testing.T) {
	got := Predict([]JoinStrategy{
		{Fingerprint: "a", Strategy: advisor.MapJoin, Expected: advisor.MergeJoin, Basis: "10 times the rows"},
		{Fingerprint: "a", Ordinal: 1, Strategy: advisor.SMB, Basis: "nothing known"},
		{Fingerprint: "a", Strategy: advisor.MapJoin, Expected: advisor.DPHJ, Basis: "other settings"},
	})
	want := []Prediction{
		{Fingerprint: "a", Before: advisor.MapJoin, Expected: advisor.DPHJ, Basis: "other settings", Grade: GradeUnknown},
		{Fingerprint: "a", Ordinal: 1, Before: advisor.SMB, Basis: "nothing known", Grade: GradeUnknown},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestGradeOfOneJoin(t *testing.T) {
	for name, c := range map[string]struct {
		before, expected, after advisor.Strategy
		want                    Grade
	}{
		"change as predicted":            {advisor.MapJoin, advisor.MergeJoin, advisor.MergeJoin, GradeRight},
		"stay as predicted":              {advisor.MapJoin, advisor.MapJoin, advisor.MapJoin, GradeRight},
		"change to another":              {advisor.MapJoin, advisor.MergeJoin, advisor.DPHJ, GradePartly},
		"no change, though predicted":    {advisor.MapJoin, advisor.MergeJoin, advisor.MapJoin, GradeWrong},
		"a change that was not foretold": {advisor.MapJoin, advisor.MapJoin, advisor.MergeJoin, GradeWrong},
		"nothing predicted":              {advisor.MapJoin, "", advisor.MergeJoin, GradeUnknown},
		"predicted as unknown":           {advisor.MapJoin, advisor.Unknown, advisor.MergeJoin, GradeUnknown},
		"not explained again":            {advisor.MapJoin, advisor.MergeJoin, "", GradeUnknown},
		"a plan nobody knows":            {advisor.MapJoin, advisor.MergeJoin, advisor.Unknown, GradeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			var plans []PlanChange
			if c.after != "" {
				plans = []PlanChange{{"q", 3, c.before, c.after}}
			}
			made := []Prediction{{Fingerprint: "q", Ordinal: 3, Before: c.before, Expected: c.expected}}
			got, all := GradePredictions(made, plans)
			if got[0].Grade != c.want || got[0].After != c.after || all != c.want && c.want != GradePartly {
				t.Errorf("got %+v, together %s; want %s", got[0], all, c.want)
			}
			if made[0].Grade != "" {
				t.Error("the argument was changed")
			}
		})
	}
}

func TestGradeOfAllTogether(t *testing.T) {
	// The strategy after tells the grade of a join of which MERGE_JOIN was predicted.
	grade := map[Grade]advisor.Strategy{GradeRight: advisor.MergeJoin, GradeWrong: advisor.MapJoin, GradePartly: advisor.DPHJ, GradeUnknown: ""}
	for _, c := range []struct {
		joins []Grade
		want  Grade
	}{
		{nil, GradeUnknown},
		{[]Grade{GradeUnknown, GradeUnknown}, GradeUnknown},
		{[]Grade{GradeRight, GradeUnknown}, GradeRight},
		{[]Grade{GradeWrong, GradeUnknown, GradeWrong}, GradeWrong},
		{[]Grade{GradeRight, GradeWrong}, GradePartly},
		{[]Grade{GradePartly}, GradePartly},
		{[]Grade{GradePartly, GradeRight}, GradePartly},
		{[]Grade{GradePartly, GradeWrong}, GradePartly},
	} {
		var made []Prediction
		var plans []PlanChange
		for i, g := range c.joins {
			made = append(made, Prediction{Fingerprint: "q", Ordinal: i, Before: advisor.MapJoin, Expected: advisor.MergeJoin})
			plans = append(plans, PlanChange{"q", i, advisor.MapJoin, grade[g]})
		}
		if got, all := GradePredictions(made, plans); all != c.want || len(got) != len(made) {
			t.Errorf("%v: got %s, want %s", c.joins, all, c.want)
		}
	}
}
