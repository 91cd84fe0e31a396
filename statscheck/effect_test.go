package statscheck

import (
	"reflect"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func TestEffect(t *testing.T) {
	rows := func(n int64) advisor.TableStats { return table(func(s *advisor.TableStats) { s.Rows = &n }) }
	absent := table(func(s *advisor.TableStats) { s.Rows, s.BasicAccurate = nil, false })
	unflagged := table(func(s *advisor.TableStats) { s.BasicAccurate = false })
	flagged := table(func(s *advisor.TableStats) { s.ColumnsAccurate = []string{"id"} })
	parted := table(func(s *advisor.TableStats) { s.PartitionsNum = n(2) })
	partedRead := table(func(s *advisor.TableStats) { s.PartitionsNum, s.ColumnsRead = n(2), []string{"id"} })
	same := []PlanChange{{Fingerprint: "a", Before: advisor.MapJoin, After: advisor.MapJoin}}
	other := append(same, PlanChange{Fingerprint: "b", Before: advisor.MergeJoin, After: advisor.MapJoin})

	for name, c := range map[string]struct {
		before, after advisor.TableStats
		columns       []string
		plans         []PlanChange
		want          Effect
	}{
		"nothing moved":               {rows(1000), rows(1000), nil, same, EffectNoChange},
		"up by 5 %":                   {rows(1000), rows(1050), nil, nil, EffectNoChange},
		"up by more":                  {rows(1000), rows(1051), nil, nil, EffectEffective},
		"down by 5 %":                 {rows(1000), rows(950), nil, nil, EffectNoChange},
		"down by more":                {rows(1000), rows(949), nil, nil, EffectEffective},
		"from nothing":                {rows(0), rows(1), nil, nil, EffectEffective},
		"nothing to nothing":          {rows(0), rows(0), nil, nil, EffectNoChange},
		"to nothing":                  {rows(10), rows(0), nil, nil, EffectEffective},
		"from a corrupt count":        {rows(-9), rows(9), nil, nil, EffectEffective},
		"unknown before":              {absent, rows(1000), nil, nil, EffectEffective},
		"strategy changed":            {rows(1000), rows(1000), nil, other, EffectEffective},
		"flag still absent":           {rows(1000), unflagged, nil, other, EffectIneffective},
		"rows still absent":           {rows(1000), absent, nil, nil, EffectIneffective},
		"column flagged":              {rows(1_000_000), flagged, []string{"id"}, nil, EffectNoChange},
		"column not flagged":          {rows(1000), flagged, []string{"id", "name"}, other, EffectIneffective},
		"column of no rows":           {rows(1000), rows(0), []string{"id"}, nil, EffectEffective},
		"partitioned column unread":   {rows(1_000_000), parted, []string{"id"}, nil, EffectNoChange},
		"partitioned column unproven": {rows(1_000_000), partedRead, []string{"id"}, nil, EffectIneffective},
	} {
		t.Run(name, func(t *testing.T) {
			if got := EffectOf(c.before, c.after, c.columns, c.plans); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestPlanChanges(t *testing.T) {
	before := []JoinStrategy{
		{Fingerprint: "a", Ordinal: 0, Strategy: advisor.MergeJoin},
		{Fingerprint: "a", Ordinal: 1, Strategy: advisor.MapJoin},
		{Fingerprint: "gone", Ordinal: 0, Strategy: advisor.MapJoin},
		{Fingerprint: "b", Ordinal: 0, Strategy: advisor.DPHJ},
		{Fingerprint: "b", Ordinal: 1, Strategy: advisor.DPHJ},
	}
	after := []JoinStrategy{
		{Fingerprint: "b", Ordinal: 0, Strategy: advisor.DPHJ},
		{Fingerprint: "a", Ordinal: 0, Strategy: advisor.MapJoin},
		{Fingerprint: "a", Ordinal: 1, Strategy: advisor.MapJoin},
		{Fingerprint: "a", Ordinal: 2, Strategy: advisor.SMB},
		{Fingerprint: "new", Ordinal: 0, Strategy: advisor.MapJoin},
	}
	want := []PlanChange{
		{"a", 0, advisor.MergeJoin, advisor.MapJoin},
		{"a", 1, advisor.MapJoin, advisor.MapJoin},
		{"b", 0, advisor.DPHJ, advisor.DPHJ},
		{"b", 1, advisor.DPHJ, ""},
		{"a", 2, "", advisor.SMB},
	}
	if got := PlanChanges(before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := PlanChanges(before, nil); got != nil {
		t.Errorf("nothing explained after: %v", got)
	}
}
