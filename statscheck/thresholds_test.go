package statscheck

import (
	"math"
	"strings"
	"testing"
)

func TestThresholdsValidate(t *testing.T) {
	if err := DefaultThresholds().Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	for name, c := range map[string]struct {
		change func(*Thresholds)
		want   []string
	}{
		"min_rows":        {func(t *Thresholds) { t.MinRows = -1 }, []string{"min_rows: -1", "0 or more"}},
		"watch":           {func(t *Thresholds) { t.Watch = 0 }, []string{"watch: 0", "0.1 for 10 %"}},
		"watch NaN":       {func(t *Thresholds) { t.Watch = math.NaN() }, []string{"watch: NaN"}},
		"stale":           {func(t *Thresholds) { t.Stale = 0.05 }, []string{"stale: 0.05 is below watch (0.1)"}},
		"high":            {func(t *Thresholds) { t.High = 0.1 }, []string{"high: 0.1 is below stale (0.2)"}},
		"tiny_file_bytes": {func(t *Thresholds) { t.TinyFileBytes = -5 }, []string{"tiny_file_bytes: -5", "bytes"}},
		"two at once":     {func(t *Thresholds) { t.MinRows, t.Watch = -1, -2 }, []string{"min_rows: -1", "watch: -2"}},
		"no database":     {func(t *Thresholds) { t.Tables = []TableThresholds{{Pattern: "orders"}} }, []string{`tables[0].pattern: "orders"`, "database.table"}},
		"bad pattern":     {func(t *Thresholds) { t.Tables = []TableThresholds{{Pattern: "a.b"}, {Pattern: "a.[b"}} }, []string{`tables[1].pattern: "a.[b"`}},
		"bad override":    {func(t *Thresholds) { t.Tables = []TableThresholds{{Pattern: "a.b", Stale: new(0.7)}} }, []string{"tables[0].high: 0.5 is below stale (0.7)"}},
	} {
		t.Run(name, func(t *testing.T) {
			limits := DefaultThresholds()
			c.change(&limits)
			err := limits.Validate()
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q lacks %q", err, w)
				}
			}
		})
	}
}

func TestMatchTable(t *testing.T) {
	for _, c := range []struct {
		pattern, table string
		want           bool
	}{
		{"db.t", "db.t", true},
		{"DB.T", "db.t", true},
		{"db.*", "db.t", true},
		{"*", "db.t", true},
		{"*.*", "db.t", true},
		{"*.t?", "db.t1", true},
		{"db.t", "db.tt", false},
		{"db.*", "dbx.t", false},
		{"[", "db.t", false},
	} {
		if got := MatchTable(c.pattern, c.table); got != c.want {
			t.Errorf("MatchTable(%q, %q) = %v", c.pattern, c.table, got)
		}
	}
}
