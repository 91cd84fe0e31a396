package advisor

import (
	"slices"
	"testing"
)

// What Needed asks for is enough: with nothing else given, the simulation comes to the same sizes.
func TestNeededIsEnough(t *testing.T) {
	tables := 0
	for _, c := range readCases(t, regressionCases) {
		s := NewSettings(c.Settings)
		full, narrow := c.joinsOf(t), c.joinsOf(t)
		all := c.stats(full)
		given := map[string]TableStats{}
		for _, n := range Needed(narrow) {
			tables++
			keys := []string{n.Table}
			for _, p := range n.Partitions {
				keys = append(keys, n.Table+"/"+p)
			}
			for _, key := range keys {
				ts, ok := all[key]
				if !ok {
					t.Errorf("%s: %s is not described", c.ID, key)
					continue
				}
				columns := map[string]ColumnStats{}
				for _, name := range n.Columns {
					if cs, ok := ts.Columns[name]; ok {
						columns[name] = cs
					}
				}
				ts.Columns, ts.ColumnsRead = columns, n.Columns
				given[key] = ts
			}
		}
		EnrichFor(full, all, &s)
		EnrichFor(narrow, given, &s)
		for i := range full {
			a, b := decide(&full[i], &s, false), decide(&narrow[i], &s, false)
			if a.Strategy != b.Strategy || !slices.Equal(a.OnlineDataSizes, b.OnlineDataSizes) {
				t.Errorf("%s join %d: %v with all statistics, %v with those asked for", c.ID, i, a.OnlineDataSizes, b.OnlineDataSizes)
			}
		}
	}
	if tables == 0 {
		t.Error("no table was asked for")
	}
	recorded := []Join{{Inputs: []Input{{Keys: []Key{{Table: "d.t", Column: "k"}}, Columns: []Column{{Table: "d.t", Column: "v"}, {Table: "d.s", Column: "w"}}}}}}
	got := Needed(recorded)
	if len(got) != 2 || got[0].Table != "d.s" || !slices.Equal(got[1].Columns, []string{"k", "v"}) {
		t.Errorf("recorded joins need %+v", got)
	}
}
