package sample

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// selectorCase is a query with a finding of the selector whose advice is followed.
type selectorCase struct {
	settings map[string]string
	sql      string
	kind     advisor.FindingKind
	// advice are words of it.
	advice string
	// instead is the query as the advice says to write it; empty where it is statements to run.
	instead string
	// told are settings that the advisor takes for those of the session, wrongly.
	told map[string]string
	// factors are true rows over counted ones; message is the error that the statement ended with.
	factors map[string]float64
	message string
	// before and after are the strategies planned; shows are words of the plan after.
	before, after []advisor.Strategy
	shows         string
	// one: the advice is a list of alternatives, of which the lines that begin like this are tried.
	one string
}

const crossed = "SELECT count(*), sum(f.v) FROM facts f JOIN dim d ON f.k <= d.k AND f.k >= d.k"

// overflow is what LLAP's monitor says when a hash table takes too much.
const overflow = "Hash table loading exceeded memory limits for input: Map 2 numEntries: 90000 estimatedMemoryUsage: 900000000 effectiveThreshold: 700000000"

func selectorCases(db string) map[string]selectorCase {
	merge, hash, buckets := []advisor.Strategy{advisor.MergeJoin}, []advisor.Strategy{advisor.MapJoin}, []advisor.Strategy{advisor.BucketMapJoin}
	within := map[string]string{budgetSetting: budgetOf(0.7)}
	twoReducers := map[string]string{budgetSetting: budgetOf(0.7), reducers: "2"}
	with := func(base map[string]string, name, value string) map[string]string {
		m := maps.Clone(base)
		m[name] = value
		return m
	}
	return map[string]selectorCase{
		"rows that Hive does not count": {
			settings: map[string]string{budgetSetting: "20000"}, sql: onFacts("facts", "grown"), kind: advisor.StaleStatistics,
			factors: map[string]float64{db + ".grown": 200}, advice: "ANALYZE TABLE", before: hash, after: merge,
		},
		"no statistics of columns": {
			settings: map[string]string{budgetSetting: "1000000"}, sql: onFacts("facts", "bare"), kind: advisor.MissingStatistics, advice: "ANALYZE TABLE", before: merge, after: hash,
		},
		"a merge join for want of statistics": {
			settings: map[string]string{budgetSetting: "1000000"}, sql: onFacts("facts", "naked"), kind: advisor.MergeJoinMissingStatistics,
			advice: "ANALYZE TABLE", before: merge, after: hash,
		},
		"a merge join of a large and a small side": {
			settings: twoReducers, sql: onFacts("facts", "dim"), kind: advisor.MergeJoinLargeSmall, advice: "SET " + budgetSetting, one: "SET " + budgetSetting, before: merge, after: hash,
		},
		"near the budget": { // Hive is told half the rows there are
			settings: map[string]string{budgetSetting: "50000"}, sql: onFacts("facts", "near"), kind: advisor.NearFlip, advice: "ANALYZE TABLE", before: hash, after: merge,
		},
		"bucket map joins off": {
			settings: with(within, bucketSetting, "false"), sql: onFacts("placed", "dim"), kind: advisor.BucketedButShuffled,
			advice: "SET " + bucketSetting + "=true;", before: merge, after: buckets,
		},
		"several inputs, an outer join last": {
			settings: with(within, "hive.merge.nway.joins", "true"), kind: advisor.BucketedButShuffled, advice: "SET hive.merge.nway.joins=false",
			sql:    "SELECT sum(f.v), count(d.name), count(e.name) FROM placed f JOIN placed_dim d ON f.k = d.k LEFT JOIN dim e ON f.k = e.k",
			before: merge, after: []advisor.Strategy{advisor.BucketMapJoin, advisor.MergeJoin},
		},
		"an external table": {
			settings: within, sql: onFacts("placed", "outside_dim"), kind: advisor.BucketedButShuffled, advice: "SET " + unsafeExternal + "=false", before: merge, after: buckets,
		},
		"too much for each bucket": {
			settings: map[string]string{budgetSetting: budgetOf(0.3)}, sql: onFacts("placed", "dim"), kind: advisor.BucketedButShuffled,
			advice: "SET " + budgetSetting, before: merge, after: buckets,
		},
		"the streamed side has no buckets": {
			settings: within, sql: onFacts("flat", "placed_dim"), kind: advisor.BucketedButShuffled, advice: "CLUSTERED BY (`k`)", before: merge, after: buckets,
		},
		"buckets of another column": {
			settings: within, sql: onFacts("loose", "dim"), kind: advisor.BucketedButShuffled, advice: "CLUSTERED BY (`k`)", before: merge, after: buckets,
		},
		"buckets that are not sorted": {
			settings: map[string]string{budgetSetting: budgetOf(2), convertSetting: "false"}, sql: onFacts("placed", "unsorted_dim"), kind: advisor.BucketedButShuffled,
			advice: "SORTED BY (`k`)", before: merge, after: []advisor.Strategy{advisor.SMB},
		},
		"a full join": {
			settings: twoReducers, sql: fullJoin, kind: advisor.FullOuterNoBroadcast, advice: "SET " + dphjSetting + "=true;", before: merge, after: []advisor.Strategy{advisor.DPHJ},
		},
		"a full join that may not be hashed": {
			settings: with(with(twoReducers, fullOuter, "false"), gracePartitions, "true"), sql: fullJoin, kind: advisor.FullOuterNoBroadcast,
			advice: "SET " + fullOuter + "=true;", before: merge, after: []advisor.Strategy{advisor.DPHJ},
		},
		"a full join with everything off": {
			settings: with(with(with(twoReducers, fullOuter, "false"), gracePartitions, "true"), optimizedTable, "false"), sql: fullJoin, kind: advisor.FullOuterNoBroadcast,
			advice: "SET " + optimizedTable + "=true;", before: merge, after: []advisor.Strategy{advisor.DPHJ},
		},
		"a full join with another condition": {
			settings: map[string]string{budgetSetting: budgetOf(2)}, kind: advisor.FullOuterNoBroadcast, before: merge,
			advice: "LEFT JOIN, which may hash the right side, and a UNION ALL", after: []advisor.Strategy{advisor.MapJoin, advisor.MergeJoin},
			sql: "SELECT f.v, d.name FROM facts f FULL JOIN dim d ON f.k = d.k AND f.v > length(d.name)",
			instead: "SELECT f.v, d.name FROM facts f LEFT JOIN dim d ON f.k = d.k AND f.v > length(d.name)" +
				" UNION ALL SELECT CAST(NULL AS BIGINT), d.name FROM dim d WHERE NOT EXISTS (SELECT 1 FROM facts f WHERE f.k = d.k AND f.v > length(d.name))",
		},
		"a cross product": {
			settings: map[string]string{budgetSetting: budgetOf(2)}, sql: crossed, kind: advisor.CrossProduct, advice: "add an equality between the two sides to the ON clause",
			instead: "SELECT count(*), sum(f.v) FROM facts f JOIN dim d ON f.k = d.k", after: hash,
		},
		"a hash table that did not fit: smaller budget": {
			settings: map[string]string{budgetSetting: budgetOf(2)}, sql: onFacts("facts", "dim"), kind: advisor.MapJoinMemory, message: overflow,
			advice: "SET " + budgetSetting, one: "SET " + budgetSetting, before: hash, after: merge,
		},
		"a hash table that did not fit: spill it": {
			settings: map[string]string{budgetSetting: budgetOf(2)}, sql: onFacts("facts", "dim"), kind: advisor.MapJoinMemory, message: overflow,
			advice: "SET " + gracePartitions + "=true;", one: "SET " + gracePartitions, before: hash, after: hash, shows: "HybridGraceHashJoin: true",
		},
		"a hash table that did not fit: true statistics": {
			settings: map[string]string{budgetSetting: "50000"}, sql: onFacts("facts", "trusted"), kind: advisor.MapJoinMemory, message: overflow,
			advice: "ANALYZE TABLE", one: "ANALYZE TABLE", before: hash, after: merge,
		},
		// Where the rules do not arrive at the plan, they know no budget that ends it.
		"a hash table that did not fit: by settings that were not read": {
			settings: map[string]string{budgetSetting: budgetOf(2)}, told: map[string]string{budgetSetting: "1"}, sql: onFacts("facts", "dim"), kind: advisor.MapJoinMemory,
			message: overflow, advice: "SET " + convertSetting + "=false;", one: "SET " + convertSetting, before: hash, after: merge,
		},
	}
}

