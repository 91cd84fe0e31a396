package client

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// fakeServer is a HiveServer2 without SASL that answers from fields. Calls it does not know panic, which its processor
// turns into a lost connection.
type fakeServer struct {
	hiveserver.TCLIService

	openStatus *hiveserver.TStatus
	execute    func(*hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error)
	states     []*hiveserver.TGetOperationStatusResp // in turn; the last stays
	batches    []*hiveserver.TRowSet                 // in turn; then empty ones
	endless    *hiveserver.TRowSet                   // in place of batches
	logs       []*hiveserver.TRowSet
	logStatus  *hiveserver.TStatus
	columns    []*hiveserver.TColumnDesc
	closed     *hiveserver.TStatus

	mu    sync.Mutex
	calls []string
	last  *hiveserver.TExecuteStatementReq
	auth  *hiveserver.TOpenSessionReq
	seen  chan string // every call, when not nil
}

var success = &hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_SUCCESS_STATUS}

func failure(code int32, state, message string) *hiveserver.TStatus {
	return &hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_ERROR_STATUS, ErrorCode: &code, SqlState: &state, ErrorMessage: &message}
}

func fakeHandle(fill byte) *hiveserver.THandleIdentifier {
	h := Handle{}
	for i := range h.GUID {
		h.GUID[i], h.Secret[i] = fill, fill+1
	}
	return h.identifier()
}

func (f *fakeServer) record(call string) {
	f.mu.Lock()
	f.calls = append(f.calls, call)
	f.mu.Unlock()
	if f.seen != nil {
		f.seen <- call
	}
}

// count is how often a call was made.
func (f *fakeServer) count(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if c == call {
			n++
		}
	}
	return n
}

// next takes the head of a list; the last one stays when keep is set.
func next[T any](f *fakeServer, list *[]T, keep bool) (head T, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(*list) == 0 {
		return head, false
	}
	head = (*list)[0]
	if !keep || len(*list) > 1 {
		*list = (*list)[1:]
	}
	return head, true
}

func (f *fakeServer) OpenSession(_ context.Context, req *hiveserver.TOpenSessionReq) (*hiveserver.TOpenSessionResp, error) {
	f.mu.Lock()
	f.auth = req
	f.mu.Unlock()
	f.record("OpenSession")
	if f.openStatus != nil {
		return &hiveserver.TOpenSessionResp{Status: f.openStatus}, nil
	}
	return &hiveserver.TOpenSessionResp{Status: success, SessionHandle: &hiveserver.TSessionHandle{SessionId: fakeHandle(1)}}, nil
}

func (f *fakeServer) CloseSession(context.Context, *hiveserver.TCloseSessionReq) (*hiveserver.TCloseSessionResp, error) {
	f.record("CloseSession")
	return &hiveserver.TCloseSessionResp{Status: success}, nil
}

func (f *fakeServer) ExecuteStatement(_ context.Context, req *hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error) {
	if req.GetSessionHandle().GetSessionId() == nil {
		return &hiveserver.TExecuteStatementResp{Status: failure(0, "", "no session")}, nil
	}
	f.mu.Lock()
	f.last = req
	execute := f.execute
	f.mu.Unlock()
	f.record("ExecuteStatement")
	if execute != nil && !strings.HasPrefix(req.GetStatement(), "SET "+AsyncCompile) {
		return execute(req)
	}
	return f.started(), nil
}

// started is the reply to a statement that HiveServer2 took.
func (f *fakeServer) started() *hiveserver.TExecuteStatementResp {
	return &hiveserver.TExecuteStatementResp{Status: success, OperationHandle: &hiveserver.TOperationHandle{
		OperationId: fakeHandle(7), HasResultSet: f.columns != nil,
	}}
}

func (f *fakeServer) GetOperationStatus(context.Context, *hiveserver.TGetOperationStatusReq) (*hiveserver.TGetOperationStatusResp, error) {
	f.record("GetOperationStatus")
	if state, ok := next(f, &f.states, true); ok {
		return state, nil
	}
	return state(hiveserver.TOperationState_FINISHED_STATE), nil
}

func state(s hiveserver.TOperationState) *hiveserver.TGetOperationStatusResp {
	return &hiveserver.TGetOperationStatusResp{Status: success, OperationState: &s}
}

func (f *fakeServer) GetResultSetMetadata(context.Context, *hiveserver.TGetResultSetMetadataReq) (*hiveserver.TGetResultSetMetadataResp, error) {
	f.record("GetResultSetMetadata")
	return &hiveserver.TGetResultSetMetadataResp{Status: success, Schema: &hiveserver.TTableSchema{Columns: f.columns}}, nil
}

