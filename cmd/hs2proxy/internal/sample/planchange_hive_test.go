package sample

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// changeCase is a query that is planned twice, with something else in between, whose finding about the change is followed.
type changeCase struct {
	sql           string
	before, after map[string]string
	// between are statements, and versions what the two plans are recorded with.
	between  []string
	versions [2]string
	kind     advisor.FindingKind
	// advice is the one line of it that is run.
	advice string
	// plans are the strategies before, after, and with the advice.
	plans [3]advisor.Strategy
}

func changeCases() map[string]changeCase {
	sized := func(more ...string) map[string]string {
		m := map[string]string{budgetSetting: budgetOf(2), reducers: "2"}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	merged := [3]advisor.Strategy{advisor.MapJoin, advisor.MergeJoin, advisor.MapJoin}
	return map[string]changeCase{
		"another setting": {
			sql: onFacts("facts", "dim"), before: sized(), after: sized(convertSetting, "false"), kind: advisor.PlanChangedBySettings,
			advice: "SET " + convertSetting + "=true;", plans: merged,
		},
		"a smaller budget": {
			sql: onFacts("facts", "dim"), before: sized(), after: sized(budgetSetting, "1000"), kind: advisor.PlanChangedByResize,
			advice: "SET " + budgetSetting + "=" + budgetOf(2) + ";", plans: merged,
		},
		"a default of another release": { // both plans are of Hive 4.0.1; the first has Hive 3's default
			sql: onFacts("placed", "placed_dim"), before: sized(mergeSetting, "false", convertSetting, "false"), after: sized(mergeSetting, "true", convertSetting, "false"),
			versions: [2]string{"3.1.3", "4.0.1"}, kind: advisor.PlanChangedByUpgrade, advice: "SET " + mergeSetting + "=false;",
			plans: [3]advisor.Strategy{advisor.MergeJoin, advisor.SMB, advisor.MergeJoin},
		},
		"other statistics": {
			sql: onFacts("facts", "swollen"), before: sized(), after: sized(), kind: advisor.PlanChangedByStatistics,
			between: pretend("swollen", 3*dimRows, map[string]int64{"k": 3 * dimRows}), advice: "SET " + dphjSetting + "=true;",
			plans: [3]advisor.Strategy{advisor.MapJoin, advisor.MergeJoin, advisor.DPHJ},
		},
	}
}

// TestPlanChangeAdviceOnHive plans a query twice and follows what the finding about the change advises: the strategy is that of before, or the one
// that the lever names, and the rows are the same.
func TestPlanChangeAdviceOnHive(t *testing.T) {
	r := newSelectorRig(t, "planchange", facts("facts", ""), facts("placed", twoBuckets), dim("dim", ""), dim("swollen", ""), dim("placed_dim", twoBuckets))
	for name, c := range changeCases() {
		t.Run(name, func(t *testing.T) { c.follow(t, r) })
	}
}

func (c changeCase) follow(t *testing.T, r *selectorRig) {
	t.Helper()
	var states [2]advisor.PlanState
	var settings map[string]string
	for i, given := range []map[string]string{c.before, c.after} {
		settings = r.begin(t, given)
		if i == 1 {
			run(t, r.session, c.between...)
			if len(c.between) > 0 {
				clear(r.tables) // the plan alone tells
			}
		}
		now := r.judge(t, c.sql, settings, nil)
		states[i] = advisor.PlanState{Verdicts: now.query.Verdicts, Settings: maps.Clone(settings), Version: c.versions[i]}
		if got := classify(now.text); !slices.Equal(got, []advisor.Strategy{c.plans[i]}) {
			t.Fatalf("plan %d is %v, want %s; sizes %v\n%s", i, got, c.plans[i], now.query.Verdicts[0].Decision.OnlineDataSizes, now.text)
		}
	}
	rows := answers(t, r.session, c.sql)
	list := advisor.PlanChange(states[0], states[1])
	if len(list) != 1 || list[0].Kind != c.kind {
		t.Fatalf("found %+v, want one %s", list, c.kind)
	}
	t.Logf("%s\n%s", list[0].Summary, list[0].Advice)
	at := slices.IndexFunc(slices.Collect(strings.Lines(list[0].Advice)), func(line string) bool { return strings.HasPrefix(line, c.advice) })
	if at < 0 {
		t.Fatalf("advice %q lacks %q", list[0].Advice, c.advice)
	}
	sql, settings := r.pull(t, slices.Collect(strings.Lines(list[0].Advice))[at], c.sql, settings)
	if got := classify(r.judge(t, sql, settings, nil).text); !slices.Equal(got, []advisor.Strategy{c.plans[2]}) {
		t.Errorf("after %q planned as %v, want %s", c.advice, got, c.plans[2])
	}
	if got := answers(t, r.session, sql); len(rows) == 0 || !slices.Equal(got, rows) {
		t.Errorf("%v before, %v after %q", rows, got, c.advice)
	}
}
