package store

import (
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

// Observation is what is known of one statement by now. It can be kept as JSON until the database is there: see ForSpool.
type Observation struct {
	Session   intercept.Session
	Statement intercept.Statement
	// Analysis is nil when the statement was not analysed, or not yet.
	Analysis *Analysis
	// Writes are the tables it wrote, once that is known. Upstream, StatementID and At are taken from the session and the
	// statement where they are zero.
	Writes []TableWrite
	// DroppedDatabase is the database whose tables it dropped, once that is known.
	DroppedDatabase string `json:",omitempty"`
	// Analyzed is the table whose statistics it set, once that is known.
	Analyzed *TableAnalyze `json:",omitempty"`
	// Contradictions are what its end tells of the planner's numbers of tables.
	Contradictions []TableContradiction `json:",omitempty"`
	// Findings are what its end tells of its plan; they count once, with the outcome.
	Findings []advisor.Finding `json:",omitempty"`
	// Altered: a Redactor has changed the statement's text, so it is no sample to explain again.
	Altered bool `json:",omitempty"`
}

// ForSpool is o without the session handle's secret, which must not reach a disk and which RecordStatement does not need.
func (o Observation) ForSpool() Observation {
	o.Session.Handle.Secret = [16]byte{}
	return o
}

// Cause says why a query was explained when it was.
type Cause string

// Causes: never explained before; the age limit; a statistic of its tables changed; other settings; another version of
// Hive; a refresh was being proved.
const (
	CauseFirst      Cause = "FIRST"
	CauseAge        Cause = "AGE"
	CauseStatistics Cause = "STATISTICS"
	CauseSettings   Cause = "SETTINGS"
	CauseVersion    Cause = "VERSION"
	CauseRefresh    Cause = "REFRESH"
)

// Analysis is what EXPLAIN and the advisor made of a query.
type Analysis struct {
	Upstream    string
	HiveVersion string
	Fingerprint string
	// PlanText is stored only with Options.KeepLiterals.
	PlanText string
	// Settings are those in force that matter to join strategies.
	Settings map[string]string
	// Nodes and NodeExecutors are the LLAP cluster as far as it was known; 0 when it was not.
	Nodes, NodeExecutors int64
	Database             string
	Joins                []advisor.JoinVerdict
	Findings             []advisor.Finding
	// WrittenRows is the planner's estimate of the rows that the statement writes into its table; nil where the plan does not tell.
	WrittenRows *int64 `json:",omitempty"`
	// Tables are the base tables read, "database.table".
	Tables []string
	// Usage tells, by table, which columns are used and which statistics state the plan printed. Join columns and states
	// are taken from Joins too.
	Usage map[string]statscheck.Usage
	// Reads tells, by partitioned table, which partitions are read; Fingerprint is empty. The first 64 names are kept.
	Reads       map[string]statscheck.PlanRead `json:",omitempty"`
	ExplainedAt time.Time
	Duration    time.Duration
	// Error is Hive's words when EXPLAIN failed; nothing else is known then.
	Error string
	Cause Cause
	// Reused: nothing was explained for this statement; the analysis of an earlier one holds.
	Reused bool
}

// State is the plan with what it was chosen under.
func (a *Analysis) State() advisor.PlanState {
	return advisor.PlanState{Verdicts: a.Joins, Settings: a.Settings, Version: a.HiveVersion, Nodes: a.Nodes, Executors: a.NodeExecutors}
}

// JoinSettings are the settings of the analysis as the selector read them.
func (a *Analysis) JoinSettings() advisor.Settings {
	s := advisor.NewSettings(a.Settings)
	if a.Nodes > 0 {
		s = s.WithCluster(a.Nodes, a.NodeExecutors)
	}
	return s
}

// TableWrite is one table changed by one statement.
type TableWrite struct {
	Upstream    string
	Table       string
	StatementID string
	Op          hiveql.WriteOp
	// Partitions are those the statement names, as statscheck.PartitionSpec writes them; "" or none at all is the whole table, or
	// partitions not named.
	Partitions []string `json:",omitempty"`
	// Rows written; nil when they could not be counted.
	Rows *int64
	// ColumnsChanged: ADD, REPLACE or CHANGE COLUMN.
	ColumnsChanged bool
	// Suspect: without Rows it raises rule R6, until the table is read again.
	Suspect bool `json:",omitempty"`
	// StartedAt and At are when the statement began, zero when unknown, and ended.
	StartedAt time.Time
	At        time.Time
}

// TableAnalyze is an ANALYZE of a client's, or an UPDATE STATISTICS.
type TableAnalyze struct {
	Table string
	// Partition is as statscheck.PartitionSpec writes it, "" for the whole table.
	Partition string
	// ForColumns: of Columns, or of all when there are none.
	ForColumns bool
	Columns    []string
	// CountsRows: neither NOSCAN nor UPDATE STATISTICS.
	CountsRows bool
}

// TableContradiction is a contradiction and the table it is about.
type TableContradiction struct {
	Table string
	statscheck.Contradiction
}
