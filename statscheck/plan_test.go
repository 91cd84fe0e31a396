package statscheck

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func stale(levels ...Level) []Staleness {
	var out []Staleness
	for _, l := range levels {
		out = append(out, Staleness{Rule: R4Rows, Level: l, Reason: "many rows"})
	}
	return out
}

func joined(joins int64) Factors { return Factors{Joins: joins} }

func TestPlan(t *testing.T) {
	candidates := []Candidate{
		{Upstream: "one", Table: "db.watched", Staleness: stale(LevelWatch), Factors: joined(900)},
		{Upstream: "one", Table: "db.b", Staleness: stale(LevelStale), Factors: joined(5)},
		{Upstream: "one", Table: "db.a", Staleness: stale(LevelStale), Factors: joined(5)},
		{Upstream: "one", Table: "db.busy", Staleness: stale(LevelStale), Factors: joined(50)},
		{Upstream: "one", Table: "db.worst", Staleness: stale(LevelWatch, LevelCritical), Factors: joined(1), Columns: []string{"id"}},
		{Upstream: "one", Table: "db.cooling", Staleness: stale(LevelCritical), History: []Refresh{ended(RefreshDone, time.Hour)}},
		{Upstream: "one", Table: "db.open", Staleness: stale(LevelCritical), History: []Refresh{{State: RefreshRequested}}},
		{Upstream: "one", Table: "db.fine"},
		{Upstream: "two", Table: "other.t", Staleness: stale(LevelHigh), Columns: []string{"id", "k"}},
	}
	for name, c := range map[string]struct {
		schedule Schedule
		want     []string
	}{
		"all":          {Schedule{}, []string{"db.busy", "db.a", "db.b", "db.worst", "other.t"}},
		"a few":        {Schedule{MaxTables: 2}, []string{"db.busy", "db.a"}},
		"one upstream": {Schedule{Upstream: "two"}, []string{"other.t"}},
		"patterns":     {Schedule{Tables: []string{"other.*", "db.?"}}, []string{"db.a", "db.b", "other.t"}},
		"no match":     {Schedule{Tables: []string{"none.*"}}, nil},
		"watched too":  {Schedule{MinLevel: LevelWatch, MaxTables: 9}, []string{"db.watched", "db.busy", "db.a", "db.b", "db.worst", "other.t"}},
		"only worst":   {Schedule{MinLevel: LevelCritical}, []string{"db.worst"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range Plan(candidates, c.schedule, DefaultPolicy(), t0) {
				got = append(got, r.Table)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestPlannedRefresh(t *testing.T) {
	found := []Staleness{
		{Rule: R4Rows, Level: LevelStale, Reason: "rows"},
		{Rule: R2NoBasic, Level: LevelCritical, Reason: "numRows"},
	}
	c := Candidate{Upstream: "one", Table: "db.t", Staleness: found, Columns: []string{"id"}}
	plan := func(c Candidate, s Schedule) Refresh {
		t.Helper()
		s.Name = "nightly"
		got := Plan([]Candidate{c}, s, DefaultPolicy(), t0)
		if len(got) != 1 {
			t.Fatalf("%d refreshes", len(got))
		}
		return got[0]
	}
	got := plan(c, Schedule{Window: time.Hour})
	if got.Reason != "R2 CRITICAL: numRows; R4 STALE: rows" || got.RequestedBy != "schedule nightly" || got.State != RefreshRequested {
		t.Errorf("got %+v", got)
	}
	if got.Mode != ModeColumns || !slices.Equal(got.Columns, []string{"id"}) || !got.RequestedAt.Equal(t0) || !got.NotAfter.Equal(t0.Add(time.Hour)) {
		t.Errorf("got %+v", got)
	}
	if got := plan(c, Schedule{Mode: ModeBasic}); got.Mode != ModeBasic || got.Columns != nil || !got.NotAfter.IsZero() {
		t.Errorf("basic: %+v", got)
	}
	c.Staleness = append(slices.Clone(found), Staleness{Rule: R3Columns, Level: LevelHigh, Columns: []string{"id", "region"}})
	if got := plan(c, Schedule{}); !slices.Equal(got.Columns, []string{"id", "region"}) {
		t.Errorf("the columns of R3 are not mended: %+v", got)
	}
	c.Staleness = []Staleness{{Rule: R3Columns, Level: LevelHigh, Columns: []string{"region"}}, {Rule: R7Partitions, Level: LevelHigh}}
	if got := plan(c, Schedule{}); got.Mode != ModeColumns || !slices.Equal(got.Columns, []string{"region"}) {
		t.Errorf("the rows are right, so the other columns are too: %+v", got)
	}
	c.Staleness[0].Columns = nil // columns changed, and the table was not read since
	if got := plan(c, Schedule{}); !slices.Equal(got.Columns, []string{"id"}) {
		t.Errorf("which columns is not known: %+v", got)
	}
	c.Staleness, c.Columns = found, nil
	if got := plan(c, Schedule{}); got.Mode != ModeBasic {
		t.Errorf("without columns: %+v", got)
	}
	for i := range c.Staleness {
		c.Staleness[i].Partition = "ds=1"
	}
	if got := plan(c, Schedule{}); !slices.Equal(got.Partitions, []string{"ds=1"}) {
		t.Errorf("partitions: %+v", got)
	}
	c.Staleness[1].Partition = ""
	if got := plan(c, Schedule{}); got.Partitions != nil {
		t.Errorf("the whole table is stale too: %+v", got)
	}
}

// Nothing worth more comes after what is worth less, no table below the level comes at all, and nothing comes twice.
func TestPlanOrder(t *testing.T) {
	all := []Level{LevelSuspect, LevelWatch, LevelStale, LevelHigh, LevelCritical}
	rapid.Check(t, func(t *rapid.T) {
		var list []Candidate
		for i, l := range rapid.SliceOfN(rapid.SampledFrom(all), 0, 20).Draw(t, "levels") {
			list = append(list, Candidate{Table: "db." + string(rune('a'+i)), Staleness: stale(l), Factors: joined(rapid.Int64Range(0, 3).Draw(t, "joins"))})
		}
		s := Schedule{MinLevel: rapid.SampledFrom(append(all, "")).Draw(t, "min"), MaxTables: rapid.IntRange(0, 5).Draw(t, "max")}
		byName := map[string]Candidate{}
		for _, c := range list {
			byName[c.Table] = c
		}
		got := Plan(list, s, DefaultPolicy(), t0)
		if s.MaxTables > 0 && len(got) > s.MaxTables {
			t.Fatalf("%d refreshes", len(got))
		}
		for i, r := range got {
			c, ok := byName[r.Table]
			if !ok {
				t.Fatalf("%s comes twice or from nowhere", r.Table)
			}
			delete(byName, r.Table)
			if levels[Worst(c.Staleness)] < levels[s.minLevel()] {
				t.Fatalf("%s is below the level", r.Table)
			}
			if i > 0 {
				before := list[slices.IndexFunc(list, func(c Candidate) bool { return c.Table == got[i-1].Table })]
				worth := func(c Candidate) float64 {
					return float64(levels[Worst(c.Staleness)]) * float64(c.Factors.Joins)
				}
				if worth(before) < worth(c) || worth(before) == worth(c) && levels[Worst(before.Staleness)] < levels[Worst(c.Staleness)] {
					t.Fatalf("%s comes after %s", r.Table, before.Table)
				}
			}
		}
	})
}
