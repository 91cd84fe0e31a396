package dynamicfilter

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// planned reads a plan of testdata, as Hive 4.0.1 printed it, with the statistics Hive had.
func planned(t *testing.T, name string, settings map[string]string) advisor.Query {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := explain.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join("testdata", "tables.json"))
	if err != nil {
		t.Fatal(err)
	}
	q := advisor.Query{Plan: plan, Settings: advisor.NewSettings(settings)}
	if err := json.Unmarshal(b, &q.Tables); err != nil {
		t.Fatal(err)
	}
	joins := advisor.Joins(plan)
	advisor.EnrichFor(joins, q.Tables, &q.Settings)
	for _, j := range joins {
		q.Verdicts = append(q.Verdicts, advisor.Judge(j, q.Settings))
	}
	return q
}

func TestPlansOfHive(t *testing.T) {
	const (
		budget  = "hive.auto.convert.join.noconditionaltask.size"
		pruning = "hive.tez.dynamic.partition.pruning"
		maximum = "hive.tez.max.bloom.filter.entries"
	)
	for name, test := range map[string]struct {
		settings map[string]string
		column   string
		state    State
		by       []string
		causes   []Cause
		advice   []string
		kind     advisor.FindingKind
		removed  int64
	}{
		"semijoin": {
			settings: map[string]string{budget: "1"}, column: "k", state: Present, by: []string{"minimum and maximum", "Bloom filter"}, removed: 999_900_000,
		},
		"pruning": {settings: map[string]string{budget: "1"}, column: "ds", state: Present, by: []string{"partition event"}, removed: 3_000_000_000},
		"pruning_off": {
			settings: map[string]string{budget: "1", pruning: "false"}, column: "ds", state: Absent, causes: []Cause{PruningOff},
			advice: []string{"SET hive.tez.dynamic.partition.pruning=true;", "odps.optimizer.dynamic.filter.dpp.enable=true"}, kind: PruningMissing, removed: 3_000_000_000,
		},
		"too_many_keys": {
			settings: map[string]string{budget: "1", maximum: "500000"}, column: "k", state: Absent, causes: []Cause{TooManyKeys},
			advice: []string{"SET hive.tez.max.bloom.filter.entries=1100000;", "/*+dynamicfilter(d, f)*/"}, kind: FilterMissing, removed: 999_900_000,
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := planned(t, name, test.settings)
			list := Of(q)
			at := slices.IndexFunc(list, func(f Filter) bool { return f.Alias == "f" && slices.Contains(f.Columns, test.column) })
			if at < 0 {
				t.Fatalf("no candidate: %+v", list)
			}
			f := list[at]
			if f.State != test.state || !slices.Equal(f.By, test.by) || f.Removed != test.removed {
				t.Errorf("%s by %q, %d removed: %s", f.State, f.By, f.Removed, Describe(q, f))
			}
			var causes []Cause
			for _, r := range f.Reasons {
				causes = append(causes, r.Cause)
			}
			if !slices.Equal(causes, test.causes) {
				t.Errorf("causes %v, want %v", causes, test.causes)
			}
			found := Find(q)
			if test.kind == "" {
				if len(found) != 0 {
					t.Errorf("found %+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Kind != test.kind || found[0].Severity != advisor.High && found[0].Severity != advisor.Medium {
				t.Fatalf("found %+v", found)
			}
			for _, words := range test.advice {
				if !strings.Contains(found[0].Advice, words) {
					t.Errorf("advice %q lacks %q", found[0].Advice, words)
				}
			}
		})
	}
}

// TestFindIsSilent: where the numbers are made up, and where no filter is allowed, nothing is told.
func TestFindIsSilent(t *testing.T) {
	settings := map[string]string{"hive.auto.convert.join.noconditionaltask.size": "1", "hive.tez.max.bloom.filter.entries": "500000"}
	size := int64(1_000_000)
	for name, change := range map[string]func(*advisor.Query, string, advisor.TableStats){
		"": func(*advisor.Query, string, advisor.TableStats) {},
		"no statistics of the keys": func(q *advisor.Query, table string, s advisor.TableStats) {
			s.Columns, s.ColumnsRead = nil, []string{"k", "v", "name"}
			q.Tables[table] = s
		},
		"rows nobody counted": func(q *advisor.Query, table string, s advisor.TableStats) {
			s.Rows, s.TotalSize = new(int64), &size
			q.Tables[table] = s
		},
		"a null-safe key": func(q *advisor.Query, _ string, _ advisor.TableStats) { q.Verdicts[0].Join.NullSafe = true },
	} {
		q := planned(t, "too_many_keys", settings)
		for table, s := range maps.Clone(q.Tables) {
			change(&q, table, s)
		}
		if found := Find(q); (len(found) > 0) != (name == "") {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestPlansOfOtherEngines(t *testing.T) {
	if got := Of(advisor.Query{Plan: &explain.Plan{Engine: explain.EngineMR}}); got != nil {
		t.Errorf("%+v", got)
	}
	if got := Of(advisor.Query{}); got != nil {
		t.Errorf("%+v", got)
	}
}
