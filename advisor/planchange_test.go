package advisor

import (
	"maps"
	"strings"
	"testing"
)

// planned is a plan of these joins as Hive would make it under the state's settings.
func planned(p PlanState, joins ...Join) PlanState {
	s := p.TypedSettings()
	for i, j := range joins {
		j.Ordinal = i
		j.Strategy, j.BigTable = Choose(&j, &s)
		p.Verdicts = append(p.Verdicts, Judge(j, s))
	}
	return p
}

func with(base map[string]string, pairs ...string) map[string]string {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]string{}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

func TestPlanChange(t *testing.T) {
	large := joinOf(Inner, bucketed(sized("big", 400*gb, 1_000_000_000), 64, "customer_id"), bucketed(sized("small", 3*gb, 10_000_000), 64, "customer_id"))
	llap := map[string]string{"hive.execution.mode": "llap", budgetName: "1000000000", dphjName: "true"}
	orders := joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("customers", 300*mb, 4_000_000))
	fewer := joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("customers", 9*mb, 10_000))
	outer := joinOf(FullOuter, sized("orders", 900*gb, 3_000_000_000), sized("customers", 300*mb, 4_000_000))
	streamed := func(rows int64) Join {
		return joinOf(Inner, sized("a", 2*mb, rows), sized("b", 2*mb, 5000))
	}
	for _, c := range []struct {
		name          string
		before, after PlanState
		kind          FindingKind
		severity      Severity
		words         []string
		advice        []string
	}{
		{
			"the seed's cluster grows from 40 to 200 nodes",
			planned(PlanState{Settings: llap, Nodes: 40, Executors: 12}, large), planned(PlanState{Settings: llap, Nodes: 200, Executors: 12}, large),
			PlanChangedByResize, Medium,
			[]string{
				"the bucket map join of d.big and d.small became a dynamically partitioned hash join: after a resize of the LLAP cluster from 40 nodes to 200 nodes",
				"from 135 nodes on the shuffle moves less", "moves more than the hashed side to every node (120 GB)", "moves less than the hashed side to every node (600 GB)",
			},
			nil,
		},
		{
			"and shrinks back",
			planned(PlanState{Settings: llap, Nodes: 200, Executors: 12}, large), planned(PlanState{Settings: llap, Nodes: 40, Executors: 12}, large),
			PlanChangedByResize, Info,
			[]string{"became a bucket map join", "from 200 nodes to 40 nodes"},
			nil,
		},
		{
			"fewer executors lend less memory",
			planned(PlanState{Settings: with(llap, budgetName, "10000000", dphjName, "false"), Nodes: 40, Executors: 24}, joinOf(Inner, sized("big", 50*gb, 1000), sized("small", 20*mb, 1000))),
			planned(PlanState{Settings: with(llap, budgetName, "10000000", dphjName, "false"), Nodes: 40, Executors: 6}, joinOf(Inner, sized("big", 50*gb, 1000), sized("small", 20*mb, 1000))),
			PlanChangedByResize, Medium,
			[]string{"became a merge join", "from 24 executors each to 6"},
			[]string{"SET hive.auto.convert.join.noconditionaltask.size="},
		},
		{
			"a smaller budget, with smaller containers",
			planned(PlanState{Settings: map[string]string{budgetName: "1000000000", "hive.tez.container.size": "4096"}}, orders),
			planned(PlanState{Settings: map[string]string{budgetName: "250000000", "hive.tez.container.size": "1024"}}, orders),
			PlanChangedByResize, Medium,
			[]string{"after a resize: hive.auto.convert.join.noconditionaltask.size from 1000000000 to 250000000"},
			[]string{"-- not back to 1 GB: 1 GB of hash table in a container of 1024 MB"},
		},
		{
			"a smaller budget in the same containers",
			planned(PlanState{Settings: map[string]string{budgetName: "1000000000", "hive.tez.container.size": "4096"}}, orders),
			planned(PlanState{Settings: map[string]string{budgetName: "250000000", "hive.tez.container.size": "4096"}}, orders),
			PlanChangedByResize, Medium, nil,
			[]string{"SET hive.auto.convert.join.noconditionaltask.size=1000000000;"},
		},
		{
			"an upgrade with another default",
			planned(PlanState{Version: "3.1.3", Settings: map[string]string{dphjName: "true", "hive.mapjoin.full.outer": "false"}}, outer),
			planned(PlanState{Version: "4.0.1", Settings: map[string]string{dphjName: "true", "hive.mapjoin.full.outer": "true"}}, outer),
			PlanChangedByUpgrade, Info,
			[]string{"after an upgrade of Hive from 3.1.3 to 4.0.1: hive.mapjoin.full.outer from false to true, the defaults of the two"},
			[]string{"SET hive.mapjoin.full.outer=false;"},
		},
		{
			"a vendor's budget is gone with the upgrade",
			planned(PlanState{Version: "3.1.3000.7.1.7", Settings: map[string]string{budgetName: "4000000000"}}, orders),
			planned(PlanState{Version: "4.0.1", Settings: map[string]string{budgetName: "10000000", "hive.tez.container.size": "16384"}}, orders),
			PlanChangedByUpgrade, Medium,
			[]string{"after an upgrade of Hive from 3.1.3000.7.1.7 to 4.0.1: hive.auto.convert.join.noconditionaltask.size from 4000000000 to 10000000;"},
			[]string{"SET hive.auto.convert.join.noconditionaltask.size=4000000000;"},
		},
		{
			"an upgrade whose rules differ",
			planned(PlanState{Version: "3.1.3", Settings: with(llap, "hive.stats.fetch.column.stats", "true", "hive.auto.convert.join.hashtable.max.entries", "21000000", budgetName, "9000000"), Nodes: 40, Executors: 12},
				joinOf(Inner, sized("big", 50*gb, 1000), sized("small", 20*mb, 1000))),
			planned(PlanState{Version: "4.0.1", Settings: with(llap, "hive.stats.fetch.column.stats", "true", "hive.auto.convert.join.hashtable.max.entries", "21000000", budgetName, "9000000", "hive.llap.memory.oversubscription.max.executors.per.query", "8"), Nodes: 40, Executors: 12},
				joinOf(Inner, sized("big", 50*gb, 1000), sized("small", 20*mb, 1000))),
			PlanChangedByUpgrade, Info,
			[]string{"became a map join", "from 3.1.3 to 4.0.1"},
			nil,
		},
		{
			"a switch of the session",
			planned(PlanState{Settings: map[string]string{dphjName: "true"}}, orders), planned(PlanState{Settings: map[string]string{dphjName: "false"}}, orders),
			PlanChangedBySettings, Low,
			[]string{"under other settings: hive.optimize.dynamic.partition.hashjoin from true to false"},
			[]string{"SET hive.optimize.dynamic.partition.hashjoin=true;"},
		},
		{
			"statistics",
			planned(PlanState{}, fewer), planned(PlanState{}, orders),
			PlanChangedByStatistics, Medium,
			[]string{"the map join of d.orders and d.customers became a merge join: after its statistics changed: d.customers from 10,000 rows", "to 4,000,000 rows"},
			[]string{"SET hive.optimize.dynamic.partition.hashjoin=true;"},
		},
		{
			"only the streamed side",
			planned(PlanState{}, streamed(9000)), planned(PlanState{}, streamed(1000)),
			PlanChangedByStatistics, Low,
			[]string{"the map join of d.a and d.b streams d.b in place of d.a"},
			nil,
		},
		{
			"only the streamed side, by the budget",
			planned(PlanState{Settings: map[string]string{budgetName: "10500000"}}, joinOf(Inner, sized("a", 10*mb, 5000), sized("b", 11*mb, 1000))),
			planned(PlanState{Settings: map[string]string{budgetName: "20000000"}}, joinOf(Inner, sized("a", 10*mb, 5000), sized("b", 11*mb, 1000))),
			PlanChangedByResize, Low,
			[]string{"streams d.a in place of d.b: after a resize: hive.auto.convert.join.noconditionaltask.size from 10500000 to 20000000"},
			nil,
		},
		{
			"an upgrade, and nothing that can be replayed",
			planned(PlanState{Version: "4.0.0"}, fewer),
			PlanState{Version: "4.0.1", Verdicts: []JoinVerdict{judged(fewer, MergeJoin, settings())}},
			PlanChangedByUpgrade, Medium,
			[]string{"from 4.0.0 to 4.0.1"},
			nil,
		},
		{
			"nothing that is known",
			planned(PlanState{}, fewer),
			PlanState{Verdicts: []JoinVerdict{judged(fewer, MergeJoin, settings())}},
			PlanChangeUnexplained, Medium,
			[]string{"nothing that is known differs"},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := PlanChange(c.before, c.after)
			if len(got) != 1 {
				t.Fatalf("%d findings: before %s, after %s", len(got), c.before.Verdicts[0].Decision.Reason, c.after.Verdicts[0].Decision.Reason)
			}
			f := got[0]
			if f.Kind != c.kind || f.Severity != c.severity || f.Subject != "join 0" || len(f.Tables) != 2 {
				t.Errorf("got %s %s %s %v: %s", f.Kind, f.Severity, f.Subject, f.Tables, f.Summary)
			}
			for _, w := range c.words {
				if !strings.Contains(f.Summary, w) {
					t.Errorf("summary %q lacks %q", f.Summary, w)
				}
			}
			for _, w := range c.advice {
				if !strings.Contains(f.Advice, w) {
					t.Errorf("advice %q lacks %q", f.Advice, w)
				}
			}
		})
	}
}

