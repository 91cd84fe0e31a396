package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// request is a call serialised once, behind its frame's length. Sequence id, handle and the statement's word are put in place
// when it is sent.
type request struct {
	name             string
	framed           []byte
	guidAt, secretAt int // 0: it has no handle
	wordsAt          []int
}

// Marks stand in a serialised call for what differs from call to call.
var (
	guidMark   = []byte("\x01guid-of-a-handl")
	secretMark = []byte("\x02secret-of-handl")
	markHandle = &hiveserver.THandleIdentifier{GUID: guidMark, Secret: secretMark}
)

// wordMark is an identifier that becomes another one, of the same length, in every statement.
const wordMark = "qwordmark"

func newRequest(name string, args athrift.TStruct) *request {
	ctx := context.Background()
	buffer := athrift.NewTMemoryBuffer()
	out := athrift.NewTBinaryProtocolConf(buffer, &athrift.TConfiguration{})
	if err := errors.Join(out.WriteMessageBegin(ctx, name, athrift.CALL, 0), args.Write(ctx, out)); err != nil {
		panic(err) // into memory
	}
	framed := append(binary.BigEndian.AppendUint32(nil, uint32(buffer.Len())), buffer.Bytes()...) //nolint:gosec // a small call
	r := &request{name: name, framed: framed}
	r.guidAt, r.secretAt = max(0, bytes.Index(framed, guidMark)), max(0, bytes.Index(framed, secretMark))
	for at := 0; ; {
		i := bytes.Index(framed[at:], []byte(wordMark))
		if i < 0 {
			return r
		}
		r.wordsAt = append(r.wordsAt, at+i)
		at += i + len(wordMark)
	}
}

// append adds the call to b as it goes over the wire.
func (r *request) append(b []byte, seq int32, h *handle, word uint32) []byte {
	from := len(b)
	b = append(b, r.framed...)
	own := b[from:]
	binary.BigEndian.PutUint32(own[12+len(r.name):], uint32(seq)) //nolint:gosec // the same bits
	if r.guidAt > 0 && h != nil {
		copy(own[r.guidAt:], h.guid[:])
		copy(own[r.secretAt:], h.secret[:])
	}
	const digits = "0123456789abcdef"
	for _, at := range r.wordsAt {
		for i := range 8 {
			own[at+1+i] = digits[word>>(28-4*i)&15]
		}
	}
	return b
}

func session() *hiveserver.TSessionHandle { return &hiveserver.TSessionHandle{SessionId: markHandle} }

func operation() *hiveserver.TOperationHandle {
	return &hiveserver.TOperationHandle{OperationId: markHandle, OperationType: hiveserver.TOperationType_EXECUTE_STATEMENT, HasResultSet: true}
}

var (
	openSession = newRequest("OpenSession", &hiveserver.TCLIServiceOpenSessionArgs{Req: &hiveserver.TOpenSessionReq{
		ClientProtocol: hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V10, Configuration: map[string]string{"use:database": "default"},
	}})
	closeSession = newRequest("CloseSession", &hiveserver.TCLIServiceCloseSessionArgs{Req: &hiveserver.TCloseSessionReq{SessionHandle: session()}})
	getInfo      = newRequest("GetInfo", &hiveserver.TCLIServiceGetInfoArgs{Req: &hiveserver.TGetInfoReq{
		SessionHandle: session(), InfoType: hiveserver.TGetInfoType_CLI_DBMS_NAME,
	}})
	getStatus   = newRequest("GetOperationStatus", &hiveserver.TCLIServiceGetOperationStatusArgs{Req: &hiveserver.TGetOperationStatusReq{OperationHandle: operation()}})
	getMetadata = newRequest("GetResultSetMetadata", &hiveserver.TCLIServiceGetResultSetMetadataArgs{
		Req: &hiveserver.TGetResultSetMetadataReq{OperationHandle: operation()},
	})
	closeOperation = newRequest("CloseOperation", &hiveserver.TCLIServiceCloseOperationArgs{Req: &hiveserver.TCloseOperationReq{OperationHandle: operation()}})
)

// execute is a join, another one each time it is sent: its alias changes, and with it what the statement is without its literals.
// ask is the comment that tells the server what to return.
func execute(ask string) *request {
	sql := fmt.Sprintf("SELECT %s %[2]s.amount, c.name FROM wirebench.orders %[2]s JOIN wirebench.customers c "+
		"ON %[2]s.customer_id = c.customer_id WHERE %[2]s.amount > 17", ask, wordMark)
	return newRequest("ExecuteStatement", &hiveserver.TCLIServiceExecuteStatementArgs{Req: &hiveserver.TExecuteStatementReq{
		SessionHandle: session(), Statement: sql, RunAsync: true,
	}})
}

func fetch(rows int) *request {
	return newRequest("FetchResults", &hiveserver.TCLIServiceFetchResultsArgs{Req: &hiveserver.TFetchResultsReq{
		OperationHandle: operation(), Orientation: hiveserver.TFetchOrientation_FETCH_NEXT, MaxRows: int64(rows),
	}})
}
