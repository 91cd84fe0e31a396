package advisor

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestWatchFidelity(t *testing.T) {
	p := DefaultFidelityPolicy()
	share := func(agree, of int64) Share { return Share{agree, of} }
	good := Agreement{Strategies: share(100, 100), Budgets: share(100, 100), Sizes: share(200, 200)}
	sizesFell := &OpenFidelity{Fell: []string{"sizes"}, Earlier: good}
	for _, c := range []struct {
		name    string
		recent  []Agreement
		earlier Agreement
		open    *OpenFidelity
		want    string // the summary, in part; empty: no finding
		level   Severity
		settled bool
	}{
		{name: "nothing was compared", settled: true},
		{name: "all agree", recent: []Agreement{good}, earlier: good, settled: true},
		{name: "a server that logs nothing", recent: []Agreement{{HiveVersion: "3.1.3", Strategies: share(50, 50)}}, settled: true},
		{
			"at the threshold",
			[]Agreement{{Strategies: share(95, 100)}},
			Agreement{},
			nil, "", "", true,
		},
		{
			"below it",
			[]Agreement{{HiveVersion: "4.0.1", Strategies: share(949, 1000)}},
			Agreement{},
			nil, "planner of Hive 4.0.1: of strategies 94.9 % agree (949 of 1000), below 95 %", High, true,
		},
		{name: "too few", recent: []Agreement{{Strategies: share(0, 19)}}, earlier: good, settled: true},
		{
			"just enough",
			[]Agreement{{Strategies: share(0, 20)}},
			Agreement{},
			nil, "of unknown version: of strategies less than 0.1 % agree (0 of 20)", High, true,
		},
		{
			"worse than before, over the threshold",
			[]Agreement{{Strategies: share(100, 100), Sizes: share(96, 100)}},
			Agreement{Sizes: share(999, 1000)},
			nil, "", "", true,
		},
		{
			"by more than the drop",
			[]Agreement{{HiveVersion: "4.1.0", Strategies: share(100, 100), Sizes: share(90, 100)}},
			Agreement{Sizes: share(100, 100)},
			nil, "of sizes 90 % agree (90 of 100) after 100 % before", Medium, true,
		},
		{
			"one version of two, and two measures",
			[]Agreement{good, {HiveVersion: "4.1.0", Strategies: share(10, 20), Budgets: share(0, 20)}},
			Agreement{},
			nil, "Hive 4.1.0: of strategies 50 % agree (10 of 20), below 95 %; of budgets less than", High, true,
		},
		{name: "recovered", recent: []Agreement{good}, earlier: Agreement{Sizes: share(0, 100)}, open: sizesFell, settled: true},
		{
			"low for so long that it is what was before",
			[]Agreement{{Strategies: share(100, 100), Sizes: share(94, 100)}},
			Agreement{Sizes: share(94, 100)},
			&OpenFidelity{Fell: []string{"sizes"}, Earlier: good}, "after 100 % before", Medium, true,
		},
		{name: "nothing of what had fallen", recent: []Agreement{{Strategies: share(100, 100)}}, open: sizesFell},
		{name: "nothing at all", open: sizesFell},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, settled := WatchFidelity("hive-a", c.recent, c.earlier, c.open, p)
			if settled != c.settled || (got != nil) != (c.want != "") {
				t.Fatalf("got %+v, settled %v", got, settled)
			}
			if got == nil {
				return
			}
			if got.Kind != FidelityFell || got.Subject != "hive-a" || got.Severity != c.level || !strings.Contains(got.Summary, c.want) || got.Advice == "" {
				t.Errorf("got %+v, want %q", got, c.want)
			}
			evidence, err := json.Marshal(got.Evidence)
			if err != nil {
				t.Fatal(err)
			}
			var open OpenFidelity
			if err := json.Unmarshal(evidence, &open); err != nil || len(open.Fell) == 0 {
				t.Fatalf("evidence %s: %v", evidence, err)
			}
			want := c.earlier
			if c.open != nil {
				want = c.open.Earlier
			}
			if open.Earlier != want {
				t.Errorf("the evidence remembers %+v, want %+v", open.Earlier, want)
			}
		})
	}
}

func TestFidelityPolicyOff(t *testing.T) {
	p := FidelityPolicy{Days: 1, Threshold: 0, Drop: 1, MinCompared: 1}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	before := Agreement{Strategies: Share{100, 100}}
	if got, _ := WatchFidelity("a", []Agreement{{Strategies: Share{0, 100}}}, before, nil, p); got != nil {
		t.Errorf("got %+v", got)
	}
}

func TestFidelityPolicyValidate(t *testing.T) {
	if err := DefaultFidelityPolicy().Validate(); err != nil {
		t.Error(err)
	}
	for field, change := range map[string]func(*FidelityPolicy){
		"days":         func(p *FidelityPolicy) { p.Days = 0 },
		"threshold":    func(p *FidelityPolicy) { p.Threshold = 95 },
		"drop":         func(p *FidelityPolicy) { p.Drop = math.NaN() },
		"min_compared": func(p *FidelityPolicy) { p.MinCompared = 0 },
	} {
		p := DefaultFidelityPolicy()
		change(&p)
		if err := p.Validate(); err == nil || !strings.HasPrefix(err.Error(), field+":") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
