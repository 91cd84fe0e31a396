package thrift

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"testing"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// segment is what one side sends at a time.
type segment struct {
	side  Side
	bytes []byte
}

func fromClient(b ...[]byte) segment { return segment{Client, bytes.Join(b, nil)} }
func fromServer(b ...[]byte) segment { return segment{HiveServer2, bytes.Join(b, nil)} }

// message is a whole message on the wire.
func message(name string, kind athrift.TMessageType, seq int32, content athrift.TStruct) []byte {
	ctx := context.Background()
	buffer := athrift.NewTMemoryBuffer()
	out := athrift.NewTBinaryProtocolConf(buffer, &athrift.TConfiguration{})
	if err := errors.Join(out.WriteMessageBegin(ctx, name, kind, seq), content.Write(ctx, out)); err != nil {
		panic(err)
	}
	return buffer.Bytes()
}

func call(name string, seq int32, args athrift.TStruct) []byte {
	return message(name, athrift.CALL, seq, args)
}

func reply(name string, seq int32, result athrift.TStruct) []byte {
	return message(name, athrift.REPLY, seq, result)
}

// frames puts each payload into a frame of its own.
func frames(payloads ...[]byte) []byte {
	var b []byte
	for _, p := range payloads {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	return b
}

// sasl is a negotiation message.
func sasl(status byte, payload string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{status}, uint32(len(payload))), payload...)
}

func plainLogin() []byte {
	return bytes.Join([][]byte{sasl(saslStart, "PLAIN"), sasl(saslOK, "\x00bi\x00s3cret")}, nil)
}

func ok() *hiveserver.TStatus {
	return &hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_SUCCESS_STATUS}
}

func guid(c byte) *hiveserver.THandleIdentifier {
	return &hiveserver.THandleIdentifier{GUID: bytes.Repeat([]byte{c}, 16), Secret: bytes.Repeat([]byte{c + 1}, 16)}
}

func sessionHandle() *hiveserver.TSessionHandle {
	return &hiveserver.TSessionHandle{SessionId: guid('S')}
}

func operationHandle() *hiveserver.TOperationHandle {
	return &hiveserver.TOperationHandle{OperationId: guid('O'), HasResultSet: true}
}

func openSession(seq int32) []byte {
	user, password := "bi", "s3cret"
	return call("OpenSession", seq, &hiveserver.TCLIServiceOpenSessionArgs{Req: &hiveserver.TOpenSessionReq{
		ClientProtocol: hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V10, Username: &user, Password: &password,
		Configuration: map[string]string{"use:database": "sales"},
	}})
}

func opened(seq int32) []byte {
	return reply("OpenSession", seq, &hiveserver.TCLIServiceOpenSessionResult{Success: &hiveserver.TOpenSessionResp{
		Status: ok(), ServerProtocolVersion: hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V10, SessionHandle: sessionHandle(),
	}})
}

func execute(seq int32, sql string) []byte {
	return call("ExecuteStatement", seq, &hiveserver.TCLIServiceExecuteStatementArgs{Req: &hiveserver.TExecuteStatementReq{
		SessionHandle: sessionHandle(), Statement: sql, ConfOverlay: map[string]string{"a": "b"}, RunAsync: true,
	}})
}

func executed(seq int32) []byte {
	return reply("ExecuteStatement", seq, &hiveserver.TCLIServiceExecuteStatementResult{Success: &hiveserver.TExecuteStatementResp{
		Status: ok(), OperationHandle: operationHandle(),
	}})
}

func getInfo(seq int32) []byte {
	return call("GetInfo", seq, &hiveserver.TCLIServiceGetInfoArgs{Req: &hiveserver.TGetInfoReq{
		SessionHandle: sessionHandle(), InfoType: hiveserver.TGetInfoType_CLI_DBMS_NAME,
	}})
}

func gotInfo(seq int32) []byte {
	name := "Apache Hive"
	return reply("GetInfo", seq, &hiveserver.TCLIServiceGetInfoResult{Success: &hiveserver.TGetInfoResp{
		Status: ok(), InfoValue: &hiveserver.TGetInfoValue{StringValue: &name},
	}})
}

func getTables(seq int32) []byte {
	return call("GetTables", seq, &hiveserver.TCLIServiceGetTablesArgs{Req: &hiveserver.TGetTablesReq{SessionHandle: sessionHandle()}})
}

func gotTables(seq int32) []byte {
	return reply("GetTables", seq, &hiveserver.TCLIServiceGetTablesResult{Success: &hiveserver.TGetTablesResp{
		Status: ok(), OperationHandle: operationHandle(),
	}})
}

func fetch(seq int32) []byte {
	return call("FetchResults", seq, &hiveserver.TCLIServiceFetchResultsArgs{Req: &hiveserver.TFetchResultsReq{
		OperationHandle: operationHandle(), MaxRows: 1000,
	}})
}