// TestSelectorAdviceOnHive follows the advice of findings about strategies, statistics and layouts: the plan becomes what the finding says,
// the finding is gone, and the rows are the same.
func TestSelectorAdviceOnHive(t *testing.T) {
	small := func(name string, written int, rows int64) selectorTable {
		s := dim(name, "")
		s.written, s.rows, s.ndvs, s.width = written, rows, map[string]int64{"k": rows}, 5
		return s
	}
	bare, naked, outside := dim("bare", ""), dim("naked", ""), dim("outside_dim", "")
	bare.ndvs, bare.rows = nil, 300_000
	naked.ndvs, naked.rows = nil, 300_000
	outside.external = true
	r := newSelectorRig(t, "selector", facts("facts", ""), facts("placed", twoBuckets), facts("flat", ""), facts("loose", "CLUSTERED BY (v) INTO 2 BUCKETS"),
		dim("dim", ""), dim("placed_dim", twoBuckets), dim("unsorted_dim", "CLUSTERED BY (k) INTO 2 BUCKETS"), outside, bare, naked,
		small("grown", 2000, 10), small("near", 1800, 900), small("trusted", 1800, 900))
	for name, c := range selectorCases(r.db) {
		t.Run(name, func(t *testing.T) { c.follow(t, r) })
	}
	t.Run("cross products refused", func(t *testing.T) { refuseCross(t, r) })
	t.Run("settings that were not read", func(t *testing.T) { readBudget(t, r) })
}

