package intercept

import (
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// State is the outcome of a statement, in the words of Hive's TOperationState without its suffix.
type State string

// The states a statement can be in. Lost is ours: the connection or session ended and the outcome was never seen.
const (
	StateRunning  State = "RUNNING"
	StateFinished State = "FINISHED"
	StateCanceled State = "CANCELED"
	StateClosed   State = "CLOSED"
	StateError    State = "ERROR"
	StateTimedout State = "TIMEDOUT"
	StateLost     State = "LOST"
)

// Final reports whether the statement has ended.
func (s State) Final() bool { return s != StateRunning }

// Statement is one ExecuteStatement call and what became of it.
type Statement struct {
	// ID is ours (UUID version 7), fixed when the call was seen: the key under which everything about it is recorded.
	ID string
	// SessionID is Session.Handle.ID().
	SessionID string
	// OperationID is the GUID of the operation handle; empty when HiveServer2 refused the statement.
	OperationID string
	// OperationSecret completes OperationID to the handle that HiveServer2 takes from any connection; zero when there is none.
	// It is never logged and never stored.
	OperationSecret [16]byte `json:"-"`
	// SQL is the text as sent, literals included; Truncated when it was longer than the copy limit (then it cannot be explained).
	SQL       string
	Truncated bool
	// Info is what the text alone tells. The Tracker, whose work every call waits for, only peeks at the text (hiveql.Peek):
	// whoever takes its events parses SQL, in which a SET's secret is gone already.
	Info hiveql.Info
	// Database and Settings are the session's when the statement started; ConfOverlay was sent with it.
	Database    string
	Settings    map[string]string
	ConfOverlay map[string]string
	StartedAt   time.Time
	// EndedAt is when the final state was first seen on the wire; zero while running.
	EndedAt time.Time
	State   State
	// ErrorCode, SQLState and ErrorMessage are HiveServer2's own.
	ErrorCode    int32
	SQLState     string
	ErrorMessage string
	// ModifiedRows is numModifiedRows of GetOperationStatus; nil when never sent.
	ModifiedRows *int64
	// OperatorCounters are lines of the operation's log, "RECORDS_OUT_OPERATOR_TS_0: 25": rows that operators put out. Only
	// StatementCounted brings them.
	OperatorCounters string `json:"-"`
}
