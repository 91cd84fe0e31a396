package intercept

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"
	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/thrift"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sinkOf collects events; full refuses them.
type sinkOf struct {
	events []Event
	full   bool
}

func (s *sinkOf) Offer(e Event) bool {
	if !s.full {
		s.events = append(s.events, e)
	}
	return !s.full
}

// lines are the events in short: kind, session, statement with state.
func (s *sinkOf) lines() []string {
	var lines []string
	for _, e := range s.events {
		line := fmt.Sprintf("%s %c", []string{"", "opened", "started", "ended", "closed"}[e.Kind], e.Session.Handle.GUID[0])
		if e.Statement != nil {
			line += fmt.Sprintf(" %s %s", e.Statement.ID, e.Statement.State)
		}
		lines = append(lines, line)
	}
	return lines
}

func (s *sinkOf) last() Event { return s.events[len(s.events)-1] }

// wire drives a Tracker as the thrift package would.
type wire struct {
	t       *testing.T
	tracker *Tracker
	sink    *sinkOf
	now     time.Time
	ids     int
}

func newWire(t *testing.T, cfg TrackerConfig) *wire {
	w := &wire{t: t, sink: &sinkOf{}, now: time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)}
	cfg.Upstream = "hive"
	cfg.Now = func() time.Time { w.now = w.now.Add(time.Second); return w.now }
	cfg.NewID = func() string { w.ids++; return fmt.Sprintf("q%d", w.ids) }
	w.tracker = NewTracker(cfg, w.sink)
	return w
}

func (w *wire) connect(user string) *Connection {
	c := w.tracker.Connect("10.0.0.7:4711")
	c.Login(thrift.Login{Mechanism: "PLAIN", User: user})
	return c
}

func identifier(c byte) *hiveserver.THandleIdentifier {
	return &hiveserver.THandleIdentifier{GUID: slices.Repeat([]byte{c}, 16), Secret: slices.Repeat([]byte{c}, 16)}
}

func aSession(c byte) *hiveserver.TSessionHandle {
	return &hiveserver.TSessionHandle{SessionId: identifier(c)}
}

func anOperation(c byte) *hiveserver.TOperationHandle {
	return &hiveserver.TOperationHandle{OperationId: identifier(c)}
}

func good() *hiveserver.TStatus { return &hiveserver.TStatus{} }

func bad(code int32, state, message string) *hiveserver.TStatus {
	return &hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_ERROR_STATUS, ErrorCode: &code, SqlState: &state, ErrorMessage: &message}
}

// exchange is one call with its reply.
func exchange(c *Connection, m thrift.Method, req, resp any) {
	c.Reply(c.Call(thrift.Call{Method: m, Request: req}), thrift.Reply{Method: m, Result: resp})
}

func (w *wire) open(c *Connection, session byte, configuration map[string]string) {
	user := "from OpenSession"
	exchange(c, thrift.OpenSession,
		&hiveserver.TOpenSessionReq{Username: &user, Configuration: configuration},
		&hiveserver.TOpenSessionResp{Status: good(), ServerProtocolVersion: hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V10, SessionHandle: aSession(session)})
}

// send is an ExecuteStatement call; the returned function is its reply.
func send(c *Connection, session byte, sql string, async bool) func(*hiveserver.TExecuteStatementResp) {
	token := c.Call(thrift.Call{Method: thrift.ExecuteStatement, Request: &hiveserver.TExecuteStatementReq{
		SessionHandle: aSession(session), Statement: sql, RunAsync: async,
	}})
	return func(resp *hiveserver.TExecuteStatementResp) {
		r := thrift.Reply{Method: thrift.ExecuteStatement}
		if resp != nil {
			r.Result = resp
		}
		c.Reply(token, r)
	}
}

func started(operation byte) *hiveserver.TExecuteStatementResp {
	return &hiveserver.TExecuteStatementResp{Status: good(), OperationHandle: anOperation(operation)}
}

func run(c *Connection, session, operation byte, sql string) {
	send(c, session, sql, false)(started(operation))
}

