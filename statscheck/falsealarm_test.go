package statscheck

import (
	"math"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func TestFalseAlarm(t *testing.T) {
	alarm := Refresh{
		State: RefreshDone, Effect: EffectNoChange, Schedule: "nightly",
		Before: &advisor.TableStats{ColumnsAccurate: []string{"a", "b"}}, After: &advisor.TableStats{ColumnsAccurate: []string{"b"}},
	}
	if !FalseAlarm(alarm) {
		t.Error("the plain case is none")
	}
	for name, change := range map[string]func(*Refresh){
		"effective":             func(r *Refresh) { r.Effect = EffectEffective },
		"ineffective":           func(r *Refresh) { r.Effect = EffectIneffective },
		"failed":                func(r *Refresh) { r.State = RefreshFailed },
		"asked for by a person": func(r *Refresh) { r.Schedule = "" },
		"not read":              func(r *Refresh) { r.After = nil },
		"a column gained":       func(r *Refresh) { r.After = &advisor.TableStats{ColumnsAccurate: []string{"b", "c"}} },
	} {
		r := alarm
		change(&r)
		if FalseAlarm(r) {
			t.Errorf("%s: an alarm", name)
		}
	}
}

func TestRaisedThresholds(t *testing.T) {
	base := Thresholds{MinRows: 1000, Watch: 0.1, Stale: 0.2, High: 0.5}
	for _, c := range []struct {
		in                 Thresholds
		factor             float64
		watch, stale, high float64
	}{
		{base, 0, 0.1, 0.2, 0.5},
		{base, 1, 0.1, 0.2, 0.5},
		{base, math.NaN(), 0.1, 0.2, 0.5},
		{base, 1.5, 0.15, 0.3, 0.5},
		{base, 2.5, 0.25, 0.5, 0.5},
		{base, 1000, 0.5, 0.5, 0.5},
		{Thresholds{Watch: 0.4, Stale: 0.8, High: 2}, 1.5, 0.5, 0.8, 2}, // what somebody set higher stays
	} {
		got := c.in.Raised(c.factor)
		for _, p := range [][2]float64{{got.Watch, c.watch}, {got.Stale, c.stale}, {got.High, c.high}} {
			if math.Abs(p[0]-p[1]) > 1e-9 {
				t.Errorf("%+v times %v: got %+v", c.in, c.factor, got)
			}
		}
		if got.MinRows != c.in.MinRows || got.Watch > got.Stale || got.Stale > got.High {
			t.Errorf("%+v times %v: got %+v", c.in, c.factor, got)
		}
	}
}

func TestNextFactor(t *testing.T) {
	base := DefaultThresholds() // stale 0.2: at most 2.5
	factor, want := 1.0, []float64{1.5, 2.25, 2.5, 2.5}
	for i, w := range want {
		factor = base.NextFactor(factor)
		if math.Abs(factor-w) > 1e-9 {
			t.Fatalf("alarm %d: factor %v, want %v", i+1, factor, w)
		}
	}
	if got := base.Raised(factor).Stale; math.Abs(got-0.5) > 1e-9 {
		t.Errorf("stale ends at %v", got)
	}
	if got := (Thresholds{Stale: 0.8}).NextFactor(1); got != 1 {
		t.Errorf("above the bound: %v", got)
	}
	if got := (Thresholds{}).NextFactor(0); got != 1 {
		t.Errorf("no threshold: %v", got)
	}
}

func TestFactorsOfTables(t *testing.T) {
	all := DefaultThresholds()
	all.Tables = []TableThresholds{{Pattern: "shop.special", Stale: new(0.3), High: new(0.4)}, {Pattern: "off.*", Off: true}}
	all.Factors = map[string]float64{"shop.items": 1.5, "shop.special": 1.5, "off.t": 2}
	for table, want := range map[string][3]float64{
		"Shop.Items":   {0.15, 0.3, 0.5},
		"shop.special": {0.15, 0.45, 0.5},
		"shop.other":   {0.1, 0.2, 0.5},
	} {
		got, off := all.For(table)
		again, _ := got.For(table) // thresholds of one table are handed on as such
		for i, g := range [3]float64{got.Watch, got.Stale, got.High} {
			if math.Abs(g-want[i]) > 1e-9 {
				t.Errorf("%s: %+v, want %v", table, got, want)
			}
		}
		if off || again.Stale != got.Stale || again.Drift != got.Drift {
			t.Errorf("%s: off %v, a second time %+v", table, off, again)
		}
	}
	if got, _ := all.For("shop.items"); math.Abs(got.Drift-0.3) > 1e-9 {
		t.Errorf("drift %v", got.Drift)
	}
	if _, off := all.For("off.t"); !off {
		t.Error("a table that is opted out is back")
	}
}
