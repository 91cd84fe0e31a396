package advisor

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

func TestAffectedColumns(t *testing.T) {
	for _, c := range []struct {
		predicate string
		want      []string
	}{
		{"k is not null (type: boolean)", nil},
		{"(k = 5L) (type: boolean)", []string{"k"}},
		{"((k > 52L) and k2 is not null) (type: boolean)", []string{"k"}},
		{"(k is not null and (5 < k2) and (ks like 'a and b%')) (type: boolean)", []string{"k2"}},
		{"((k = 1) or (k2 = 2)) (type: boolean)", nil},
		{"(((k = 1) or (k2 = 2)) and (kd < 1.5)) (type: boolean)", []string{"kd"}},
		{"(k2) IN (1, 2, 3) (type: boolean)", []string{"k2"}},
		{"(struct(k,k2)) IN (const struct(1,2)) (type: boolean)", nil},
		{"k BETWEEN 1L AND 9L (type: boolean)", []string{"k"}},
		{"k NOT BETWEEN 1L AND 9L (type: boolean)", []string{"k"}},
		{"(k is not null and k BETWEEN DynamicValue(RS_9_a_k_min) AND DynamicValue(RS_9_a_k_max) and in_bloom_filter(k, DynamicValue(RS_9_a_k_bloom_filter))) (type: boolean)", nil},
		{"(k <> 5L) (type: boolean)", nil},
		{"(k > k2) (type: boolean)", nil},
		{"(k = k2) (type: boolean)", []string{"k", "k2"}},
		{"(not (k = 5)) (type: boolean)", []string{"k"}},
		{"k is null (type: boolean)", []string{"k"}},
		{"v5 (type: boolean)", []string{"v5"}},
		{"(v5 and (k > 1)) (type: boolean)", []string{"k"}},
		{"(UDFToDouble(ks) > 5.0D) (type: boolean)", nil},
		{"(kt >= DATE'2020-01-01') (type: boolean)", []string{"kt"}},
		{"(KS = 'x) and (k = 5') (type: boolean)", []string{"ks"}},
		{"", nil},
	} {
		got := slices.Sorted(maps.Keys(affectedColumns(c.predicate)))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.predicate, got, c.want)
		}
	}
}

func TestRescale(t *testing.T) {
	below := &flowStats{rows: 1000, scaled: true, columns: []columnStat{
		{name: "a", ndv: 900, nulls: 15, known: true},
		{name: "b", ndv: 90, nulls: 1000, known: true},
		{name: "c", ndv: 7, nulls: 7},
	}}
	got := rescale(below, 100, map[string]bool{"b": true})
	if got[0].ndv != 100 || got[0].nulls != 2 {
		t.Errorf("a: %d values are cut to the rows, 1.5 nulls round up: %+v", got[0].ndv, got[0])
	}
	if got[1].ndv != 9 || got[1].nulls != 100 {
		t.Errorf("b: affected values shrink with the rows, nulls end at the rows: %+v", got[1])
	}
	if got[2].ndv != 7 || got[2].nulls != 7 {
		t.Errorf("c: unknown numbers stay: %+v", got[2])
	}
	if below.columns[0].nulls != 15 {
		t.Error("the input must stay as it is")
	}
}

func TestExpressionStats(t *testing.T) {
	below := &flowStats{rows: 500, scaled: true, columns: []columnStat{
		{name: "i", typ: "int", ndv: 40, nulls: 3, known: true, table: "d.t", column: "i"},
		{name: "s", typ: "string", ndv: 9, nulls: 5, known: true, length: 12},
		{name: "z", typ: "string", ndv: 10, nulls: 8, known: true, length: 2},
	}}
	for _, c := range []struct {
		text, typ  string
		ndv, nulls int64
		found      bool
	}{
		{"i", "int", 40, 3, true},
		{"I", "int", 40, 3, true},
		{"missing", "int", 0, 0, false},
		{"5L", "bigint", 1, 0, true},
		{"null", "void", 0, 500, true},
		{"'a, b'", "string", 1, 0, true},
		{"UDFToLong(i)", "bigint", 40, 3, true},
		{"UDFToInteger(s)", "int", 9, 0, true},
		{"CAST( i AS decimal(10,2))", "decimal(10,2)", 40, 3, true},
		{"upper(s)", "string", 9, 5, true},
		{"COALESCE(s,z)", "string", 10, 8, true},
		{"COALESCE(s, missing)", "string", 9, 0, true},
		{"CASE WHEN ((i > 5)) THEN (s) WHEN ((i > 2)) THEN ('x') ELSE (z) END", "string", 10, 8, true},
		{"if((i > 5), s, 'zz')", "string", 9, 5, true},
		{"(i % 10)", "int", 40, 0, true},
		{"rand()", "double", 500, 0, true},
	} {
		got, ok := expressionStats(below, explain.Expr{Text: c.text, Type: c.typ})
		if ok != c.found || ok && (got.ndv != c.ndv || got.nulls != c.nulls || got.typ != c.typ) {
			t.Errorf("%s: %+v %v, want %d values and %d nulls", c.text, got, ok, c.ndv, c.nulls)
		}
	}
}

