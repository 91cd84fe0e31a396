package intercept

// EventKind says what happened.
type EventKind uint8

// The events, in the order a session produces them.
const (
	SessionOpened EventKind = iota + 1
	StatementStarted
	StatementEnded
	SessionClosed
	// StatementVoid takes StatementStarted back: HiveServer2 asked for a login and never ran the statement.
	StatementVoid
	// StatementCounted brings what the client has fetched of the statement's counters, with its log: while it runs, or after its
	// end. Of Statement only ID, SessionID and OperatorCounters are set.
	StatementCounted
)

// Event is one observation. Session is always set; Statement for the statement kinds. Both are snapshots that never change, and
// events of a session share them.
type Event struct {
	Kind      EventKind
	Session   *Session
	Statement *Statement
}

// Sink takes events from the relay. Offer must not block: it reports false when the event was dropped.
type Sink interface {
	Offer(Event) bool
}
