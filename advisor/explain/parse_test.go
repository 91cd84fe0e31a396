package explain_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// tezPlan is a plan with what a reader can stumble over: an operator and attributes it does not know, a value with a
// line break, a vertex of two trees, partitions, a union.
const tezPlan = `OPTIMIZED SQL: SELECT *
FROM ` + "`shop`.`orders`" + `
Warning: Shuffle Join MERGEJOIN[12][tables = [a, b]] in Stage 'Reducer 2' is a cross product
STAGE DEPENDENCIES:
  Stage-1 is a root stage
  Stage-2 depends on stages: Stage-1
  Stage-0 depends on stages: Stage-2, Stage-1 , consists of Stage-3

STAGE PLANS:
  Stage: Stage-1
    Tez
      DagId: hive_1
      Edges:
        Map 1 <- Union 3 (CONTAINS)
        Reducer 2 <- Map 1 (SIMPLE_EDGE), Map 4 (CUSTOM_SIMPLE_EDGE)
      Vertices:
        Map 1 
            Map Operator Tree:
                TableScan
                  alias: o
                  Statistics: Num rows: 12/7 Data size: 96 Basic stats: COMPLETE Column stats: PARTIAL
                  GatherStats: false
                  Shiny New Operator
                    brightness: high
                    colours:
                      0 red (type: string)
                      1 blue (type: string)
                    Filter Operator
                      predicate: (note = 'first
  second: third') (type: boolean)
                      Statistics: (RUNTIME) Num rows: 3 Data size: 24 Basic stats: COMPLETE Column stats: NONE
                      Reduce Output Operator
                        key expressions: id (type: decimal(10,2)), concat(a, ', ') (type: string)
                        tag: 0
            Execution mode: vectorized, llap
            LLAP IO: all inputs
            Path -> Alias:
              hdfs://nn/warehouse/shop.db/orders/ds=2026-01-01/h=3 [sub:o]
            Path -> Partition:
              hdfs://nn/warehouse/shop.db/orders/ds=2026-01-01/h=3 
                Partition
                  base file name: h=3
                  partition values:
                    ds 2026-01-01
                    h 3
                  properties:
                    bucket_count 4
                    name shop.orders
                  serde: org.apache.hadoop.hive.ql.io.orc.OrcSerde
                
                    input format: org.apache.hadoop.hive.ql.io.orc.OrcInputFormat
                    properties:
                      EXTERNAL TRUE
                      avro.schema.literal {
  "type" : "record",
    "fields" : [ {
      "name" : "id"
    } ]
}
                      bucket_count 8
                      columns.comments 
                      name shop.orders
                    serde: org.apache.hadoop.hive.ql.io.orc.OrcSerde
                    name: shop.orders
                  name: shop.orders
        Reducer 2 
            Reduce Operator Tree:
              Group By Operator
                keys: KEY._col0 (type: int)
                Dummy Store
            Reduce Operator Tree:
              Group By Operator
                keys: KEY._col0 (type: int)
                Merge Join Operator
                  condition map:
                       Inner Join 0 to 1
                  keys:
                    0 _col0 (type: int)
                    1 _col0 (type: int)
        Union 3 
            Vertex: Union 3

  Stage: Stage-2
    Move Operator
      tables:
          replace: true

  Stage: Stage-0
    Fetch Operator
      limit: -1
      Processor Tree:
        ListSink
`