func TestNoPlanChange(t *testing.T) {
	join := joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("customers", 300*mb, 4_000_000))
	other := joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("elsewhere", mb, 1000))
	unread := planned(PlanState{}, join)
	unread.Verdicts[0].Join.Strategy = Unknown
	for name, c := range map[string][2]PlanState{
		"the same plan of another version and cluster": {planned(PlanState{Version: "4.0.0", Nodes: 4, Executors: 2}, join), planned(PlanState{Version: "4.0.1", Nodes: 8, Executors: 2}, join)},
		"other tables": {planned(PlanState{}, join), planned(PlanState{}, other)},
		"no plan":      {planned(PlanState{}, join), unread},
		"no joins":     {PlanState{}, planned(PlanState{}, join)},
	} {
		if got := PlanChange(c[0], c[1]); len(got) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The joins of a query are matched by their tables, whatever their order in the plan.
func TestPlanChangeMatchesByTables(t *testing.T) {
	one := joinOf(Inner, sized("a", 900*gb, 3_000_000_000), sized("b", 300*mb, 4_000_000))
	two := joinOf(Inner, sized("c", 50*gb, 1_000_000_000), sized("d", mb, 1000))
	on := PlanState{Settings: map[string]string{dphjName: "true"}}
	got := PlanChange(planned(PlanState{}, one, two), planned(on, two, one))
	if len(got) != 1 || got[0].Subject != "join 1" || got[0].Kind != PlanChangedBySettings {
		t.Errorf("got %+v", got)
	}
}

func TestReleaseOf(t *testing.T) {
	for version, want := range map[string]Release{"4.0.1": Hive4, "3.1.3000.7.1.7": Hive3, "2.3.9": Hive2, "": Hive4, "3": Hive4} {
		if got := ReleaseOf(version); got != want {
			t.Errorf("%q: %s, want %s", version, got, want)
		}
	}
}

func TestShuffleFromNodes(t *testing.T) {
	j := joinOf(Inner, bucketed(sized("big", 400*gb, 1_000_000_000), 64, "customer_id"), bucketed(sized("small", 3*gb, 10_000_000), 64, "customer_id"))
	base := []string{"hive.execution.mode", "llap", budgetName, "1000000000", dphjName, "true"}
	s := settings(base...)
	n, ok := ShuffleFromNodes(&j, &s)
	if !ok || n != 135 {
		t.Fatalf("%d %v, want 135", n, ok)
	}
	// The selector turns there, neither a node earlier nor later.
	for nodes, want := range map[int64]Strategy{n - 1: BucketMapJoin, n: DPHJ} {
		if d := Explain(j, s.WithCluster(nodes, 12)); d.Strategy != want {
			t.Errorf("%d nodes: %s, want %s", nodes, d.Strategy, want)
		}
	}
	for _, pairs := range [][]string{{dphjName, "false"}, {"hive.execution.mode", "container"}, {budgetName, "3000000000"}, {budgetName, "1000"}} {
		s := settings(append(append([]string(nil), base...), pairs...)...)
		if n, ok := ShuffleFromNodes(&j, &s); ok {
			t.Errorf("%v: %d", pairs, n)
		}
	}
}
