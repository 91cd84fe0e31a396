package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"strings"
	"testing"
)

const (
	textPlanOf2 = `STAGE DEPENDENCIES:
  Stage-1 is a root stage

STAGE PLANS:
  Stage: Stage-1
    Tez
      Edges:
        Map 1 <- Map 2 (BROADCAST_EDGE)
        Reducer 3 <- Map 1 (SIMPLE_EDGE), Map 4 (SIMPLE_EDGE)
      Vertices:
        Map 1 
            Map Operator Tree:
                TableScan
                  Map Join Operator
                    condition map:
                         Inner Join 0 to 1
        Reducer 3 
            Reduce Operator Tree:
              Merge Join Operator
                condition map:
                     Inner Join 0 to 1
                Lateral View Join Operator
                  outputColumnNames: _col0
`
	jsonPlanOf1 = `{"STAGE PLANS":{"Stage-1":{"Tez":{"Vertices:":{"Map 1":{"Map Operator Tree:":[{"TableScan":{"children":{"Map Join Operator":{"condition map:":[{"":"Inner Join 0 to 1"}]}}}}]}}}}}}`
	userPlanOf1 = `Vertex dependency in root stage
Map 1 <- Map 2 (BROADCAST_EDGE)

Stage-0
  Fetch Operator
    limit:-1
    Stage-1
      Map 1
      Select Operator [SEL_3]
      <-Map Join Operator [MAPJOIN_2] (rows=1 width=8)
          Conds:TS_0.a=TS_1.a(Inner)
           Please refer to the previous Map Join Operator [MAPJOIN_1]
`
)

func line(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func TestCheck(t *testing.T) {
	file := line(t, map[string]any{"plan": textPlanOf2}) +
		line(t, map[string]any{"form": "formatted", "plan": jsonPlanOf1, "join": true}) +
		line(t, map[string]any{"query": "EXPLAIN SELECT 1", "file": "a.q.out", "plan": userPlanOf1, "form": "user", "what": []int{1}}) +
		line(t, map[string]any{"plan": masked + "\n" + masked + "\n"}) +
		line(t, map[string]any{"plan": strings.Replace(textPlanOf2, "    Tez\n", "    Spark\n", 1)})
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	if _, err := zw.Write([]byte(file)); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"lines": file, "gzip": zipped.String()} {
		var out strings.Builder
		c, err := check(strings.NewReader(text), &out)
		if err != nil || out.Len() > 0 {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
		if want := "plans=3 parsed=3 join_operators=4 joins=4"; c.String() != want {
			t.Errorf("%s: %s, want %s", name, c, want)
		}
		if c.spark != 1 || c.masked != 1 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestCheckTellsDifferences: what cannot be read, and what is read with too few joins, is told.
func TestCheckTellsDifferences(t *testing.T) {
	lost := strings.Replace(userPlanOf1, "      Map 1\n", "      note: nothing reads this\n        <-Map Join Operator [MAPJOIN_9]\n", 1)
	file := line(t, map[string]any{"plan": "no plan", "file": "x", "query": "EXPLAIN\n  SELECT 1"}) +
		line(t, map[string]any{"file": "y"}) +
		line(t, map[string]any{"plan": lost, "file": "z"})
	var out strings.Builder
	c, err := check(strings.NewReader(file), &out)
	if err != nil || c.differences != 3 || c.parsed != 0 {
		t.Fatalf("%+v, %v\n%s", c, err, out.String())
	}
	for _, want := range []string{"1 x () EXPLAIN SELECT 1: line 1: no plan", `2 y () : no "plan"`, "3 z () : line 9: <-Map Join Operator [MAPJOIN_9]"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if _, err := check(strings.NewReader("{\"plan\":"), &out); err == nil {
		t.Error("a file that is cut off gives no error")
	}
}

// TestJoinOperators counts by the text alone, which a parser's mistake must not change.
func TestJoinOperators(t *testing.T) {
	for text, want := range map[string]int{
		textPlanOf2: 2,
		jsonPlanOf1: 1,
		userPlanOf1: 1,
		"| STAGE PLANS: |\r\n|     Join Operator   |\r\n": 1,
		"STAGE PLANS:\n  predicate: (a = 'Join Operator') (type: boolean)\n  Stage: Stage-0\n    Sorted Merge Bucket Map Join Operator\n": 1,
		`{"CBOPlan":"{\"Map Join Operator\":{}}","STAGE PLANS":{"Join Operator": {}, "Lateral View Join Operator":{}}}`:                   1,
	} {
		if got := joinOperators(text); got != want {
			t.Errorf("%d, want %d: %s", got, want, text)
		}
	}
}
