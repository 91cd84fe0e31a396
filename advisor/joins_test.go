package advisor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// tez wraps edges and vertices into a plan's text.
func tez(edges, vertices string) string {
	return "STAGE DEPENDENCIES:\n  Stage-1 is a root stage\n\nSTAGE PLANS:\n  Stage: Stage-1\n    Tez\n      Edges:\n" +
		indent(edges, 8) + "      Vertices:\n" + indent(vertices, 8)
}

func indent(text string, by int) string {
	var b strings.Builder
	for l := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		b.WriteString(strings.Repeat(" ", by) + l + "\n")
	}
	return b.String()
}

// shuffledScan is a map vertex that scans, filters and shuffles by id.
func shuffledScan(vertex string, scanned, filtered, shuffled int) string {
	return fmt.Sprintf(`
%s 
    Map Operator Tree:
        TableScan
          alias: %s
          Statistics: Num rows: %d Data size: 80 Basic stats: COMPLETE Column stats: COMPLETE
          Select Operator
            expressions: id (type: int), name (type: string)
            outputColumnNames: _col0, _col1
            Statistics: Num rows: %d Data size: 40 Basic stats: COMPLETE Column stats: COMPLETE
            Reduce Output Operator
              key expressions: _col0 (type: int)
              Statistics: Num rows: %d Data size: 40 Basic stats: COMPLETE Column stats: NONE
              value expressions: _col1 (type: string)`, vertex, strings.ReplaceAll(strings.ToLower(vertex), " ", ""), scanned, filtered, shuffled)
}

const mergeReducer = `
Reducer %d 
    Reduce Operator Tree:
      Merge Join Operator
        condition map:
             %s
        keys:
          0 _col0 (type: int)
          1 _col0 (type: int)
        outputColumnNames: _col0, _col1, _col3
        Statistics: Num rows: 9 Data size: 90 Basic stats: COMPLETE Column stats: COMPLETE`

func joinsOf(t *testing.T, text string) []advisor.Join {
	t.Helper()
	return joinsOfText(t, "plan", text)
}

// TestUnionInput: the copies of a shuffle below a union print the estimate of the whole union; it counts once.
func TestUnionInput(t *testing.T) {
	j := joinsOf(t, tez("Map 1 <- Union 2 (CONTAINS)\nMap 5 <- Union 2 (CONTAINS)\nReducer 3 <- Map 6 (SIMPLE_EDGE), Union 2 (SIMPLE_EDGE)",
		shuffledScan("Map 1", 10, 7, 12)+shuffledScan("Map 5", 20, 5, 12)+shuffledScan("Map 6", 30, 8, 8)+
			fmt.Sprintf(mergeReducer, 3, "Inner Join 0 to 1")+"\nUnion 2 \n    Vertex: Union 2"))[0]
	union, scan := j.Inputs[0], j.Inputs[1]
	if union.Vertex != "Union 2" || union.Rows != 12 || union.DataSize != 40 || union.Alias != "" {
		t.Errorf("union %+v", union)
	}
	// Both scans and projections, the union, the shuffle.
	if want := int64(10 + 7 + 20 + 5 + 12 + 12); union.CumulativeRows != want {
		t.Errorf("union counts %d rows, want %d", union.CumulativeRows, want)
	}
	if want := int64(30 + 8 + 8); scan.CumulativeRows != want || scan.Alias != "map6" {
		t.Errorf("%s counts %d rows, want %d", scan.Alias, scan.CumulativeRows, want)
	}
}

