package statscheck

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// ended is a refresh that ended the given time before t0.
func ended(state RefreshState, ago time.Duration) Refresh {
	at := t0.Add(-ago)
	return Refresh{ID: 7, State: state, StartedAt: at.Add(-time.Minute), EndedAt: at, Error: "Hive said no"}
}

func TestPolicy(t *testing.T) {
	fail := func(hours int) Refresh { return ended(RefreshFailed, time.Duration(hours)*time.Hour) }
	done := func(hours int) Refresh { return ended(RefreshDone, time.Duration(hours)*time.Hour) }
	never := fail(1)
	never.StartedAt = time.Time{}
	for name, c := range map[string]struct {
		history []Refresh
		ok      bool
		why     string
	}{
		"never refreshed":           {nil, true, ""},
		"long ago":                  {[]Refresh{done(13)}, true, ""},
		"cooldown just over":        {[]Refresh{done(12)}, true, ""},
		"cooling down":              {[]Refresh{ended(RefreshDone, 12*time.Hour-time.Second)}, false, "cooling down until 2026-03-01T12:00:01Z"},
		"cooling down after failed": {[]Refresh{fail(1)}, false, "1 failed in a row, the last one: Hive said no; backing off until 2026-03-01T23:00:00Z"},
		"two failures":              {[]Refresh{fail(25), fail(40)}, true, ""},
		"two failures, too early":   {[]Refresh{fail(20), fail(40)}, false, "2 failed in a row, the last one: Hive said no; backing off until 2026-03-01T16:00:00Z"},
		"three failures":            {[]Refresh{fail(60), fail(20), fail(40)}, false, "off after 3 failures in a row, the last one: Hive said no"},
		"three with one good":       {[]Refresh{fail(20), done(30), fail(40), fail(60)}, true, ""},
		"four after a good one":     {[]Refresh{fail(20), fail(30), fail(40), fail(50), done(60)}, false, "off after 4 failures"},
		"good after three failures": {[]Refresh{fail(40), fail(60), fail(80), done(20)}, true, ""},
		"requested":                 {[]Refresh{{ID: 9, State: RefreshRequested}}, false, "refresh 9 is REQUESTED"},
		"running":                   {[]Refresh{done(20), {ID: 9, State: RefreshRunning}}, false, "refresh 9 is RUNNING"},
		"never started":             {[]Refresh{never, never, never}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ok, why := DefaultPolicy().Allows(c.history, t0)
			if ok != c.ok || !strings.Contains(why, c.why) || (why == "") != c.ok {
				t.Errorf("got %v, %q; want %v, %q", ok, why, c.ok, c.why)
			}
		})
	}
	for _, p := range []Policy{{Cooldown: -1, MaxFailures: 1}, {MaxFailures: 0}} {
		if p.Validate() == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
}

// The order of the history does not matter.
func TestPolicyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := rapid.SliceOfNDistinct(rapid.IntRange(1, 100), 0, 6, rapid.ID[int]).Draw(t, "hours")
		var list []Refresh
		for _, h := range history {
			state := rapid.SampledFrom([]RefreshState{RefreshDone, RefreshFailed}).Draw(t, "state")
			list = append(list, ended(state, time.Duration(h)*time.Hour))
		}
		want, _ := DefaultPolicy().Allows(list, t0)
		if got, _ := DefaultPolicy().Allows(rapid.Permutation(list).Draw(t, "order"), t0); got != want {
			t.Fatalf("got %v, then %v", want, got)
		}
	})
}

func TestRefusal(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*advisor.TableStats)
		refused string
	}{
		"managed":           {func(*advisor.TableStats) {}, ""},
		"external":          {func(s *advisor.TableStats) { s.Kind = "EXTERNAL_TABLE" }, ""},
		"ACID":              {func(s *advisor.TableStats) { s.Transactional = true }, ""},
		"materialized view": {func(s *advisor.TableStats) { s.Kind = "MATERIALIZED_VIEW" }, ""},
		"Iceberg":           {func(s *advisor.TableStats) { s.StorageHandler = icebergHandler }, ""},
		"view":              {func(s *advisor.TableStats) { s.Kind = kindView }, "base tables"},
		"temporary":         {func(s *advisor.TableStats) { s.Temporary = true }, "belongs to its session"},
		"HBase": {
			func(s *advisor.TableStats) { s.StorageHandler = "org.apache.hadoop.hive.hbase.HBaseStorageHandler" },
			"org.apache.hadoop.hive.hbase.HBaseStorageHandler",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Refusal(table(c.change))
			if (got == "") != (c.refused == "") || !strings.Contains(got, c.refused) {
				t.Errorf("got %q, want %q", got, c.refused)
			}
		})
	}
}
