package advisor

import (
	"testing"

	"pgregory.net/rapid"
)

// drawJoin draws a join whose figures are those of one plan: rows, bytes and distinct keys that fit together.
func drawJoin(t *rapid.T) Join {
	n := rapid.IntRange(2, 4).Draw(t, "inputs")
	kinds := []JoinType{Inner, LeftOuter, RightOuter, FullOuter, LeftSemi, Anti}
	var j Join
	for i := 1; i < n; i++ {
		j.Conditions = append(j.Conditions, Condition{Type: rapid.SampledFrom(kinds).Draw(t, "type"), Left: i - 1, Right: i})
	}
	for pos := range n {
		rows := rapid.Int64Range(1, 1_000_000_000).Draw(t, "rows")
		in := Input{
			Position: pos, Rows: rows, CumulativeRows: rows * rapid.Int64Range(1, 4).Draw(t, "operators"),
			DataSize: rows * rapid.Int64Range(1, 400).Draw(t, "width"),
			Keys:     []Key{{Expr: "_col0", Type: rapid.SampledFrom([]string{"int", "string"}).Draw(t, "key"), Column: "k"}},
			Layout:   Layout{TotalSize: rapid.Int64Range(-1, 1<<40).Draw(t, "files")},
		}
		ndv := rapid.Int64Range(1, rows).Draw(t, "ndv")
		in.Keys[0].NDV = &ndv
		if rapid.Bool().Draw(t, "bucketed") {
			in.Layout.Buckets = rapid.IntRange(2, 512).Draw(t, "buckets")
			in.Layout.BucketColumns = []string{rapid.SampledFrom([]string{"k", "other"}).Draw(t, "bucket column")}
			in.Layout.SortColumns = in.Layout.BucketColumns
		}
		in.Layout.External = rapid.Bool().Draw(t, "external")
		j.Inputs = append(j.Inputs, in)
	}
	return j
}

func drawSettings(t *rapid.T) Settings {
	s := NewSettings(nil)
	s.NoConditionalTaskSize = rapid.Int64Range(1, 1<<34).Draw(t, "budget")
	s.DPHJ = rapid.Bool().Draw(t, "dphj")
	s.FastHashTable = rapid.Bool().Draw(t, "fast")
	s.BucketMapJoin = rapid.Bool().Draw(t, "bmj")
	s.SortMerge = rapid.Bool().Draw(t, "smb")
	s.AutoConvertJoin = rapid.IntRange(0, 9).Draw(t, "auto") > 0
	if rapid.Bool().Draw(t, "llap") {
		s.LLAP = true
		s = s.WithCluster(rapid.Int64Range(1, 400).Draw(t, "nodes"), rapid.Int64Range(1, 24).Draw(t, "executors"))
	}
	return s
}

// The planner is a deterministic function with one decision; whatever it says must hold together.
func TestDecisionHoldsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, s := drawJoin(t), drawSettings(t)
		d := Explain(j, s)
		if len(d.Attempts) == 0 || d.Reason == "" {
			t.Fatal("a decision without an attempt or a reason")
		}
		if last := d.Attempts[len(d.Attempts)-1]; last.Strategy != d.Strategy || !last.OK {
			t.Fatalf("%s decided by %+v", d.Strategy, last)
		}
		if (d.Strategy == MergeJoin) != (d.BigTable < 0) {
			t.Fatalf("%s streams %d", d.Strategy, d.BigTable)
		}
		if d.BigTable >= len(j.Inputs) || d.PlanPosition < 0 || d.PlanPosition >= len(j.Inputs) {
			t.Fatalf("position %d, printed as %d", d.BigTable, d.PlanPosition)
		}
		if d.BigTable >= 0 && d.Strategy != SMB && streamable(j.Conditions, true)&bit(d.BigTable) == 0 {
			t.Fatalf("streams %d, which the conditions %v forbid", d.BigTable, j.Conditions)
		}
		if isFullOuter(&j) && d.Strategy != MergeJoin && d.Strategy != DPHJ {
			t.Fatalf("FULL OUTER as %s", d.Strategy)
		}
		if strategy, big := Choose(&j, &s); strategy != d.Strategy || big != d.BigTable {
			t.Fatalf("Choose says %s at %d, Select %s at %d", strategy, big, d.Strategy, d.BigTable)
		}
		if m := d.Margin; m != nil && (m.Next == d.Strategy || m.Factor <= 0 || m.Factor == 1) {
			t.Fatalf("margin %+v of a %s", *m, d.Strategy)
		}
	})
}

// Shrinking the hashed side never makes a map join of two inputs a merge join: its hash table only becomes smaller.
func TestShrinkingKeepsTheMapJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, s := drawJoin(t), drawSettings(t)
		if len(j.Inputs) != 2 {
			j.Inputs, j.Conditions = j.Inputs[:2], j.Conditions[:1]
		}
		// The fast hash table's −8 bytes a row can make a larger side cost less.
		s.FastHashTable = false
		d := Explain(j, s)
		if d.Strategy != MapJoin {
			t.Skip("no map join")
		}
		m := newScaling(&j, hashedSide(&j, &s, &d))
		factor := rapid.Float64Range(0.0001, 1).Draw(t, "factor")
		if got := m.at(factor, &s); got != MapJoin && got != BucketMapJoin {
			t.Fatalf("%s with the hashed side at %v", got, factor)
		}
	})
}

