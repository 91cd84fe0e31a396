package pipeline

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// answer is what a statement brings: rows of one string column, lines of its log, rows modified.
type answer struct {
	rows     []string
	log      []string
	modified *int64
}

// hive2 is a HiveServer2 over bare Thrift whose statements are answered by functions. It keeps sessions beyond their
// connections, so that a session nobody closed shows.
type hive2 struct {
	hiveserver.TCLIService
	address string

	mu struct {
		sync.Mutex
		refuse     func(*hiveserver.TExecuteStatementReq) *hiveserver.TStatus
		reply      func(sql string) answer
		breaks     func(call string) bool // the connection breaks in place of a reply
		sessions   map[[16]byte]map[string]string
		opened     []map[string]string
		operations map[[16]byte]*operation2
		executed   []*hiveserver.TExecuteStatementReq
		conns      map[net.Conn]struct{}
		accepted   int
		held       chan struct{} // ExecuteStatement waits for it when not nil
	}
	arrived chan string // the statements, as they come
}

type operation2 struct {
	secret       [16]byte
	answer       answer
	fetched, log bool
}

func startHive(t testing.TB) *hive2 {
	t.Helper()
	h := &hive2{arrived: make(chan string, 1<<14)}
	h.mu.sessions, h.mu.operations, h.mu.conns = map[[16]byte]map[string]string{}, map[[16]byte]*operation2{}, map[net.Conn]struct{}{}
	h.mu.reply = func(string) answer { return answer{} }
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.address = listener.Addr().String()
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			h.mu.Lock()
			h.mu.conns[conn] = struct{}{}
			h.mu.accepted++
			h.mu.Unlock()
			work.Go(func() { h.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		h.release()
		h.disconnect()
		work.Wait()
	})
	return h
}

func (h *hive2) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		h.mu.Lock()
		delete(h.mu.conns, conn)
		h.mu.Unlock()
	}()
	conf := &athrift.TConfiguration{}
	transport := athrift.NewTBufferedTransport(athrift.NewTSocketFromConnConf(conn, conf), 4096)
	protocol := athrift.NewTBinaryProtocolConf(transport, conf)
	processor := hiveserver.NewTCLIServiceProcessor(h)
	for {
		if ok, err := processor.Process(context.Background(), protocol, protocol); !ok || err != nil {
			return
		}
	}
}

func (h *hive2) config() client.Config {
	return client.Config{Address: h.address, Auth: "NOSASL", User: "u", CallTimeout: patience}
}

// set changes how the server behaves.
func (h *hive2) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// plan answers every EXPLAIN with a text.
func (h *hive2) plan(text ...string) {
	h.set(func() { h.mu.reply = func(string) answer { return answer{rows: text} } })
}

// hold makes statements wait until release.
func (h *hive2) hold() { h.set(func() { h.mu.held = make(chan struct{}) }) }

func (h *hive2) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.held != nil {
		close(h.mu.held)
		h.mu.held = nil
	}
}

func (h *hive2) disconnect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.mu.conns {
		_ = c.Close()
	}
}

func (h *hive2) connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.mu.conns)
}

func (h *hive2) accepted() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.accepted
}

// statements are those executed so far.
func (h *hive2) statements() (out []string) {
	for _, r := range h.requests() {
		out = append(out, r.Statement)
	}
	return out
}

func (h *hive2) requests() []*hiveserver.TExecuteStatementReq {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.mu.executed)
}

func (h *hive2) configurations() []map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.mu.opened)
}

// wantOpen checks what was left open.
func (h *hive2) wantOpen(t testing.TB, sessions int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.mu.sessions) != sessions || len(h.mu.operations) != 0 {
		t.Errorf("%d sessions and %d operations are open, want %d and 0", len(h.mu.sessions), len(h.mu.operations), sessions)
	}
}

// session opens a client's session.
func (h *hive2) session() client.Handle {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := newID()
	h.mu.sessions[id] = map[string]string{}
	return client.Handle{GUID: id, Secret: id}
}

// operation leaves a client's operation that modified rows.
func (h *hive2) operation(modified *int64) client.Handle {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := newID()
	h.mu.operations[id] = &operation2{secret: id, answer: answer{modified: modified}}
	return client.Handle{GUID: id, Secret: id}
}

func newID() (id [16]byte) {
	_, _ = rand.Read(id[:])
	return id
}

func okStatus() *hiveserver.TStatus {
	return &hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_SUCCESS_STATUS}
}

func refusedStatus(code int32, message string) *hiveserver.TStatus {
	state := "42000"
	return &hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_ERROR_STATUS, ErrorCode: &code, SqlState: &state, ErrorMessage: &message}
}

// broken needs no lock.
func (h *hive2) broken(call string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.breaks != nil && h.mu.breaks(call)
}

