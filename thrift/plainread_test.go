package thrift

import (
	"reflect"
	"testing"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// checkPlain: what is read by hand is what the generated reader reads. It reports whether the body was.
func checkPlain(t *testing.T, m Method, isCall bool, body []byte) bool {
	t.Helper()
	plain, generated := new(parts).plainReply, generatedReply
	if isCall {
		plain, generated = new(parts).plainCall, generatedCall
	}
	got := plain(m, body)
	if got == nil {
		return false
	}
	want, err := generated(m, body, false)
	if opened, ok := want.(*hiveserver.TOpenSessionResp); ok {
		opened.Configuration = nil // left out on purpose
	}
	if err != nil || !reflect.DeepEqual(got, want) && !holdsNaN(got) {
		t.Fatalf("%s: read by hand %+v, generated %+v, %v", m, got, want, err)
	}
	return true
}

// holdsNaN: the one value that does not equal itself.
func holdsNaN(v any) bool {
	x, ok := v.(interface {
		GetOperationHandle() *hiveserver.TOperationHandle
	})
	if !ok || x.GetOperationHandle() == nil {
		return false
	}
	rows := x.GetOperationHandle().ModifiedRowCount
	return rows != nil && *rows != *rows
}

// TestPlainReaders: messages as clients and HiveServer2 send them are read by hand, those with more in them are not.
func TestPlainReaders(t *testing.T) {
	operation := operationHandle()
	operation.ModifiedRowCount = new(3.0)
	refused := &hiveserver.TStatus{
		StatusCode: hiveserver.TStatusCode_ERROR_STATUS, SqlState: new("42S02"), ErrorCode: new(int32(10001)), ErrorMessage: new("no table"),
	}
	talkative := &hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_ERROR_STATUS, InfoMessages: []string{"*why"}}
	state := hiveserver.TOperationState_FINISHED_STATE
	polled := &hiveserver.TGetOperationStatusResp{
		Status: ok(), OperationState: &state, SqlState: new("x"), ErrorCode: new(int32(-1)), ErrorMessage: new("y"), TaskStatus: new("[]"),
		OperationStarted: new(int64(1)), OperationCompleted: new(int64(2)), HasResultSet: new(true), NumModifiedRows: new(int64(9)),
	}
	advancing := *polled
	advancing.ProgressUpdateResponse = &hiveserver.TProgressUpdateResp{HeaderNames: []string{}, Rows: [][]string{}, FooterSummary: "f"}
	for _, tc := range []struct {
		message []byte
		plain   bool
	}{
		{openSession(1), true},
		{opened(1), true},
		{call("CloseSession", 1, &hiveserver.TCLIServiceCloseSessionArgs{Req: &hiveserver.TCloseSessionReq{SessionHandle: sessionHandle()}}), true},
		{reply("CloseSession", 1, &hiveserver.TCLIServiceCloseSessionResult{Success: &hiveserver.TCloseSessionResp{Status: ok()}}), true},
		{execute(1, "select 1"), true},
		{executed(1), true},
		{reply("ExecuteStatement", 1, &hiveserver.TCLIServiceExecuteStatementResult{Success: &hiveserver.TExecuteStatementResp{Status: refused}}), true},
		{reply("ExecuteStatement", 1, &hiveserver.TCLIServiceExecuteStatementResult{Success: &hiveserver.TExecuteStatementResp{Status: talkative}}), false},
		{call("GetOperationStatus", 1, &hiveserver.TCLIServiceGetOperationStatusArgs{Req: &hiveserver.TGetOperationStatusReq{
			OperationHandle: operation, GetProgressUpdate: new(true),
		}}), true},
		{reply("GetOperationStatus", 1, &hiveserver.TCLIServiceGetOperationStatusResult{Success: polled}), true},
		{reply("GetOperationStatus", 1, &hiveserver.TCLIServiceGetOperationStatusResult{Success: &advancing}), false},
		{call("CancelOperation", 1, &hiveserver.TCLIServiceCancelOperationArgs{Req: &hiveserver.TCancelOperationReq{OperationHandle: operation}}), true},
		{reply("CancelOperation", 1, &hiveserver.TCLIServiceCancelOperationResult{Success: &hiveserver.TCancelOperationResp{Status: ok()}}), true},
		{closeOperation(1), true},
		{closedOperation(1), true},
	} {
		h, n := headerOf(tc.message)
		if got := checkPlain(t, h.method, h.typ == typeCall, tc.message[n:]); got != tc.plain {
			t.Errorf("%s of type %d: read by hand is %v, want %v", h.method, h.typ, got, tc.plain)
		}
		for cut := n; cut < len(tc.message); cut++ {
			if checkPlain(t, h.method, h.typ == typeCall, tc.message[n:cut]) {
				t.Errorf("%s of type %d, cut after %d bytes, is read", h.method, h.typ, cut-n)
			}
		}
	}
	if checkPlain(t, ExecuteStatement, true, []byte{athrift.STRUCT, 0, 1, athrift.STOP, athrift.STOP}) {
		t.Error("a call without its required fields is read by hand")
	}
}