func poll(c *Connection, operation byte, resp *hiveserver.TGetOperationStatusResp) {
	if resp.Status == nil {
		resp.Status = good()
	}
	exchange(c, thrift.GetOperationStatus, &hiveserver.TGetOperationStatusReq{OperationHandle: anOperation(operation)}, resp)
}

func inState(s hiveserver.TOperationState) *hiveserver.TGetOperationStatusResp {
	return &hiveserver.TGetOperationStatusResp{OperationState: &s}
}

func cancel(c *Connection, operation byte, s *hiveserver.TStatus) {
	exchange(c, thrift.CancelOperation, &hiveserver.TCancelOperationReq{OperationHandle: anOperation(operation)}, &hiveserver.TCancelOperationResp{Status: s})
}

func closeOp(c *Connection, operation byte, s *hiveserver.TStatus) {
	exchange(c, thrift.CloseOperation, &hiveserver.TCloseOperationReq{OperationHandle: anOperation(operation)}, &hiveserver.TCloseOperationResp{Status: s})
}

func closeSession(c *Connection, session byte, s *hiveserver.TStatus) {
	exchange(c, thrift.CloseSession, &hiveserver.TCloseSessionReq{SessionHandle: aSession(session)}, &hiveserver.TCloseSessionResp{Status: s})
}

