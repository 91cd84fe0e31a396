package statscheck

import (
	"testing"
	"time"
)

func seconds(list ...float64) []time.Duration {
	out := make([]time.Duration, len(list))
	for i, s := range list {
		out[i] = time.Duration(s * float64(time.Second))
	}
	return out
}

func TestRuntimeOf(t *testing.T) {
	if got := RuntimeOf(seconds(2, 4, 6)); got != (Runtime{Runs: 3, Mean: 4 * time.Second, StdDev: 2 * time.Second}) {
		t.Errorf("got %+v", got)
	}
	if got := RuntimeOf(seconds(3)); got != (Runtime{Runs: 1, Mean: 3 * time.Second}) {
		t.Errorf("one run: %+v", got)
	}
	if got := RuntimeOf(nil); got != (Runtime{}) {
		t.Errorf("no run: %+v", got)
	}
}

func TestRuntimeEffect(t *testing.T) {
	wide := seconds(9, 10, 11) // mean 10, standard deviation 1: from 7 to 13
	for name, c := range map[string]struct {
		before, after []time.Duration
		want          Effect
	}{
		"no baseline":                       {seconds(10, 10), seconds(99, 99, 99), ""},
		"too few later":                     {wide, seconds(99, 99), ""},
		"three slower":                      {wide, seconds(13.1, 14, 15), EffectRegressed},
		"one at the border":                 {wide, seconds(13, 14, 15), EffectNoChange},
		"three faster":                      {wide, seconds(6.9, 6, 1), EffectImproved},
		"one at the lower border":           {wide, seconds(7, 6, 1), EffectNoChange},
		"three slower of seven":             {wide, seconds(20, 20, 20, 10, 10, 10, 10), EffectNoChange},
		"three slower of six":               {wide, seconds(20, 20, 20, 10, 10, 10), EffectRegressed},
		"half slower, half faster":          {wide, seconds(20, 20, 20, 1, 1, 1), EffectRegressed},
		"equal runs: 10 % are no move":      {seconds(10, 10, 10), seconds(11, 11, 11), EffectNoChange},
		"equal runs: more than 10 %":        {seconds(10, 10, 10), seconds(11.1, 11.1, 11.1), EffectRegressed},
		"short runs: 100 ms are no move":    {seconds(0.1, 0.1, 0.1), seconds(0.2, 0.2, 0.2), EffectNoChange},
		"short runs: more than 100 ms":      {seconds(0.1, 0.1, 0.1), seconds(0.21, 0.21, 0.21), EffectRegressed},
		"spread as wide as what came":       {seconds(1, 10, 19), seconds(30, 30, 30), EffectNoChange},
		"nothing can be faster than spread": {seconds(1, 10, 19), seconds(0.1, 0.1, 0.1), EffectNoChange},
	} {
		if got := RuntimeEffect(c.before, c.after); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestLaterEffect(t *testing.T) {
	for _, c := range []struct {
		queries []Effect
		want    Effect
	}{
		{nil, ""},
		{[]Effect{"", ""}, ""},
		{[]Effect{"", EffectNoChange}, EffectNoChange},
		{[]Effect{EffectNoChange, EffectImproved, ""}, EffectImproved},
		{[]Effect{EffectImproved, EffectRegressed, EffectImproved}, EffectRegressed},
	} {
		if got := LaterEffect(c.queries); got != c.want {
			t.Errorf("%q: got %q, want %q", c.queries, got, c.want)
		}
	}
}