func parse(t *testing.T, text string) *explain.Plan {
	t.Helper()
	p, err := explain.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParseTez(t *testing.T) {
	p := parse(t, tezPlan)
	if p.Form != explain.FormExtended || p.Engine != explain.EngineTez || len(p.Stages) != 3 {
		t.Fatalf("form %s, engine %s, %d stages", p.Form, p.Engine, len(p.Stages))
	}
	if want := "SELECT *\nFROM `shop`.`orders`"; p.OptimizedSQL != want {
		t.Errorf("optimized SQL %q, want %q", p.OptimizedSQL, want)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "cross product") {
		t.Errorf("warnings %q", p.Warnings)
	}
	s := p.Stages[0]
	if !s.Root || s.Kind != "Tez" || len(s.Vertices) != 3 {
		t.Fatalf("stage %+v", s)
	}
	if last := p.Stages[2]; !slices.Equal(last.DependsOn, []string{"Stage-2", "Stage-1"}) || len(last.Roots) != 1 {
		t.Errorf("fetch stage %+v", last)
	}
	want := []explain.Edge{
		{From: "Map 1", To: "Union 3", Type: explain.EdgeContains},
		{From: "Map 1", To: "Reducer 2", Type: "SIMPLE_EDGE"},
		{From: "Map 4", To: "Reducer 2", Type: "CUSTOM_SIMPLE_EDGE"},
	}
	if !slices.Equal(s.Edges, want) {
		t.Errorf("edges %v", s.Edges)
	}
	if reducer := s.Vertices[1]; reducer.Kind != explain.VertexReduce || len(reducer.Roots) != 2 {
		t.Errorf("a reducer with two trees has %d roots", len(reducer.Roots))
	}
	if union := s.Vertices[2]; union.Kind != explain.VertexUnion || union.Name != "Union 3" {
		t.Errorf("union %+v", union)
	}
}

func TestParseOperators(t *testing.T) {
	v := parse(t, tezPlan).Stages[0].Vertices[0]
	var kinds []string
	var ops []*explain.Operator
	for o := range v.Operators() {
		kinds = append(kinds, o.Kind)
		ops = append(ops, o)
	}
	if want := []string{"TableScan", "Shiny New Operator", "Filter Operator", "Reduce Output Operator"}; !slices.Equal(kinds, want) {
		t.Fatalf("operators %q, want %q", kinds, want)
	}
	scan, shiny, filter, sink := ops[0], ops[1], ops[2], ops[3]
	if st := *scan.Stats; st != (explain.Statistics{Rows: 12, ActualRows: 7, DataSize: 96, Width: -1, Basic: "COMPLETE", Column: "PARTIAL"}) {
		t.Errorf("statistics %+v", st)
	}
	if filter.Stats.Rows != 3 || filter.Parent != shiny || shiny.Children[0] != filter {
		t.Errorf("filter: %d rows, parent %v", filter.Stats.Rows, filter.Parent.Kind)
	}
	if v, _ := shiny.Attr("brightness"); v != "high" {
		t.Errorf("unknown attribute %q", v)
	}
	if g := shiny.Group("colours"); len(g) != 2 || g[1].Name != "1" || g[1].Value != "blue (type: string)" {
		t.Errorf("unknown group %+v", g)
	}
	if v, _ := filter.Attr("predicate"); v != "(note = 'first\nsecond: third') (type: boolean)" {
		t.Errorf("predicate %q", v)
	}
	keys, _ := sink.Attr("key expressions")
	if got, want := explain.Exprs(keys), []explain.Expr{{"id", "decimal(10,2)"}, {"concat(a, ', ')", "string"}}; !slices.Equal(got, want) {
		t.Errorf("key expressions %q", got)
	}
	if !strings.Contains(strings.Split(tezPlan, "\n")[sink.Line-1], "Reduce Output Operator") {
		t.Errorf("line %d", sink.Line)
	}
}

func TestParseSources(t *testing.T) {
	v := parse(t, tezPlan).Stages[0].Vertices[0]
	if len(v.Sources) != 1 {
		t.Fatalf("sources %+v", v.Sources)
	}
	s := v.Sources[0]
	if s.Table != "shop.orders" || s.Partition != "ds=2026-01-01/h=3" || !slices.Equal(s.Aliases, []string{"o"}) {
		t.Errorf("source %+v", s)
	}
	if s.Properties["bucket_count"] != "8" || s.PartitionProperties["bucket_count"] != "4" || s.Properties["EXTERNAL"] != "TRUE" {
		t.Errorf("properties %v, of the partition %v", s.Properties, s.PartitionProperties)
	}
	if !strings.HasPrefix(s.Properties["avro.schema.literal"], `{"type" : "record"`) {
		t.Errorf("schema %q", s.Properties["avro.schema.literal"])
	}
}

const mrPlan = `STAGE DEPENDENCIES:
  Stage-3 is a root stage
  Stage-1 depends on stages: Stage-3
  Stage-0 depends on stages: Stage-1

STAGE PLANS:
  Stage: Stage-3
    Map Reduce Local Work
      Alias -> Map Local Tables:
        sub:b 
          Fetch Operator
            limit: -1
      Alias -> Map Local Operator Tree:
        sub:b 
          TableScan
            alias: b
            HashTable Sink Operator
              keys:
                0 key (type: int)
                1 key (type: int)

  Stage: Stage-1
    Map Reduce
      Map Operator Tree:
          TableScan
            alias: a
            Map Join Operator
              condition map:
                   Inner Join 0 to 1
              keys:
                0 key (type: int)
                1 key (type: int)
              Reduce Output Operator
                sort order: +
      Execution mode: vectorized
      Local Work:
        Map Reduce Local Work
      Reduce Operator Tree:
        Join Operator
          condition map:
               Outer Join 0 to 1
          keys:
            0 _col0 (type: int)
            1 _col0 (type: int)

  Stage: Stage-0
    Fetch Operator
      limit: -1
`

func TestParseMR(t *testing.T) {
	p := parse(t, mrPlan)
	if p.Engine != explain.EngineMR || p.Form != explain.FormPlain {
		t.Fatalf("engine %s, form %s", p.Engine, p.Form)
	}
	var vertices []string
	for _, s := range p.Stages {
		for _, v := range s.Vertices {
			vertices = append(vertices, v.Name+" "+string(v.Kind))
		}
	}
	if want := []string{"Stage-3 Local LOCAL", "Stage-1 Map MAP", "Stage-1 Reduce REDUCE"}; !slices.Equal(vertices, want) {
		t.Errorf("vertices %q, want %q", vertices, want)
	}
	if got := countJoins(p); got != 2 {
		t.Errorf("%d joins", got)
	}
	if a := p.Stages[0].Vertices[0].Sources; len(a) != 1 || a[0].Aliases[0] != "b" {
		t.Errorf("local tables %+v", a)
	}
	spark := strings.NewReplacer("    Tez\n", "    Spark\n", "(SIMPLE_EDGE)", "(PARTITION-LEVEL SORT, 2)").Replace(tezPlan)
	if p := parse(t, spark); p.Engine != explain.EngineSpark {
		t.Errorf("Spark is read as %s", p.Engine)
	}
}

// TestParseErrors: text that is no plan, or half a plan, gives one error that names the line.
func TestParseErrors(t *testing.T) {
	lines := strings.SplitAfter(tezPlan, "\n")
	cut := func(n int) string { return strings.Join(lines[:n], "") }
	for name, c := range map[string]struct {
		text string
		line int
	}{
		"nothing":                        {"", 1},
		"blank lines":                    {"\n \n\t\n", 1},
		"no plan":                        {"\nSELECT 1;\n", 2},
		"an error of Hive":               {"Error: Error while compiling statement: FAILED: SemanticException [Error 10001]", 1},
		"only the optimized SQL":         {cut(2), 1},
		"cut in the dependencies":        {cut(6), 6},
		"cut after STAGE PLANS":          {cut(9), 9},
		"cut after the name of a stage":  {cut(10), 10},
		"cut before the vertices":        {cut(15), 11},
		"cut in the first stage":         {cut(40), 40},
		"an edge without a type":         {strings.Replace(tezPlan, "Map 1 (SIMPLE_EDGE)", "Map 1", 1), 15},
		"JSON cut off":                   {`{"STAGE DEPENDENCIES":{"Stage-1":{"ROOT STAGE":"TRUE"}},"STAGE PLANS":{"Stage-1":{"Te`, 1},
		"JSON of something else":         {"\n" + `{"name":"x"}`, 2},
		"user level, a stage is missing": {"Vertex dependency in root stage\nMap 1 <- Map 2 (BROADCAST_EDGE)\n", 2},
	} {
		p, err := explain.Parse(c.text)
		var syntax *explain.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: plan %v, error %v", name, p, err)
			continue
		}
		if syntax.Line != c.line || syntax.Msg == "" || p != nil {
			t.Errorf("%s: %v, want line %d", name, err, c.line)
		}
	}
}

