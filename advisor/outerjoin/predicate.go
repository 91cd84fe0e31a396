package outerjoin

import "github.com/hs2proxy/hs2proxy/advisor/queryast"

// Place is when a predicate is evaluated, by its place in the text.
type Place string

// Places: in the condition of the outer join, or behind it (WHERE, or the condition of a later inner join).
const (
	DuringJoin Place = "DURING_JOIN"
	AfterJoin  Place = "AFTER_JOIN"
)

// Side is what the outer join does to the rows of the table a predicate is about.
type Side string

// Sides. Those of a FULL join are both.
const (
	PreservedRow  Side = "PRESERVED_ROW"
	NullSupplying Side = "NULL_SUPPLYING"
	Both          Side = "PRESERVED_ROW_AND_NULL_SUPPLYING"
)

// Found is where the plan evaluates a predicate.
type Found string

// Places in the plan. NotFound says nothing: the plan may hold the predicate in another form.
const (
	NotFound  Found = ""
	BelowJoin Found = "BELOW_JOIN" // a filter on the table before the join, or partitions that are not read
	InJoin    Found = "IN_JOIN"    // a filter predicate of the join operator
	AboveJoin Found = "ABOVE_JOIN" // a filter on the join's output
)

// Predicate is one predicate of a query with its place relative to one outer join.
type Predicate struct {
	// Text is the predicate as the query has it, or as the plan has it where only that is known (Span is zero then).
	Text string        `json:"text"`
	Span queryast.Span `json:"-"`
	// Join is the outer join as in "t1 LEFT OUTER JOIN t2"; Type is its type in the text.
	Join string            `json:"join"`
	Type queryast.JoinType `json:"type"`
	// Tables are the names the query gives the tables the predicate is about; empty where a plan alone does not tell.
	Tables []string `json:"tables,omitempty"`
	Place  Place    `json:"place"`
	Side   Side     `json:"side"`
	// Pushable: the rule lets Hive evaluate the predicate below the join.
	Pushable bool  `json:"pushable"`
	Found    Found `json:"found,omitempty"`
	// Planned is the type the plan has for the join, as seen from the text's order of tables; empty when unknown.
	Planned queryast.JoinType `json:"planned,omitempty"`
	// RejectsNulls: the predicate is never true for a row that the join padded, so no such row is in the result.
	RejectsNulls bool `json:"rejects_nulls,omitempty"`
	// PartitionsRead are those the plan reads of the predicate's table, PartitionsNeedless those of them in which it is
	// true for no row; both 0 when the predicate is about more than partition columns, or the plan does not tell.
	PartitionsRead     int `json:"partitions_read,omitempty"`
	PartitionsNeedless int `json:"partitions_needless,omitempty"`

	at *site
}

// site is where a predicate stands in its query; nil for one that only a plan tells of.
type site struct {
	scope *scope
	expr  queryast.Expr
	mask  mask
	// join is the outer join's place in From.Joins; written the one in whose ON it stands, −1 for WHERE.
	join, written int
	// pads are the sources of the join that the predicate is about and that it may pad with nulls.
	pads mask
}

// pushable is the rule.
func pushable(p Place, s Side) bool {
	return p == DuringJoin && s == NullSupplying || p == AfterJoin && s == PreservedRow
}
