package intercept

import (
	"testing"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/thrift"
)

const tsCounter = thrift.OperatorCounters("RECORDS_OUT_OPERATOR_TS_0: 25")

// fetchLog is a client that reads a log in which there are counters.
func fetchLog(c *Connection, operation byte) {
	exchange(c, thrift.FetchResults, &thrift.LogFetch{Operation: [16]byte(identifier(operation).GUID)}, tsCounter)
}

func (w *wire) wantCounted(id string) {
	w.t.Helper()
	e := w.sink.last()
	if e.Kind != StatementCounted || e.Statement.ID != id || e.Statement.OperatorCounters != string(tsCounter) ||
		e.Session.Handle.GUID[0] != 'A' || e.Statement.SessionID != e.Session.Handle.ID() || e.Statement.State.Final() {
		w.t.Errorf("got %+v of %+v", e, e.Statement)
	}
}

// TestCounted: counters belong to the statement whose log was read: while it runs, and after its end, when clients read the rest.
func TestCounted(t *testing.T) {
	w := newWire(t, TrackerConfig{})
	c := w.connect("bi")
	w.open(c, 'A', nil)
	send(c, 'A', "select 1", true)(started('o'))
	fetchLog(c, 'o')
	w.wantCounted("q1")
	poll(c, 'o', inState(hiveserver.TOperationState_FINISHED_STATE))
	run(c, 'A', 'p', "select 2")
	fetchLog(c, 'o')
	w.wantCounted("q1")
	fetchLog(w.connect("bi"), 'p') // over HTTP another connection may read
	w.wantCounted("q2")

	seen := len(w.sink.events)
	fetchLog(c, 'x')
	exchange(c, thrift.FetchResults, &thrift.LogFetch{Operation: [16]byte(identifier('o').GUID)}, nil)
	if n := len(w.sink.events); n != seen {
		t.Errorf("%d events of nothing", n-seen)
	}
	w.sink.full = true
	fetchLog(c, 'p')
	if w.tracker.Stats().DroppedEvents != 1 {
		t.Error("a dropped event is not counted")
	}
}

// TestCountedLate: so many ended statements are remembered, and the latest of an operation.
func TestCountedLate(t *testing.T) {
	var l lates
	for i := range 3*lateStatements + 5 {
		l.add(&statement{operation: [16]byte{byte(i), byte(i >> 8)}, Statement: Statement{ID: string(rune(i))}})
		if found := l.find([16]byte{byte(i), byte(i >> 8)}); found == nil || found.id != string(rune(i)) {
			t.Fatalf("%d is not found: %+v", i, found)
		}
		if i >= lateStatements {
			gone, kept := i-lateStatements, i-lateStatements+1
			if l.find([16]byte{byte(gone), byte(gone >> 8)}) != nil || l.find([16]byte{byte(kept), byte(kept >> 8)}) == nil {
				t.Fatalf("after %d", i)
			}
		}
	}
	l.add(&statement{operation: [16]byte{1}, Statement: Statement{ID: "again"}})
	if l.find([16]byte{1}).id != "again" {
		t.Error("an older one is found")
	}
}

func TestQueueCountsCounters(t *testing.T) {
	q := NewQueue(10)
	q.MaxBytes = 40
	e := Event{Kind: StatementCounted, Statement: &Statement{OperatorCounters: string(tsCounter)}}
	if !q.Offer(e) || q.Offer(e) {
		t.Error("counters are no text")
	}
}
