package statscheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func TestPriority(t *testing.T) {
	for _, c := range []struct {
		f    Factors
		want float64
	}{
		{Factors{}, 0},
		{Factors{Severity: 5, Joins: 100, Seconds: 10}, 50},
		{Factors{Severity: 5, Joins: 100, Seconds: 10, Flips: true}, 200},
		{Factors{Severity: 1, Joins: 7, Seconds: 0.01}, 7},
		{Factors{Severity: 3, Joins: 0, Flips: true}, 0},
	} {
		if got := c.f.Priority(); got != c.want {
			t.Errorf("%+v: %g, want %g", c.f, got, c.want)
		}
	}
}

func TestDecideTellsWhy(t *testing.T) {
	schedule := Schedule{Name: "nightly", Cron: "30 2 * * *", Window: time.Hour, MaxAnalyze: 20 * time.Minute, MaxTables: 2}
	policy := DefaultPolicy()
	policy.Tables = []TablePolicy{{Pattern: "raw.*", Never: true, Reason: "huge"}, {Pattern: "db.weekly", Schedules: []string{"weekly"}}}
	set := []TablePolicy{{Pattern: "raw.small", By: "ann", Columns: []string{"k"}}}
	partition := func(names ...string) (out []Staleness) {
		for _, n := range names {
			out = append(out, Staleness{Rule: R4Rows, Level: LevelHigh, Partition: n})
		}
		return out
	}
	candidates := []Candidate{
		{Table: "db.first", Staleness: stale(LevelHigh), Factors: Factors{Joins: 90}},
		{Table: "raw.small", Staleness: stale(LevelHigh), Factors: Factors{Joins: 80}, Policies: set},
		{Table: "raw.big", Staleness: stale(LevelHigh), Factors: Factors{Joins: 70}, Policies: set},
		{Table: "db.weekly", Staleness: stale(LevelHigh), Factors: Factors{Joins: 60}},
		{Table: "db.watched", Staleness: stale(LevelWatch), Factors: Factors{Joins: 50}},
		{Table: "db.fine", Factors: Factors{Joins: 40}},
		{Table: "db.third", Staleness: stale(LevelHigh), Factors: Factors{Joins: 2}},
		{Table: "db.parts", Staleness: partition("ds=1"), Factors: Factors{Joins: 1}, History: []Refresh{
			{State: RefreshDone, StartedAt: t0.Add(-2 * time.Hour), EndedAt: t0.Add(-time.Hour), Partitions: []string{"ds=1"}},
		}},
	}
	got := map[string]string{}
	for _, d := range Decide(candidates, schedule, policy, t0) {
		got[d.Candidate.Table] = d.Why
	}
	for table, want := range map[string]string{
		"db.first": "", "raw.small": "", "raw.big": "never refreshed, says the policy raw.*: huge", "db.weekly": "its policy leaves it to weekly",
		"db.watched": "its level is WATCH, and the schedule acts on STALE and above", "db.fine": "nothing is stale",
		"db.third": "at most 2 tables a firing", "db.parts": "its stale partitions are cooling down",
	} {
		if why, ok := got[table]; !ok || (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%s: %q, want %q", table, why, want)
		}
	}
	plan := Plan(candidates, schedule, policy, t0)
	if len(plan) != 2 || !slices.Equal(plan[1].Columns, []string{"k"}) || plan[0].Schedule != "nightly" || plan[0].Budget != 20*time.Minute ||
		!plan[0].NotAfter.Equal(plan[0].WindowStart.Add(time.Hour)) {
		t.Errorf("planned %+v", plan)
	}
}

// Of many stale partitions one refresh takes the worst fifty, and the next one those that are left.
func TestPartitionsAreTakenInBatches(t *testing.T) {
	var found []Staleness
	for i := range 120 {
		level := LevelStale
		if i >= 100 {
			level = LevelCritical
		}
		found = append(found, Staleness{Rule: R4Rows, Level: level, Partition: fmt.Sprintf("ds=%03d", i)})
	}
	c := Candidate{Table: "db.t", Staleness: found}
	seen := map[string]bool{}
	for batch, size := range []int{50, 50, 20} {
		got := Plan([]Candidate{c}, Schedule{}, DefaultPolicy(), t0)
		if len(got) != 1 || len(got[0].Partitions) != size {
			t.Fatalf("batch %d: %+v", batch, got)
		}
		if batch == 0 && !slices.Contains(got[0].Partitions, "ds=119") {
			t.Errorf("the worst do not come first: %v", got[0].Partitions)
		}
		for _, p := range got[0].Partitions {
			if seen[p] {
				t.Errorf("%s comes twice", p)
			}
			seen[p] = true
		}
		c.History = append(c.History, Refresh{State: RefreshDone, StartedAt: t0, EndedAt: t0, Partitions: got[0].Partitions})
	}
	if got := Plan([]Candidate{c}, Schedule{}, DefaultPolicy(), t0); len(got) != 0 {
		t.Errorf("all are cooling down, yet %+v", got)
	}
}

