package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

const (
	budgetSetting = "hive.auto.convert.join.noconditionaltask.size"
	gigabyte      = int64(1_000_000_000)
)

// bucketedJoin is the worked example of the cluster's resize: 400 GB and 3 GB in 64 buckets by the key.
func bucketedJoin() advisor.Join {
	input := func(pos int, table string, bytes, rows int64) advisor.Input {
		return advisor.Input{
			Position: pos, Tables: []string{table}, Rows: rows, CumulativeRows: rows, DataSize: bytes, BasicStats: "COMPLETE", ColumnStats: "COMPLETE",
			Keys:   []advisor.Key{{Expr: "_col0", Type: "bigint", Table: table, Column: "id"}},
			Layout: advisor.Layout{Buckets: 64, BucketColumns: []string{"id"}, TotalSize: -1},
		}
	}
	return advisor.Join{
		Conditions: []advisor.Condition{{Type: advisor.Inner, Left: 0, Right: 1}}, BigTable: -1,
		Inputs: []advisor.Input{input(0, "shop.sales", 400*gigabyte, 1000), input(1, "shop.items", 3*gigabyte, 1000)},
	}
}

// planned is the analysis of that join as that version's planner would decide it under these settings on that many nodes.
func planned(at time.Time, version string, nodes int64, pairs ...string) *store.Analysis {
	a := analysis("hive-a", "f1", at)
	a.HiveVersion, a.Nodes, a.NodeExecutors = version, nodes, 12
	a.Settings = map[string]string{"hive.execution.mode": "llap", budgetSetting: "1000000000", "hive.optimize.dynamic.partition.hashjoin": "true"}
	for i := 0; i+1 < len(pairs); i += 2 {
		a.Settings[pairs[i]] = pairs[i+1]
	}
	state := a.State()
	j, s := bucketedJoin(), state.TypedSettings()
	j.Strategy, j.BigTable = advisor.Choose(&j, &s)
	a.Joins = []advisor.JoinVerdict{advisor.Judge(j, s)}
	return a
}

// The plan before is read when another is recorded, and what changed the strategy is a finding of the new one.
func TestPlanChangesAreFindings(t *testing.T) {
	hour := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Hour) }
	for _, c := range []struct {
		name    string
		plans   []*store.Analysis
		want    []string // kind and severity, the latest last
		summary string
	}{
		{
			"a cluster that grows",
			[]*store.Analysis{planned(hour(0), "4.0.1", 40), planned(hour(1), "4.0.1", 120), planned(hour(2), "4.0.1", 200)},
			[]string{"plan_change_resize MEDIUM"},
			"from 120 nodes to 200 nodes; from 135 nodes on the shuffle moves less",
		},
		{
			"a smaller budget is another chain of plans",
			[]*store.Analysis{planned(hour(0), "4.0.1", 40), planned(hour(1), "4.0.1", 40, budgetSetting, "20000000", "hive.optimize.dynamic.partition.hashjoin", "false")},
			[]string{"plan_change_resize MEDIUM"},
			budgetSetting + " from 1000000000 to 20000000",
		},
		{
			"another version with the same settings",
			[]*store.Analysis{planned(hour(0), "3.1.3", 40, budgetSetting, "4000000000"), planned(hour(1), "4.0.1", 40, budgetSetting, "4000000000")},
			[]string{"plan_change_upgrade INFO"},
			"after an upgrade of Hive from 3.1.3 to 4.0.1, whose rules differ",
		},
		{
			"a switch of the session",
			[]*store.Analysis{planned(hour(0), "4.0.1", 40), planned(hour(1), "4.0.1", 40, "hive.auto.convert.join", "false")},
			[]string{"plan_change_settings LOW"},
			"hive.auto.convert.join from true to false",
		},
		{"the same plan", []*store.Analysis{planned(hour(0), "4.0.1", 40), planned(hour(1), "4.0.1", 41), planned(hour(2), "4.0.2", 41)}, nil, ""},
		{"an earlier plan that comes later", []*store.Analysis{planned(hour(2), "4.0.1", 40), planned(hour(1), "4.0.1", 200)}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, store.Options{})
			s := session("hive-a")
			for i, a := range c.plans {
				st := statement(s, "SELECT 1", "f1", a.ExplainedAt)
				if i == len(c.plans)-1 {
					f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st, Analysis: a}))
				}
				f.ok(f.RecordPlan(t.Context(), *a)) // at last once more: it changes nothing
			}
			var got []string
			for _, r := range f.report("findings") {
				if kind := r["kind"].(string); strings.HasPrefix(kind, "plan_change") {
					got = append(got, kind+" "+r["severity"].(string))
					if !strings.Contains(r["summary"].(string), c.summary) {
						t.Errorf("summary %q lacks %q", r["summary"], c.summary)
					}
					if r["subject"] != "join 0" || r["times"] != int64(1) {
						t.Errorf("row %v", r)
					}
				}
			}
			if strings.Join(got, ", ") != strings.Join(c.want, ", ") {
				t.Errorf("findings %v, want %v", got, c.want)
			}
		})
	}
}

