package movement

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// judged is a query of one join, planned as the rules plan it under the settings.
func judged(t *testing.T, settings map[string]string, nodes int64, kind advisor.JoinType, inputs ...advisor.Input) advisor.Query {
	t.Helper()
	s := advisor.NewSettings(settings)
	s.Nodes = nodes
	j := joined(kind, advisor.MergeJoin, inputs...).Join
	j.Strategy, j.BigTable = advisor.Choose(&j, &s)
	return advisor.Query{Settings: s, Verdicts: []advisor.JoinVerdict{advisor.Judge(j, s)}}
}

func kindsOf(list []advisor.Finding) []advisor.FindingKind {
	var out []advisor.FindingKind
	for _, f := range list {
		out = append(out, f.Kind)
	}
	return out
}

const (
	budgetName    = "hive.auto.convert.join.noconditionaltask.size"
	containerName = "hive.tez.container.size"
)

// follow replays the SET statements of an advice.
func follow(t *testing.T, q advisor.Query, settings map[string]string, advice string) advisor.Strategy {
	t.Helper()
	changed := map[string]string{}
	for k, v := range settings {
		changed[k] = v
	}
	statements := 0
	for line := range strings.Lines(advice) {
		rest, ok := strings.CutPrefix(line, "SET ")
		if !ok {
			continue
		}
		statement, _, _ := strings.Cut(rest, ";")
		name, value, _ := strings.Cut(statement, "=")
		changed[name] = value
		statements++
	}
	if statements == 0 {
		t.Fatalf("no SET in %q", advice)
	}
	s := advisor.NewSettings(changed)
	s.Nodes = q.Settings.Nodes
	got, _ := advisor.Choose(&q.Verdicts[0].Join, &s)
	return got
}