func TestWidens(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"int", "bigint", true},
		{"bigint", "int", false},
		{"int", "decimal(10,2)", true},
		{"string", "double", true},
		{"string", "int", false},
		{"varchar(20)", "string", true},
		{"date", "string", true},
		{"boolean", "string", false},
		{"double", "float", false},
	} {
		if got := widens(c.from, c.to); got != c.want {
			t.Errorf("%s to %s: %v", c.from, c.to, got)
		}
	}
}

// The number of unmatched rows is found again from the size it leads to.
func TestPadNulls(t *testing.T) {
	for _, unmatched := range []int64{0, 1, 2, 7, 999, 1000} {
		make3 := func() []columnStat {
			return []columnStat{
				{typ: "bigint", nulls: 3, known: true, length: -1},
				{typ: "string", nulls: 0, known: true, length: 10},
				{typ: "decimal(10,2)", nulls: 40, known: true, length: -1},
			}
		}
		padded := []bool{false, true, true}
		want := make3()
		var size int64
		for i := range want {
			want[i].nulls = padTo(&want[i], padded[i], unmatched, 1000)
			per, _ := valueSize(&want[i])
			size += nonNull(1000, want[i].nulls) * per
		}
		got := make3()
		padNulls(got, padded, &explain.Statistics{Rows: 1000, DataSize: size}, true)
		for i := range got {
			if !got[i].known || nonNull(1000, got[i].nulls) != nonNull(1000, want[i].nulls) {
				t.Errorf("%d unmatched, column %d: %+v, want %+v", unmatched, i, got[i], want[i])
			}
		}
	}
	odd := []columnStat{{typ: "string", known: true, length: 10}}
	padNulls(odd, []bool{true}, &explain.Statistics{Rows: 1000, DataSize: 12345}, true)
	if odd[0].known {
		t.Error("a size no number of nulls gives leaves them unknown")
	}
}

func TestDecayed(t *testing.T) {
	for _, c := range []struct {
		ndvs []int64
		want int64
	}{
		{[]int64{100}, 100},
		{[]int64{100, 10000}, 100000},
		{[]int64{16, 100, 10000}, 200000},
		{[]int64{math.MaxInt64, math.MaxInt64}, math.MaxInt64},
	} {
		if got := decayed(c.ndvs); got != c.want {
			t.Errorf("%v: %d, want %d", c.ndvs, got, c.want)
		}
	}
}

func TestRecordedJoinTakesFreshStatistics(t *testing.T) {
	rows, ndv, nulls := int64(1000), int64(800), int64(100)
	tables := map[string]TableStats{"d.t": {Table: "d.t", Rows: &rows, Columns: map[string]ColumnStats{"a": {NDV: &ndv, Nulls: &nulls}}}}
	joins := []Join{{Inputs: []Input{{
		Rows: 500, Keys: []Key{{Expr: "_col0", Table: "d.t", Column: "A"}, {Expr: "_col1", Table: "d.u", Column: "a"}},
		Columns: []Column{{Name: "_col0", Table: "d.t", Column: "A"}, {Name: "_col2"}},
	}}}}
	Enrich(joins, tables)
	in := joins[0].Inputs[0]
	if k := in.Keys[0]; k.NDV == nil || *k.NDV != 500 || k.Nulls == nil || *k.Nulls != 50 {
		t.Errorf("key %+v", k)
	}
	if in.Keys[1].NDV != nil {
		t.Error("a table that was not given tells nothing")
	}
	if c := in.Columns[0]; !c.HasStats || c.Nulls == nil || *c.Nulls != 50 {
		t.Errorf("column %+v", c)
	}
	if in.Columns[1].HasStats {
		t.Error("a computed column has no statistics of its own")
	}
	if ndv != 800 {
		t.Error("the given statistics must stay as they are")
	}
}

func FuzzPredicate(f *testing.F) {
	f.Add("((k > 52L) and (ks = 'it''s') or k BETWEEN 1 AND 2) (type: boolean)")
	f.Add("(not ((a")
	f.Add("'\\")
	f.Fuzz(func(_ *testing.T, text string) {
		affectedColumns(text)
		words(text, map[string]bool{})
		expressionStats(&flowStats{rows: 3}, explain.Expr{Text: text, Type: text})
	})
}

func FuzzWitness(f *testing.F) {
	f.Add("INFO ConvertJoinMapJoin: maxJoinMemory: 5", "Join input#1; onlineDataSize: -3; Statistics: Num rows: 1 Data size: 2")
	f.Fuzz(func(t *testing.T, a, b string) {
		w := ParseWitness([]string{a, b, b})
		joins := []Join{{Inputs: make([]Input, 2)}}
		if got := w.Attach(joins); len(got) != 1 {
			t.Errorf("%d matches for one join", len(got))
		}
	})
}