// TestStatementStates: how each way a statement can end is recorded.
func TestStatementStates(t *testing.T) {
	running := hiveserver.TOperationState_RUNNING_STATE
	code, state, message := int32(2), "08S01", "vertex failed"
	rows, none := int64(42), int64(-1)
	modified := 7.0
	for name, tc := range map[string]struct {
		do        func(w *wire, c *Connection)
		want      []string // after "opened A"
		code      int32
		sqlState  string
		message   string
		modified  *int64
		operation bool
	}{
		"synchronous": {
			do:   func(_ *wire, c *Connection) { run(c, 'A', 'o', "select 1") },
			want: []string{"started A q1 RUNNING", "ended A q1 FINISHED"}, operation: true,
		},
		"synchronous, with the rows in the handle": {
			do: func(_ *wire, c *Connection) {
				resp := started('o')
				resp.OperationHandle.ModifiedRowCount = &modified
				send(c, 'A', "insert into t select 1", false)(resp)
			},
			want: []string{"started A q1 RUNNING", "ended A q1 FINISHED"}, operation: true, modified: new(int64(7)),
		},
		"refused": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "select nope", true)(&hiveserver.TExecuteStatementResp{Status: bad(10004, "42000", "no such column")})
			},
			want: []string{"started A q1 RUNNING", "ended A q1 ERROR"}, code: 10004, sqlState: "42000", message: "no such column",
		},
		"a TApplicationException": {
			do: func(_ *wire, c *Connection) {
				token := c.Call(thrift.Call{Method: thrift.ExecuteStatement, Request: &hiveserver.TExecuteStatementReq{SessionHandle: aSession('A'), Statement: "select 1"}})
				c.Reply(token, thrift.Reply{Method: thrift.ExecuteStatement, Exception: true, Message: "internal error"})
			},
			want: []string{"started A q1 RUNNING", "ended A q1 ERROR"}, message: "internal error",
		},
		"a reply that cannot be read": {
			do:   func(_ *wire, c *Connection) { send(c, 'A', "select 1", true)(nil) },
			want: []string{"started A q1 RUNNING", "ended A q1 LOST"},
		},
		"asynchronous, finished": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "insert into t select 1", true)(started('o'))
				poll(c, 'o', inState(hiveserver.TOperationState_PENDING_STATE))
				poll(c, 'o', inState(running))
				done := inState(hiveserver.TOperationState_FINISHED_STATE)
				done.NumModifiedRows = &rows
				poll(c, 'o', done)
				closeOp(c, 'o', good())
			},
			want: []string{"started A q1 RUNNING", "ended A q1 FINISHED"}, operation: true, modified: &rows,
		},
		"asynchronous, no row count": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "select 1", true)(started('o'))
				done := inState(hiveserver.TOperationState_FINISHED_STATE)
				done.NumModifiedRows = &none
				poll(c, 'o', done)
			},
			want: []string{"started A q1 RUNNING", "ended A q1 FINISHED"}, operation: true,
		},
		"asynchronous, failed": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "select 1", true)(started('o'))
				failed := inState(hiveserver.TOperationState_ERROR_STATE)
				failed.ErrorCode, failed.SqlState, failed.ErrorMessage = &code, &state, &message
				poll(c, 'o', failed)
				closeOp(c, 'o', good())
			},
			want: []string{"started A q1 RUNNING", "ended A q1 ERROR"}, operation: true, code: code, sqlState: state, message: message,
		},
		"timed out": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "select 1", true)(started('o'))
				poll(c, 'o', inState(hiveserver.TOperationState_TIMEDOUT_STATE))
			},
			want: []string{"started A q1 RUNNING", "ended A q1 TIMEDOUT"}, operation: true,
		},
		"cancelled, then polled": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "select 1", true)(started('o'))
				cancel(c, 'o', good())
				poll(c, 'o', inState(hiveserver.TOperationState_CANCELED_STATE))
			},
			want: []string{"started A q1 RUNNING", "ended A q1 CANCELED"}, operation: true,
		},
		"cancelled from another connection": {
			do: func(w *wire, c *Connection) {
				send(c, 'A', "select 1", true)(started('o'))
				cancel(w.connect("ops"), 'o', good())
			},
			want: []string{"started A q1 RUNNING", "ended A q1 CANCELED"}, operation: true,
		},
		"cancel refused": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "select 1", true)(started('o'))
				cancel(c, 'o', bad(0, "", "no"))
			},
			want: []string{"started A q1 RUNNING"}, operation: false,
		},
		"closed before its end": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "select 1", true)(started('o'))
				closeOp(c, 'o', good())
			},
			want: []string{"started A q1 RUNNING", "ended A q1 CLOSED"}, operation: true,
		},
		"the server forgot it": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "select 1", true)(started('o'))
				poll(c, 'o', &hiveserver.TGetOperationStatusResp{Status: bad(0, "", "Invalid OperationHandle")})
			},
			want: []string{"started A q1 RUNNING", "ended A q1 LOST"}, operation: true,
		},
		"session closed": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "select 1", true)(started('o'))
				closeSession(c, 'A', good())
			},
			want: []string{"started A q1 RUNNING", "ended A q1 CLOSED", "closed A"}, operation: true,
		},
		"session closed while the call runs": {
			do: func(w *wire, c *Connection) {
				answer := send(c, 'A', "select 1", false)
				closeSession(w.connect("bi"), 'A', good())
				answer(started('o'))
			},
			want: []string{"started A q1 RUNNING", "ended A q1 CLOSED", "closed A"},
		},
		"session not closed": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "select 1", true)(started('o'))
				closeSession(c, 'A', bad(0, "", "no"))
			},
			want: []string{"started A q1 RUNNING"},
		},
		"connection ends": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "select 1", true)(started('o'))
				c.Close()
			},
			want: []string{"started A q1 RUNNING", "ended A q1 LOST", "closed A"}, operation: true,
		},
		"connection ends before the reply": {
			do: func(_ *wire, c *Connection) {
				send(c, 'A', "select 1", false)
				c.Close()
			},
			want: []string{"started A q1 RUNNING", "ended A q1 LOST", "closed A"},
		},
		"another connection with the session ends": {
			do: func(w *wire, c *Connection) {
				other := w.connect("bi")
				send(other, 'A', "select 1", true)(started('o'))
				send(other, 'A', "select 2", false)
				other.Close()
				poll(c, 'o', inState(hiveserver.TOperationState_FINISHED_STATE))
			},
			want: []string{"started A q1 RUNNING", "started A q2 RUNNING", "ended A q2 LOST", "ended A q1 FINISHED"}, operation: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, TrackerConfig{})
			c := w.connect("bi")
			w.open(c, 'A', nil)
			tc.do(w, c)
			if got := w.sink.lines()[1:]; !slices.Equal(got, tc.want) {
				t.Fatalf("events %q, wanted %q", got, tc.want)
			}
			for _, e := range w.sink.events {
				if e.Kind == StatementEnded && e.Statement.ID == "q1" {
					check(t, *e.Statement, tc.code, tc.sqlState, tc.message, tc.modified, tc.operation)
				}
			}
		})
	}
}

