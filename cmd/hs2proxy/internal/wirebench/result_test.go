package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// The ratio is to the base in the same round, whatever the rounds' own pace was.
func TestSummaryPairsRounds(t *testing.T) {
	s := &Scenario{Samples: []Sample{
		{Target: "a", Round: 0, Value: 100, CPU: 10},
		{Target: "b", Round: 0, Value: 200, CPU: 5},
		{Target: "b", Round: 1, Value: 20, CPU: 1},
		{Target: "a", Round: 1, Value: 10, CPU: 2},
		{Target: "a", Round: 2, Value: 50, CPU: none},
		{Target: "b", Round: 2, Value: 150, CPU: none},
	}}
	s.summarise([]string{"a", "b", "c"}, "a")
	if len(s.Summary) != 2 {
		t.Fatalf("%+v", s.Summary)
	}
	b := s.Summary[1]
	if b.Value != (Spread{150, 20, 200, 3}) || b.Ratio != (Spread{2, 2, 3, 3}) || b.CPU != (Spread{3, 1, 5, 2}) || b.CPURatio != (Spread{0.5, 0.5, 0.5, 2}) {
		t.Errorf("%+v", b)
	}
}

func TestSummaryLeavesOutNoisyRounds(t *testing.T) {
	rounds := func(quiet int) []Sample {
		var out []Sample
		for round := range 8 {
			value := 1000.0
			if round < quiet {
				value = 1
			}
			// A round is noisy, too, where only the base's slice was.
			out = append(out, Sample{Target: "a", Round: round, Value: 1, Noisy: round >= quiet}, Sample{Target: "b", Round: round, Value: value})
		}
		return out
	}
	for quiet, want := range map[int]Spread{2: {1, 1, 1, 2}, 1: {1000, 1, 1000, 8}} {
		s := &Scenario{Samples: rounds(quiet)}
		s.summarise([]string{"a", "b"}, "a")
		if b := s.Summary[1]; b.Value != want || b.Noisy != 0 || b.Rounds != 8 || s.Summary[0].Noisy != 8-quiet {
			t.Errorf("%d quiet rounds: %+v", quiet, s.Summary)
		}
	}
}

func TestForeign(t *testing.T) {
	from := moment{at: time.Unix(100, 0), busy: 50, own: 20}
	to := moment{at: time.Unix(102, 0), busy: 53, own: 22}
	if got := foreign(from, to); got != 0.5 {
		t.Errorf("%v cores", got)
	}
	if got := foreign(from, moment{at: to.at, busy: 51, own: 22}); got != 0 { // ticks are counted apart
		t.Errorf("%v cores", got)
	}
	before := others{at: from.at, cpu: map[string]float64{"java": 1, "idle": 5}}
	after := others{at: to.at, cpu: map[string]float64{"java": 2, "idle": 5.01, "go": 2.5}}
	if got := after.since(before); got != "go 1.25, java 0.50" {
		t.Error(got)
	}
}

func TestTable(t *testing.T) {
	s := &Scenario{Name: "ping", Does: "calls", Unit: "p50 µs", CPUUnit: "CPU µs", Errors: []string{"b: broken"}, Samples: []Sample{
		{Target: "a", Value: 123.4, CPU: none}, {Target: "a", Round: 1, Value: 125, CPU: none}, {Target: "b", Value: 61.7, CPU: 9.876, Noisy: true, Explains: 7},
	}}
	s.summarise([]string{"a", "b"}, "a")
	var out bytes.Buffer
	s.print(&out, "a")
	want := []string{
		"ping: calls", "target p50 µs × a CPU µs × a noisy",
		"a 124 (123 to 125) 1.00 - - 0 of 2", "b 61.7 0.50 9.88 - 1 of 1 7 EXPLAINs", "failed: b: broken",
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if words := strings.Join(strings.Fields(line), " "); words != "" {
			got = append(got, words)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
