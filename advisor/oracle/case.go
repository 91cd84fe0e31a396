// Package oracle holds decisions of the real planner against the simulation. A case is a query with all that the product sees of it
// over HiveServer2 (EXPLAIN EXTENDED's text, what DESCRIBE FORMATTED says of its tables, the settings), and, beside that, what the
// planner decided, which the simulation is never shown.
package oracle

import (
	"io"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/jsonl"
)

// Case is one line of a file of cases.
type Case struct {
	ID       string            `json:"id"`
	Scenario string            `json:"scenario"`
	SQL      string            `json:"sql,omitempty"`
	Settings map[string]string `json:"settings"`
	// Tables are what the metastore says of each table, by name without database.
	Tables   map[string]Table `json:"tables"`
	Extended string           `json:"explain_extended"`
	// Plain and User are the plan's other text forms, where a file has them.
	Plain string `json:"explain_plain,omitempty"`
	User  string `json:"explain_user,omitempty"`
	// Log is the planner's own; Truth are the joins in plan order; Error is Hive's refusal, with which there are neither.
	Log   []string `json:"planner_log,omitempty"`
	Truth []Join   `json:"truth"`
	Error string   `json:"error,omitempty"`
}

// Table is what DESCRIBE FORMATTED says of a table.
type Table struct {
	Columns    []advisor.ColumnType `json:"columns"`
	PartCols   []advisor.ColumnType `json:"partition_columns,omitempty"`
	Partitions map[string]Partition `json:"partitions,omitempty"` // by the value of the one partition column; of several, by the partition's name

	BucketColumns []string          `json:"bucket_columns,omitempty"`
	Buckets       int               `json:"num_buckets"`
	SortColumns   []string          `json:"sort_columns,omitempty"`
	Kind          string            `json:"type"`
	Params        map[string]string `json:"params"`
	Stats         map[string]Column `json:"column_stats"`
}

// Partition is what DESCRIBE FORMATTED says of a partition.
type Partition struct {
	Params map[string]any    `json:"params"`
	Stats  map[string]Column `json:"column_stats"`
}

// Column are a column's statistics; nil for what is not known.
type Column struct {
	NDV    *int64   `json:"numDVs"`
	Nulls  *int64   `json:"numNulls"`
	AvgLen *float64 `json:"avgColLen"`
	Trues  *int64   `json:"numTrues"`
	Falses *int64   `json:"numFalses"`
	// Low and High are numbers, or texts as DESCRIBE prints them.
	Low  any `json:"lowValue,omitempty"`
	High any `json:"highValue,omitempty"`
}

// Join is what the planner decided about a join, and its own numbers.
type Join struct {
	Strategy advisor.Strategy `json:"strategy"`
	// BigTable is the position of the streamed input as the plan prints it; nil where it prints none.
	BigTable *int   `json:"big_table_position"`
	Budget   int64  `json:"budget"` // bytes
	Buckets  *int64 `json:"bucket_count"`
	Reducers *int64 `json:"dphj_estimated_reducers"`
	// Inputs are those that the planner looked at; NDVs its tests of distinct keys.
	Inputs []Input `json:"inputs"`
	NDVs   []NDV   `json:"ndv_checks"`
}

// Input are the planner's own numbers of a join's input, in rows and bytes.
type Input struct {
	Pos         int    `json:"pos"`
	OnlineSize  int64  `json:"online_size"`
	Rows        int64  `json:"rows"`
	DataSize    int64  `json:"data_size"`
	BasicStats  string `json:"basic_stats"`
	ColumnStats string `json:"column_stats"`
}

// Complete reports whether the planner had all statistics of the input.
func (in *Input) Complete() bool { return in.BasicStats == "COMPLETE" && in.ColumnStats == "COMPLETE" }

// NDV is the planner's number of distinct keys of an input.
type NDV struct {
	Input int   `json:"input"`
	NDV   int64 `json:"ndv"`
}

// Read visits the cases of a file, one JSON object a line, gzipped or not. It stops at the first error, visit's included.
func Read(r io.Reader, visit func(*Case) error) error { return jsonl.Read(r, visit) }
