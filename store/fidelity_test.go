package store_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// told is a verdict with the planner's numbers: of the budget and of the sizes of both inputs, −1 for one not measured.
func told(strategy advisor.Strategy, budget int64, sizes ...int64) advisor.JoinVerdict {
	v := verdict(strategy, 1000) // simulated: a budget of 10,000,000, sizes of 9,000,000 and 1,000
	v.Fidelity = &advisor.Fidelity{Strategy: strategy, Budget: advisor.Compared{Witnessed: budget, Simulated: ptr(v.Decision.Budget)}}
	for pos, n := range sizes {
		if n >= 0 {
			v.Fidelity.Sizes = append(v.Fidelity.Sizes, advisor.ComparedInput{Position: pos, Compared: advisor.Compared{Witnessed: n, Simulated: ptr(v.Decision.OnlineDataSizes[pos])}})
		}
	}
	return v
}

// explained records one statement with its analysis.
func (f *fixture) explained(upstream, version, fingerprint string, at time.Time, joins ...advisor.JoinVerdict) store.Observation {
	f.t.Helper()
	s := session(upstream)
	a := analysis(upstream, fingerprint, at, joins...)
	a.HiveVersion = version
	o := store.Observation{Session: s, Statement: ended(statement(s, "SELECT 1", fingerprint, at), intercept.StateFinished, time.Second), Analysis: a}
	f.ok(f.RecordStatement(f.t.Context(), o))
	return o
}

func TestFidelityIsStoredBesideTheSimulation(t *testing.T) {
	f := newFixture(t, store.Options{})
	v := told("MAP_JOIN", 10_000_000, 9_000_000, -1)
	v.Fidelity.Entries = []advisor.ComparedInput{{Position: 1, Compared: advisor.Compared{Witnessed: 77}}}
	v.Fidelity.Nodes = &advisor.Compared{Witnessed: 5, Simulated: ptr(int64(4))}
	f.explained("hive-a", "4.0.1", "f1", t0, v)
	const columns = `SELECT concat_ws(' ', witnessed, witnessed_budget, witnessed_sizes, simulated_sizes, witnessed_entries, simulated_entries, witnessed_nodes, simulated_nodes) FROM hs2proxy.joins`
	f.want("MAP_JOIN 10000000 {9000000,NULL} {9000000,NULL} {NULL,77} {NULL,NULL} 5 4", columns)
	f.want("2", `SELECT (detail -> 'fidelity' -> 'nodes' ->> 'witnessed')::int - 3 FROM hs2proxy.joins`)

	// Explained again without the planner's lines: no old numbers stay beside new ones.
	f.explained("hive-a", "4.0.1", "f1", t0.Add(time.Hour), verdict("MAP_JOIN", 1000))
	f.want("1", `SELECT count(*) FROM hs2proxy.plans`)
	f.want("", columns)

	for _, set := range []string{
		`witnessed = 'MAP_JOIN'`, `witnessed_sizes = '{1,2}'`, `witnessed_nodes = 1, simulated_nodes = 1`,
		`witnessed = 'HASH', witnessed_budget = 1, witnessed_sizes = '{}', simulated_sizes = '{}', witnessed_entries = '{}', simulated_entries = '{}'`,
		`witnessed = 'SMB', witnessed_budget = 1, witnessed_sizes = '{1}', simulated_sizes = '{}', witnessed_entries = '{}', simulated_entries = '{}'`,
	} {
		if _, err := f.db.Exec(t.Context(), `UPDATE hs2proxy.joins SET `+set); sqlState(err) != "23514" {
			t.Errorf("%s: %v", set, err)
		}
	}
}

