package pipeline

import (
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

func TestReplanPredicts(t *testing.T) {
	s := newStage(t)
	s.Analyzer.Known = known{"shop.t": 2_000_000_000, "shop.u": 2_000_000_000}
	s.records.affected = []store.AffectedQuery{s.query()}
	before, err := s.Before(within(t), "main", "shop.t")
	if err != nil || len(before) != 1 {
		t.Fatalf("got %+v, %v", before, err)
	}
	// The other side stays as small as the planner believes, whatever is known of it: it is hashed in place of this one.
	if j := before[0]; j.Strategy != advisor.MapJoin || j.Expected != advisor.MapJoin || !strings.HasPrefix(j.Basis, "shop.t has 1e+09 times") {
		t.Errorf("got %+v", j)
	}
	both := s.records.recorded[0].Joins[0].Verdict
	if both.Expected == advisor.MapJoin {
		t.Errorf("with the rows of both tables: %+v", both)
	}
	if got, err := s.Before(within(t), "main", "shop.other"); err != nil || got[0].Expected != "" || !strings.Contains(got[0].Basis, "no better number of rows") {
		t.Errorf("a table of which nothing is known: %+v, %v", got, err)
	}
}

func TestPredict(t *testing.T) {
	join := func(rows int64) advisor.JoinVerdict {
		j := advisor.Join{
			Strategy: advisor.MapJoin, BigTable: 0, Conditions: []advisor.Condition{{Type: advisor.Inner, Left: 0, Right: 1}},
			Inputs: []advisor.Input{
				{Position: 0, Tables: []string{"s.big"}, Rows: 100_000_000, DataSize: 10_000_000_000, CumulativeRows: 100_000_000, BasicStats: "COMPLETE", ColumnStats: "COMPLETE"},
				{Position: 1, Tables: []string{"s.small"}, Rows: rows, DataSize: rows * 100, CumulativeRows: rows, BasicStats: "COMPLETE", ColumnStats: "COMPLETE"},
			},
		}
		return advisor.Judge(j, advisor.NewSettings(nil))
	}
	settings := advisor.NewSettings(nil)
	small := join(1000)
	if small.Decision.Strategy != advisor.MapJoin || !small.Verdict.Agrees {
		t.Fatalf("the join is none that the rules explain: %+v", small.Verdict)
	}
	for name, c := range map[string]struct {
		change func(*advisor.JoinVerdict)
		want   advisor.Strategy
		basis  string
	}{
		"nothing known":      {func(*advisor.JoinVerdict) {}, "", "no better number"},
		"another table grew": {func(v *advisor.JoinVerdict) { v.Verdict.Growth = map[string]float64{"s.big": 3} }, "", "no better number"},
		"a little":           {func(v *advisor.JoinVerdict) { v.Verdict.Growth = map[string]float64{"s.small": 2} }, advisor.MapJoin, "s.small has 2 times the rows"},
		"beyond the budget":  {func(v *advisor.JoinVerdict) { v.Verdict.Growth = map[string]float64{"s.small": 1e5} }, advisor.MergeJoin, "s.small has 1e+05 times the rows"},
		"a plan not understood": {func(v *advisor.JoinVerdict) {
			v.Verdict.Agrees, v.Verdict.Growth = false, map[string]float64{"s.small": 1e5}
		}, "", "do not explain"},
		"other settings": {func(v *advisor.JoinVerdict) {
			v.Verdict.Simulated, v.Verdict.Growth = advisor.SMB, map[string]float64{"s.small": 1e5}
		}, "", "could not be repeated"},
	} {
		v := join(1000)
		c.change(&v)
		got, basis := predict(&v, "s.small", &settings)
		if got != c.want || !strings.Contains(basis, c.basis) {
			t.Errorf("%s: %q, %q", name, got, basis)
		}
	}
}

func TestFactorsOutliveAReload(t *testing.T) {
	p := newPost(t, statscheck.DefaultThresholds())
	p.SetFactors(map[string]float64{"shop.t": 2, "shop.u": 1.5})
	p.SetFactor("Shop.T", 1)
	next := statscheck.DefaultThresholds()
	next.Stale = 0.3
	p.SetThresholds(next)
	for table, want := range map[string]float64{"shop.t": 0.3, "shop.u": 0.45} {
		if got, _ := p.thresholds().For(table); got.Stale < want-1e-9 || got.Stale > want+1e-9 {
			t.Errorf("%s: stale from %v, want %v", table, got.Stale, want)
		}
		if got, _ := p.Configured().For(table); got.Stale != 0.3 {
			t.Errorf("%s: configured %v", table, got.Stale)
		}
	}
}
