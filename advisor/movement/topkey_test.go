package movement

import (
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func TestTopKeyQuery(t *testing.T) {
	two := input("facts", tb)
	two.Keys = append(two.Keys, advisor.Key{Expr: "ds", Table: "d.facts", Column: "d`s"})
	over, grouped, joinedKey, computed := input("facts", tb), input("facts", tb), input("facts", tb), input("facts", tb)
	over.OverJoin, grouped.GroupBys, joinedKey.Tables = true, 1, []string{"d.facts", "d.dim"}
	computed.Keys = []advisor.Key{{Expr: "(k + 1)"}}
	for name, test := range map[string]struct {
		in       advisor.Input
		strategy advisor.Strategy
		want     string
	}{
		"a key": {in: input("facts", tb), strategy: advisor.MergeJoin, want: "SELECT MAX(n), SUM(n) FROM (SELECT COUNT(*) AS n FROM `d`.`facts` WHERE `k` IS NOT NULL GROUP BY `k`) q"},
		"two keys": {
			in: two, strategy: advisor.DPHJ,
			want: "SELECT MAX(n), SUM(n) FROM (SELECT COUNT(*) AS n FROM `d`.`facts` WHERE `k` IS NOT NULL AND `d``s` IS NOT NULL GROUP BY `k`, `d``s`) q",
		},
		"nothing is shuffled":  {in: input("facts", tb), strategy: advisor.MapJoin},
		"above a join":         {in: over, strategy: advisor.MergeJoin},
		"above a grouping":     {in: grouped, strategy: advisor.MergeJoin},
		"of two tables":        {in: joinedKey, strategy: advisor.MergeJoin},
		"a computed key":       {in: computed, strategy: advisor.MergeJoin},
		"a name Hive has none": {in: input("fa\ncts", tb), strategy: advisor.MergeJoin},
	} {
		t.Run(name, func(t *testing.T) {
			v := joined(advisor.Inner, test.strategy, test.in, input("dim", gb))
			if got, ok := TopKeyQuery(&v.Join, 0); got != test.want || ok != (test.want != "") {
				t.Errorf("%q, %v: want %q", got, ok, test.want)
			}
		})
	}
}

// FindSkew is what FindMeasured has to say of skew, and nothing else.
func TestFindSkewAlone(t *testing.T) {
	v := joined(advisor.Inner, advisor.MergeJoin, input("facts", 4*tb), input("dim", 2*gb))
	q := advisor.Query{Verdicts: []advisor.JoinVerdict{v}, Settings: advisor.NewSettings(nil)}
	q.Settings.Nodes = 20
	list := FindSkew(q, Measured{TopShare: map[Place]float64{{Join: 0, Input: 0}: 0.4}})
	if len(list) != 1 || list[0].Kind != SkewRisk || list[0].Evidence["cause"] != CauseMeasured {
		t.Errorf("%+v", list)
	}
	if list := FindSkew(q, Measured{}); len(list) != 0 {
		t.Errorf("without a count %+v", list)
	}
}