func check(t *testing.T, st Statement, code int32, state, message string, modified *int64, operation bool) {
	t.Helper()
	if st.ErrorCode != code || st.SQLState != state || st.ErrorMessage != message {
		t.Errorf("error %d %q %q", st.ErrorCode, st.SQLState, st.ErrorMessage)
	}
	if (st.ModifiedRows == nil) != (modified == nil) || modified != nil && *st.ModifiedRows != *modified {
		t.Errorf("modified rows %v, wanted %v", st.ModifiedRows, modified)
	}
	if (st.OperationID != "") != operation {
		t.Errorf("operation %q", st.OperationID)
	}
	if !st.EndedAt.After(st.StartedAt) {
		t.Errorf("from %s to %s", st.StartedAt, st.EndedAt)
	}
}

// TestSessionState: what OpenSession, SET, RESET and USE make of a session, and what its statements see of it.
func TestSessionState(t *testing.T) {
	w := newWire(t, TrackerConfig{})
	c := w.connect("bi")
	w.open(c, 'A', map[string]string{
		"use:database": "Sales", "set:hiveconf:hive.auto.convert.join": "false", "mapreduce.job.queuename": "bi",
		"set:hiveconf:fs.s3a.secret.key": "AKIA", "set:hivevar:day": "monday", "hive.client.application.name": "Superset",
	})
	s := w.sink.last().Session
	if s.User != "bi" || s.Auth != "SASL PLAIN" || s.ClientProtocol != 10 || s.ClientName != "Superset" || s.Upstream != "hive" ||
		s.ClientAddr != "10.0.0.7:4711" || s.Database != "sales" || s.OpenedAt.IsZero() || s.Handle.ID() != "41414141-4141-4141-4141-414141414141" {
		t.Errorf("session %+v", s)
	}
	if got := s.Configuration["set:hiveconf:fs.s3a.secret.key"]; got != Redacted || len(s.Configuration) != 6 {
		t.Errorf("configuration %v", s.Configuration)
	}
	want := map[string]string{
		"hive.auto.convert.join": "false", "mapreduce.job.queuename": "bi", "fs.s3a.secret.key": Redacted, "hivevar:day": "monday",
		"hive.client.application.name": "Superset",
	}
	if !maps.Equal(s.Settings, want) {
		t.Errorf("settings %v", s.Settings)
	}

	run(c, 'A', 'o', "set hive.auto.convert.join=true")
	send(c, 'A', "set hiveconf:hive.cbo.enable=false", true)(started('p')) // a command processor runs it before it replies
	send(c, 'A', "set hive.nope=1", false)(&hiveserver.TExecuteStatementResp{Status: bad(1, "42000", "no")})
	run(c, 'A', 'o', "set my.password=hunter2")
	if st := w.sink.last().Statement; strings.Contains(fmt.Sprintf("%+v %+v", st, st.Info.Set), "hunter2") {
		t.Errorf("a secret is kept: %+v", st)
	}
	send(c, 'A', "use other", true)(started('q'))
	if got := w.sink.last().Session.Database; got != "sales" {
		t.Errorf("database %q before USE has finished", got)
	}
	poll(c, 'q', inState(hiveserver.TOperationState_FINISHED_STATE))
	run(c, 'A', 'o', "select 1")
	st := w.sink.last().Statement
	maps.Copy(want, map[string]string{"hive.auto.convert.join": "true", "hive.cbo.enable": "false", "my.password": Redacted})
	if st.Database != "other" || !maps.Equal(st.Settings, want) || st.Info.Kind != hiveql.KindSelect {
		t.Errorf("statement %+v", st)
	}
	if got := s.Settings["hive.auto.convert.join"]; got != "false" {
		t.Error("an event changed after it was emitted")
	}

	run(c, 'A', 'o', "reset hive.cbo.enable")
	if _, kept := w.sink.last().Session.Settings["hive.cbo.enable"]; kept {
		t.Error("RESET key left the setting")
	}
	run(c, 'A', 'o', "reset")
	if got := w.sink.last().Session.Settings; len(got) != 0 {
		t.Errorf("settings %v after RESET", got)
	}
}

