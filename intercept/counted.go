package intercept

import "github.com/hs2proxy/hs2proxy/thrift"

// lateStatements is how many statements are remembered after their end. Clients read the rest of a log, where the counters are,
// once they know that the statement has finished.
const lateStatements = 1024

// late is a finished statement whose log may still be fetched.
type late struct {
	operation [16]byte
	id        string // Statement.ID
	session   *session
}

// lates are the last of them; the oldest gives way. A ring costs a statement's end nothing, and is searched only for a log fetch
// of an operation that is not running.
type lates struct {
	ring []late
	next int
}

func (l *lates) add(st *statement) {
	one := late{st.operation, st.ID, st.session}
	if len(l.ring) < lateStatements {
		l.ring = append(l.ring, one)
		return
	}
	l.ring[l.next] = one
	l.next = (l.next + 1) % lateStatements
}

// find is the latest with this handle, nil without one.
func (l *lates) find(operation [16]byte) *late {
	for i := range l.ring {
		at := &l.ring[(l.next+len(l.ring)-1-i)%len(l.ring)]
		if at.operation == operation {
			return at
		}
	}
	return nil
}

// logged is the token of a fetch from an operation's log: whose counters its reply may bring. Nil when nobody would know.
func (c *Connection) logged(operation [16]byte) any {
	t := c.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if st := t.operations[operation]; st != nil {
		return &late{operation, st.ID, st.session}
	}
	if l := t.late.find(operation); l != nil {
		one := *l
		return &one
	}
	return nil
}

// counted tells of the counters that a client has fetched with a statement's log.
func (c *Connection) counted(l *late, counters thrift.OperatorCounters) {
	t := c.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	e := Event{Kind: StatementCounted, Session: l.session.snapshot(), Statement: &Statement{
		ID: l.id, SessionID: l.session.name(), OperatorCounters: string(counters), State: StateRunning,
	}}
	if !t.sink.Offer(e) {
		t.stats.DroppedEvents++
	}
}
