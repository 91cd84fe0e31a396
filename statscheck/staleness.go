package statscheck

import (
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Rule names a staleness rule.
type Rule string

// The rules of this release; docs/staleness.md says what each means.
const (
	R1Corrupt      Rule = "R1"
	R2NoBasic      Rule = "R2"
	R3Columns      Rule = "R3"
	R4Rows         Rule = "R4"
	R5Drift        Rule = "R5"
	R6Uncounted    Rule = "R6"
	R7Partitions   Rule = "R7"
	R8Contradicted Rule = "R8"
	R9Age          Rule = "R9"
	RuleNoTables   Rule = ""
)

// Level is how bad a staleness is.
type Level string

// Levels, rising.
const (
	LevelSuspect  Level = "SUSPECT"
	LevelWatch    Level = "WATCH"
	LevelStale    Level = "STALE"
	LevelHigh     Level = "HIGH"
	LevelCritical Level = "CRITICAL"
)

// Baseline is a table's or partition's state at the last verified ANALYZE, or when it was first seen with valid statistics.
type Baseline struct {
	Rows    *int64    `json:"rows"`
	Bytes   *int64    `json:"bytes"`
	Columns []string  `json:"columns,omitempty"`
	At      time.Time `json:"at"`
}

// Writes is what the wire has shown of a table since its baseline.
type Writes struct {
	// Rows is M: rows counted from numModifiedRows. Counted and Uncounted are numbers of statements.
	Rows      int64 `json:"rows"`
	Counted   int64 `json:"counted"`
	Uncounted int64 `json:"uncounted"`
	// Overwrites are those of the statements that replaced rows: what was counted is then no sum of what is there.
	Overwrites int64 `json:"overwrites,omitempty"`
	// Left are the rows of the last statement that replaced those of the whole table, and those counted since; nil where there was none
	// or one of them was not counted. Hive replaces no more than the partitions it writes, so it says nothing of a partitioned table.
	Left   *int64    `json:"left,omitempty"`
	LastAt time.Time `json:"last_at"`
	// Partitions is the number of distinct partitions the counted writes touched; 0 when unknown or not partitioned.
	Partitions int64 `json:"partitions,omitempty"`
	// ColumnsChanged: an ADD, REPLACE or CHANGE COLUMN was seen.
	ColumnsChanged bool `json:"columns_changed,omitempty"`
	// Foreign: another writer changed the files since the baseline, and numRows did not follow.
	Foreign bool `json:"foreign,omitempty"`
}

// Usage is how queries use a table: the columns that joins, filters and groupings read.
type Usage struct {
	JoinColumns  []string `json:"join_columns,omitempty"`
	OtherColumns []string `json:"other_columns,omitempty"`
	// PlanBasic and PlanColumn are the worst "Basic stats"/"Column stats" the plans printed for its scans; empty when none was seen.
	PlanBasic  string `json:"plan_basic,omitempty"`
	PlanColumn string `json:"plan_column,omitempty"`
	// PlanRows is how many rows the last plan that scanned the whole table took it for; nil when none did.
	PlanRows *int64 `json:"plan_rows,omitempty"`
	// Joins is how many runs of queries joined the table in seven days.
	Joins int64 `json:"joins_7d,omitempty"`
}

// Subject is everything a rule looks at.
type Subject struct {
	Stats    advisor.TableStats
	Baseline *Baseline
	Writes   Writes
	Usage    Usage
	Now      time.Time
	// Files is what the file system holds; nil when it was not listed.
	Files *Files
	// AnalyzedAt is when the last ANALYZE that was seen ended: ours, or a client's that counts rows. Zero: none was.
	AnalyzedAt time.Time
	// Contradictions are those of the last days, in any order.
	Contradictions []Contradiction
	// Reads are what the queries' last plans read, for a partitioned table; StalePartitions those of its partitions that CountsForR7.
	Reads           []PlanRead
	StalePartitions []string
}

// Staleness is one rule that holds for one table or partition.
type Staleness struct {
	Table     string         `json:"table"`
	Partition string         `json:"partition,omitempty"`
	Rule      Rule           `json:"rule"`
	Level     Level          `json:"level"`
	Reason    string         `json:"reason"`
	Evidence  map[string]any `json:"evidence,omitempty"`
	// Columns are those without valid statistics (R3).
	Columns []string `json:"columns,omitempty"`
}

// Health is 1 − min(1, max(M/N0, drift)); 0 under R1 and R2; nil when unknown.
type Health = *float64