func TestScopeByRule(t *testing.T) {
	rules := func(names ...Rule) (out []Staleness) {
		for _, r := range names {
			out = append(out, Staleness{Rule: r, Level: LevelHigh})
		}
		return out
	}
	for name, c := range map[string]struct {
		found   []Staleness
		columns []string
		want    Mode
		scope   string
	}{
		"drift":             {rules("R5"), []string{"id"}, ModeNoScan, "NOSCAN: only R5"},
		"uncounted and age": {rules(R6Uncounted, "R9"), []string{"id"}, ModeNoScan, "NOSCAN: only R6, R9"},
		"drift and rows":    {rules("R5", R4Rows), []string{"id"}, ModeColumns, "COLUMNS: R4"},
		"columns":           {rules(R3Columns), []string{"id"}, ModeColumns, "COLUMNS: R3"},
		"nothing used":      {rules(R2NoBasic), nil, ModeBasic, "BASIC: R2"},
	} {
		if mode, scope := modeFor(c.found, c.columns); mode != c.want || !strings.HasPrefix(scope, c.scope) {
			t.Errorf("%s: %s, %q", name, mode, scope)
		}
	}
}

func TestFit(t *testing.T) {
	text, orc := advisor.TableStats{}, advisor.TableStats{RowsInFooters: true}
	parted := advisor.TableStats{PartitionColumns: []string{"ds"}}
	iceberg := advisor.TableStats{StorageHandler: icebergHandler}
	for name, c := range map[string]struct {
		stats      advisor.TableStats
		mode       Mode
		partitions []string
		want       Mode
		kept       int
		note, no   string
	}{
		"as it is":                {text, ModeColumns, nil, ModeColumns, 0, "", ""},
		"footers tell":            {orc, ModeNoScan, nil, ModeNoScan, 0, "", ""},
		"footers do not":          {text, ModeNoScan, nil, ModeBasic, 0, "would flag a wrong numRows", ""},
		"partitions":              {parted, ModeBasic, []string{"ds=1"}, ModeBasic, 1, "", ""},
		"not partitioned":         {text, ModeBasic, []string{"ds=1"}, ModeBasic, 1, "", "not partitioned"},
		"Iceberg":                 {iceberg, ModeColumns, []string{"ds=1"}, ModeColumns, 0, "Iceberg's ANALYZE takes no partitions", ""},
		"Iceberg without reading": {iceberg, ModeNoScan, nil, ModeBasic, 0, "from its snapshot", ""},
	} {
		mode, kept, note, no := fit(c.stats, c.mode, c.partitions)
		if mode != c.want || len(kept) != c.kept || !strings.Contains(note, c.note) || !strings.Contains(no, c.no) || (no == "") != (c.no == "") || (note == "") != (c.note == "") {
			t.Errorf("%s: %s %v %q %q", name, mode, kept, note, no)
		}
	}
}

func TestTablePolicies(t *testing.T) {
	set := []TablePolicy{{Pattern: "db.one", By: "ann"}, {Pattern: "db.*", Never: true, By: "bo", Reason: "raw"}}
	configured := []TablePolicy{{Pattern: "*", Cooldown: time.Hour}}
	for table, want := range map[string]string{"db.one": "ann", "db.two": "bo", "other.t": ""} {
		if got := PolicyOf(table, set, configured); got.By != want {
			t.Errorf("%s: %+v", table, got)
		}
	}
	if got := PolicyOf("other.t", set, configured); got.Cooldown != time.Hour {
		t.Errorf("the configuration's is not taken: %+v", got)
	}
	if why := set[1].Bars(""); why != "never refreshed, says the policy db.* of bo: raw" {
		t.Errorf("%q", why)
	}
	for _, bad := range []TablePolicy{
		{Pattern: "orders"},
		{Pattern: "db.t", Cooldown: -1},
		{Pattern: "db.t", Partitions: []string{"2024"}},
		{Pattern: "db.t", Columns: []string{" "}},
		{Pattern: "db.t", Never: true, Columns: []string{"id"}},
	} {
		if bad.Validate() == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
	// Switched on again: the failures before count no more, those after do.
	fail := func(hours int) Refresh { return ended(RefreshFailed, time.Duration(hours)*time.Hour) }
	history := []Refresh{fail(100), fail(200), fail(300)}
	p := DefaultPolicy()
	if ok, _ := p.allows(history, TablePolicy{}, t0); ok {
		t.Error("on after three failures")
	}
	if ok, why := p.allows(history, TablePolicy{FailuresSince: t0.Add(-50 * time.Hour)}, t0); !ok {
		t.Errorf("still off: %s", why)
	}
	if ok, _ := p.allows(append(history, fail(3)), TablePolicy{FailuresSince: t0.Add(-50 * time.Hour)}, t0); ok {
		t.Error("does not back off after the next failure")
	}
	if ok, _ := p.allows([]Refresh{ended(RefreshDone, 13*time.Hour)}, TablePolicy{Cooldown: 24 * time.Hour}, t0); ok {
		t.Error("the table's own cooldown is not kept")
	}
}
