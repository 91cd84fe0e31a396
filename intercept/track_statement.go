package intercept

import (
	"container/list"
	"maps"
	"strings"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// statement is a running statement.
type statement struct {
	Statement
	session *session
	conn    *Connection
	place   *list.Element
	// async: the reply only says that the statement has started.
	async     bool
	operation [16]byte // meaningful once OperationID is set
}

// start records an ExecuteStatement call. Nil when it names no session.
func (c *Connection) start(req *hiveserver.TExecuteStatementReq, truncated bool) *statement {
	handle, ok := handleOf(req.SessionHandle)
	if !ok {
		return nil
	}
	t := c.tracker
	sql, info := withoutSecret(req.Statement, guarded(hiveql.Peek, req.Statement)) // outside the lock; the call waits for it
	st := &statement{conn: c, async: req.RunAsync, Statement: Statement{
		ID: t.cfg.NewID(), SQL: sql, Truncated: truncated,
		Info: info, ConfOverlay: redact(req.ConfOverlay), State: StateRunning,
	}}
	if info.Set != nil || info.Reset != nil {
		// ExecuteStatementOperation hands these to a command processor, which runs before the reply whatever the client asks.
		st.async = false
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	s := c.find(handle)
	if s == nil {
		s = c.adopt(handle)
	}
	t.used.MoveToBack(s.place)
	size := st.size()
	for oldest := t.started.Front(); oldest != nil && (t.started.Len() >= t.cfg.MaxStatements || t.text+size > t.cfg.MaxTextBytes); oldest = t.started.Front() {
		t.end(oldest.Value.(*statement), StateLost)
		t.stats.ForgottenStatements++
	}
	t.text += size
	st.session, st.SessionID, st.Database, st.Settings, st.StartedAt = s, s.name(), s.Database, s.Settings, t.cfg.Now()
	st.place = t.started.PushBack(st)
	s.statements.add(st)
	c.calls.add(st)
	t.emit(StatementStarted, s, st)
	return st
}

// size is the memory its text holds, in bytes; it does not change.
func (st *statement) size() int64 { return int64(len(st.SQL)) }

// guarded keeps a defect of the reader away from the observation.
func guarded(read func(string) hiveql.Info, sql string) (info hiveql.Info) {
	defer func() {
		if recover() != nil {
			info = hiveql.Info{Kind: hiveql.KindOther}
		}
	}()
	return read(sql)
}

// withoutSecret is text and info, or what may be kept of a SET whose value is a secret.
func withoutSecret(sql string, info hiveql.Info) (string, hiveql.Info) {
	if info.Set != nil && secretSetting(info.Set.Key) {
		sql = "set " + info.Set.Key + "=" + Redacted
		info.Set = &hiveql.Assignment{Key: info.Set.Key, Value: Redacted}
	}
	return sql, info
}

// operation is the running statement with this handle as a token, nil without one.
func (c *Connection) operation(h *hiveserver.TOperationHandle) any {
	id, ok := operationID(h)
	if !ok {
		return nil
	}
	t := c.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if st := c.last; st != nil && st.operation == id {
		return st
	}
	if st := t.operations[id]; st != nil {
		return st
	}
	return nil
}

func operationID(h *hiveserver.TOperationHandle) (id [16]byte, ok bool) {
	if h == nil || h.OperationId == nil || len(h.OperationId.GUID) != 16 {
		return id, false
	}
	return [16]byte(h.OperationId.GUID), true
}

// executed takes the reply to ExecuteStatement. A synchronous statement has ended with it; an asynchronous one has compiled.
// It needs the lock.
func (t *Tracker) executed(st *statement, resp *hiveserver.TExecuteStatementResp) {
	if !succeeded(resp.Status) {
		st.fail(resp.Status)
		t.end(st, StateError)
		if unknownSession(resp.Status) {
			t.drop(st.session, StateLost)
		}
		return
	}
	st.session.confirm()
	if id, ok := operationID(resp.OperationHandle); ok {
		if old := t.operations[id]; old != nil {
			t.end(old, StateLost) // another server answers behind the same address
		}
		st.operation, st.OperationID = id, formatGUID(id)
		if secret := resp.OperationHandle.OperationId.Secret; len(secret) == 16 {
			st.OperationSecret = [16]byte(secret)
		}
		t.operations[id], st.conn.last = st, st
		if rows := resp.OperationHandle.ModifiedRowCount; rows != nil && *rows >= 0 && *rows < 1<<62 {
			n := int64(*rows)
			st.ModifiedRows = &n
		}
	}
	if !st.async {
		t.end(st, StateFinished)
	}
}

// unknownSession reports whether HiveServer2 does not know the session, any more or at all. 4.0.1 says so with status ERROR, code 0
// and a text (SessionManager.getSession), not with INVALID_HANDLE.
func unknownSession(s *hiveserver.TStatus) bool {
	return s != nil && (s.StatusCode == hiveserver.TStatusCode_INVALID_HANDLE_STATUS ||
		strings.HasPrefix(value(s.ErrorMessage), "Invalid SessionHandle"))
}

// polled takes the reply to GetOperationStatus. It needs the lock.
func (t *Tracker) polled(st *statement, resp *hiveserver.TGetOperationStatusResp) {
	if resp.Status != nil && !succeeded(resp.Status) {
		// HiveServer2 does not know the operation any more: it restarted, or somebody else closed it.
		t.end(st, StateLost)
		return
	}
	if resp.OperationState == nil {
		return
	}
	if rows := resp.NumModifiedRows; rows != nil && *rows >= 0 {
		n := *rows
		st.ModifiedRows = &n
	}
	switch *resp.OperationState {
	case hiveserver.TOperationState_FINISHED_STATE:
		t.end(st, StateFinished)
	case hiveserver.TOperationState_CANCELED_STATE:
		t.end(st, StateCanceled)
	case hiveserver.TOperationState_CLOSED_STATE:
		t.end(st, StateClosed)
	case hiveserver.TOperationState_TIMEDOUT_STATE:
		st.failPolled(resp)
		t.end(st, StateTimedout)
	case hiveserver.TOperationState_ERROR_STATE:
		st.failPolled(resp)
		t.end(st, StateError)
	default: // initialized, pending, running, unknown
	}
}

func (st *statement) fail(s *hiveserver.TStatus) {
	if s == nil {
		return
	}
	st.ErrorCode, st.SQLState, st.ErrorMessage = value(s.ErrorCode), value(s.SqlState), value(s.ErrorMessage)
}

func (st *statement) failPolled(r *hiveserver.TGetOperationStatusResp) {
	st.ErrorCode, st.SQLState, st.ErrorMessage = value(r.ErrorCode), value(r.SqlState), value(r.ErrorMessage)
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// end gives a running statement its final state and forgets it. It needs the lock.
func (t *Tracker) end(st *statement, state State) {
	t.forget(st)
	st.State, st.EndedAt = state, t.cfg.Now()
	s := st.session
	if state == StateFinished {
		if st.OperationID != "" {
			t.late.add(st)
		}
		s.apply(st.Info)
	}
	t.emit(StatementEnded, s, st)
}

// void takes a statement back that HiveServer2 has refused to look at. It needs the lock.
func (t *Tracker) void(st *statement) {
	t.forget(st)
	st.State = StateLost // final: nothing more of it counts
	t.emit(StatementVoid, st.session, st)
}

// forget takes a statement out of every list.
func (t *Tracker) forget(st *statement) {
	t.started.Remove(st.place)
	t.text -= st.size()
	st.session.statements.remove(st)
	st.conn.calls.remove(st)
	if st.conn.last == st {
		st.conn.last = nil
	}
	if st.OperationID != "" {
		delete(t.operations, st.operation)
	}
}

// apply makes a successful SET, RESET or USE the session's.
func (s *session) apply(info hiveql.Info) {
	switch {
	case info.Set != nil:
		s.set(info.Set.Key, info.Set.Value)
	case info.Reset != nil && info.Reset.All:
		s.Settings, s.copied = noSettings, nil
	case info.Reset != nil:
		settings := maps.Clone(s.Settings)
		for _, name := range info.Reset.Keys {
			delete(settings, name)
		}
		s.Settings, s.copied = settings, nil
	case info.Use != "":
		s.Database, s.copied = strings.ToLower(info.Use), nil
	}
}