// TestNestedJoin: of a join's inputs the largest counts towards the cumulative rows, and columns are followed through.
func TestNestedJoin(t *testing.T) {
	joins := joinsOf(t, tez("Reducer 2 <- Map 1 (SIMPLE_EDGE), Map 4 (SIMPLE_EDGE)\nReducer 3 <- Map 5 (SIMPLE_EDGE), Reducer 2 (SIMPLE_EDGE)",
		shuffledScan("Map 1", 100, 90, 90)+shuffledScan("Map 4", 10, 10, 10)+shuffledScan("Map 5", 3, 3, 3)+
			fmt.Sprintf(mergeReducer, 2, "Left Outer Join0 to 1")+`
        Reduce Output Operator
          key expressions: _col0 (type: int)
          Statistics: Num rows: 9 Data size: 90 Basic stats: COMPLETE Column stats: COMPLETE
          value expressions: _col1 (type: string), _col3 (type: string)`+
			fmt.Sprintf(mergeReducer, 3, "Outer Join 0 to 1")))
	if len(joins) != 2 {
		t.Fatalf("%d joins", len(joins))
	}
	lower, upper := joins[0], joins[1]
	if lower.Conditions[0] != (advisor.Condition{Type: advisor.LeftOuter, Left: 0, Right: 1}) || upper.Conditions[0].Type != advisor.FullOuter {
		t.Errorf("conditions %+v and %+v", lower.Conditions, upper.Conditions)
	}
	in := upper.Inputs[0]
	if want := max(int64(100+90+90), 10+10+10) + 9 + 9; in.Vertex != "Reducer 2" || in.CumulativeRows != want {
		t.Errorf("%s counts %d rows, want %d", in.Vertex, in.CumulativeRows, want)
	}
	if !in.Layout.Shuffled || lower.Inputs[0].Layout.Shuffled {
		t.Errorf("shuffled: %t above a join, %t above a scan", in.Layout.Shuffled, lower.Inputs[0].Layout.Shuffled)
	}
	var from []string
	for _, c := range in.Columns {
		from = append(from, c.Name+"="+c.Column)
	}
	if want := []string{"_col0=id", "_col1=name", "_col3=name"}; !slices.Equal(from, want) {
		t.Errorf("columns %v, want %v", from, want)
	}
}

// TestJoinFlags reads what else a join prints.
func TestJoinFlags(t *testing.T) {
	plain := fmt.Sprintf(mergeReducer, 2, "Inner Join 0 to 1")
	for name, c := range map[string]struct {
		more string
		want func(j advisor.Join) bool
	}{
		"nothing":       {"", func(j advisor.Join) bool { return !j.Residual && !j.Filters && !j.NullSafe }},
		"residual":      {"        residual filter predicates: {(_col1 < _col3)}", func(j advisor.Join) bool { return j.Residual }},
		"a side filter": {"        filter predicates:\n          0 {(VALUE._col0 = 3)}\n          1 ", func(j advisor.Join) bool { return j.Filters }},
		"null-safe":     {"        nullSafes: [true]", func(j advisor.Join) bool { return j.NullSafe }},
		"not null-safe": {"        nullSafes: [false]", func(j advisor.Join) bool { return !j.NullSafe }},
	} {
		j := joinsOf(t, tez("Reducer 2 <- Map 1 (SIMPLE_EDGE), Map 3 (SIMPLE_EDGE)",
			shuffledScan("Map 1", 5, 5, 5)+shuffledScan("Map 3", 6, 6, 6)+plain+"\n"+c.more))[0]
		if !c.want(j) {
			t.Errorf("%s: %+v", name, j)
		}
	}
}

// TestStrategyByEdge: where plain text prints no flag, the edge tells a bucket map join from a map join.
func TestStrategyByEdge(t *testing.T) {
	for edge, want := range map[string]advisor.Strategy{
		"BROADCAST_EDGE": advisor.MapJoin, "CUSTOM_EDGE": advisor.BucketMapJoin,
	} {
		j := joinsOf(t, tez("Map 2 <- Map 1 ("+edge+")", shuffledScan("Map 1", 5, 5, 5)+`
Map 2 
    Map Operator Tree:
        TableScan
          alias: b
          Statistics: Num rows: 70 Data size: 700 Basic stats: COMPLETE Column stats: COMPLETE
          Map Join Operator
            condition map:
                 Left Semi Join 1 to 0
            keys:
              0 _col0 (type: int)
              1 id (type: int)
            input vertices:
              0 Map 1`))[0]
		big := j.Inputs[1]
		if j.Strategy != want || j.BigTable != 1 || big.Rows != 70 || big.Vertex != "Map 2" || big.CumulativeRows != 140 {
			t.Errorf("%s: %s, big table %d: %+v", edge, j.Strategy, j.BigTable, big)
		}
		if k := big.Keys[0]; k.Column != "id" || k.Type != "int" {
			t.Errorf("key %+v", k)
		}
	}
}

