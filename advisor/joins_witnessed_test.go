package advisor_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// witnessedPlan is a golden plan of ACID or Iceberg tables with what was seen beside it.
type witnessedPlan struct {
	name     string
	plan     *explain.Plan
	settings advisor.Settings
	facts    map[string]advisor.TableStats
	planner  []string
}

func witnessedPlans(t *testing.T) []witnessedPlan {
	t.Helper()
	var out []witnessedPlan
	for _, f := range goldenHive(t) {
		if f.section("planner") == "" {
			continue
		}
		w := witnessedPlan{name: strings.TrimSuffix(filepath.Base(f.path), ".txtar"), planner: strings.Split(f.section("planner"), "\n")}
		values := map[string]string{}
		for line := range strings.Lines(f.section("settings")) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			values[name] = value
		}
		w.settings = advisor.NewSettings(values)
		var err error
		if w.plan, err = explain.Parse(f.section("extended")); err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		if err := json.Unmarshal([]byte(f.section("facts")), &w.facts); err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		out = append(out, w)
	}
	return out
}

// TestWitnessedKinds: over ACID and Iceberg tables the rules choose, from the plan's text, the metastore and the settings, what the
// planner chose, with its budget and its sizes to the byte.
func TestWitnessedKinds(t *testing.T) {
	kinds, strategies, sizes := map[string]int{}, map[advisor.Strategy]int{}, 0
	for _, w := range witnessedPlans(t) {
		joins := advisor.Joins(w.plan)
		advisor.EnrichFor(joins, w.facts, &w.settings)
		log := advisor.ParseWitness(w.planner)
		seen := log.Attach(advisor.Joins(w.plan)) // joins of its own: it writes the planner's sizes into them
		for i, j := range joins {
			v := advisor.Judge(j, w.settings)
			if !v.Verdict.Agrees {
				t.Errorf("%s join %d (%s): planned %s, big table %d; simulated %s, %d: %s",
					w.name, i, j.Vertex, j.Strategy, j.BigTable, v.Decision.Strategy, v.Decision.BigTable, v.Decision.Reason)
			}
			f := advisor.Compare(&v, seen[i], 0)
			if f == nil {
				t.Errorf("%s join %d (%s): the planner's lines tell nothing of it", w.name, i, j.Vertex)
				continue
			}
			if f.Strategy != j.Strategy || !f.Budget.Equal() {
				t.Errorf("%s join %d (%s): the planner's words say %s, budget %d, simulated %d", w.name, i, j.Vertex, f.Strategy, f.Budget.Witnessed, *f.Budget.Simulated)
			}
			for _, s := range f.Sizes {
				if sizes++; !s.Equal() {
					t.Errorf("%s join %d (%s) input %d: the planner's size is %d, simulated %d", w.name, i, j.Vertex, s.Position, s.Witnessed, *s.Simulated)
				}
			}
			kind, _, _ := strings.Cut(w.name, "_")
			kinds[kind]++
			strategies[j.Strategy]++
		}
	}
	if kinds["acid"] < 8 || kinds["iceberg"] < 10 || len(strategies) != 5 || sizes < 40 {
		t.Errorf("compared %v, %v, %d sizes", kinds, strategies, sizes)
	}
}

// TestWitnessedFacts: of an Iceberg table the facts hold the snapshot's rows and the column statistics of its Puffin file, which the
// plan's scans rest on; of an ACID table the metastore's.
func TestWitnessedFacts(t *testing.T) {
	for _, w := range witnessedPlans(t) {
		for _, st := range w.plan.Stages {
			for _, v := range st.Vertices {
				for _, o := range v.Roots {
					for _, src := range v.Sources {
						facts, ok := w.facts[src.Table]
						if len(v.Sources) != 1 || !ok || o.Stats == nil {
							continue
						}
						if facts.Rows == nil || *facts.Rows != o.Stats.Rows {
							t.Errorf("%s: the plan takes %s for %d rows, the facts are %+v", w.name, src.Table, o.Stats.Rows, facts)
						}
						if iceberg := strings.HasPrefix(src.Table, "golden.ice_"); iceberg != (facts.StorageHandler != "") || iceberg != facts.BasicAccurate {
							t.Errorf("%s: handler %q, rows believed: %t", src.Table, facts.StorageHandler, facts.BasicAccurate)
						}
					}
				}
			}
		}
		for table, facts := range w.facts {
			for _, c := range facts.ColumnsRead {
				if s, ok := facts.Columns[c]; !ok || s.NDV == nil || *s.NDV <= 0 {
					t.Errorf("%s: no distinct values of %s.%s: %+v", w.name, table, c, s)
				}
			}
		}
	}
}