func TestUserAndAuthentication(t *testing.T) {
	for name, tc := range map[string]struct {
		login      thrift.Login
		user, auth string
	}{
		"plain":    {thrift.Login{Mechanism: "PLAIN", User: "bi"}, "bi", "SASL PLAIN"},
		"kerberos": {thrift.Login{Mechanism: "GSSAPI"}, "from OpenSession", "SASL GSSAPI"},
		"nosasl":   {thrift.Login{}, "from OpenSession", "NOSASL"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, TrackerConfig{})
			c := w.tracker.Connect("10.0.0.7:4711")
			c.Login(tc.login)
			w.open(c, 'A', nil)
			if s := w.sink.last().Session; s.User != tc.user || s.Auth != tc.auth {
				t.Errorf("user %q, authentication %q", s.User, s.Auth)
			}
		})
	}
}

// TestSessionsAndConnections: sessions belong to handles; only the opening connection's end closes them.
func TestSessionsAndConnections(t *testing.T) {
	w := newWire(t, TrackerConfig{})
	first, second := w.connect("bi"), w.connect("etl")
	w.open(first, 'A', nil)
	w.open(first, 'B', nil)
	w.open(second, 'C', nil)
	run(second, 'A', 'o', "use shared")
	send(second, 'B', "select 1", true)(started('p'))
	second.Close()
	if got, want := w.sink.lines()[3:], []string{"started A q1 RUNNING", "ended A q1 FINISHED", "started B q2 RUNNING", "closed C"}; !slices.Equal(got, want) {
		t.Errorf("events %q, wanted %q", got, want)
	}
	if got := w.tracker.Stats(); got.Sessions != 2 || got.Statements != 1 {
		t.Errorf("stats %+v", got)
	}
	if got := w.tracker.Sessions(); len(got) != 2 || got[0].Database != "shared" {
		t.Errorf("sessions %+v", got)
	}
	first.Close()
	if got := w.tracker.Stats(); got.Sessions != 0 || got.Statements != 0 {
		t.Errorf("stats %+v", got)
	}
}

func TestKeptSessions(t *testing.T) {
	w := newWire(t, TrackerConfig{KeepSessionsOnDisconnect: true})
	c := w.connect("bi")
	w.open(c, 'A', nil)
	c.Close()
	other := w.connect("bi")
	run(other, 'A', 'o', "select 1")
	closeSession(other, 'A', good())
	want := []string{"opened A", "started A q1 RUNNING", "ended A q1 FINISHED", "closed A"}
	if got := w.sink.lines(); !slices.Equal(got, want) {
		t.Errorf("events %q, wanted %q", got, want)
	}
}

// TestUnknownSession: a session opened out of sight is recorded when it is used.
func TestUnknownSession(t *testing.T) {
	w := newWire(t, TrackerConfig{})
	c := w.connect("bi")
	run(c, 'X', 'o', "select 1")
	want := []string{"opened X", "started X q1 RUNNING", "ended X q1 FINISHED"}
	if got := w.sink.lines(); !slices.Equal(got, want) {
		t.Errorf("events %q, wanted %q", got, want)
	}
	if s := w.sink.last().Session; s.User != "bi" || s.Database != "" {
		t.Errorf("session %+v", s)
	}
}

// TestBounds: the oldest are given up, and counted.
func TestBounds(t *testing.T) {
	w := newWire(t, TrackerConfig{MaxSessions: 2, MaxStatements: 2})
	c := w.connect("bi")
	w.open(c, 'A', nil)
	w.open(c, 'B', nil)
	run(c, 'A', 'o', "select 1") // B is now unused for longest
	w.open(c, 'C', nil)
	for i, op := range []byte{'p', 'q', 'r'} {
		send(c, "AAC"[i], "select 1", true)(started(op))
	}
	want := []string{
		"opened A", "opened B", "started A q1 RUNNING", "ended A q1 FINISHED", "closed B", "opened C",
		"started A q2 RUNNING", "started A q3 RUNNING", "ended A q2 LOST", "started C q4 RUNNING",
	}
	if got := w.sink.lines(); !slices.Equal(got, want) {
		t.Errorf("events\n%q, wanted\n%q", got, want)
	}
	stats := w.tracker.Stats()
	if stats.ForgottenSessions != 1 || stats.ForgottenStatements != 1 || stats.Sessions != 2 || stats.Statements != 2 {
		t.Errorf("stats %+v", stats)
	}
	c.Close()
	if stats := w.tracker.Stats(); stats.Sessions != 0 || stats.Statements != 0 || len(w.tracker.operations) != 0 {
		t.Errorf("stats %+v, %d operations", stats, len(w.tracker.operations))
	}
}