// TestParseOtherForms: EXPLAIN has forms without operators.
func TestParseOtherForms(t *testing.T) {
	for text, want := range map[string]explain.Form{
		"CBO PLAN:\nHiveProject(a=[$0])\n  HiveTableScan(table=[[default, t]])\n":                        explain.FormCBO,
		"ABSTRACT SYNTAX TREE:\n  \nTOK_QUERY\n   TOK_FROM\n":                                            explain.FormAST,
		"LOCK INFORMATION:\ndefault.t -> SHARED_READ\n":                                                  explain.FormLocks,
		"INPUTS: \n  default@t\nOUTPUTS: \n":                                                             explain.FormAuthorization,
		`{"INPUTS":["database:default"],"OUTPUTS":[],"OPERATION":"SWITCHDATABASE"}`:                      explain.FormAuthorization,
		`{"input_tables":[{"tablename":"default@t","tabletype":"MANAGED_TABLE"}],"input_partitions":[]}`: explain.FormDependency,
		"PLAN VECTORIZATION:\n  enabled: false\n":                                                        explain.FormVectorization,
		"STAGE DEPENDENCIES:\n\nSTAGE PLANS:\n":                                                          explain.FormPlain,
		"PLAN VECTORIZATION:\n  enabled: true\n\nSTAGE DEPENDENCIES:\n  Stage-0 is a root stage\n\nSTAGE PLANS:\n  Stage: Stage-0\n    Fetch Operator\n": explain.FormPlain,
	} {
		if p := parse(t, text); p.Form != want || p.Engine != explain.EngineNone {
			t.Errorf("%q is read as %s on %s, want %s", text, p.Form, p.Engine, want)
		}
	}
}