// A larger budget never takes a two-way map join away.
func TestMoreBudgetKeepsTheMapJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, s := drawJoin(t), drawSettings(t)
		j.Inputs, j.Conditions = j.Inputs[:2], j.Conditions[:1]
		s.MaxEntries = 0
		before, _ := Choose(&j, &s)
		if before != MapJoin && before != BucketMapJoin {
			t.Skip("not hashed")
		}
		s.NoConditionalTaskSize += rapid.Int64Range(0, 1<<34).Draw(t, "more")
		if after, _ := Choose(&j, &s); after != MapJoin && after != BucketMapJoin && after != DPHJ {
			t.Fatalf("%s became %s", before, after)
		}
	})
}

func FuzzSelect(f *testing.F) {
	f.Add(int64(1000), int64(5000), int64(7), int64(10), "1000", uint8(3), uint8(2), true)
	f.Add(int64(-1), int64(-1), int64(-1), int64(-1), "x", uint8(0), uint8(9), false)
	f.Add(int64(1<<62), int64(1<<62), int64(1<<62), int64(1<<62), "9223372036854775807", uint8(6), uint8(255), true)
	types := []JoinType{Inner, LeftOuter, RightOuter, FullOuter, LeftSemi, Anti, Cross, "UNIQUE", ""}
	f.Fuzz(func(t *testing.T, rows, size, ndv, nulls int64, value string, shape, buckets uint8, llap bool) {
		j := Join{BigTable: int(shape) - 3}
		for pos := range int(shape % 12) {
			in := Input{
				Position: pos, Rows: rows >> uint(pos), DataSize: size >> uint(pos), CumulativeRows: ndv,
				Keys:    []Key{{Expr: value, Type: value, Column: value, NDV: &ndv}, {Expr: "b", Type: "int", NDV: &rows}},
				Columns: []Column{{Name: value, Type: "string", HasStats: true, Nulls: &nulls}},
				Layout:  Layout{Buckets: int(buckets), BucketColumns: []string{value}, SortColumns: []string{value}, TotalSize: size, Partitions: int(shape) - 2},
			}
			j.Inputs = append(j.Inputs, in)
			j.Conditions = append(j.Conditions, Condition{Type: types[(int(buckets)+pos)%len(types)], Left: pos - 1, Right: pos * int(shape)})
		}
		mode := "container"
		if llap {
			mode = "llap"
		}
		all := map[string]string{"hive.execution.mode": mode}
		for _, i := range Catalogue() {
			if i.Name != "hive.execution.mode" {
				all[i.Name] = value
			}
		}
		for _, r := range Releases() {
			s := SettingsFor(r, all)
			v := Judge(j, s)
			if v.Decision.Strategy == "" {
				t.Error("no strategy")
			}
			_ = Findings([]JoinVerdict{v}, s)
		}
	})
}

func TestChooseAllocatesNothing(t *testing.T) {
	j := joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("customers", 2400*mb, 30_000_000))
	s := settings(dphjName, "true")
	if n := testing.AllocsPerRun(100, func() { Choose(&j, &s) }); n > 0 {
		t.Errorf("%v allocations for a join of two inputs", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if x := Select(&j, &s); x.Strategy() != DPHJ || x.BigTable() != 0 || x.OnlineDataSize(1) != 2400*mb || x.Budget() != 10*mb {
			t.Errorf("%s streams %d, the other side takes %d B of %d", x.Strategy(), x.BigTable(), x.OnlineDataSize(1), x.Budget())
		}
	}); n > 0 {
		t.Errorf("%v allocations of Select for a join of two inputs", n)
	}
}

// A selection tells in words what it told in numbers.
func TestSelectionInWords(t *testing.T) {
	j := joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("customers", 2400*mb, 30_000_000))
	for _, s := range []Settings{settings(), settings(budgetName, "3000000000"), settings(dphjName, "true")} {
		x := Select(&j, &s)
		d := x.Decision()
		strategy, big := Choose(&j, &s)
		if d.Strategy != x.Strategy() || d.Strategy != strategy || d.BigTable != x.BigTable() || d.BigTable != big || d.Budget != x.Budget() || d.Reason == "" || d.Margin == nil {
			t.Errorf("in numbers %s streaming %d, in words %+v", x.Strategy(), x.BigTable(), d)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	j := joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("customers", 2400*mb, 30_000_000))
	for i := range j.Inputs {
		n := int64(10)
		j.Inputs[i].Columns = []Column{{Type: "string", HasStats: true, Nulls: &n}, {Type: "bigint", HasStats: true}, {Type: "decimal(10,2)", HasStats: true}}
	}
	s := NewSettings(nil)
	b.ReportAllocs()
	for b.Loop() {
		Choose(&j, &s)
	}
}

func BenchmarkSelect(b *testing.B) {
	j := joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("customers", 2400*mb, 30_000_000))
	s := NewSettings(nil)
	b.ReportAllocs()
	for b.Loop() {
		Select(&j, &s)
	}
}

// BenchmarkExplain is Select and its words, the margin among them.
func BenchmarkExplain(b *testing.B) {
	j := joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("customers", 2400*mb, 30_000_000))
	s := NewSettings(nil)
	b.ReportAllocs()
	for b.Loop() {
		Explain(j, s)
	}
}
