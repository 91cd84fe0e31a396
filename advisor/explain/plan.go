package explain

// Form is the text form of a plan.
type Form string

// Forms. Extended is the one verdicts are based on.
const (
	FormPlain     Form = "PLAIN"
	FormExtended  Form = "EXTENDED"
	FormUser      Form = "USER"
	FormFormatted Form = "FORMATTED"
)

// Forms of EXPLAIN that hold no operators; a Plan of such a form has no stages.
const (
	FormCBO           Form = "CBO"
	FormAST           Form = "AST"
	FormDependency    Form = "DEPENDENCY"
	FormAuthorization Form = "AUTHORIZATION"
	FormLocks         Form = "LOCKS"
	FormRewrite       Form = "REWRITE"
	FormVectorization Form = "VECTORIZATION" // EXPLAIN VECTORIZATION of a server with vectorization off; otherwise it is PLAIN
)

// Engine is the execution engine a plan is for.
type Engine string

// Engines.
const (
	EngineTez   Engine = "TEZ"
	EngineMR    Engine = "MR"
	EngineSpark Engine = "SPARK"
	EngineNone  Engine = "NONE" // no work to run: a fetch task alone
)

// Plan is one EXPLAIN output, as read. It judges nothing.
type Plan struct {
	Form   Form
	Engine Engine
	// CBO is the line about the cost-based optimizer ("Plan optimized by CBO."), empty when there is none.
	CBO string
	// OptimizedSQL is the text after "OPTIMIZED SQL:" (EXTENDED, Hive 4), empty otherwise.
	OptimizedSQL string
	// Warnings are lines such as "Warning: Shuffle Join MERGEJOIN[12] ... is a cross product".
	Warnings []string
	Stages   []*Stage
}

// Stage is one stage of the plan.
type Stage struct {
	ID        string
	Root      bool
	DependsOn []string
	// Kind is the stage's task as printed: "Tez", "Map Reduce", "Spark", "Fetch Operator", "Move Operator", "Stats Work", …
	Kind     string
	Vertices []*Vertex
	Edges    []Edge
	// Attrs are the lines of stages without operators (Move Operator, Stats Work, …).
	Attrs []Attr
	// Roots are the operators of stages without vertices (Fetch Operator's processor tree); vertices hold their own.
	Roots []*Operator
}

// EdgeType is Tez's edge type as printed: SIMPLE_EDGE, BROADCAST_EDGE, CUSTOM_EDGE, CUSTOM_SIMPLE_EDGE, CONTAINS, …
type EdgeType string

// EdgeContains says that a vertex writes into a union: From is the member, To the union
// (Hive prints it the other way round, "Map 5 <- Union 3 (CONTAINS)").
const EdgeContains EdgeType = "CONTAINS"

// Edge leads from the vertex that produces to the one that consumes.
type Edge struct {
	From, To string
	Type     EdgeType
}

// VertexKind tells map from reduce vertices.
type VertexKind string

// Vertex kinds. An MR stage is read as two vertices, its map and its reduce side ("Stage-1 Map", "Stage-1 Reduce");
// the local work that builds an MR map join's hash tables is a vertex of its own ("Stage-3 Local").
const (
	VertexMap    VertexKind = "MAP"
	VertexReduce VertexKind = "REDUCE"
	VertexUnion  VertexKind = "UNION"
	VertexLocal  VertexKind = "LOCAL"
	VertexOther  VertexKind = "OTHER" // "File Merge" and what else has no operators
)

// Vertex is one Tez vertex (or one side of an MR stage).
type Vertex struct {
	Name  string
	Kind  VertexKind
	Roots []*Operator
	// ExecutionMode is "vectorized", "llap", "vectorized, llap", …, empty when not printed.
	ExecutionMode string
	// Sources are the tables and partitions of EXTENDED's "Path -> Partition".
	Sources []Source
	// Unread are the tables of scans whose partitions are all pruned, so that EXTENDED prints no path for them. Only table
	// and alias are known, from the optimized SQL.
	Unread []Source
	Attrs  []Attr
	Stage  *Stage
}

// Source is one path a vertex reads.
type Source struct {
	Path    string
	Aliases []string
	// Table is "database.table"; Partition is "ds=2024-01-01" or empty.
	Table     string
	Partition string
	// Properties are the table's (not the partition's) properties as printed: bucket_count, bucket_field_name, EXTERNAL, bucketing_version, numRows, …
	Properties map[string]string
	// PartitionProperties are the partition's own, nil for an unpartitioned table.
	PartitionProperties map[string]string
}

// Attr is one "name: value" line below an operator; Children are the lines indented below it.
type Attr struct {
	Name, Value string
	Children    []Attr
}

// Statistics is a "Statistics:" line.
type Statistics struct {
	Rows, DataSize int64 // −1 when absent
	// Width is the average row in bytes, which user-level plans print in place of the data size; −1 when absent.
	Width int64
	// ActualRows is what EXPLAIN ANALYZE counted ("500/37"); −1 when absent.
	ActualRows int64
	// Basic and Column are COMPLETE, PARTIAL, NONE, or empty when not printed (user-level plans print only rows and width).
	Basic, Column string
}

// Operator is one operator of a vertex's tree. Children consume what it produces.
type Operator struct {
	// Kind as printed without its identifier: "TableScan", "Map Join Operator", "Merge Join Operator", "Reduce Output Operator", …
	Kind string
	// ID is Hive's operator identifier ("MAPJOIN_25") where the form prints it.
	ID       string
	Attrs    []Attr
	Stats    *Statistics
	Parent   *Operator
	Children []*Operator
	// Inputs are all operators that feed this one, in printed order and across vertices. Only user-level plans print
	// them; elsewhere the vertex's edges and the Reduce Output Operators' tags tell.
	Inputs []*Operator
	Vertex *Vertex
	// Line is the 1-based line of the text the operator starts on; 0 for JSON.
	Line int
}

// Attr returns the value of the first attribute with that name.
func (o *Operator) Attr(name string) (string, bool) {
	for _, a := range o.Attrs {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// Group returns the lines indented below the first attribute with that name ("keys", "condition map", "input vertices").
func (o *Operator) Group(name string) []Attr {
	for _, a := range o.Attrs {
		if a.Name == name {
			return a.Children
		}
	}
	return nil
}