const userPlan = `Plan optimized by CBO.

Vertex dependency in root stage
Map 1 <- Union 2 (CONTAINS)
Reducer 3 <- Map 4 (SIMPLE_EDGE), Union 2 (SIMPLE_EDGE)

Stage-0
  Fetch Operator
    limit:-1
    Stage-1
      Reducer 3 vectorized, llap
      File Output Operator [FS_9]
        Merge Join Operator [MERGEJOIN_8] (rows=10/4 width=16)
          Conds:Union 2._col0=RS_7._col0(Left Outer),Output:["_col0","_col1"]
        <-Map 4 [SIMPLE_EDGE] llap
          SHUFFLE [RS_7]
            PartitionCols:_col0, _col1
             Please refer to the previous Select Operator [SEL_3]
        <-Union 2 [SIMPLE_EDGE]
          <-Map 1 [CONTAINS] llap
            Reduce Output Operator [RS_4]
              PartitionCols:_col0
              Select Operator [SEL_3] (rows=5 width=8)
                Output:["_col0"]
                TableScan [TS_0] (rows=5 width=8)
                  shop@orders,o,Tbl:COMPLETE,Col:NONE,Output:["id"]
`

func TestParseUser(t *testing.T) {
	p := parse(t, userPlan)
	if p.Form != explain.FormUser || p.Engine != explain.EngineTez || p.CBO != "Plan optimized by CBO." {
		t.Fatalf("form %s, engine %s, CBO %q", p.Form, p.Engine, p.CBO)
	}
	s := p.Stages[1]
	if s.ID != "Stage-1" || s.Kind != "Tez" || !slices.Equal(p.Stages[0].DependsOn, []string{"Stage-1"}) {
		t.Fatalf("stages %+v", p.Stages)
	}
	var join *explain.Operator
	for _, v := range s.Vertices {
		for o := range v.Operators() {
			if o.ID == "MERGEJOIN_8" {
				join = o
			}
		}
	}
	if join == nil || join.Vertex.Name != "Reducer 3" || join.Vertex.ExecutionMode != "vectorized, llap" || len(join.Inputs) != 2 {
		t.Fatalf("join %+v", join)
	}
	if *join.Stats != (explain.Statistics{Rows: 10, ActualRows: 4, DataSize: -1, Width: 16}) {
		t.Errorf("statistics %+v", *join.Stats)
	}
	sink, union := join.Inputs[0], join.Inputs[1]
	if sink.ID != "RS_7" || sink.Kind != "SHUFFLE" || len(sink.Inputs) != 1 || sink.Inputs[0].ID != "SEL_3" {
		t.Errorf("an input that is printed elsewhere: %+v", sink)
	}
	if cols, _ := sink.Attr("PartitionCols"); cols != "_col0, _col1" {
		t.Errorf("attribute %q", cols)
	}
	if union.Kind != "Union" || union.Inputs[0].ID != "RS_4" {
		t.Errorf("union %+v", union)
	}
	scan := union.Inputs[0].Inputs[0].Inputs[0]
	table, _ := scan.Attr("table")
	alias, _ := scan.Attr("alias")
	output, _ := scan.Attr("Output")
	if table != "shop.orders" || alias != "o" || !slices.Equal(explain.Names(output), []string{"id"}) || scan.Stats.Column != "NONE" {
		t.Errorf("scan of %s %s, output %s, %+v", table, alias, output, *scan.Stats)
	}
}

