package sample

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// leverCase is a merge join with the levers that explain prints for it, each as "KIND STRATEGY" and the settings or tables it names.
type leverCase struct {
	settings map[string]string
	sql      string
	want     []string
	// skip are those of want that are not pulled here: another case pulls one like it.
	skip []string
	// factors are true rows over counted ones.
	factors map[string]float64
}

// dimHashed is about what a hash table of dim takes by the planner's estimate, in bytes; the budgets below are shares of it.
const dimHashed = 14_100_000

func budgetOf(share float64) string { return fmt.Sprint(int64(share * dimHashed)) }

const (
	gracePartitions = "hive.mapjoin.hybridgrace.hashtable"
	fullOuter       = "hive.mapjoin.full.outer"
	optimizedTable  = "hive.mapjoin.optimized.hashtable"
	mergeReduceSide = "hive.auto.convert.sortmerge.join.reduce.side"
	unsafeExternal  = "hive.disable.unsafe.external.table.operations"
)

const (
	grouped  = "SELECT count(*), sum(a.c), sum(b.c) FROM (SELECT k, count(*) c FROM facts GROUP BY k) a JOIN (SELECT k, count(*) c FROM dim GROUP BY k) b ON a.k = b.k"
	fullJoin = "SELECT sum(f.v), count(d.name) FROM facts f FULL JOIN dim d ON f.k = d.k"
)

func onFacts(fact, dim string) string {
	return "SELECT sum(f.v), count(d.name) FROM " + fact + " f JOIN " + dim + " d ON f.k = d.k"
}

func leverCases(db string) map[string]leverCase {
	return map[string]leverCase{
		"above the budget": {
			settings: map[string]string{budgetSetting: budgetOf(0.7), reducers: "2"}, sql: onFacts("facts", "dim"),
			want: []string{"BUDGET MAP_JOIN " + budgetSetting, "SWITCH DPHJ " + dphjSetting, "LAYOUT BUCKET_MAP_JOIN facts_bucketed"},
		},
		"map joins off": {
			settings: map[string]string{convertSetting: "false", budgetSetting: budgetOf(2)}, sql: onFacts("facts", "dim"),
			want: []string{"SWITCH MAP_JOIN " + convertSetting, "LAYOUT SMB facts_bucketed dim_bucketed"},
		},
		"map joins off, above the budget": {
			settings: map[string]string{convertSetting: "false", budgetSetting: budgetOf(0.7), reducers: "2"}, sql: onFacts("facts", "dim"),
			want: []string{"SWITCH DPHJ " + convertSetting + " " + dphjSetting, "LAYOUT SMB facts_bucketed dim_bucketed"}, skip: []string{"LAYOUT SMB facts_bucketed dim_bucketed"},
		},
		"too many keys": {
			settings: map[string]string{entriesSetting: "50", budgetSetting: budgetOf(2), reducers: "2"}, sql: onFacts("facts", "dim"),
			want: []string{"SWITCH DPHJ " + dphjSetting, "SWITCH MAP_JOIN " + entriesSetting, "LAYOUT SMB facts_bucketed dim_bucketed"},
			skip: []string{"SWITCH DPHJ " + dphjSetting, "LAYOUT SMB facts_bucketed dim_bucketed"},
		},
		"bucket map joins off": {
			settings: map[string]string{bucketSetting: "false", budgetSetting: budgetOf(0.7)}, sql: onFacts("placed", "dim"),
			want: []string{"BUDGET MAP_JOIN " + budgetSetting, "SWITCH BUCKET_MAP_JOIN " + bucketSetting, "LAYOUT SMB placed_bucketed dim_bucketed"},
			skip: []string{"BUDGET MAP_JOIN " + budgetSetting, "LAYOUT SMB placed_bucketed dim_bucketed"},
		},
		"sort-merge joins off": {
			settings: map[string]string{mergeSetting: "false", convertSetting: "false"}, sql: onFacts("placed", "placed_dim"),
			want: []string{"SWITCH BUCKET_MAP_JOIN " + convertSetting, "SWITCH SMB " + mergeSetting},
		},
		"sort-merge joins in reducers off": {
			settings: map[string]string{mergeReduceSide: "false", budgetSetting: "1"}, sql: grouped,
			want: []string{"BUDGET MAP_JOIN " + budgetSetting, "SWITCH SMB " + mergeReduceSide}, skip: []string{"BUDGET MAP_JOIN " + budgetSetting},
		},
		"sort-merge joins off, in reducers too": {
			settings: map[string]string{mergeSetting: "false", mergeReduceSide: "false", budgetSetting: "1"}, sql: grouped,
			want: []string{"BUDGET MAP_JOIN " + budgetSetting, "SWITCH SMB " + mergeSetting + " " + mergeReduceSide}, skip: []string{"BUDGET MAP_JOIN " + budgetSetting},
		},
		"an external table": {
			settings: map[string]string{budgetSetting: budgetOf(0.7)}, sql: onFacts("placed", "outside_dim"),
			want: []string{"BUDGET MAP_JOIN " + budgetSetting, "SWITCH BUCKET_MAP_JOIN " + unsafeExternal}, skip: []string{"BUDGET MAP_JOIN " + budgetSetting},
		},
		"a full join": {
			settings: map[string]string{budgetSetting: budgetOf(0.7), reducers: "2"}, sql: fullJoin, want: []string{"SWITCH DPHJ " + dphjSetting},
		},
		"a full join that may not be hashed": {
			settings: map[string]string{budgetSetting: budgetOf(0.7), reducers: "2", fullOuter: "false"}, sql: fullJoin,
			want: []string{"SWITCH DPHJ " + dphjSetting + " " + fullOuter},
		},
		"a full join whose hash table would spill": {
			settings: map[string]string{budgetSetting: budgetOf(0.7), reducers: "2", gracePartitions: "true"}, sql: fullJoin,
			want: []string{"SWITCH DPHJ " + dphjSetting + " " + gracePartitions},
		},
		"a full join with everything off": {
			settings: map[string]string{budgetSetting: budgetOf(0.7), reducers: "2", gracePartitions: "true", fullOuter: "false", optimizedTable: "false"}, sql: fullJoin,
			want: []string{"SWITCH DPHJ " + dphjSetting + " " + fullOuter + " " + optimizedTable + " " + gracePartitions},
		},
		"no statistics of columns": {
			settings: map[string]string{budgetSetting: "1000000"}, sql: onFacts("facts", "bare"),
			want: []string{"STATISTICS MAP_JOIN bare", "BUDGET MAP_JOIN " + budgetSetting, "LAYOUT BUCKET_MAP_JOIN facts_bucketed"},
			skip: []string{"BUDGET MAP_JOIN " + budgetSetting, "LAYOUT BUCKET_MAP_JOIN facts_bucketed"},
		},
		"rows that Hive does not count": {
			settings: map[string]string{budgetSetting: "20000"}, sql: onFacts("facts", "grown"), factors: map[string]float64{db + ".grown": 200},
			want: []string{"STATISTICS MERGE_JOIN grown"},
		},
	}
}

