package intercept

import (
	"slices"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// Connection is one client connection as the Tracker sees it. Its methods are called in the order of the wire; token values
// are those of thrift.Observer.
type Connection struct {
	tracker *Tracker
	// All of the following is guarded by tracker.mu.
	addr   string
	server string
	login  thrift.Login
	method string // Session.Auth by the login; empty when not yet needed
	// opened are the sessions that end with this connection; calls are statements whose ExecuteStatement has no reply yet.
	opened few[*session]
	calls  few[*statement]
	// latest and last are the one of opened that was used last and the running statement that began last, if they have not ended:
	// most calls are about them, and need no look into the tracker's maps.
	latest *session
	last   *statement
}

// Connect begins a connection from the client's address (host:port).
func (t *Tracker) Connect(clientAddr string) *Connection {
	return &Connection{tracker: t, addr: clientAddr}
}

// from replaces the client's address by what a trusted proxy said of it.
func (c *Connection) from(addr string) {
	c.tracker.mu.Lock()
	defer c.tracker.mu.Unlock()
	c.addr = addr
}

// seen is the latest login.
func (c *Connection) seen() thrift.Login {
	c.tracker.mu.Lock()
	defer c.tracker.mu.Unlock()
	return c.login
}

// clientAddr is the client's address.
func (c *Connection) clientAddr() string {
	c.tracker.mu.Lock()
	defer c.tracker.mu.Unlock()
	return c.addr
}

// via notes the HiveServer2 that the connection goes to.
func (c *Connection) via(server string) {
	c.tracker.mu.Lock()
	defer c.tracker.mu.Unlock()
	c.server = server
}

// Login notes how the client authenticates.
func (c *Connection) Login(l thrift.Login) {
	c.tracker.mu.Lock()
	defer c.tracker.mu.Unlock()
	c.login, c.method = l, ""
}

// auth is Session.Auth.
func (c *Connection) auth() string {
	if c.method != "" {
		return c.method
	}
	switch {
	case c.login.Transport == thrift.HTTP && c.login.Mechanism == "":
		c.method = "HTTP"
	case c.login.Transport == thrift.HTTP:
		c.method = "HTTP " + c.login.Mechanism
	case c.login.Mechanism == "":
		c.method = "NOSASL"
	default:
		c.method = "SASL " + c.login.Mechanism
	}
	return c.method
}

// Call notes a call; the token comes back with its reply. It is the request itself, the session or the statement the call is
// about, or nil when the reply tells nothing.
func (c *Connection) Call(call thrift.Call) any {
	switch req := call.Request.(type) {
	case *hiveserver.TOpenSessionReq:
		return req
	case *hiveserver.TExecuteStatementReq:
		if st := c.start(req, call.Truncated); st != nil {
			return st
		}
	case *hiveserver.TGetOperationStatusReq:
		return c.operation(req.OperationHandle)
	case *hiveserver.TCancelOperationReq:
		return c.operation(req.OperationHandle)
	case *hiveserver.TCloseOperationReq:
		return c.operation(req.OperationHandle)
	case *thrift.LogFetch:
		return c.logged(req.Operation)
	case *hiveserver.TCloseSessionReq:
		if s := c.session(req.SessionHandle); s != nil {
			return s
		}
	}
	return nil
}

// Reply notes the reply to the call that returned token.
func (c *Connection) Reply(token any, r thrift.Reply) {
	switch about := token.(type) {
	case *hiveserver.TOpenSessionReq:
		if resp, ok := r.Result.(*hiveserver.TOpenSessionResp); ok {
			c.open(about, resp)
		}
	case *session:
		if resp, ok := r.Result.(*hiveserver.TCloseSessionResp); ok && succeeded(resp.Status) {
			c.tracker.closeSession(about, StateClosed)
		}
	case *late:
		if counters, ok := r.Result.(thrift.OperatorCounters); ok {
			c.counted(about, counters)
		}
	case *statement:
		c.replyAbout(about, r)
	}
}

func (c *Connection) replyAbout(st *statement, r thrift.Reply) {
	t := c.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Method == thrift.ExecuteStatement {
		c.calls.remove(st)
	}
	if st.State.Final() {
		return
	}
	if r.Rejected {
		if r.Method == thrift.ExecuteStatement {
			t.void(st) // the client sends it again, with a login
		}
		return
	}
	switch resp := r.Result.(type) {
	case *hiveserver.TExecuteStatementResp:
		t.executed(st, resp)
	case *hiveserver.TGetOperationStatusResp:
		t.polled(st, resp)
	case *hiveserver.TCancelOperationResp:
		if succeeded(resp.Status) {
			t.end(st, StateCanceled)
		}
	case *hiveserver.TCloseOperationResp:
		if succeeded(resp.Status) {
			t.end(st, StateClosed)
		}
	default:
		if r.Method != thrift.ExecuteStatement {
			return
		}
		// A TApplicationException, or a reply that could not be read.
		state := StateLost
		if r.Exception {
			state, st.ErrorMessage = StateError, r.Message
		}
		t.end(st, state)
	}
}

// Close ends the connection. Statements whose reply never came are LOST, and so are the open ones of the sessions that
// HiveServer2 closes with the connection that opened them.
func (c *Connection) Close() {
	t := c.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	for st, ok := c.calls.any(); ok; st, ok = c.calls.any() {
		t.end(st, StateLost)
	}
	for _, s := range slices.Clone(c.opened) {
		if !t.cfg.KeepSessionsOnDisconnect || s.doubtful {
			t.drop(s, StateLost)
		}
		s.opener = nil
	}
	c.opened, c.latest, c.last = nil, nil, nil
}

// succeeded reports whether the status lets the result count.
func succeeded(s *hiveserver.TStatus) bool {
	if s == nil {
		return false
	}
	switch s.StatusCode {
	case hiveserver.TStatusCode_SUCCESS_STATUS, hiveserver.TStatusCode_SUCCESS_WITH_INFO_STATUS,
		hiveserver.TStatusCode_STILL_EXECUTING_STATUS:
		return true
	default:
		return false
	}
}