// mapReduce is an MR plan: a map join of b over a, of which the smaller is read by local work, then a join by shuffle.
const mapReduce = `STAGE DEPENDENCIES:
  Stage-3 is a root stage
  Stage-1 depends on stages: Stage-3

STAGE PLANS:
  Stage: Stage-3
    Map Reduce Local Work
      Alias -> Map Local Operator Tree:
        a 
          TableScan
            alias: a
            Statistics: Num rows: 4 Data size: 40 Basic stats: COMPLETE Column stats: NONE
            HashTable Sink Operator
              keys:
                0 akey (type: int)
                1 bkey (type: int)

  Stage: Stage-1
    Map Reduce
      Map Operator Tree:
          TableScan
            alias: b
            Statistics: Num rows: 500 Data size: 5000 Basic stats: COMPLETE Column stats: NONE
            Select Operator
              expressions: k (type: int)
              outputColumnNames: bkey
              Statistics: Num rows: 500 Data size: 5000 Basic stats: COMPLETE Column stats: NONE
              Map Join Operator
                condition map:
                     Inner Join 0 to 1
                keys:
                  0 akey (type: int)
                  1 bkey (type: int)
                Statistics: Num rows: 550 Data size: 5500 Basic stats: COMPLETE Column stats: NONE
                Reduce Output Operator
                  key expressions: _col0 (type: int)
                  Statistics: Num rows: 550 Data size: 5500 Basic stats: COMPLETE Column stats: NONE
                  tag: 1
          TableScan
            alias: c
            Sorted Merge Bucket Map Join Operator
              condition map:
                   Unique Join 0 to 0
                   Unique Join 0 to 1
              keys:
                0 key (type: int)
                1 key (type: int)
              Position of Big Table: 0
              Reduce Output Operator
                key expressions: _col0 (type: int)
                Statistics: Num rows: 30 Data size: 300 Basic stats: COMPLETE Column stats: NONE
                tag: 0
      Reduce Operator Tree:
        Join Operator
          condition map:
               Right Outer Join 0 to 1
          keys:
            0 _col0 (type: int)
            1 _col0 (type: int)
`

func TestMapReduceJoins(t *testing.T) {
	joins := joinsOf(t, mapReduce)
	if len(joins) != 3 {
		t.Fatalf("%d joins", len(joins))
	}
	mapJoin, smb, merge := joins[0], joins[1], joins[2]
	if mapJoin.Strategy != advisor.MapJoin || mapJoin.BigTable != 1 || mapJoin.Inputs[0].Rows != 4 || mapJoin.Inputs[0].Alias != "a" || mapJoin.Inputs[1].Rows != 500 {
		t.Errorf("map join %+v", mapJoin)
	}
	if smb.Strategy != advisor.SMB || smb.BigTable != 0 || smb.Conditions[1].Type != advisor.UniqueJoin || smb.Inputs[0].Alias != "c" {
		t.Errorf("sort-merge join %+v", smb)
	}
	if merge.Strategy != advisor.MergeJoin || merge.BigTable != -1 || merge.Inputs[0].Rows != 30 || merge.Inputs[1].Rows != 550 {
		t.Errorf("join by shuffle %+v", merge)
	}
	spark := strings.ReplaceAll(tez("Reducer 2 <- Map 1 (PARTITION-LEVEL SORT, 2), Map 3 (PARTITION-LEVEL SORT, 2)",
		shuffledScan("Map 1", 5, 5, 5)+shuffledScan("Map 3", 6, 6, 6)+fmt.Sprintf(mergeReducer, 2, "Inner Join 0 to 1")), "    Tez\n", "    Spark\n")
	if j := joinsOf(t, spark); len(j) != 1 || j[0].Strategy != advisor.Unknown {
		t.Errorf("Spark: %+v", j)
	}
}