// TestLeversOnHive pulls each lever that explain prints for a merge join: Hive plans the strategy that it names, and the rows are the
// same. Every setting that a lever may set is set by one of them.
func TestLeversOnHive(t *testing.T) {
	bare, grown := dim("bare", ""), dim("grown", "")
	bare.ndvs, bare.rows = nil, 300_000
	grown.written, grown.rows, grown.ndvs, grown.width = 2000, 10, map[string]int64{"k": 10}, 5
	outside := dim("outside_dim", "")
	outside.external = true
	r := newSelectorRig(t, "levers", facts("facts", ""), facts("placed", twoBuckets), dim("dim", ""),
		dim("placed_dim", twoBuckets), outside, bare, grown)
	pulled, ran := map[string]bool{}, 0
	cases := leverCases(r.db)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.follow(t, r, pulled)
			ran++
		})
	}
	if ran < len(cases) { // some were not asked for, or ended early
		return
	}
	for _, name := range advisor.LeverSettings() {
		if !pulled[name] {
			t.Errorf("no lever with %s was pulled", name)
		}
	}
	for _, kind := range []advisor.LeverKind{advisor.LeverStatistics, advisor.LeverBudget, advisor.LeverSwitch, advisor.LeverLayout} {
		if !pulled[string(kind)] {
			t.Errorf("no lever of kind %s was pulled", kind)
		}
	}
}

func (c leverCase) follow(t *testing.T, r *selectorRig, pulled map[string]bool) {
	t.Helper()
	settings := r.begin(t, c.settings)
	before := r.judge(t, c.sql, settings, c.factors)
	if len(before.query.Verdicts) != 1 {
		t.Fatalf("%d joins\n%s", len(before.query.Verdicts), before.text)
	}
	v := before.query.Verdicts[0]
	list := advisor.Levers(v, before.query.Settings)
	var got []string
	for i := range list {
		got = append(got, leverWords(&list[i]))
	}
	if !slices.Equal(got, c.want) {
		t.Fatalf("levers %q, want %q; sizes %v, %s\n%s", got, c.want, v.Decision.OnlineDataSizes, v.Decision.Reason, before.text)
	}
	rows := answers(t, r.session, c.sql)
	for i := range list {
		l := &list[i]
		if slices.Contains(c.skip, got[i]) {
			continue
		}
		settings := r.begin(t, c.settings)
		t.Logf("%s -- %s", l.Apply, l.Effect)
		sql, settings := r.pull(t, l.Apply, c.sql, settings)
		after := r.judge(t, sql, settings, nil)
		if planned := classify(after.text); !slices.Equal(planned, []advisor.Strategy{l.Strategy}) || planned[0] == v.Join.Strategy {
			t.Errorf("after %q planned as %v, want %s in place of %s\n%s", l.Apply, planned, l.Strategy, v.Join.Strategy, after.text)
		}
		if now := answers(t, r.session, sql); len(rows) == 0 || !slices.Equal(now, rows) {
			t.Errorf("%v before, %v after %q", rows, now, l.Apply)
		}
		for _, word := range strings.Fields(got[i]) {
			pulled[word] = true
		}
	}
}

// leverWords is a lever in brief: kind, strategy, and the settings or tables of its statements.
func leverWords(l *advisor.Lever) string {
	var names []string
	for _, s := range statements(l.Apply) {
		words := strings.Fields(s)
		name, _, _ := strings.Cut(words[1], "=")
		if words[0] != "SET" {
			name = unquoted(words[2])
			name = name[strings.Index(name, ".")+1:]
		}
		if words[0] != "INSERT" {
			names = append(names, name)
		}
	}
	return string(l.Kind) + " " + string(l.Strategy) + " " + strings.Join(slices.Compact(names), " ")
}