func TestDroppedEvents(t *testing.T) {
	w := newWire(t, TrackerConfig{})
	w.sink.full = true
	c := w.connect("bi")
	w.open(c, 'A', nil)
	run(c, 'A', 'o', "select 1")
	if got := w.tracker.Stats().DroppedEvents; got != 3 {
		t.Errorf("%d events dropped", got)
	}
}

// TestIncomplete: requests and results with fields missing, as truncated or hostile messages bring them.
func TestIncomplete(t *testing.T) {
	w := newWire(t, TrackerConfig{})
	c := w.connect("bi")
	short := &hiveserver.TSessionHandle{SessionId: &hiveserver.THandleIdentifier{GUID: []byte("short")}}
	shortOp := &hiveserver.TOperationHandle{OperationId: &hiveserver.THandleIdentifier{GUID: []byte("short")}}
	exchange(c, thrift.OpenSession, &hiveserver.TOpenSessionReq{}, &hiveserver.TOpenSessionResp{})
	exchange(c, thrift.OpenSession, &hiveserver.TOpenSessionReq{}, &hiveserver.TOpenSessionResp{Status: good(), SessionHandle: short})
	exchange(c, thrift.OpenSession, &hiveserver.TOpenSessionReq{}, nil)
	exchange(c, thrift.OpenSession, nil, &hiveserver.TOpenSessionResp{Status: good(), SessionHandle: aSession('A')})
	exchange(c, thrift.ExecuteStatement, &hiveserver.TExecuteStatementReq{}, started('o'))
	exchange(c, thrift.GetOperationStatus, &hiveserver.TGetOperationStatusReq{OperationHandle: shortOp}, &hiveserver.TGetOperationStatusResp{})
	exchange(c, thrift.CancelOperation, &hiveserver.TCancelOperationReq{}, &hiveserver.TCancelOperationResp{})
	exchange(c, thrift.CloseOperation, &hiveserver.TCloseOperationReq{}, &hiveserver.TCloseOperationResp{})
	exchange(c, thrift.CloseSession, &hiveserver.TCloseSessionReq{SessionHandle: short}, &hiveserver.TCloseSessionResp{})
	if len(w.sink.events) != 0 {
		t.Errorf("events %q", w.sink.lines())
	}
	w.open(c, 'A', nil)
	send(c, 'A', "select 1", true)(&hiveserver.TExecuteStatementResp{})               // no status
	send(c, 'A', "select 1", true)(&hiveserver.TExecuteStatementResp{Status: good()}) // no handle
	send(c, 'A', "select 1", true)(&hiveserver.TExecuteStatementResp{Status: good(), OperationHandle: shortOp})
	poll(c, 'o', &hiveserver.TGetOperationStatusResp{})
	closeSession(c, 'A', good())
	c.Close()
	c.Close()
	if stats := w.tracker.Stats(); stats.Sessions != 0 || stats.Statements != 0 {
		t.Errorf("stats %+v", stats)
	}
}