func TestReportFidelity(t *testing.T) {
	f := newFixture(t, store.Options{})
	at := func(h int) time.Time { return t0.Add(time.Duration(h) * time.Hour) }
	f.explained("hive-a", "4.0.1", "f1", at(0), told("MAP_JOIN", 10_000_000, 9_000_000, 1000), verdict("MERGE_JOIN", 1000))
	f.explained("hive-a", "4.0.1", "f2", at(1), told("MAP_JOIN", 10_000_001, 9_010_000, 2000))
	odd := verdict("MERGE_JOIN", 1000)
	odd.Verdict.Simulated, odd.Verdict.Agrees = advisor.MapJoin, false
	f.explained("hive-a", "4.1.0", "f1", at(2), odd)
	side := verdict("MAP_JOIN", 1000)
	side.Verdict.Agrees = false
	keys := told("DPHJ", 10_000_000)
	keys.Fidelity.Entries = []advisor.ComparedInput{{Position: 1, Compared: advisor.Compared{Witnessed: 1000, Simulated: ptr(int64(1001))}}}
	keys.Fidelity.Nodes = &advisor.Compared{Witnessed: 5, Simulated: ptr(int64(4))}
	f.explained("hive-b", "", "f3", at(3), side, keys)
	engine := verdict("UNKNOWN", 1000)
	f.explained("hive-c", "4.0.1", "f4", at(4), engine) // Hive on MapReduce: nothing to compare

	for _, c := range []struct {
		report  string
		columns []string
		want    []string
	}{
		{
			"fidelity",
			[]string{"upstream", "hive_version", "joins", "strategy_equal", "strategy_percent", "witnessed", "budgets", "budget_equal", "budget_percent", "budget_near", "budget_near_percent", "sizes", "size_equal", "size_percent", "size_near", "size_near_percent", "entries", "entries_equal", "entries_near", "nodes", "nodes_equal", "fell", "last_explained"},
			[]string{
				"hive-a | 4.1.0 | 1 | 0 | 0 | 0 | 0 | 0 | ∅ | 0 | ∅ | 0 | 0 | ∅ | 0 | ∅ | 0 | 0 | 0 | 0 | 0 | false | 2h",
				"hive-a | 4.0.1 | 3 | 3 | 100 | 2 | 2 | 1 | 50 | 2 | 100 | 4 | 2 | 50 | 3 | 75 | 0 | 0 | 0 | 0 | 0 | false | 1h",
				"hive-b |  | 2 | 1 | 50 | 1 | 1 | 1 | 100 | 1 | 100 | 0 | 0 | ∅ | 0 | ∅ | 1 | 0 | 1 | 1 | 0 | false | 3h",
			},
		},
		{
			"fidelity_differences",
			[]string{"upstream", "hive_version", "fingerprint", "join_no", "tables", "differs", "planned", "simulated", "witnessed", "witnessed_budget", "simulated_budget", "witnessed_sizes", "simulated_sizes", "size_off_percent", "witnessed_entries", "simulated_entries", "witnessed_nodes", "simulated_nodes", "explained_at"},
			[]string{
				"hive-b |  | f3 | 0 | [shop.sales shop.items] | [BIG_TABLE] | MAP_JOIN | MAP_JOIN | ∅ | ∅ | 10000000 | ∅ | ∅ | ∅ | ∅ | ∅ | ∅ | ∅ | 3h",
				"hive-a | 4.1.0 | f1 | 0 | [shop.sales shop.items] | [STRATEGY] | MERGE_JOIN | MAP_JOIN | ∅ | ∅ | 10000000 | ∅ | ∅ | ∅ | ∅ | ∅ | ∅ | ∅ | 2h",
				"hive-a | 4.0.1 | f2 | 0 | [shop.sales shop.items] | [BUDGET SIZES] | MAP_JOIN | MAP_JOIN | MAP_JOIN | 10000001 | 10000000 | [9010000, 2000] | [9000000, 1000] | 50 | [null, null] | [null, null] | ∅ | ∅ | 1h",
				"hive-b |  | f3 | 1 | [shop.sales shop.items] | [ENTRIES NODES] | DPHJ | DPHJ | DPHJ | 10000000 | 10000000 | [null, null] | [null, null] | ∅ | [null, 1000] | [null, 1001] | 5 | 4 | 3h",
			},
		},
	} {
		if got := f.rows(c.report, c.columns...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("report_%s\n got\n%s\nwant\n%s", c.report, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestFidelityPercentagesAreNotRoundedUp(t *testing.T) {
	f := newFixture(t, store.Options{})
	odd := verdict("MERGE_JOIN", 1000)
	odd.Verdict.Agrees = false
	f.explained("hive-a", "4.0.1", "f1", t0, odd)
	f.exec(`INSERT INTO hs2proxy.joins
SELECT r.* FROM generate_series(1, 29999) n, hs2proxy.joins j,
       LATERAL jsonb_populate_record(j, jsonb_build_object('ordinal', n, 'agrees', true)) r`)
	if got := f.rows("fidelity", "joins", "strategy_equal", "strategy_percent"); !reflect.DeepEqual(got, []string{"30000 | 29999 | 99.99"}) {
		t.Errorf("got %v", got)
	}
}

func TestEveryExplainCountsOnceForItsDay(t *testing.T) {
	f := newFixture(t, store.Options{})
	days := `SELECT string_agg(concat_ws(' ', hive_version, (day - '` + t0.Format(time.DateOnly) + `'::date), strategies_agree, strategies, budgets_agree, budgets, sizes_agree, sizes), ', ' ORDER BY day, hive_version) FROM hs2proxy.fidelity_days`
	o := f.explained("hive-a", "4.0.1", "f1", t0, told("MAP_JOIN", 10_000_000, 9_000_000, 2000))
	f.ok(f.RecordStatement(t.Context(), o)) // a spool brings it again
	f.want("4.0.1 0 1 1 1 1 1 2", days)
	again := *o.Analysis
	again.Reused = true
	s := session("hive-a")
	f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: statement(s, "SELECT 1", "f1", t0), Analysis: &again}))
	f.want("4.0.1 0 1 1 1 1 1 2", days)
	again.Reused, again.ExplainedAt = false, t0.Add(time.Second)
	f.ok(f.RecordPlan(t.Context(), again))
	f.want("4.0.1 0 2 2 2 2 2 4", days)
	f.explained("hive-a", "4.0.1", "f1", t0.Add(48*time.Hour), told("MAP_JOIN", 1, 9_000_000, 1000))
	f.explained("hive-a", "4.1.0", "f1", t0.Add(48*time.Hour), verdict("MAP_JOIN", 1000))
	f.explained("hive-a", "4.1.0", "f2", t0.Add(48*time.Hour)) // no join
	f.want("4.0.1 0 2 2 2 2 2 4, 4.0.1 2 1 1 0 1 2 2, 4.1.0 2 1 1 0 0 0 0", days)

	f.now = t0.Add(72 * time.Hour)
	deleted, err := f.Retention(t.Context(), store.Policy{Plans: 36 * time.Hour})
	if err != nil || deleted["fidelity_days"] != 1 {
		t.Errorf("deleted %v, %v", deleted, err)
	}
}

// A finding begins once, stays while the agreement is low, ends when it has recovered and may begin anew.
func TestFidelityFellOnceUntilItRecovers(t *testing.T) {
	f := newFixture(t, store.Options{})
	policy := advisor.FidelityPolicy{Days: 1, Threshold: 0.9, Drop: 0.05, MinCompared: 10}
	day := func(n int) time.Time { return t0.Add(time.Duration(n) * 24 * time.Hour) }
	explain := func(n int, upstream string, agree, of int) {
		t.Helper()
		joins := make([]advisor.JoinVerdict, of)
		for i := range joins {
			joins[i] = told("MAP_JOIN", 10_000_000, 9_000_000, 1000)
			joins[i].Verdict.Agrees = i < agree
		}
		f.explained(upstream, "4.0.1", fmt.Sprintf("f%d", n), day(n), joins...)
	}
	look := func(n int, want string) {
		t.Helper()
		f.now = day(n)
		for look := range 2 {
			got, err := f.WatchFidelity(t.Context(), "hive-a", policy)
			f.ok(err)
			said := "-"
			switch {
			case got.Fell != nil && !got.Recovered:
				said = "fell"
			case got.Recovered && got.Fell == nil:
				said = "recovered"
			}
			if said != want {
				t.Errorf("day %d, look %d: %+v, want %s", n, look, got, want)
			}
			want = "-" // a second look, as another proxy takes it, finds nothing new
		}
	}
	findings := func(want ...string) {
		t.Helper()
		got := f.rows("findings_selector", "upstream", "kind", "subject", "severity", "times", "first_seen", "last_seen", "fingerprint", "query")
		if !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	look(0, "-")
	explain(0, "hive-a", 20, 20)
	explain(0, "hive-b", 0, 20) // another server
	look(0, "-")
	findings()
	explain(1, "hive-a", 15, 20)
	look(1, "fell")
	findings("hive-a | fidelity_fell | hive-a | HIGH | 1 | 24h | 24h | ∅ | ∅")
	if got := f.rows("fidelity", "upstream", "fell"); !reflect.DeepEqual(got, []string{"hive-a | true", "hive-b | false"}) {
		t.Errorf("got %v", got)
	}
	f.want("20", `SELECT evidence -> 'earlier' -> 'strategies' ->> 'agree' FROM hs2proxy.findings`)
	explain(2, "hive-a", 15, 20)
	look(2, "-") // still low; day 1 is now part of what was before
	findings("hive-a | fidelity_fell | hive-a | HIGH | 1 | 24h | 48h | ∅ | ∅")
	f.want("20", `SELECT evidence -> 'earlier' -> 'strategies' ->> 'of' FROM hs2proxy.findings`)
	look(3, "-") // nothing was explained: nothing is known
	findings("hive-a | fidelity_fell | hive-a | HIGH | 1 | 24h | 48h | ∅ | ∅")
	explain(4, "hive-a", 20, 20)
	look(4, "recovered")
	findings()
	f.want("1", `SELECT count(*) FROM hs2proxy.findings WHERE cleared_at IS NOT NULL`)
	explain(5, "hive-a", 0, 20)
	look(5, "fell")
	findings("hive-a | fidelity_fell | hive-a | HIGH | 2 | 24h | 120h | ∅ | ∅")
}

func TestFindingsOfQueriesAreNeverCleared(t *testing.T) {
	f := newFixture(t, store.Options{})
	o := f.explained("hive-a", "4.0.1", "f1", t0, verdict("MAP_JOIN", 1000))
	o.Statement.ID = statement(o.Session, "", "", t0).ID
	o.Analysis.Findings = []advisor.Finding{{Kind: advisor.FidelityFell, Severity: advisor.Low, Subject: "hive-a", Summary: "of a query"}}
	f.ok(f.RecordStatement(t.Context(), o))
	_, err := f.WatchFidelity(t.Context(), "hive-a", advisor.DefaultFidelityPolicy())
	f.ok(err)
	f.want("∅", `SELECT cleared_at FROM hs2proxy.findings`)
	if _, err := f.db.Exec(t.Context(), `UPDATE hs2proxy.findings SET cleared_at = now()`); sqlState(err) != "23514" {
		t.Errorf("got %v", err)
	}
}
