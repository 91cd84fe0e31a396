package queryast

// Span is a part of the text: byte offsets, the end behind the last byte.
type Span struct{ Start, End int }

// Query is a query with what stands around it. Names in it are in lower case and without quotes.
type Query struct {
	Span
	// SQL is the whole text, also in the queries inside another.
	SQL  string
	With []CTE
	// Branches are what the query yields: one, or several in a multi-insert, whose selects share one From.
	Branches []Branch
}

// CTE is one name of a WITH clause.
type CTE struct {
	Name    string
	Columns []string
	Query   *Query
}

// Branch is a result and where it goes. Target is nil where it goes to the client.
type Branch struct {
	Target *Target
	Body   Body
}

// TargetKind is where a result goes.
type TargetKind string

// Kinds of targets.
const (
	InsertInto      TargetKind = "INSERT INTO"
	InsertOverwrite TargetKind = "INSERT OVERWRITE"
	Directory       TargetKind = "INSERT OVERWRITE DIRECTORY"
	CreateTable     TargetKind = "CREATE TABLE AS"
	CreateView      TargetKind = "CREATE VIEW AS"
)

// Target is the table, view or directory a result goes to; Table is nil for a directory.
type Target struct {
	Kind  TargetKind
	Table *TableName
}

// TableName names a table; Database is empty where the text has none.
type TableName struct{ Database, Name string }

// String is the name as in "database.table".
func (t TableName) String() string {
	if t.Database == "" {
		return t.Name
	}
	return t.Database + "." + t.Name
}

// Body is a *Select or a *SetOperation.
type Body interface {
	Pos() Span
	body()
}

// SetOperation is UNION, EXCEPT, MINUS or INTERSECT of two bodies. Op is in upper case, with ALL or DISTINCT where written.
type SetOperation struct {
	node
	Op          string
	Left, Right Body
	// OrderBy and Limit are for the whole; see Select.
	OrderBy []Expr
	Limit   bool
}

// Select is one SELECT with its clauses.
type Select struct {
	node
	// Hint is the text of /*+ … */ with its marks, empty without one.
	Hint     string
	Distinct bool
	Items    []Item
	From     *From // nil without FROM
	Where    Expr  // nil without WHERE; so are Having and Qualify
	GroupBy  []Expr
	Having   Expr
	Qualify  Expr
	// OrderBy holds the expressions of ORDER, SORT, DISTRIBUTE and CLUSTER BY.
	OrderBy []Expr
	// Limit says that the rows are cut off.
	Limit bool
	// bracketed: what follows behind the brackets is not this select's.
	bracketed bool
}

// Item is one entry of a select list.
type Item struct {
	Span
	// Star is * (Expr is nil); Qualifier is the table of t.*, "database.table" where so written.
	Star      bool
	Qualifier string
	Expr      Expr
	// Aliases are several for a table-generating function.
	Aliases []string
}

// From is a FROM clause. Hive joins from left to right: Joins[i] joins Sources[i+1] to all sources before it.
type From struct {
	Span
	Sources      []Source
	Joins        []Join
	LateralViews []LateralView
}

// Source is a table, a subquery or a list of VALUES (then both Table and Query are nil).
type Source struct {
	Span
	Table *TableName
	Query *Query
	// Alias as written; empty where there is none.
	Alias string
}

// Name is what columns are qualified with: the alias, else the table's name without its database.
func (s *Source) Name() string {
	if s.Alias == "" && s.Table != nil {
		return s.Table.Name
	}
	return s.Alias
}

// LateralView is LATERAL VIEW; After is the number of sources it stands behind.
type LateralView struct {
	Span
	Outer   bool
	Call    Expr
	Alias   string
	Columns []string
	After   int
}

// JoinType is the kind of a join.
type JoinType string

// Join types.
const (
	Inner      JoinType = "INNER"
	Comma      JoinType = "COMMA"
	Cross      JoinType = "CROSS"
	LeftOuter  JoinType = "LEFT OUTER"
	RightOuter JoinType = "RIGHT OUTER"
	FullOuter  JoinType = "FULL OUTER"
	LeftSemi   JoinType = "LEFT SEMI"
	LeftAnti   JoinType = "LEFT ANTI"
)

// Outer tells the joins that pad rows with nulls.
func (t JoinType) Outer() bool { return t == LeftOuter || t == RightOuter || t == FullOuter }

// Join is one join: the span runs from its keyword to the end of its condition.
type Join struct {
	Span
	Type JoinType
	// On is nil without ON; Using are the columns of USING.
	On    Expr
	Using []string
}