// FuzzJoins: whatever can be read as a plan gives joins without a panic, with inputs in order and positions in range.
func FuzzJoins(f *testing.F) {
	for _, file := range planFiles(f) {
		f.Add(file.section("plain"))
		f.Add(file.section("user"))
	}
	f.Add(mapReduce)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := explain.Parse(text)
		if err != nil {
			return
		}
		for i, j := range advisor.Joins(p) {
			if j.Ordinal != i || j.BigTable < -1 || j.BigTable >= max(len(j.Inputs), 1) {
				t.Fatalf("join %d: %+v", i, j)
			}
			for pos, in := range j.Inputs {
				if in.Position != pos {
					t.Fatalf("join %d input %d: %+v", i, pos, in)
				}
			}
		}
	})
}

// BenchmarkJoins finds the joins of reviewed plans.
func BenchmarkJoins(b *testing.B) {
	var plans []*explain.Plan
	for _, file := range planFiles(b) {
		p, err := explain.Parse(file.section("extended"))
		if err != nil {
			b.Fatal(err)
		}
		plans = append(plans, p)
	}
	for b.Loop() {
		for _, p := range plans {
			if len(advisor.Joins(p)) == 0 {
				b.Fatal("no joins")
			}
		}
	}
}

// TestUnionCopies: Hive removes a union after its decision and copies what follows into each member; the streamed input
// it decided on was the whole union.
func TestUnionCopies(t *testing.T) {
	member := func(vertex string, rows int) string {
		return fmt.Sprintf(`
%s 
    Map Operator Tree:
        TableScan
          alias: %s
          Statistics: Num rows: %d Data size: %d Basic stats: COMPLETE Column stats: COMPLETE
          Select Operator
            expressions: id (type: int)
            outputColumnNames: _col0
            Statistics: Num rows: %d Data size: %d Basic stats: COMPLETE Column stats: COMPLETE
            Map Join Operator
              condition map:
                   Inner Join 0 to 1
              keys:
                0 _col0 (type: int)
                1 _col0 (type: int)
              outputColumnNames: _col0, _col2
              input vertices:
                1 Map 5
              Statistics: Num rows: 33 Data size: 330 Basic stats: COMPLETE Column stats: COMPLETE
              File Output Operator
                Statistics: Num rows: 33 Data size: 330 Basic stats: COMPLETE Column stats: COMPLETE`,
			vertex, strings.ReplaceAll(strings.ToLower(vertex), " ", ""), rows, rows*8, rows, rows*4)
	}
	for name, c := range map[string]struct {
		first, second    int
		rows, cumulative int64
	}{
		"members of their own size": {10, 20, 30, 10 + 10 + 20 + 20 + 30 + 30},
		"members of the same size":  {10, 10, 20, 4*10 + 20 + 20},
	} {
		joins := joinsOf(t, tez("Map 1 <- Map 5 (BROADCAST_EDGE), Union 2 (CONTAINS)\nMap 3 <- Map 5 (BROADCAST_EDGE), Union 2 (CONTAINS)",
			member("Map 1", c.first)+member("Map 3", c.second)+shuffledScan("Map 5", 4, 4, 4)+"\nUnion 2 \n    Vertex: Union 2"))
		if len(joins) != 2 {
			t.Fatalf("%s: %d joins", name, len(joins))
		}
		for _, j := range joins {
			if in := j.Inputs[0]; in.Rows != c.rows || in.DataSize != 4*c.rows || in.CumulativeRows != c.cumulative || in.Vertex != j.Vertex {
				t.Errorf("%s: %+v", name, in)
			}
			if j.Strategy != advisor.MapJoin || j.BigTable != 0 || j.Inputs[1].Rows != 4 {
				t.Errorf("%s: %+v", name, j)
			}
		}
	}
}
