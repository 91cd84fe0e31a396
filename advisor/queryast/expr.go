package queryast

// node is what all nodes have: their place in the text. Round brackets around an expression belong to it, so that its
// text stands for itself.
type node struct{ span Span }

// Pos is the node's place in the text.
func (n *node) Pos() Span { return n.span }

func (n *node) setSpan(s Span) { n.span = s }

func (*SetOperation) body() {}
func (*Select) body()       {}

// Expr is one of the pointers to the types below.
type Expr interface {
	Pos() Span
	setSpan(Span)
}

// And holds two or more operands, none of which is an And.
type And struct {
	node
	Operands []Expr
}

// Or holds two or more operands, none of which is an Or.
type Or struct {
	node
	Operands []Expr
}

// Not negates. NOT IN, NOT LIKE, NOT BETWEEN and IS NOT are flags of their own nodes instead.
type Not struct {
	node
	Operand Expr
}

// Comparison compares with =, <>, <, <=, > or >=, or with <=>, which takes NULL for a value (IS NOT DISTINCT FROM is
// written <=> too, and IS DISTINCT FROM is its Not).
type Comparison struct {
	node
	Op          string
	Left, Right Expr
}

// Is tests for NULL, TRUE, FALSE or UNKNOWN (What, in upper case).
type Is struct {
	node
	Operand Expr
	Not     bool
	What    string
}

// In tests for membership in List or in Query; the other one is nil.
type In struct {
	node
	Operand Expr
	Not     bool
	List    []Expr
	Query   *Query
}

// Exists tests a subquery for rows.
type Exists struct {
	node
	Query *Query
}

// Quantified compares with SOME (ANY is written SOME) or ALL rows of a subquery.
type Quantified struct {
	node
	Operand        Expr
	Op, Quantifier string
	Query          *Query
}

// Between tests for a range, both ends included.
type Between struct {
	node
	Operand   Expr
	Not       bool
	Low, High Expr
}

// Like matches a pattern; Op is LIKE, RLIKE or REGEXP, or LIKE ANY or LIKE ALL with several patterns.
type Like struct {
	node
	Operand  Expr
	Not      bool
	Op       string
	Patterns []Expr
}

// Case is both forms of CASE; Operand and Else may be nil.
type Case struct {
	node
	Operand Expr
	Whens   []When
	Else    Expr
}

// When is one WHEN … THEN ….
type When struct{ Condition, Result Expr }

// Call is a function call. Name is in lower case, "database.function" where so written.
type Call struct {
	node
	Name     string
	Distinct bool
	Star     bool // count(*)
	Args     []Expr
	// Window says that OVER follows; Over are the expressions it partitions and orders by.
	Window bool
	Over   []Expr
}

// Cast is CAST; Type is in lower case, as written otherwise.
type Cast struct {
	node
	Operand Expr
	Type    string
}

// Binary is arithmetic, bits and ||; Op in upper case.
type Binary struct {
	node
	Op          string
	Left, Right Expr
}

// Unary is +, - or ~.
type Unary struct {
	node
	Op      string
	Operand Expr
}

// LiteralKind is the kind of a constant.
type LiteralKind string

// Literal kinds. Other covers dates, timestamps, intervals and text with a character set.
const (
	String  LiteralKind = "STRING"
	Number  LiteralKind = "NUMBER"
	Boolean LiteralKind = "BOOLEAN"
	Null    LiteralKind = "NULL"
	Other   LiteralKind = "OTHER"
)

// Literal is a constant. Value is a string's text without quotes and escapes, else the constant as written.
type Literal struct {
	node
	Kind  LiteralKind
	Value string
}

// Parameter is the ? of a prepared statement.
type Parameter struct{ node }

// ColumnRef is a name or names with dots between: column, table.column, database.table.column, or a column with the
// fields of a struct. Which of these needs the tables to tell.
type ColumnRef struct {
	node
	Parts []string
}

// Qualifier is the first of several parts, empty for one alone.
func (c *ColumnRef) Qualifier() string {
	if len(c.Parts) < 2 {
		return ""
	}
	return c.Parts[0]
}

// Name is the column's name if Qualifier is a table, or if there is none.
func (c *ColumnRef) Name() string {
	if len(c.Parts) < 2 {
		return c.Parts[0]
	}
	return c.Parts[1]
}

// Field is a field of an expression that is no column.
type Field struct {
	node
	Operand Expr
	Name    string
}

// Index is an element of an array or a map.
type Index struct {
	node
	Operand, Index Expr
}

// Tuple is (a, b).
type Tuple struct {
	node
	Elements []Expr
}

// Subquery is a query that stands for one value.
type Subquery struct {
	node
	Query *Query
}