// A plan that is seen again keeps up with the cluster, so that a later change is told from where it stood.
func TestPlansKeepTheCluster(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.ok(f.RecordPlan(t.Context(), *planned(t0, "4.0.1", 40)))
	f.ok(f.RecordPlan(t.Context(), *planned(t0.Add(time.Hour), "4.0.1", 120)))
	f.want("1 120 12", `SELECT concat_ws(' ', count(*), max(llap_nodes), max(llap_executors)) FROM hs2proxy.plans`)
	unknown := planned(t0.Add(2*time.Hour), "4.0.1", 120)
	unknown.Nodes, unknown.NodeExecutors = 0, 0
	f.ok(f.RecordPlan(t.Context(), *unknown))
	f.want("1 120 12", `SELECT concat_ws(' ', count(*), max(llap_nodes), max(llap_executors)) FROM hs2proxy.plans`)
	f.ok(f.RecordPlan(t.Context(), *planned(t0.Add(3*time.Hour), "4.0.1", 200)))
	for _, r := range f.report("plan_changes") {
		if got := strings.Join(r["what_changed"].([]string), " "); got != "CLUSTER" {
			t.Errorf("what changed: %s", got)
		}
	}
	f.want("1", `SELECT count(*) FROM hs2proxy.report_plan_changes`)
}

// What the end of a statement tells of its plan counts once, whether the plan was recorded before or with it.
func TestFindingsOfAnEnd(t *testing.T) {
	found := []advisor.Finding{{Kind: advisor.MapJoinMemory, Severity: advisor.High, Subject: "join 0", Summary: "the hash table of hunter2", Evidence: map[string]any{"loaded_rows": 7}}}
	for name, runningFirst := range map[string]bool{"recorded as running": true, "recorded at its end": false} {
		t.Run(name, func(t *testing.T) {
			redact, err := store.NewRedactor([]store.Redaction{{Pattern: "hunter2", With: "…"}})
			f := newFixture(t, store.Options{Redact: redact})
			f.ok(err)
			s := session("hive-a")
			o := store.Observation{Session: s, Statement: statement(s, "SELECT 1", "f1", t0), Analysis: analysis("hive-a", "f1", t0, verdict(advisor.MapJoin, 1000))}
			if runningFirst {
				f.ok(f.RecordStatement(t.Context(), o))
			}
			o.Statement, o.Findings = ended(o.Statement, intercept.StateError, time.Second), found
			for range 2 {
				f.ok(f.RecordStatement(t.Context(), o.Redacted(false, redact)))
			}
			f.want("map_join_memory HIGH 1", `SELECT concat_ws(' ', kind, severity, times) FROM hs2proxy.findings`)
			f.want("1", `SELECT count(*) FROM hs2proxy.findings f JOIN hs2proxy.statements s ON s.plan_id = f.plan_id AND s.fingerprint = f.fingerprint`)
			f.want("0", `SELECT count(*) FROM hs2proxy.findings WHERE summary LIKE '%hunter2%'`)
		})
	}
}
