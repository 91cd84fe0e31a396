package advisor

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawTables gives each input a table of its own, so that its layout can be changed.
func drawTables(t *rapid.T) Join {
	j := drawJoin(t)
	for pos := range j.Inputs {
		in := &j.Inputs[pos]
		in.Tables = []string{"d.t" + strconv.Itoa(pos)}
		in.Keys[0].Table = in.Tables[0]
		in.BasicStats = rapid.SampledFrom([]string{"COMPLETE", "PARTIAL", "NONE"}).Draw(t, "basic")
		in.ColumnStats = rapid.SampledFrom([]string{"COMPLETE", "PARTIAL", "NONE"}).Draw(t, "column")
		if rapid.IntRange(0, 9).Draw(t, "no rows") == 0 {
			in.Rows, in.DataSize, in.CumulativeRows = -1, -1, -1
		}
	}
	return j
}

// run applies the statements of a lever as Hive would.
func run(t *rapid.T, apply string, j *Join, s *Settings) {
	for statement := range strings.SplitSeq(apply, "\n") {
		statement = strings.TrimSuffix(statement, ";")
		name, value, isSet := strings.Cut(strings.TrimPrefix(statement, "SET "), "=")
		if isSet {
			done := false
			for i := range catalogue {
				if d := &catalogue[i]; d.Name == name && d.set != nil {
					done = d.set(s, value) == nil
				}
			}
			if !done {
				t.Fatalf("the selector knows no %q", statement)
			}
			continue
		}
		for pos := range j.Inputs {
			if rest, ok := strings.CutPrefix(statement, "ALTER TABLE `d`.`t"+strconv.Itoa(pos)+"_bucketed` CLUSTERED BY (`k`) SORTED BY (`k`) INTO "); ok {
				n, err := strconv.Atoi(strings.TrimSuffix(rest, " BUCKETS"))
				if err != nil {
					t.Fatal(err)
				}
				j.Inputs[pos].Layout.Buckets = n
				j.Inputs[pos].Layout.BucketColumns, j.Inputs[pos].Layout.SortColumns = []string{"k"}, []string{"k"}
			}
		}
	}
}

// Whatever a lever advises, the selector confirms it, and a budget has its memory.
func TestLeversAreConfirmed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, s := drawTables(t), drawSettings(t)
		j.Strategy, j.BigTable = Choose(&j, &s)
		v := Judge(j, s)
		order := -1
		kinds := map[LeverKind]int{LeverStatistics: 0, LeverBudget: 1, LeverSwitch: 2, LeverLayout: 3}
		for _, l := range Levers(v, s) {
			if kinds[l.Kind] < order {
				t.Fatalf("%s comes after another kind", l.Kind)
			}
			order = kinds[l.Kind]
			if rank(l.Strategy) >= rank(j.Strategy) {
				t.Fatalf("%s gives a %s in place of a %s", l.Kind, l.Strategy, j.Strategy)
			}
			if l.Refused != "" {
				if l.Kind != LeverBudget || l.Apply != "" {
					t.Fatalf("refused: %+v", l)
				}
				continue
			}
			if l.Kind == LeverStatistics {
				continue
			}
			pulled, with := j, s
			pulled.Inputs = append([]Input(nil), j.Inputs...)
			run(t, l.Apply, &pulled, &with)
			if got, _ := Choose(&pulled, &with); got != l.Strategy {
				t.Fatalf("%q gives %s, not %s", l.Apply, got, l.Strategy)
			}
			if ok, why := MemoryOf(&with).Backs(with.NoConditionalTaskSize); l.Kind == LeverBudget && !ok {
				t.Fatalf("%q without memory: %s", l.Apply, why)
			}
		}
	})
}

// A smaller budget that the advice after a memory error names hashes nothing, and a larger one at two leading digits does.
func TestSmallerBudgetHashesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, s := drawJoin(t), drawSettings(t)
		from, _ := Choose(&j, &s)
		size, got, ok := shrinkBudget(&j, &s, from)
		if !ok {
			return
		}
		s.NoConditionalTaskSize = size
		if now, _ := Choose(&j, &s); now != got || now == from {
			t.Fatalf("a budget of %d gives %s, said %s, was %s", size, now, got, from)
		}
	})
}

// Where one thing alone differs between two plans, it is the cause.
func TestTheOnlyDifferenceIsTheCause(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawTables(t)
		values := map[string]string{
			budgetSetting: strconv.FormatInt(rapid.Int64Range(1, 1<<34).Draw(t, "budget"), 10), dphjName: strconv.FormatBool(rapid.Bool().Draw(t, "dphj")),
			"hive.execution.mode": rapid.SampledFrom([]string{"llap", "container"}).Draw(t, "mode"),
		}
		before := PlanState{Settings: values, Version: "4.0.1", Nodes: rapid.Int64Range(1, 400).Draw(t, "nodes"), Executors: 12}
		after := before
		later := j
		var want FindingKind
		switch rapid.IntRange(0, 3).Draw(t, "what differs") {
		case 0:
			after.Nodes, want = rapid.Int64Range(1, 400).Draw(t, "nodes after"), PlanChangedByResize
		case 1:
			after.Settings, want = with(values, budgetSetting, strconv.FormatInt(rapid.Int64Range(1, 1<<34).Draw(t, "budget after"), 10)), PlanChangedByResize
		case 2:
			after.Settings, want = with(values, dphjName, strconv.FormatBool(values[dphjName] == "false")), PlanChangedBySettings
		default:
			later, _ = Resize(j, map[string]float64{"d.t1": rapid.Float64Range(0.0001, 10000).Draw(t, "growth")})
			want = PlanChangedByStatistics
		}
		b, a := planned(before, j), planned(after, later)
		for _, f := range PlanChange(b, a) {
			if f.Kind != want {
				t.Fatalf("%s, want %s: %s", f.Kind, want, f.Summary)
			}
		}
	})
}