// TestDoubtfulSession: a session that HiveServer2 does not know is forgotten, whether it says so or the connection ends first;
// so is one that it has given up itself.
func TestDoubtfulSession(t *testing.T) {
	unknown := &hiveserver.TExecuteStatementResp{Status: bad(0, "", "Invalid SessionHandle: SessionHandle [x]")}
	for name, tc := range map[string]struct {
		do   func(w *wire, c *Connection)
		want []string
	}{
		"refused": {
			func(_ *wire, c *Connection) { send(c, 'X', "select 1", false)(unknown) },
			[]string{"opened X", "started X q1 RUNNING", "ended X q1 ERROR", "closed X"},
		},
		"never answered": {
			func(_ *wire, c *Connection) { send(c, 'X', "select 1", false); c.Close() },
			[]string{"opened X", "started X q1 RUNNING", "ended X q1 LOST", "closed X"},
		},
		"confirmed": {
			func(_ *wire, c *Connection) { run(c, 'X', 'o', "select 1"); c.Close() },
			[]string{"opened X", "started X q1 RUNNING", "ended X q1 FINISHED"},
		},
		"expired": {
			func(w *wire, c *Connection) {
				w.open(c, 'X', nil)
				send(c, 'X', "select 1", true)(started('o'))
				send(c, 'X', "select 2", true)(unknown)
			},
			[]string{"opened X", "started X q1 RUNNING", "started X q2 RUNNING", "ended X q2 ERROR", "ended X q1 LOST", "closed X"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, TrackerConfig{KeepSessionsOnDisconnect: true})
			tc.do(w, w.connect("bi"))
			if got := w.sink.lines(); !slices.Equal(got, tc.want) {
				t.Errorf("events %q, wanted %q", got, tc.want)
			}
		})
	}
}

func TestSecretSettings(t *testing.T) {
	for name, secret := range map[string]bool{
		"javax.jdo.option.ConnectionPassword": true, "fs.s3a.access.key": true, "fs.s3a.secret.key": true, "hive.server2.ssl.truststore.passwd": true,
		"fs.azure.account.key.store.blob": true, "my.token": true, "PASSWORD": true, "hive.key": true, "oauth.credential": true,
		"hive.hashtable.key.count.adjustment": false, "hive.auto.convert.join": false, "hive.vectorized.execution.mapjoin.native.multikey.only.enabled": false,
		"hive.tez.container.size": false, "keyboard": false,
	} {
		if got := secretSetting(name); got != secret {
			t.Errorf("%s: secret %t", name, got)
		}
	}
}

func TestQueue(t *testing.T) {
	q := NewQueue(2)
	q.MaxBytes = 10
	for i := range 3 {
		if got := q.Offer(Event{Kind: EventKind(i + 1)}); got != (i < 2) {
			t.Errorf("offer %d: %t", i, got)
		}
	}
	if q.Len() != 2 || q.Dropped() != 1 {
		t.Errorf("%d wait, %d dropped", q.Len(), q.Dropped())
	}
	for want := SessionOpened; q.Len() > 0; want++ {
		if e := <-q.Events(); e.Kind != want {
			t.Errorf("event %d, wanted %d", e.Kind, want)
		}
	}
	text := func(n int) Event { return Event{Statement: &Statement{SQL: strings.Repeat("x", n)}} }
	for i, tc := range []struct {
		bytes int
		fits  bool
	}{{11, false}, {6, true}, {5, false}, {4, true}} {
		if got := q.Offer(text(tc.bytes)); got != tc.fits {
			t.Errorf("offer %d of %d bytes: %t", i, tc.bytes, got)
		}
	}
	<-q.Events()
	if !q.Offer(text(6)) {
		t.Error("the bytes of a taken event still count")
	}
	for range 1000 { // what has been taken is forgotten
		<-q.Events()
		if !q.Offer(text(4)) {
			t.Fatal("a queue with room is full")
		}
	}
	if cap(q.sizes) > 16 {
		t.Errorf("%d sizes kept of 2 events", cap(q.sizes))
	}
}

// TestTextBound: long statements push out the oldest before there are many of them.
func TestTextBound(t *testing.T) {
	w := newWire(t, TrackerConfig{MaxTextBytes: 100_000})
	c := w.connect("bi")
	w.open(c, 'A', nil)
	for i := range 10 {
		send(c, 'A', "select '"+strings.Repeat("x", 30_000)+"'", true)(started(byte('a' + i)))
	}
	stats := w.tracker.Stats()
	if stats.Statements != 3 || stats.ForgottenStatements != 7 {
		t.Errorf("stats %+v", stats)
	}
	closeSession(c, 'A', good())
	if w.tracker.text != 0 {
		t.Errorf("%d bytes counted without a statement", w.tracker.text)
	}
}
