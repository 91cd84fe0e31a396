package statscheck

import (
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Mode is the kind of ANALYZE a refresh runs.
type Mode string

// Modes, from cheap to dear.
const (
	ModeBasic   Mode = "BASIC"   // ANALYZE TABLE t COMPUTE STATISTICS
	ModeColumns Mode = "COLUMNS" // basic, then … FOR COLUMNS c, …
)

// RefreshState is where a refresh stands.
type RefreshState string

// States of a refresh.
const (
	RefreshRequested RefreshState = "REQUESTED"
	RefreshRunning   RefreshState = "RUNNING"
	RefreshDone      RefreshState = "DONE"
	RefreshFailed    RefreshState = "FAILED"
)

// Effect is what a refresh was worth.
type Effect string

// Effects: rows moved beyond ±5 % or a strategy changed; neither; the accuracy flag is still absent; Hive refused.
const (
	EffectEffective   Effect = "EFFECTIVE"
	EffectNoChange    Effect = "NO_CHANGE"
	EffectIneffective Effect = "INEFFECTIVE"
	EffectFailed      Effect = "FAILED"
)

// Refresh is one request to refresh a table's statistics and what came of it.
type Refresh struct {
	ID int64
	// Upstream names the HiveServer2 it runs on; Table is "database.table".
	Upstream string
	Table    string
	Mode     Mode
	// Columns are the columns for ModeColumns.
	Columns []string
	// Partitions limits the ANALYZE to these partitions, as SHOW PARTITIONS prints them; empty for the whole table.
	Partitions []string
	// NotAfter is the end of the schedule's window: nothing starts after it, and what runs is canceled. Zero: no limit.
	NotAfter time.Time
	// Reason is always on record: the staleness that led to it or the operator's words. RequestedBy is a schedule's or a person's name.
	Reason      string
	RequestedBy string
	RequestedAt time.Time
	StartedAt   time.Time
	EndedAt     time.Time
	State       RefreshState
	// Statements are the HiveQL statements run, in order.
	Statements []string
	Before     *advisor.TableStats
	After      *advisor.TableStats
	// Plans are the affected queries, explained before and after.
	Plans  []PlanChange
	Effect Effect
	// Proof is what was foretold before the ANALYZE and found after; nil where it never came so far.
	Proof *Proof
	// Error is Hive's own message when the refresh failed.
	Error string
}

// PlanChange is one join of one affected query before and after a refresh.
type PlanChange struct {
	Fingerprint string           `json:"fingerprint"`
	Ordinal     int              `json:"ordinal"`
	Before      advisor.Strategy `json:"before"`
	After       advisor.Strategy `json:"after"`
}