func (f *fakeServer) FetchResults(_ context.Context, req *hiveserver.TFetchResultsReq) (*hiveserver.TFetchResultsResp, error) {
	if req.FetchType == 1 {
		f.record("FetchLog")
		if f.logStatus != nil {
			return &hiveserver.TFetchResultsResp{Status: f.logStatus}, nil
		}
		if batch, ok := next(f, &f.logs, false); ok {
			return &hiveserver.TFetchResultsResp{Status: success, Results: batch}, nil
		}
		return &hiveserver.TFetchResultsResp{Status: success, Results: stringColumns(nil)}, nil
	}
	f.record("FetchResults")
	if f.endless != nil {
		return &hiveserver.TFetchResultsResp{Status: success, Results: f.endless}, nil
	}
	if batch, ok := next(f, &f.batches, false); ok {
		return &hiveserver.TFetchResultsResp{Status: success, Results: batch}, nil
	}
	empty := &hiveserver.TRowSet{Rows: []*hiveserver.TRow{}}
	for range f.columns {
		empty.Columns = append(empty.Columns, &hiveserver.TColumn{StringVal: &hiveserver.TStringColumn{Values: []string{}, Nulls: []byte{}}})
	}
	return &hiveserver.TFetchResultsResp{Status: success, Results: empty}, nil
}

func (f *fakeServer) CancelOperation(context.Context, *hiveserver.TCancelOperationReq) (*hiveserver.TCancelOperationResp, error) {
	f.record("CancelOperation")
	return &hiveserver.TCancelOperationResp{Status: success}, nil
}

func (f *fakeServer) CloseOperation(context.Context, *hiveserver.TCloseOperationReq) (*hiveserver.TCloseOperationResp, error) {
	f.record("CloseOperation")
	if f.closed != nil {
		return &hiveserver.TCloseOperationResp{Status: f.closed}, nil
	}
	return &hiveserver.TCloseOperationResp{Status: success}, nil
}

// stringColumns is a batch of string columns.
func stringColumns(columns ...[]string) *hiveserver.TRowSet {
	set := &hiveserver.TRowSet{Rows: []*hiveserver.TRow{}}
	for _, values := range columns {
		if values == nil {
			values = []string{}
		}
		set.Columns = append(set.Columns, &hiveserver.TColumn{StringVal: &hiveserver.TStringColumn{Values: values, Nulls: []byte{}}})
	}
	return set
}

// described is the description of columns: name and type in turn.
func described(pairs ...any) []*hiveserver.TColumnDesc {
	out := []*hiveserver.TColumnDesc{}
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, &hiveserver.TColumnDesc{ColumnName: pairs[i].(string), TypeDesc: &hiveserver.TTypeDesc{Types: []*hiveserver.TTypeEntry{
			{PrimitiveEntry: &hiveserver.TPrimitiveTypeEntry{Type: pairs[i+1].(hiveserver.TTypeId)}},
		}}})
	}
	return out
}

// start serves f until the test ends and returns its configuration.
func (f *fakeServer) start(t *testing.T) Config {
	t.Helper()
	conf := &athrift.TConfiguration{}
	listener, err := athrift.NewTServerSocketTimeout("127.0.0.1:0", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Listen(); err != nil {
		t.Fatal(err)
	}
	server := athrift.NewTSimpleServer4(hiveserver.NewTCLIServiceProcessor(f), listener, athrift.NewTBufferedTransportFactory(4096), athrift.NewTBinaryProtocolFactoryConf(conf))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve()
	}()
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stop the fake HiveServer2: %v", err)
		}
		<-done
	})
	return Config{Address: listener.Addr().String(), Auth: "NOSASL", User: "u", CallTimeout: 20 * time.Second}
}

// listen serves each connection with serve and returns the configuration for SASL NONE; serve's connection is closed
// behind it.
func listen(t *testing.T, serve func(net.Conn)) Config {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		group.Wait()
	})
	return Config{Address: listener.Addr().String(), Auth: "NONE", User: "u", Password: "hunter2", CallTimeout: 20 * time.Second}
}

// startSASL serves f behind SASL PLAIN with any login, one frame a message, until the test ends.
func (f *fakeServer) startSASL(t *testing.T) Config {
	t.Helper()
	return listen(t, saslServer(f))
}

// saslServer serves one connection.
func saslServer(f *fakeServer) func(net.Conn) {
	processor := hiveserver.NewTCLIServiceProcessor(f)
	return func(conn net.Conn) {
		for range 2 { // START with the mechanism, then the response
			header := make([]byte, 5)
			if _, err := io.ReadFull(conn, header); err != nil {
				return
			}
			if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(header[1:]))); err != nil {
				return
			}
		}
		if _, err := io.WriteString(conn, saslMessage(saslComplete, "")); err != nil {
			return
		}
		for f.answerFrame(conn, processor) == nil {
		}
	}
}

// answerFrame reads one frame and answers the call in it.
func (f *fakeServer) answerFrame(conn net.Conn, processor athrift.TProcessor) error {
	header := make([]byte, 4)
	if _, err := io.ReadFull(conn, header); err != nil {
		return err
	}
	in, out := athrift.NewTMemoryBuffer(), athrift.NewTMemoryBuffer()
	if _, err := io.CopyN(in, conn, int64(binary.BigEndian.Uint32(header))); err != nil {
		return err
	}
	if ok, err := processor.Process(context.Background(), athrift.NewTBinaryProtocolConf(in, nil), athrift.NewTBinaryProtocolConf(out, nil)); !ok {
		return err
	}
	reply := binary.BigEndian.AppendUint32(nil, uint32(out.Len()))
	_, err := conn.Write(append(reply, out.Bytes()...))
	return err
}
