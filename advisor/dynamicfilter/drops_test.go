package dynamicfilter

import (
	"math"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor/movement"
)

// A plan with a filter has the same estimates as without: what the filter drops is known from its keys alone.
func TestDropsOfPlansOfHive(t *testing.T) {
	const budget = "hive.auto.convert.join.noconditionaltask.size"
	for name, test := range map[string]struct {
		settings map[string]string
		share    float64
	}{
		"semijoin":      {settings: map[string]string{budget: "1"}, share: 0.9999},
		"pruning":       {settings: map[string]string{budget: "1"}, share: 0.75},
		"too_many_keys": {settings: map[string]string{budget: "1", "hive.tez.max.bloom.filter.entries": "500000"}},
		"pruning_off":   {settings: map[string]string{budget: "1", "hive.tez.dynamic.partition.pruning": "false"}},
	} {
		t.Run(name, func(t *testing.T) {
			q := planned(t, name, test.settings)
			drops, large := Drops(Of(q))[0], movement.Of(q.Verdicts[0], 0, 0).Streamed
			if got := drops[large]; math.Abs(got-test.share) > 1e-9 || len(drops) > 1 {
				t.Errorf("drops %v, want %v of input %d", drops, test.share, large)
			}
			planned, left := movement.Of(q.Verdicts[0], 0, 0), movement.OfFiltered(q.Verdicts[0], 0, 0, drops)
			want := int64(float64(planned.Large) * (1 - test.share))
			if diff := left.Large - want; diff > 1 || diff < -1 {
				t.Errorf("%d of %d bytes are left, want %d", left.Large, planned.Large, want)
			}
		})
	}
}

// Two filters of one input drop what both leave together; what lies above a join or is not in the plan is left out.
func TestDropsTogether(t *testing.T) {
	q := planned(t, "semijoin", map[string]string{"hive.auto.convert.join.noconditionaltask.size": "1"})
	var present Filter
	for _, f := range Of(q) {
		if f.State == Present {
			present = f
		}
	}
	present.Rows, present.Removed = 1000, 500
	second, absent := present, present
	second.Removed, absent.State = 900, Absent
	if got := Drops([]Filter{present, second, absent})[present.Join][present.Consumer]; math.Abs(got-0.95) > 1e-9 {
		t.Errorf("together %v, want 0.95", got)
	}
	over := *present.consumer
	over.OverJoin = true
	second.consumer = &over
	if got := Drops([]Filter{second}); len(got) != 0 {
		t.Errorf("above a join %v", got)
	}
}
