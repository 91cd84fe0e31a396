package advisor

// Strategy is one of Hive's five physical join strategies.
type Strategy string

// The strategies, in the order of the seed document. Unknown is for plans of engines without them.
const (
	MapJoin       Strategy = "MAP_JOIN"
	BucketMapJoin Strategy = "BUCKET_MAP_JOIN"
	DPHJ          Strategy = "DPHJ"
	SMB           Strategy = "SMB"
	MergeJoin     Strategy = "MERGE_JOIN"
	Unknown       Strategy = "UNKNOWN"
)

// JoinType is the type of one join condition.
type JoinType string

// Join types as Hive's plans name them.
const (
	Inner      JoinType = "INNER"
	LeftOuter  JoinType = "LEFT_OUTER"
	RightOuter JoinType = "RIGHT_OUTER"
	FullOuter  JoinType = "FULL_OUTER"
	LeftSemi   JoinType = "LEFT_SEMI"
	Anti       JoinType = "ANTI"
	Cross      JoinType = "CROSS"
)

// Join is one join operator of a plan with everything the selector compares.
type Join struct {
	// Ordinal counts the joins of a plan from 0 in plan order.
	Ordinal int `json:"ordinal"`
	// OperatorID is Hive's ("MAPJOIN_25") where the plan prints it; Vertex is where the join runs ("Map 1", "Reducer 2").
	OperatorID string `json:"operator_id,omitempty"`
	Vertex     string `json:"vertex"`
	// Strategy is what the plan shows: the "planned" verdict.
	Strategy Strategy `json:"strategy"`
	// Conditions are the n−1 conditions of an n-way join.
	Conditions []Condition `json:"conditions"`
	// BigTable is the position of the streamed input; −1 when the strategy streams none (merge join, unknown).
	BigTable int     `json:"big_table"`
	Inputs   []Input `json:"inputs"`
	// OutputRows and OutputBytes are the planner's estimate of the result; −1 when absent.
	OutputRows  int64 `json:"output_rows"`
	OutputBytes int64 `json:"output_bytes"`
	// Residual: the join has a non-equi condition; Filters: outer-join filters on one side; NullSafe: a key uses <=>.
	Residual bool `json:"residual,omitempty"`
	Filters  bool `json:"filters,omitempty"`
	NullSafe bool `json:"null_safe,omitempty"`
}

// Condition is one line of the plan's condition map.
type Condition struct {
	Type  JoinType `json:"type"`
	Left  int      `json:"left"`
	Right int      `json:"right"`
}

// Input is one input of a join: the operator that feeds its shuffle, with the figures the planner decided on.
type Input struct {
	Position int `json:"position"`
	// Tables are the base tables ("database.table") below this input up to the next join; one for a plain scan.
	Tables []string `json:"tables,omitempty"`
	Alias  string   `json:"alias,omitempty"`
	Vertex string   `json:"vertex,omitempty"`
	// Rows and DataSize (bytes) are the operator's statistics; −1 when the plan has none.
	Rows     int64 `json:"rows"`
	DataSize int64 `json:"data_size"`
	// CumulativeRows sums the row estimates of the operators from the scans up to this input, as the big-table choice counts them.
	// −1: the plan does not tell them.
	CumulativeRows int64 `json:"cumulative_rows"`
	// Uncounted: the planner itself cannot count them, since a sort-merge-bucket join lies below. CumulativeRows is −1 then.
	Uncounted bool `json:"uncounted,omitempty"`
	// BasicStats and ColumnStats are COMPLETE, PARTIAL or NONE, as printed.
	BasicStats  string `json:"basic_stats"`
	ColumnStats string `json:"column_stats"`
	// Keys are the join's key expressions on this side; Columns what the input carries into the join.
	Keys    []Key    `json:"keys"`
	Columns []Column `json:"columns,omitempty"`
	// Layout is the physical layout that survives up to the join.
	Layout Layout `json:"layout"`
	// OverJoin: the input is the output of another join (the sort-merge big-table policies then find no table to measure).
	OverJoin bool `json:"over_join,omitempty"`
	// GroupBys counts the Group By operators between this input and the next shuffle below; two keep a sort-merge-bucket join out.
	GroupBys int `json:"group_bys,omitempty"`
	// WholeTable: the plan reads some partitions of a table below, but the statistics taken are those of the table as a whole.
	WholeTable bool `json:"whole_table,omitempty"`
	// OnlineDataSize is the planner's own hash-table estimate in bytes where it witnesses it (nil otherwise); the simulation computes its own.
	OnlineDataSize *int64 `json:"online_data_size,omitempty"`

	// origin leads back to the plan the input was read from, nil for a recorded join: Enrich follows it to the scans.
	origin *origin
}

// Key is one join key expression; Column names the base column it is, when it is one.
type Key struct {
	Expr   string `json:"expr"`
	Type   string `json:"type"`
	Table  string `json:"table,omitempty"`
	Column string `json:"column,omitempty"`
	// NDV and Nulls as known for the input (scaled by filters where the planner scales); nil when unknown.
	NDV   *int64 `json:"ndv"`
	Nulls *int64 `json:"nulls"`
}

// Column is one column an input carries.
type Column struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Table  string `json:"table,omitempty"`
	Column string `json:"column,omitempty"`
	// HasStats: Hive has column statistics for it. Nulls is the planner's (scaled) count.
	HasStats bool   `json:"has_stats"`
	Nulls    *int64 `json:"nulls,omitempty"`
	// NotCarried marks a column folded to a constant by a filter: the size adjustment still counts it.
	NotCarried bool `json:"not_carried,omitempty"`
	// Estimated: Hive made up the column's statistics (hive.stats.estimate); the size adjustment counts it with that many nulls.
	Estimated bool `json:"estimated,omitempty"`
}

// Layout is what is known of bucketing and sorting at a join input.
type Layout struct {
	BucketColumns    []string `json:"bucket_columns,omitempty"`
	SortColumns      []string `json:"sort_columns,omitempty"`
	Buckets          int      `json:"buckets"`
	BucketingVersion int      `json:"bucketing_version"`
	External         bool     `json:"external"`
	// Shuffled: a shuffle (ReduceSink) lies below the input, other than the join's own.
	Shuffled bool `json:"shuffled,omitempty"`
	// TotalSize is the table's bytes on disk for the sort-merge big-table policy (the read partitions' together); −1 unknown.
	TotalSize int64 `json:"total_size"`
	// Partitions counts the partitions read; 0 for an unpartitioned table, −1 for a partitioned one of which none is read.
	Partitions int `json:"partitions,omitempty"`
}
