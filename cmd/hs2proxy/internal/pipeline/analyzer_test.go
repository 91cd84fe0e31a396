package pipeline

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/store"
)

func shopQuery(h *hive2) Query {
	own := h.session()
	return Query{
		SQL: joinSQL, Fingerprint: "f", Cause: store.CauseFirst,
		Target: Target{Session: &own, Database: "shop", Settings: map[string]string{"hive.auto.convert.join": "true", "hive.cli.print.header": "true"}},
	}
}

func TestAnalyze(t *testing.T) {
	server, hive := startHive(t), newFakeHive()
	hive.rows("SET -v", []string{"hive.auto.convert.join=false"}, []string{"hive.execution.engine=tez"}, []string{"some.other=1"})
	a := shopAnalyzer(t, server, hive)
	got, err := a.Analyze(within(t), shopQuery(server))
	if err != nil {
		t.Fatal(err)
	}
	if got.Upstream != "main" || got.HiveVersion != "4.0.1" || got.Fingerprint != "f" || got.Database != "shop" || got.Cause != store.CauseFirst ||
		got.Error != "" || got.ExplainedAt.IsZero() || got.Duration <= 0 || got.Reused || strings.TrimSpace(got.PlanText) != strings.TrimSpace(mapJoinPlan) {
		t.Errorf("got %+v", got)
	}
	if !maps.Equal(got.Settings, map[string]string{"hive.auto.convert.join": "true", "hive.execution.engine": "tez"}) {
		t.Errorf("settings %v, want those that matter with the session's on top", got.Settings)
	}
	if !slices.Equal(got.Tables, []string{"shop.t", "shop.u"}) {
		t.Errorf("tables %v", got.Tables)
	}
	for _, table := range got.Tables {
		if u := got.Usage[table]; !slices.Equal(u.JoinColumns, []string{"a"}) || u.PlanBasic != "COMPLETE" || u.PlanColumn != "COMPLETE" {
			t.Errorf("usage of %s: %+v", table, u)
		}
	}
	if len(got.Joins) != 1 {
		t.Fatalf("%d joins", len(got.Joins))
	}
	j := got.Joins[0]
	if j.Verdict.Planned != advisor.MapJoin || !j.Verdict.Agrees || j.Verdict.Expected != "" {
		t.Errorf("verdict %+v: %s", j.Verdict, j.Decision.Reason)
	}
	for _, in := range j.Join.Inputs {
		if len(in.Keys) != 1 || in.Keys[0].NDV == nil || *in.Keys[0].NDV != 2 {
			t.Errorf("key %+v, want the NDV of DESCRIBE FORMATTED", in.Keys)
		}
	}
	server.wantOpen(t, 1)
}

