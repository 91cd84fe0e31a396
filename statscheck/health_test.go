package statscheck

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func TestHealth(t *testing.T) {
	base := func(rows, bytes int64) *Baseline { return &Baseline{Rows: &rows, Bytes: &bytes, At: t0} }
	for name, c := range map[string]struct {
		subject Subject
		want    *float64
	}{
		"untouched":           {Subject{Stats: table(), Baseline: base(1_000_000, 10_000_000)}, new(1.0)},
		"a quarter written":   {Subject{Stats: table(), Baseline: base(1_000_000, 10_000_000), Writes: Writes{Rows: 250_000, Counted: 1}}, new(0.75)},
		"more than all":       {Subject{Stats: table(), Baseline: base(1000, 10_000_000), Writes: Writes{Rows: 5000, Counted: 1}}, new(0.0)},
		"empty, then written": {Subject{Stats: table(), Baseline: base(0, 0), Writes: Writes{Rows: 1, Counted: 1}}, new(0.0)},
		"bytes drifted":       {Subject{Stats: table(), Baseline: base(1_000_000, 8_000_000)}, new(0.75)},
		"bytes of our writes": {Subject{Stats: table(), Baseline: base(1_000_000, 8_000_000), Writes: Writes{Rows: 100_000, Counted: 1}}, new(0.9)},
		"no baseline":         {Subject{Stats: table()}, nil},
		"baseline unknown":    {Subject{Stats: table(), Baseline: &Baseline{At: t0}}, nil},
		"never read":          {Subject{Stats: advisor.TableStats{Table: "db.t"}, Baseline: base(1, 1)}, nil},
		"corrupt":             {Subject{Stats: table(func(s *advisor.TableStats) { s.Rows = new(int64(-7)) }), Baseline: base(1, 1)}, new(0.0)},
		"no basic statistics": {Subject{Stats: table(func(s *advisor.TableStats) { s.Rows = nil }), Baseline: base(1, 1)}, new(0.0)},
		"ACID suspicion":      {Subject{Stats: table(func(s *advisor.TableStats) { s.Rows, s.Transactional = new(int64(0)), true }), Baseline: base(1, 1)}, nil},
		"uncounted":           {Subject{Stats: table(), Baseline: base(1_000_000, 10_000_000), Writes: Writes{Uncounted: 1, LastAt: t0.Add(time.Hour)}}, nil},
		"contradicted":        {Subject{Stats: table(), Baseline: base(1_000_000, 5_000_000), Writes: Writes{Uncounted: 1, LastAt: t0.Add(-time.Hour)}}, nil},
		"uncounted, settled":  {Subject{Stats: table(), Baseline: base(1_000_000, 10_000_000), Writes: Writes{Uncounted: 1, LastAt: t0.Add(-time.Hour)}}, new(1.0)},
		"view":                {Subject{Stats: table(func(s *advisor.TableStats) { s.Kind = kindView }), Baseline: base(1, 1)}, nil},
		"temporary":           {Subject{Stats: table(func(s *advisor.TableStats) { s.Temporary = true }), Baseline: base(1, 1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := HealthOf(c.subject)
			switch {
			case (got == nil) != (c.want == nil):
				t.Fatalf("got %v, want %v", got, c.want)
			case got != nil && math.Abs(*got-*c.want) > 1e-9:
				t.Fatalf("got %v, want %v", *got, *c.want)
			}
		})
	}
}

// Health is unknown or within 0 and 1, and it is 0 whenever R1 or R2 is critical.
func TestHealthRange(t *testing.T) {
	number := rapid.Ptr(rapid.Int64(), true)
	rapid.Check(t, func(t *rapid.T) {
		s := Subject{
			Stats: advisor.TableStats{
				Table: "db.t", Kind: kindManaged, Rows: number.Draw(t, "rows"), TotalSize: number.Draw(t, "size"), Files: number.Draw(t, "files"),
				BasicAccurate: rapid.Bool().Draw(t, "flag"), Transactional: rapid.Bool().Draw(t, "acid"),
			},
			Writes: Writes{Rows: rapid.Int64().Draw(t, "m"), Counted: rapid.Int64Range(0, 9).Draw(t, "counted")},
		}
		if rapid.Bool().Draw(t, "has baseline") {
			s.Baseline = &Baseline{Rows: number.Draw(t, "n0"), Bytes: number.Draw(t, "s0")}
		}
		h := HealthOf(s)
		if h != nil && !(*h >= 0 && *h <= 1) {
			t.Fatalf("health %v", *h)
		}
		for _, r := range Check(s, DefaultThresholds()) {
			if (r.Rule == R1Corrupt || r.Rule == R2NoBasic) && r.Level == LevelCritical && (h == nil || *h != 0) {
				t.Fatalf("%s holds and health is %v", r.Rule, h)
			}
		}
	})
}
