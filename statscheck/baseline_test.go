package statscheck

import (
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func TestRebase(t *testing.T) {
	base := func(rows, bytes int64) *Baseline {
		return &Baseline{Rows: &rows, Bytes: &bytes, At: t0.Add(-time.Hour)}
	}
	now := func(rows, bytes int64, change ...func(*advisor.TableStats)) advisor.TableStats {
		return table(append([]func(*advisor.TableStats){func(s *advisor.TableStats) { s.Rows, s.TotalSize = &rows, &bytes }}, change...)...)
	}
	unflagged := func(s *advisor.TableStats) { s.BasicAccurate = false }
	absent := func(s *advisor.TableStats) { s.Rows = nil }
	before := t0.Add(-time.Minute)
	counted := func(rows int64) Writes { return Writes{Rows: rows, Counted: 1, LastAt: before} }

	for name, c := range map[string]struct {
		base   *Baseline
		writes Writes
		read   advisor.TableStats
		kept   bool
	}{
		"moved by the rows counted":       {base(1000, 10_000), counted(500), now(1500, 15_000), true},
		"moved by about as many":          {base(1000, 10_000), counted(1000), now(1950, 19_500), true},
		"moved by too few":                {base(1000, 10_000), counted(1000), now(1949, 19_500), false},
		"one row, exactly":                {base(1000, 10_000), counted(1), now(1001, 10_010), true},
		"others wrote too":                {base(1000, 10_000), counted(500), now(4000, 40_000), true},
		"flags gone":                      {base(1000, 10_000), counted(500), now(1500, 15_000, unflagged), false},
		"rows gone":                       {base(1000, 10_000), counted(500), now(1500, 15_000, absent), false},
		"flag by NOSCAN, rows as before":  {base(1000, 10_000), counted(1000), now(1000, 20_000), false},
		"overwritten by fewer":            {base(1000, 10_000), counted(300), now(300, 3000), true},
		"overwritten by as many":          {base(1000, 10_000), counted(1000), now(1000, 10_100), true},
		"shrunk without an explanation":   {base(1000, 10_000), counted(500), now(200, 2000), false},
		"not read since":                  {base(1000, 10_000), Writes{Rows: 500, Counted: 1, LastAt: t0}, now(1500, 15_000), false},
		"nothing written":                 {base(1000, 10_000), Writes{}, now(1000, 10_000), false},
		"others wrote, Hive kept up":      {base(1000, 10_000), Writes{}, now(2000, 20_000), true},
		"others recounted":                {base(1000, 10_000), Writes{}, now(2000, 10_000), true},
		"others wrote files alone":        {base(1000, 10_000), Writes{}, now(1000, 20_000), false},
		"others wrote more than counted":  {base(1000, 10_000), Writes{}, now(1010, 20_000), false},
		"others' files, then our rows":    {base(1000, 10_000), Writes{Rows: 10, Counted: 1, LastAt: before, Foreign: true}, now(1010, 20_000), false},
		"others' files, then recounted":   {base(1000, 10_000), Writes{Rows: 10, Counted: 1, LastAt: before, Foreign: true}, now(2010, 20_000), true},
		"first seen valid":                {nil, Writes{}, now(1000, 10_000), true},
		"first seen valid, after writes":  {nil, counted(100), now(1000, 10_000), true},
		"first seen without statistics":   {nil, Writes{}, now(1000, 10_000, absent, unflagged), false},
		"baseline without rows":           {&Baseline{At: t0}, counted(10), now(1000, 10_000), true},
		"corrupt":                         {base(1000, 10_000), counted(500), now(0, 1_000_000), false},
		"uncounted, flagged, rows moved":  {base(1000, 10_000), Writes{Uncounted: 1, LastAt: before}, now(0, 0), true},
		"uncounted, flagged, same":        {base(1000, 10_000), Writes{Uncounted: 1, LastAt: before}, now(1000, 10_000), true},
		"uncounted, flagged, bytes moved": {base(1000, 10_000), Writes{Uncounted: 1, LastAt: before}, now(1000, 12_000), false},
		"uncounted, bytes moved a little": {base(1000, 10_000), Writes{Uncounted: 1, LastAt: before}, now(1000, 11_999), true},
		"uncounted, unflagged":            {base(1000, 10_000), Writes{Uncounted: 1, LastAt: before}, now(1000, 10_000, unflagged), false},
		"zero rows counted":               {base(1000, 10_000), counted(0), now(1000, 10_000), true},
	} {
		t.Run(name, func(t *testing.T) {
			got := Rebase(c.base, c.writes, c.read)
			if got.Kept != c.kept || got.Reason == "" {
				t.Fatalf("kept %v (%s), want %v", got.Kept, got.Reason, c.kept)
			}
			if !got.Kept {
				if got.Baseline != c.base || got.Writes != c.writes {
					t.Errorf("changed although not kept: %+v", got)
				}
				return
			}
			if *got.Baseline.Rows != *c.read.Rows || !got.Baseline.At.Equal(t0) || got.Writes != (Writes{}) {
				t.Errorf("not the new state: %+v", got)
			}
			// After a rebase the rules of rows and uncounted writes are quiet.
			s := Subject{Stats: c.read, Baseline: got.Baseline, Writes: got.Writes}
			wantFound(t, s, DefaultThresholds())
		})
	}
}