func (h *hive2) OpenSession(_ context.Context, req *hiveserver.TOpenSessionReq) (*hiveserver.TOpenSessionResp, error) {
	if h.broken("OpenSession") {
		return nil, athrift.ErrAbandonRequest
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	id := newID()
	h.mu.sessions[id] = req.Configuration
	h.mu.opened = append(h.mu.opened, maps.Clone(req.Configuration))
	return &hiveserver.TOpenSessionResp{Status: okStatus(), ServerProtocolVersion: req.ClientProtocol, SessionHandle: &hiveserver.TSessionHandle{
		SessionId: &hiveserver.THandleIdentifier{GUID: id[:], Secret: id[:]},
	}}, nil
}

func (h *hive2) CloseSession(_ context.Context, req *hiveserver.TCloseSessionReq) (*hiveserver.TCloseSessionResp, error) {
	if h.broken("CloseSession") {
		return nil, athrift.ErrAbandonRequest
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.mu.sessions, [16]byte(req.SessionHandle.SessionId.GUID))
	return &hiveserver.TCloseSessionResp{Status: okStatus()}, nil
}

func (h *hive2) ExecuteStatement(_ context.Context, req *hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error) {
	h.mu.Lock()
	h.mu.executed = append(h.mu.executed, req)
	held := h.mu.held
	h.mu.Unlock()
	h.arrived <- req.Statement
	if held != nil {
		<-held
	}
	if h.broken("ExecuteStatement") {
		return nil, athrift.ErrAbandonRequest
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	session := [16]byte(req.SessionHandle.SessionId.GUID)
	if _, ok := h.mu.sessions[session]; !ok {
		return &hiveserver.TExecuteStatementResp{Status: refusedStatus(0, fmt.Sprintf("Invalid SessionHandle: SessionHandle [%x]", session))}, nil
	}
	if h.mu.refuse != nil {
		if status := h.mu.refuse(req); status != nil {
			return &hiveserver.TExecuteStatementResp{Status: status}, nil
		}
	}
	id := newID()
	op := &operation2{secret: id, answer: h.mu.reply(req.Statement)}
	h.mu.operations[id] = op
	return &hiveserver.TExecuteStatementResp{Status: okStatus(), OperationHandle: &hiveserver.TOperationHandle{
		OperationId: &hiveserver.THandleIdentifier{GUID: id[:], Secret: id[:]}, HasResultSet: op.answer.rows != nil,
	}}, nil
}

// find needs the lock.
func (h *hive2) find(handle *hiveserver.TOperationHandle) (*operation2, *hiveserver.TStatus) {
	op := h.mu.operations[[16]byte(handle.OperationId.GUID)]
	if op == nil || op.secret != [16]byte(handle.OperationId.Secret) {
		return nil, refusedStatus(0, "Invalid OperationHandle: OperationHandle")
	}
	return op, okStatus()
}

func (h *hive2) GetOperationStatus(_ context.Context, req *hiveserver.TGetOperationStatusReq) (*hiveserver.TGetOperationStatusResp, error) {
	if h.broken("GetOperationStatus") {
		return nil, athrift.ErrAbandonRequest
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	op, status := h.find(req.OperationHandle)
	if op == nil {
		return &hiveserver.TGetOperationStatusResp{Status: status}, nil
	}
	state, has := hiveserver.TOperationState_FINISHED_STATE, op.answer.rows != nil
	return &hiveserver.TGetOperationStatusResp{Status: status, OperationState: &state, HasResultSet: &has, NumModifiedRows: op.answer.modified}, nil
}

func (h *hive2) GetResultSetMetadata(_ context.Context, req *hiveserver.TGetResultSetMetadataReq) (*hiveserver.TGetResultSetMetadataResp, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, status := h.find(req.OperationHandle)
	return &hiveserver.TGetResultSetMetadataResp{Status: status, Schema: &hiveserver.TTableSchema{Columns: []*hiveserver.TColumnDesc{{
		ColumnName: "Explain", Position: 1, TypeDesc: &hiveserver.TTypeDesc{Types: []*hiveserver.TTypeEntry{
			{PrimitiveEntry: &hiveserver.TPrimitiveTypeEntry{Type: hiveserver.TTypeId_STRING_TYPE}},
		}},
	}}}}, nil
}

func (h *hive2) FetchResults(_ context.Context, req *hiveserver.TFetchResultsReq) (*hiveserver.TFetchResultsResp, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	op, status := h.find(req.OperationHandle)
	if op == nil {
		return &hiveserver.TFetchResultsResp{Status: status}, nil
	}
	values, done := op.answer.rows, &op.fetched
	if req.FetchType == 1 {
		values, done = op.answer.log, &op.log
	}
	if *done || values == nil {
		values = []string{}
	}
	*done = true
	return &hiveserver.TFetchResultsResp{Status: status, Results: &hiveserver.TRowSet{Rows: []*hiveserver.TRow{}, Columns: []*hiveserver.TColumn{
		{StringVal: &hiveserver.TStringColumn{Values: values, Nulls: []byte{}}},
	}}}, nil
}

func (h *hive2) CancelOperation(context.Context, *hiveserver.TCancelOperationReq) (*hiveserver.TCancelOperationResp, error) {
	return &hiveserver.TCancelOperationResp{Status: okStatus()}, nil
}

func (h *hive2) CloseOperation(_ context.Context, req *hiveserver.TCloseOperationReq) (*hiveserver.TCloseOperationResp, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.mu.operations, [16]byte(req.OperationHandle.OperationId.GUID))
	return &hiveserver.TCloseOperationResp{Status: okStatus()}, nil
}

// explainer is one with generous limits, closed with the test.
func (h *hive2) explainer(t testing.TB, change func(*ExplainConfig)) *Explainer {
	t.Helper()
	cfg := ExplainConfig{
		Login: To(h.config()), Timeout: patience, Concurrency: 2, Rate: 1e6, BreakerFailures: 3, BreakerPause: time.Hour, Witness: true,
	}
	if change != nil {
		change(&cfg)
	}
	e := NewExplainer(cfg, quiet())
	t.Cleanup(e.Close)
	return e
}