// TestParseUserStages: Hive prints a stage that the vertices' one depends on below its last vertex, and a stage's task
// with its properties.
func TestParseUserStages(t *testing.T) {
	p := parse(t, userPlan+`        Stage-2
          Create Table{"name:":"shop.q1"}
            Stage-3
              Map 5 vectorized
              File Output Operator [FS_12]
                TableScan [TS_11] (rows=5 width=8)
                  shop@orders,o,Tbl:COMPLETE,Col:NONE,Output:["id"]
        Stage-4
          Move Operator
             Please refer to the previous Stage-3
`)
	var got []string
	for _, s := range p.Stages {
		got = append(got, s.ID+" "+s.Kind+" on "+strings.Join(s.DependsOn, " "))
	}
	want := []string{"Stage-0 Fetch Operator on Stage-1", "Stage-1 Tez on Stage-2 Stage-4", "Stage-2 Create Table on Stage-3", "Stage-3 Tez on ", "Stage-4 Move Operator on Stage-3"}
	if !slices.Equal(got, want) {
		t.Errorf("stages %q, want %q", got, want)
	}
}

func TestExprs(t *testing.T) {
	for text, want := range map[string][]explain.Expr{
		"":              nil,
		"a (type: int)": {{"a", "int"}},
		"'it''s, (so)' (type: string), f(a, b) (type: struct<x:int,y:decimal(3,1)>)": {{"'it''s, (so)'", "string"}, {"f(a, b)", "struct<x:int,y:decimal(3,1)>"}},
		"count(), sum(VALUE._col0)": {{"count()", ""}, {"sum(VALUE._col0)", ""}},
		"an ' open quote, b":        {{"an ' open quote", ""}, {"b", ""}},
		"((((, a":                   {{"((((, a", ""}},
	} {
		if got := explain.Exprs(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