func TestFind(t *testing.T) {
	few := input("facts", 4*tb)
	three := int64(3)
	few.Keys = []advisor.Key{{Expr: "k", Type: "int", Table: "d.facts", Column: "k", NDV: &three}}
	nulls := input("events", 100*gb)
	half, tooMany := nulls.Rows/2, nulls.Rows+1
	contradicting := nulls
	contradicting.Keys = []advisor.Key{{Expr: "k", Type: "bigint", Table: "d.events", Column: "k", NDV: nulls.Keys[0].NDV, Nulls: &tooMany}}
	unsorted := func(in advisor.Input) advisor.Input {
		in = bucketed(in, 64, "k")
		in.Layout.SortColumns = nil
		return in
	}
	off := map[string]string{"hive.convert.join.bucket.mapjoin.tez": "false", budgetName: "1000000000"}
	nulls.Keys = []advisor.Key{{Expr: "k", Type: "bigint", Table: "d.events", Column: "k", NDV: nulls.Keys[0].NDV, Nulls: &half}}

	for name, test := range map[string]struct {
		settings map[string]string
		nodes    int64
		kind     advisor.JoinType
		inputs   []advisor.Input
		planned  advisor.Strategy
		want     []advisor.FindingKind
		then     []advisor.Strategy
		words    string
	}{
		"a small broadcast is fine": {
			nodes: 20, kind: advisor.Inner, inputs: []advisor.Input{input("facts", 4*tb), input("dim", 2_000_000)}, planned: advisor.MapJoin,
		},
		"a broadcast on too many nodes": {
			settings: map[string]string{budgetName: "100000000000"}, nodes: 400, kind: advisor.Inner,
			inputs: []advisor.Input{input("facts", 500*gb), input("dim", 20*gb)}, planned: advisor.MapJoin,
			want: []advisor.FindingKind{BroadcastCostsMore}, then: []advisor.Strategy{advisor.MergeJoin, advisor.DPHJ}, words: "8 TB",
		},
		"a broadcast above a third of the container": {
			settings: map[string]string{budgetName: "100000000000", containerName: "4096"}, nodes: 4, kind: advisor.Inner,
			inputs: []advisor.Input{input("facts", 4*tb), input("dim", 20*gb)}, planned: advisor.MapJoin,
			want: []advisor.FindingKind{BroadcastOverMemory}, then: []advisor.Strategy{advisor.MergeJoin, advisor.DPHJ}, words: "a third of the container",
		},
		"a shuffle where a container could hash the small side": {
			settings: map[string]string{containerName: "16384"}, nodes: 20, kind: advisor.Inner,
			inputs: []advisor.Input{input("facts", 4*tb), input("dim", 2*gb)}, planned: advisor.MergeJoin,
			want: []advisor.FindingKind{RedistributionCostsMore}, then: []advisor.Strategy{advisor.MapJoin}, words: "40 GB",
		},
		"the same without a container to back it": {
			nodes: 20, kind: advisor.Inner, inputs: []advisor.Input{input("facts", 4*tb), input("dim", 2*gb)}, planned: advisor.MergeJoin,
		},
		"the same on so many nodes that it does not pay": {
			settings: map[string]string{containerName: "16384"}, nodes: 2000, kind: advisor.Inner,
			inputs: []advisor.Input{input("facts", 4*tb), input("dim", 2*gb)}, planned: advisor.MergeJoin,
		},
		"the same FULL OUTER": {
			settings: map[string]string{containerName: "16384"}, nodes: 20, kind: advisor.FullOuter,
			inputs: []advisor.Input{input("facts", 4*tb), input("dim", 2*gb)}, planned: advisor.MergeJoin,
		},
		"a bucketed side that is shuffled": {
			settings: map[string]string{"hive.convert.join.bucket.mapjoin.tez": "false", "hive.auto.convert.sortmerge.join": "false"}, nodes: 400, kind: advisor.Inner,
			inputs: []advisor.Input{bucketed(input("facts", 4*tb), 10000, "k"), input("dim", 40*gb)}, planned: advisor.MergeJoin,
			want: []advisor.FindingKind{RedistributionCostsMore}, then: []advisor.Strategy{advisor.BucketMapJoin}, words: "40 GB",
		},
		"two bucketed sides that are shuffled": {
			settings: map[string]string{"hive.convert.join.bucket.mapjoin.tez": "false", "hive.auto.convert.sortmerge.join": "false"}, nodes: 400, kind: advisor.Inner,
			inputs: []advisor.Input{bucketed(input("facts", 4*tb), 64, "k"), bucketed(input("dim", 40*gb), 64, "k")}, planned: advisor.MergeJoin,
			want: []advisor.FindingKind{RedistributionCostsMore}, then: []advisor.Strategy{advisor.SMB, advisor.BucketMapJoin}, words: "nothing has to move",
		},
		"two bucketed sides that are not sorted": {
			settings: off, nodes: 400, kind: advisor.Inner, inputs: []advisor.Input{unsorted(input("facts", 4*tb)), unsorted(input("dim", 40*gb))},
			planned: advisor.MergeJoin, want: []advisor.FindingKind{RedistributionCostsMore}, then: []advisor.Strategy{advisor.BucketMapJoin},
			words: "a bucket map join, which sends the buckets of one side once, moves 40 GB",
		},
		"the large one has to be sent": {
			settings: map[string]string{budgetName: "100000000000"}, nodes: 400, kind: advisor.LeftOuter,
			inputs: []advisor.Input{unsorted(input("few", gb)), unsorted(input("facts", 40*tb))}, planned: advisor.MergeJoin,
		},
		"buckets that no node may hash": {
			nodes: 400, kind: advisor.Inner, inputs: []advisor.Input{unsorted(input("facts", 4*tb)), unsorted(input("dim", 40*gb))}, planned: advisor.MergeJoin,
		},
		"too many keys within the budget": {
			settings: map[string]string{budgetName: "8000000000", "hive.auto.convert.join.hashtable.max.entries": "999999", "hive.auto.convert.join.shuffle.max.size": "100000000000000"}, nodes: 20, kind: advisor.Inner,
			inputs: []advisor.Input{input("facts", 4*tb), input("dim", 2*gb)}, planned: advisor.MergeJoin,
			want: []advisor.FindingKind{RedistributionCostsMore}, then: []advisor.Strategy{advisor.MapJoin}, words: "40 GB",
		},
		"more nulls than rows": {
			nodes: 20, kind: advisor.LeftOuter, inputs: []advisor.Input{contradicting, input("dim", 20*gb)}, planned: advisor.MergeJoin,
		},
		"three keys for twenty nodes": {
			nodes: 20, kind: advisor.Inner, inputs: []advisor.Input{few, input("dim", 20*gb)}, planned: advisor.MergeJoin,
			want: []advisor.FindingKind{SkewRisk}, words: "3 distinct keys",
		},
		"nulls an outer join keeps": {
			nodes: 20, kind: advisor.LeftOuter, inputs: []advisor.Input{nulls, input("dim", 20*gb)}, planned: advisor.MergeJoin,
			want: []advisor.FindingKind{SkewRisk}, words: "50 % of the rows",
		},
		"nulls an inner join has filtered": {
			nodes: 20, kind: advisor.Inner, inputs: []advisor.Input{nulls, input("dim", 20*gb)}, planned: advisor.MergeJoin,
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := judged(t, test.settings, test.nodes, test.kind, test.inputs...)
			if got := q.Verdicts[0].Join.Strategy; got != test.planned {
				t.Fatalf("planned as %s, want %s", got, test.planned)
			}
			found := Find(q)
			if got := kindsOf(found); !slices.Equal(got, test.want) {
				t.Fatalf("found %v, want %v: %+v", got, test.want, found)
			}
			for _, f := range found {
				if !strings.Contains(f.Summary, test.words) || len(f.Evidence) == 0 || f.Advice == "" || f.Subject != q.Verdicts[0].Join.Subject() {
					t.Errorf("%+v", f)
				}
				if test.then != nil {
					if got := follow(t, q, test.settings, f.Advice); !slices.Contains(test.then, got) {
						t.Errorf("after %q a %s, want one of %v", f.Advice, got, test.then)
					}
				}
			}
		})
	}
}

