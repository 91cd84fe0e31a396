package statscheck

import (
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Mode is the kind of ANALYZE a refresh runs.
type Mode string

// Modes, from cheap to dear.
const (
	ModeNoScan  Mode = "NOSCAN"  // ANALYZE TABLE t COMPUTE STATISTICS NOSCAN: sizes, and rows where the files tell them
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
	// RefreshCanceled: a person ended it, its window ended before it began, or it was a view's. It says nothing about the table.
	RefreshCanceled RefreshState = "CANCELED"
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
	// Partitions limits the ANALYZE to these partitions, as SHOW PARTITIONS prints them; empty for the whole table. A name with * or ?
	// stands for every partition that matches: SHOW PARTITIONS escapes both.
	Partitions []string
	// Scope says which statements were chosen, and by which rule.
	Scope string
	// Priority is the one that a person gave in place of the computed one; nil: none.
	Priority *float64
	// Schedule names the schedule that asked, and WindowStart is when its window opened; empty and zero when a person asked.
	Schedule    string
	WindowStart time.Time
	// Budget is how much time ANALYZE may take in the whole window, BudgetLeft what was left of it at the claim. 0: no limit.
	Budget     time.Duration
	BudgetLeft time.Duration
	// NotBefore is when one that was put back may run again; zero: at once.
	NotBefore time.Time
	// Attempt is the number of this start, from 1; 0 before the first. Lost counts the attempts whose proxy was gone, PutBacks those
	// that were put back.
	Attempt  int
	Lost     int
	PutBacks int
	// Analyzed is how long the ANALYZE statements of the last attempt took.
	Analyzed time.Duration
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
	// Error is Hive's own message when the refresh failed, or why it was canceled or put back.
	Error string
}

// PlanChange is one join of one affected query before and after a refresh.
type PlanChange struct {
	Fingerprint string           `json:"fingerprint"`
	Ordinal     int              `json:"ordinal"`
	Before      advisor.Strategy `json:"before"`
	After       advisor.Strategy `json:"after"`
}