// fetched is a batch of n rows: a bigint, a string of width bytes.
func fetched(seq int32, n, width int) []byte {
	ids, labels := make([]int64, n), make([]string, n)
	for i := range n {
		ids[i], labels[i] = int64(i), string(bytes.Repeat([]byte{'x'}, width))
	}
	return reply("FetchResults", seq, &hiveserver.TCLIServiceFetchResultsResult{Success: &hiveserver.TFetchResultsResp{
		Status: ok(), Results: &hiveserver.TRowSet{Rows: []*hiveserver.TRow{}, Columns: []*hiveserver.TColumn{
			{I64Val: &hiveserver.TI64Column{Values: ids, Nulls: []byte{}}},
			{StringVal: &hiveserver.TStringColumn{Values: labels, Nulls: []byte{}}},
		}},
	}})
}

func closeImpala(seq int32) []byte {
	return call("CloseImpalaOperation", seq, &hiveserver.TCLIServiceCloseOperationArgs{Req: &hiveserver.TCloseOperationReq{OperationHandle: operationHandle()}})
}

func exception(name string, seq int32) []byte {
	return message(name, athrift.EXCEPTION, seq, athrift.NewTApplicationException(athrift.UNKNOWN_METHOD, "Invalid method name: '"+name+"'"))
}

func closeOperation(seq int32) []byte {
	return call("CloseOperation", seq, &hiveserver.TCLIServiceCloseOperationArgs{Req: &hiveserver.TCloseOperationReq{OperationHandle: operationHandle()}})
}

func closedOperation(seq int32) []byte {
	return reply("CloseOperation", seq, &hiveserver.TCLIServiceCloseOperationResult{Success: &hiveserver.TCloseOperationResp{Status: ok()}})
}

// recorder writes down what an Observer is told.
type recorder struct {
	events []string
	calls  []Call
	logins []Login
	reply  []Reply
}

func (r *recorder) say(format string, args ...any) {
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *recorder) Login(l Login) {
	r.logins = append(r.logins, l)
	r.say("login %q %q", l.Mechanism, l.User)
}

func (r *recorder) Call(c Call) any {
	c.Request = lasting(c.Request)
	r.calls = append(r.calls, c)
	r.say("call %s %d oneway=%t truncated=%t %T", c.Method, c.SeqID, c.Oneway, c.Truncated, c.Request)
	return c.SeqID
}

func (r *recorder) Reply(token any, reply Reply) {
	reply.Result = lasting(reply.Result)
	r.reply = append(r.reply, reply)
	r.say("reply %s %d to %v exception=%t %q truncated=%t %T", reply.Method, reply.SeqID, token, reply.Exception, reply.Message, reply.Truncated, reply.Result)
}

// lasting is a copy that outlives the Observer's method: of a message, what it is written as, read again.
func lasting(content any) any {
	message, ok := content.(athrift.TStruct)
	if !ok || reflect.ValueOf(content).IsNil() {
		return content
	}
	memory := athrift.NewTMemoryBuffer()
	wire := athrift.NewTBinaryProtocolConf(memory, &athrift.TConfiguration{})
	clone := reflect.New(reflect.TypeOf(content).Elem()).Interface().(athrift.TStruct)
	if err := errors.Join(message.Write(context.Background(), wire), clone.Read(context.Background(), wire)); err != nil {
		return content // a message cut short lacks what Write and Read require; it was read for itself alone
	}
	return clone
}

func (r *recorder) Blind(reason BlindReason) { r.say("blind %s", reason) }

func (r *recorder) DecodeFailed(side Side, m Method, _ error) { r.say("undecoded %s %s", side, m) }

// play relays segments in reads of at most size bytes, and checks that every byte is let through. With skip the bytes that
// the Conn has no interest in are not fed.
func play(tb testing.TB, c *Conn, size int, skip bool, segments ...segment) error {
	tb.Helper()
	for _, s := range segments {
		if err := feed(c.Stream(s.side), s.bytes, size, skip); err != nil {
			return err
		}
	}
	return nil
}

func feed(stream *Stream, b []byte, size int, skip bool) error {
	for len(b) > 0 {
		if skip {
			if n := min(stream.Skip(), int64(len(b))); n > 0 {
				stream.Advance(n)
				b = b[n:]
				continue
			}
		}
		read := b[:min(size, len(b))]
		n, err := stream.Feed(read)
		if err != nil {
			return err
		}
		if n != len(read) {
			return fmt.Errorf("only %d of %d bytes let through", n, len(read))
		}
		b = b[n:]
	}
	return nil
}

var readSizes = []int{1, 3, 1460, 64 << 10}