func TestMeasuredSkew(t *testing.T) {
	q := judged(t, map[string]string{containerName: "16384"}, 20, advisor.Inner, input("facts", 4*tb), input("dim", 20*gb))
	if found := Find(q); len(found) > 0 {
		t.Fatalf("without a measurement: %+v", found)
	}
	m := Measured{TopShare: map[Place]float64{{Join: 0, Input: 0}: 0.25}}
	found := FindMeasured(q, m)
	if len(found) != 1 || found[0].Kind != SkewRisk || !strings.Contains(found[0].Summary, "25 %") || !strings.Contains(found[0].Summary, "1 TB of the shuffle") {
		t.Fatalf("%+v", found)
	}
	m.TopShare[Place{Join: 0, Input: 0}] = 0.10 // twice a fair share of a twentieth
	if found := FindMeasured(q, m); len(found) > 0 {
		t.Errorf("a mild skew: %+v", found)
	}
}

func TestActualRowsDwarfTheEstimate(t *testing.T) {
	q := judged(t, nil, 20, advisor.Inner, input("facts", 4*tb), input("dim", 5_000_000))
	if got := q.Verdicts[0].Join.Strategy; got != advisor.MapJoin {
		t.Fatal(got)
	}
	for rows, want := range map[int64]int{50_000: 0, 499_999: 0, 500_000: 1, 50_000_000: 1, 10: 0} {
		found := FindMeasured(q, Measured{ActualRows: map[Place]int64{{Join: 0, Input: 1}: rows}})
		if len(found) != want {
			t.Fatalf("%d rows in place of 50,000: %+v", rows, found)
		}
		if want == 0 {
			continue
		}
		if f := found[0]; f.Kind != BroadcastActualDwarfsEstimate || !strings.Contains(f.Advice, "ANALYZE TABLE `d`.`dim`") || f.Evidence["q_error"] != float64(rows)/50_000 {
			t.Errorf("%+v", f)
		}
	}
	// The streamed side is not copied: its rows do not matter here.
	if found := FindMeasured(q, Measured{ActualRows: map[Place]int64{{Join: 0, Input: 0}: 1 << 50}}); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func TestWideRows(t *testing.T) {
	wide := input("dim", 40_000_000_000)
	wide.Rows, wide.CumulativeRows = 10_000_000, 10_000_000
	wide.Columns = []advisor.Column{
		{Name: "_col0", Type: "bigint", Table: "d.dim", Column: "k", HasStats: true},
		{Name: "_col1", Type: "string", Table: "d.dim", Column: "body", HasStats: true},
		{Name: "_col2", Type: "int", Table: "d.dim", Column: "kind", HasStats: true},
	}
	length := 3800.0
	settings := map[string]string{containerName: "16384"}
	q := judged(t, settings, 20, advisor.Inner, input("facts", 400*tb), wide)
	q.Tables = map[string]advisor.TableStats{"d.dim": {Columns: map[string]advisor.ColumnStats{"body": {AvgLen: &length}}}}
	found := Find(q)
	if len(found) != 1 || found[0].Kind != WideRows {
		t.Fatalf("%+v", found)
	}
	f := found[0]
	if !slices.Equal(f.Evidence["without"].([]string), []string{"body"}) || f.Evidence["bytes_per_row"] != int64(4000) || f.Evidence["key_bytes"] != int64(8) {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(f.Advice, "SET "+budgetName+"=") {
		t.Errorf("advice %q", f.Advice)
	}
	if !strings.Contains(f.Advice, "-- leave body out below the join, or read them afterwards, by columns that are unique in d.dim") || f.Evidence["small_bytes_then"] != int64(123_203_285) {
		t.Errorf("%q, %v", f.Advice, f.Evidence["small_bytes_then"])
	}
	for name, change := range map[string]func(*advisor.Query){
		"widths by guess": func(q *advisor.Query) { q.Verdicts[0].Join.Inputs[1].ColumnStats = "NONE" },
		"an expression":   func(q *advisor.Query) { q.Verdicts[0].Join.Inputs[1].Columns[1].Column = "" },
		"nobody knows N":  func(q *advisor.Query) { q.Settings.Nodes = 0 },
		"rows nobody counted": func(q *advisor.Query) {
			q.Tables["d.dim"] = advisor.TableStats{Rows: new(int64), TotalSize: &wide.DataSize}
		},
		"a side of a few rows": func(q *advisor.Query) { q.Verdicts[0].Join.Inputs[1].DataSize = 900_000 },
	} {
		other := judged(t, settings, 20, advisor.Inner, input("facts", 400*tb), wide)
		other.Verdicts[0].Join.Inputs[1].Columns = slices.Clone(wide.Columns)
		other.Tables = maps.Clone(q.Tables)
		change(&other)
		for _, f := range Find(other) {
			if f.Kind == WideRows {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	one := judged(t, settings, 20, advisor.Inner, input("facts", 400*tb), wide)
	one.Tables = q.Tables
	one.Verdicts[0].Join.Inputs[1].Keys[0].NDV = &wide.Rows
	if found := Find(one); len(found) != 1 || !strings.Contains(found[0].Advice, "read them afterwards by the key, of which it has one row each") {
		t.Errorf("a unique key: %+v", found)
	}
	// Where even the keys are too much, no projection helps.
	settings[containerName] = "64"
	q = judged(t, settings, 20, advisor.Inner, input("facts", 400*tb), wide)
	if found := Find(q); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func TestSkewsOfKeysWithoutStatistics(t *testing.T) {
	in := input("a", tb)
	in.Keys[0].NDV = nil
	v := joined(advisor.Inner, advisor.MergeJoin, in, input("b", gb))
	if got := Skews(&v.Join, Measured{}); len(got) != 1 || got[0].Input != 1 {
		t.Errorf("%+v", got)
	}
}
