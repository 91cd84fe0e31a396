package intercept

import (
	"fmt"
	"testing"

	"github.com/beltran/gohive/hiveserver"
	"pgregory.net/rapid"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// TestTrackerProperty sends calls and replies of a few sessions, operations and connections in any order the wire allows, and
// holds the events to what consumers rely on: a session opens before anything else of it, a statement starts once and ends at
// most once, nothing happens in a closed session, the bounds hold, and when all connections are closed everything has ended.
func TestTrackerProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWire(t, TrackerConfig{MaxSessions: 3, MaxStatements: 4})
		ids := 0
		w.tracker.cfg.NewID = func() string { ids++; return fmt.Sprint("q", ids) }
		states := []hiveserver.TOperationState{
			hiveserver.TOperationState_RUNNING_STATE, hiveserver.TOperationState_FINISHED_STATE, hiveserver.TOperationState_CANCELED_STATE,
			hiveserver.TOperationState_CLOSED_STATE, hiveserver.TOperationState_ERROR_STATE, hiveserver.TOperationState_TIMEDOUT_STATE,
		}
		type waitingCall struct {
			token any
			reply thrift.Reply
		}
		connections := []*Connection{w.connect("a"), w.connect("b"), w.connect("c")}
		waiting := make([][]waitingCall, len(connections))
		pick := func(what string, n int) byte { return byte('A' + rapid.IntRange(0, n-1).Draw(rt, what)) }
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			i := rapid.IntRange(0, len(connections)-1).Draw(rt, "connection")
			c := connections[i]
			status := good()
			if rapid.IntRange(0, 4).Draw(rt, "refused") == 0 {
				status = bad(0, "", rapid.SampledFrom([]string{"no", "Invalid SessionHandle: x"}).Draw(rt, "why"))
			}
			var req any
			var reply thrift.Reply
			session, operation := aSession(pick("session", 5)), anOperation(pick("operation", 6))
			switch rapid.IntRange(0, 8).Draw(rt, "step") {
			case 0:
				reply.Method, req = thrift.OpenSession, &hiveserver.TOpenSessionReq{}
				reply.Result = &hiveserver.TOpenSessionResp{Status: status, SessionHandle: session}
			case 1, 2:
				sql := rapid.SampledFrom([]string{"select 1", "set a=b", "use x", "reset"}).Draw(rt, "sql")
				reply.Method, req = thrift.ExecuteStatement, &hiveserver.TExecuteStatementReq{SessionHandle: session, Statement: sql, RunAsync: rapid.Bool().Draw(rt, "async")}
				reply.Result = &hiveserver.TExecuteStatementResp{Status: status, OperationHandle: operation}
			case 3:
				reply.Method, req = thrift.GetOperationStatus, &hiveserver.TGetOperationStatusReq{OperationHandle: operation}
				reply.Result = &hiveserver.TGetOperationStatusResp{Status: status, OperationState: new(rapid.SampledFrom(states).Draw(rt, "state"))}
			case 4:
				reply.Method, req = thrift.CancelOperation, &hiveserver.TCancelOperationReq{OperationHandle: operation}
				reply.Result = &hiveserver.TCancelOperationResp{Status: status}
			case 5:
				reply.Method, req = thrift.CloseOperation, &hiveserver.TCloseOperationReq{OperationHandle: operation}
				reply.Result = &hiveserver.TCloseOperationResp{Status: status}
			case 6:
				reply.Method, req = thrift.CloseSession, &hiveserver.TCloseSessionReq{SessionHandle: session}
				reply.Result = &hiveserver.TCloseSessionResp{Status: status}
			case 7: // the oldest reply
				if q := waiting[i]; len(q) > 0 {
					c.Reply(q[0].token, q[0].reply)
					waiting[i] = q[1:]
				}
				continue
			default:
				c.Close()
				connections[i], waiting[i] = w.connect("again"), nil
				continue
			}
			if rapid.IntRange(0, 9).Draw(rt, "unreadable") == 0 {
				reply.Result, reply.Exception = nil, true
			}
			waiting[i] = append(waiting[i], waitingCall{c.Call(thrift.Call{Method: reply.Method, Request: req}), reply})
			if stats := w.tracker.Stats(); stats.Sessions > 3 || stats.Statements > 4 {
				rt.Fatalf("beyond the bounds: %+v", stats)
			}
		}
		for _, c := range connections {
			c.Close()
		}
		checkEvents(rt, w.sink.events)
		if n := len(w.tracker.operations); n != w.tracker.started.Len() {
			rt.Fatalf("%d operations of %d statements", n, w.tracker.started.Len())
		}
	})
}

func checkEvents(rt *rapid.T, events []Event) {
	open := map[SessionHandle]bool{}
	running := map[string]SessionHandle{}
	seen := map[string]bool{}
	for i, e := range events {
		h := e.Session.Handle
		if (e.Kind == SessionOpened) == open[h] {
			rt.Fatalf("event %d: kind %d of a session that is open: %t", i, e.Kind, open[h])
		}
		switch e.Kind {
		case SessionOpened:
			open[h] = true
		case StatementStarted:
			if seen[e.Statement.ID] || e.Statement.State.Final() {
				rt.Fatalf("event %d: %s started twice or ended", i, e.Statement.ID)
			}
			seen[e.Statement.ID], running[e.Statement.ID] = true, h
		case StatementEnded:
			if running[e.Statement.ID] != h || !e.Statement.State.Final() {
				rt.Fatalf("event %d: %s ended as %s", i, e.Statement.ID, e.Statement.State)
			}
			delete(running, e.Statement.ID)
		case StatementVoid:
			rt.Fatalf("event %d: %s taken back, and no call was rejected", i, e.Statement.ID)
		case StatementCounted:
			rt.Fatalf("event %d: %s counted, and no log was read", i, e.Statement.ID)
		case SessionClosed:
			delete(open, h)
			for id, s := range running {
				if s == h {
					rt.Fatalf("event %d: %s runs in a closed session", i, id)
				}
			}
		}
	}
}