func TestAnalyzeRefusals(t *testing.T) {
	server, hive := startHive(t), newFakeHive()
	a := shopAnalyzer(t, server, hive)
	t.Run("of the query", func(t *testing.T) {
		server.set(func() {
			server.mu.refuse = func(*hiveserver.TExecuteStatementReq) *hiveserver.TStatus {
				return refusedStatus(10001, "Table not found 'nope'")
			}
		})
		got, err := a.Analyze(within(t), shopQuery(server))
		if err != nil || got.Error != "Table not found 'nope'" || got.Joins != nil || got.PlanText != "" || got.ExplainedAt.IsZero() || len(got.Settings) == 0 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("of a CTAS whose table is there", func(t *testing.T) {
		server.set(func() {
			server.mu.refuse = func(req *hiveserver.TExecuteStatementReq) *hiveserver.TStatus {
				if strings.Contains(req.Statement, "CREATE") {
					return refusedStatus(40000, "SemanticException: Table already exists: shop.n")
				}
				return nil
			}
		})
		q := shopQuery(server)
		q.SQL, q.Fallback = "CREATE TABLE n AS "+joinSQL, joinSQL
		got, err := a.Analyze(within(t), q)
		if err != nil || got.Error != "" || len(got.Joins) != 1 {
			t.Errorf("got %+v, %v", got, err)
		}
		q.Fallback = ""
		if got, err = a.Analyze(within(t), q); err != nil || !strings.Contains(got.Error, "already exists") {
			t.Errorf("without a query inside: %+v, %v", got, err)
		}
	})
	server.set(func() { server.mu.refuse = nil })
	t.Run("an unreadable plan", func(t *testing.T) {
		server.plan("this is", "no plan")
		got, err := a.Analyze(within(t), shopQuery(server))
		if err != nil || !strings.Contains(got.Error, "could not be read") || got.PlanText != "this is\nno plan" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestAnalyzeFailures(t *testing.T) {
	server, hive := startHive(t), newFakeHive()
	a := shopAnalyzer(t, server, hive)
	down := errors.New("connection refused")
	hive.fails("SET -v", down)
	if got, err := a.Analyze(within(t), shopQuery(server)); !errors.Is(err, down) || got != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	hive.rows("SET -v")
	server.set(func() { server.mu.breaks = func(string) bool { return true } })
	q := shopQuery(server)
	for range 3 {
		if got, err := a.Analyze(within(t), q); err == nil || got != nil {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if _, err := a.Analyze(within(t), q); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
}

// The client's temporary tables are not there for us, and a table may not be readable: the plan is judged all the same.
func TestAnalyzeWithoutStatistics(t *testing.T) {
	server, hive := startHive(t), newFakeHive()
	a := shopAnalyzer(t, server, hive)
	hive.gone("t")
	hive.fails(describeSQL("u"), errors.New("connection reset"))
	got, err := a.Analyze(within(t), shopQuery(server))
	if err != nil || len(got.Joins) != 1 || got.Joins[0].Verdict.Planned != advisor.MapJoin || got.Error != "" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// known is a KnownRows.
type known map[string]int64

func (k known) KnownRows(_ context.Context, _, table string, _ bool) (int64, bool) {
	rows, ok := k[table]
	return rows, ok
}

func TestGrowth(t *testing.T) {
	stats := map[string]advisor.TableStats{
		"same": {Rows: new(int64(10))}, "grown": {Rows: new(int64(10))}, "shrunk": {Rows: new(int64(10))},
		"uncounted": {Rows: new(int64(10))}, "unknown": {}, "empty": {Rows: new(int64(0))},
		"grown/ds=1": {Rows: new(int64(10)), Partition: "ds=1"},
	}
	a := &Analyzer{Known: known{"same": 10, "grown": 25, "shrunk": 5, "unknown": 3, "empty": 3, "grown/ds=1": 20}}
	if got := a.growth(within(t), stats); !maps.Equal(got, map[string]float64{"grown": 2.5, "shrunk": 0.5}) {
		t.Errorf("got %v", got)
	}
	a.Known = nil
	if got := a.growth(within(t), stats); got != nil {
		t.Errorf("nobody knows, yet %v", got)
	}
}

func TestAnalyzeExpectsWhatWasWritten(t *testing.T) {
	server, hive := startHive(t), newFakeHive()
	a := shopAnalyzer(t, server, hive)
	a.Known = known{"shop.t": 2_000_000_000, "shop.u": 2_000_000_000}
	got, err := a.Analyze(within(t), shopQuery(server))
	if err != nil || len(got.Joins) != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
	if v := got.Joins[0].Verdict; v.Expected == "" || v.Expected == v.Planned {
		t.Errorf("verdict %+v: a billion times the rows change nothing", v)
	}
}

func TestAnalyzerCluster(t *testing.T) {
	registry := &advisor.Witness{Joins: []advisor.WitnessJoin{{}, {Nodes: 40, Executors: 3}}}
	for name, test := range map[string]struct {
		configured int
		raw        map[string]string
		witness    *advisor.Witness
		want       int64
	}{
		"nothing":           {0, nil, &advisor.Witness{}, 0},
		"no witness":        {0, nil, nil, 0},
		"configured":        {7, nil, &advisor.Witness{}, 7},
		"planner saw more":  {7, nil, registry, 40},
		"hosts in settings": {7, map[string]string{"hive.llap.daemon.service.hosts": "a,b"}, registry, 2},
	} {
		a := &Analyzer{LLAPNodes: test.configured}
		if s := a.cluster(advisor.NewSettings(test.raw), test.witness); s.Nodes != test.want {
			t.Errorf("%s: %d nodes, want %d", name, s.Nodes, test.want)
		}
	}
}

func TestPlanUsage(t *testing.T) {
	plan, err := explain.Parse(strings.Replace(mapJoinPlan, "Basic stats: COMPLETE Column stats: COMPLETE", "Basic stats: PARTIAL Column stats: NONE", 1))
	if err != nil {
		t.Fatal(err)
	}
	joins := advisor.Joins(plan)
	u := usageOf(plan, joins)
	if got := u["shop.t"]; got.PlanBasic != "PARTIAL" || got.PlanColumn != "NONE" {
		t.Errorf("t: %+v", got)
	}
	if got := u["shop.u"]; got.PlanBasic != "COMPLETE" || got.PlanColumn != "COMPLETE" {
		t.Errorf("u: %+v", got)
	}
	if got := columnsOf(joins, "shop.u"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("columns of u: %v, want the key first, then those carried", got)
	}
}

func TestWorse(t *testing.T) {
	for _, test := range [][3]string{
		{"", "", ""},
		{"", "COMPLETE", "COMPLETE"},
		{"PARTIAL", "", "PARTIAL"},
		{"COMPLETE", "NONE", "NONE"},
		{"NONE", "PARTIAL", "NONE"},
		{"PARTIAL", "COMPLETE", "PARTIAL"},
	} {
		if got := worse(test[0], test[1]); got != test[2] {
			t.Errorf("worse(%q, %q) = %q", test[0], test[1], got)
		}
	}
}

func TestAge(t *testing.T) {
	now := time.Now()
	if got := age(&store.Analysis{ExplainedAt: now.Add(-time.Minute)}, now); got != time.Minute {
		t.Errorf("got %s", got)
	}
}

func TestAnalyzeByRelease(t *testing.T) {
	for name, c := range map[string]struct {
		version, release string
		want             advisor.Release
		mark             string
	}{
		"Hive 4":                    {"4.0.1", "", advisor.Hive4, ""},
		"Hive 3":                    {"3.1.3", "", advisor.Hive3, "hive-3"},
		"configured":                {"3.1.3", "hive-4", advisor.Hive4, "hive-4"},
		"a vendor's, by version":    {"3.1.3000.7", "", advisor.Hive4, "hive-4"},
		"a vendor's, as configured": {"4.0.1", "vendor", advisor.Hive4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server, hive := startHive(t), newFakeHive()
			hive.rows("SET -v", []string{"hive.execution.engine=tez"})
			hive.rows("SELECT version()", []string{c.version + " rabc"})
			a := shopAnalyzer(t, server, hive)
			a.Release = c.release
			a.Profiles = advisor.Profiles{{
				Name: "vendor", Base: advisor.Hive4, Versions: []string{"3.1.3000.*"}, Defaults: map[string]string{"hive.auto.convert.join.noconditionaltask.size": "12345678"},
			}}
			got, err := a.Analyze(within(t), shopQuery(server))
			if err != nil {
				t.Fatal(err)
			}
			s := got.JoinSettings()
			if s.Release != c.want || got.Settings[advisor.ReleaseName] != c.mark {
				t.Errorf("release %s, recorded as %q", s.Release, got.Settings[advisor.ReleaseName])
			}
			vendor := strings.HasPrefix(name, "a vendor")
			if (s.NoConditionalTaskSize == 12345678) != vendor || (got.Joins[0].Decision.Budget == 12345678) != vendor {
				t.Errorf("settings' budget %d, decision's %d", s.NoConditionalTaskSize, got.Joins[0].Decision.Budget)
			}
		})
	}
}
