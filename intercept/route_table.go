package intercept

import (
	"fmt"
	"sync/atomic"

	"github.com/beltran/gohive/hiveserver"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// How much is remembered of where HTTP requests go; what was not used for longest is forgotten.
const (
	routedSessions   = 1 << 15
	routedOperations = 1 << 15
	routedCookies    = 1 << 14
)

// affinity remembers which HiveServer2 has what an HTTP request may be about, by Server.ID. HiveServer2s know nothing of each
// other's sessions and operations, and take no cookie that another has signed.
type affinity struct {
	sessions, operations *lru.Cache[thrift.GUID, string]
	cookies              *lru.Cache[uint64, string]
	// first is the server of the first session there was; spread: there was one of another.
	first  atomic.Pointer[string]
	spread atomic.Bool
}

func newAffinity() (*affinity, error) {
	a := &affinity{}
	var err error
	if a.sessions, err = lru.New[thrift.GUID, string](routedSessions); err != nil {
		return nil, fmt.Errorf("sessions by server: %w", err)
	}
	if a.operations, err = lru.New[thrift.GUID, string](routedOperations); err != nil {
		return nil, fmt.Errorf("operations by server: %w", err)
	}
	if a.cookies, err = lru.New[uint64, string](routedCookies); err != nil {
		return nil, fmt.Errorf("cookies by server: %w", err)
	}
	return a, nil
}

// handle is the server that has the session or the operation of a request.
func (a *affinity) handle(q *thrift.HTTPRequest) (id string, known bool) {
	switch q.Handle {
	case thrift.SessionHandle:
		return a.sessions.Get(q.ID)
	case thrift.OperationHandle:
		return a.operations.Get(q.ID)
	case thrift.NoHandle:
	}
	return "", false
}

// cookie is the server that has signed a request's cookie.
func (a *affinity) cookie(q *thrift.HTTPRequest) (id string, known bool) {
	if q.CookieHash == 0 {
		return "", false
	}
	return a.cookies.Get(q.CookieHash)
}

// taken notes that the server has answered a request: with status 2xx it took the request's cookie, and its own it takes anyway.
func (a *affinity) taken(q *thrift.HTTPRequest, answer thrift.Answer, id string) {
	if answer.Status/100 != 2 {
		return
	}
	for _, hash := range []uint64{q.CookieHash, answer.CookieHash} {
		if hash != 0 {
			a.cookies.Add(hash, id)
		}
	}
}

// replied notes whose session or operation a reply is about. It tells of sessions from before our start, too, once a statement in
// them was accepted.
func (a *affinity) replied(token any, r thrift.Reply, id string) {
	if r.Operation != (thrift.GUID{}) {
		a.operations.Add(r.Operation, id)
	}
	switch resp := r.Result.(type) {
	case *hiveserver.TOpenSessionResp:
		if handle, ok := handleOf(resp.SessionHandle); ok && succeeded(resp.Status) {
			a.session(handle.GUID, id)
		}
	case *hiveserver.TExecuteStatementResp:
		if !succeeded(resp.Status) {
			return
		}
		if st, ok := token.(*statement); ok {
			a.session(st.session.Handle.GUID, id)
		}
		if operation, ok := operationID(resp.OperationHandle); ok {
			a.operations.Add(operation, id)
		}
	}
}

func (a *affinity) session(guid thrift.GUID, id string) {
	a.sessions.Add(guid, id)
	if !a.first.CompareAndSwap(nil, &id) && *a.first.Load() != id {
		a.spread.Store(true)
	}
}

// beside reports whether sessions were opened on another server than the given one.
func (a *affinity) beside(id string) bool {
	first := a.first.Load()
	return first != nil && *first != id || a.spread.Load()
}

// route notes where further requests about a reply's session or operation go.
func (w *watcher) route(token any, r thrift.Reply) {
	w.relay.mu.Lock()
	server := w.relay.mu.upstream
	w.relay.mu.Unlock()
	if server != nil {
		w.relay.server.affinity.replied(token, r, server.ID)
	}
}
