package advisor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/jsonl/jsonltest"
	"github.com/hs2proxy/hs2proxy/advisor/oracle"
)

// What Needed asks for is enough: with nothing else given, the simulation comes to the same sizes.
func TestNeededIsEnough(t *testing.T) {
	tables := 0
	for _, c := range jsonltest.Read[*oracle.Case](t, recordedCases) {
		s := advisor.NewSettings(c.Settings)
		full, narrow := planJoins(t, c), planJoins(t, c)
		all := c.Stats(full)
		given := map[string]advisor.TableStats{}
		for _, n := range advisor.Needed(narrow) {
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
				columns := map[string]advisor.ColumnStats{}
				for _, name := range n.Columns {
					if cs, ok := ts.Columns[name]; ok {
						columns[name] = cs
					}
				}
				ts.Columns, ts.ColumnsRead = columns, n.Columns
				given[key] = ts
			}
		}
		advisor.EnrichFor(full, all, &s)
		advisor.EnrichFor(narrow, given, &s)
		for i := range full {
			a, b := advisor.Explain(full[i], s), advisor.Explain(narrow[i], s)
			if a.Strategy != b.Strategy || !slices.Equal(a.OnlineDataSizes, b.OnlineDataSizes) {
				t.Errorf("%s join %d: %v with all statistics, %v with those asked for", c.ID, i, a.OnlineDataSizes, b.OnlineDataSizes)
			}
		}
	}
	if tables == 0 {
		t.Error("no table was asked for")
	}
	recorded := []advisor.Join{{Inputs: []advisor.Input{{Keys: []advisor.Key{{Table: "d.t", Column: "k"}}, Columns: []advisor.Column{{Table: "d.t", Column: "v"}, {Table: "d.s", Column: "w"}}}}}}
	got := advisor.Needed(recorded)
	if len(got) != 2 || got[0].Table != "d.s" || !slices.Equal(got[1].Columns, []string{"k", "v"}) {
		t.Errorf("recorded joins need %+v", got)
	}
}

// A partitioned scan takes its partitions' statistics where all of them were asked for the column, else its table's, and tells.
func TestWholeTable(t *testing.T) {
	inputs, told := 0, 0
	for _, c := range jsonltest.Read[*oracle.Case](t, recordedCases) {
		s := advisor.NewSettings(c.Settings)
		joins := planJoins(t, c)
		all := c.Stats(joins)
		advisor.EnrichFor(joins, all, &s)
		for _, j := range joins {
			for _, in := range j.Inputs {
				if in.WholeTable {
					t.Errorf("%s join %d input %d: every partition is given", c.ID, j.Ordinal, in.Position)
				}
			}
		}
		last := map[string]string{} // of each table one partition is withheld
		for key, ts := range all {
			if ts.Partition != "" {
				last[ts.Table] = max(last[ts.Table], key)
			}
		}
		if len(last) == 0 {
			continue
		}
		for table, key := range last {
			delete(all, key)
			ts := all[table]
			ts.Columns = map[string]advisor.ColumnStats{}
			for _, col := range ts.ColumnTypes {
				ts.Columns[col.Name] = advisor.ColumnStats{NDV: new(int64(7)), Nulls: new(int64(1))}
			}
			all[table] = ts
		}
		joins = planJoins(t, c)
		advisor.EnrichFor(joins, all, &s)
		for i := range joins {
			d := advisor.Explain(joins[i], s)
			said := 0
			for _, text := range d.Uncertain {
				if strings.Contains(text, "those of the whole table are taken") {
					said++
				}
			}
			marked := 0
			for _, in := range joins[i].Inputs {
				inputs++
				if in.WholeTable {
					marked++
				}
			}
			told += marked
			if said != marked {
				t.Errorf("%s join %d: %d inputs take their whole table, %d are told", c.ID, i, marked, said)
			}
		}
	}
	if told == 0 || told == inputs {
		t.Errorf("%d of %d inputs take their whole table", told, inputs)
	}
}