func (c selectorCase) follow(t *testing.T, r *selectorRig) {
	t.Helper()
	settings := r.begin(t, c.settings)
	maps.Copy(settings, c.told)
	before := r.judge(t, c.sql, settings, c.factors)
	if c.message != "" {
		before.findings = append(before.findings, advisor.OverflowFindings(c.message, before.query.Verdicts, before.query.Settings)...)
	}
	found := ofKind(before.findings, c.kind)
	if got := classify(before.text); c.before != nil && !slices.Equal(got, c.before) || found == nil {
		t.Fatalf("planned as %v, want %v; sizes %v; found %+v\n%s", got, c.before, before.query.Verdicts[0].Decision.OnlineDataSizes, before.findings, before.text)
	}
	t.Logf("%s\n%s", found.Summary, found.Advice)
	advice := found.Advice
	if !strings.Contains(advice, c.advice) {
		t.Fatalf("advice %q lacks %q", advice, c.advice)
	}
	if c.one != "" {
		lines := slices.DeleteFunc(slices.Collect(strings.Lines(advice)), func(line string) bool { return !strings.HasPrefix(line, c.one) })
		advice = strings.Join(lines, "")
	}
	rows := answers(t, r.session, c.sql)
	sql := c.sql
	if c.instead != "" {
		sql = c.instead
	} else {
		sql, settings = r.pull(t, advice, sql, settings)
	}
	after := r.judge(t, sql, settings, nil)
	if got := classify(after.text); c.after != nil && !slices.Equal(got, c.after) || !strings.Contains(after.text, c.shows) {
		t.Errorf("after %q planned as %v, want %v %s\n%s", advice, got, c.after, c.shows, after.text)
	}
	if f := ofKind(after.findings, c.kind); f != nil && c.kind != advisor.NearFlip {
		t.Errorf("after the advice: %+v", f)
	}
	if got := answers(t, r.session, sql); len(rows) == 0 || !slices.Equal(got, rows) {
		t.Errorf("%v before, %v after %q", rows, got, advice)
	}
}

// refuseCross runs the setting that the finding about a cross product names: Hive refuses the query then.
func refuseCross(t *testing.T, r *selectorRig) {
	settings := r.begin(t, map[string]string{budgetSetting: budgetOf(2)})
	found := ofKind(r.judge(t, crossed, settings, nil).findings, advisor.CrossProduct)
	if found == nil {
		t.Fatal("not found")
	}
	r.pull(t, found.Advice, crossed, settings)
	if _, err := r.session.Query(context.WithoutCancel(t.Context()), crossed); err == nil || !strings.Contains(err.Error(), "Cartesian products are disabled") {
		t.Errorf("after %q: %v", found.Advice, err)
	}
}

// readBudget reads a setting that the simulation was not told of: with it, the rules arrive at the plan.
func readBudget(t *testing.T, r *selectorRig) {
	inForce := r.begin(t, map[string]string{budgetSetting: budgetOf(2)})
	wrong := maps.Clone(inForce)
	wrong[budgetSetting] = "1"
	found := ofKind(r.judge(t, onFacts("facts", "dim"), wrong, nil).findings, advisor.StrategyUnexplained)
	if found == nil {
		t.Fatal("not found")
	}
	for _, s := range statements(found.Advice) {
		row := run(t, r.session, s).Rows[0][0]
		name, value, _ := strings.Cut(*row, "=")
		wrong[name] = value
	}
	if f := ofKind(r.judge(t, onFacts("facts", "dim"), wrong, nil).findings, advisor.StrategyUnexplained); f != nil {
		t.Errorf("after %q: %+v", found.Advice, f)
	}
}
