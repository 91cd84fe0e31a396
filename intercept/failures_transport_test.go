package intercept_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// transport is how a client speaks to HiveServer2.
type transport struct {
	name string
	// login is said before the first call.
	login []line
	// head comes before a message of the given length.
	head func(call bool, length int) []byte
	// secure puts TLS around it, on both sides of the proxy.
	secure bool
	// hive and dial are the fake's side and a real client's.
	hive hs2test.Config
	dial func(t *testing.T, addr string) *hs2test.Client
}

// gone are the events of a connection that ends without CloseSession: no connection ends a session over HTTP.
func (tr transport) gone(lines ...string) []string {
	if tr.name == "HTTP" {
		return lines
	}
	return append(lines, "closed")
}

var complete = []byte{5, 0, 0, 0, 0}

func transports() []transport {
	return []transport{
		{
			name:  "SASL",
			login: []line{says(hs2test.Plain("bi", "s3cret")), answers(complete)},
			head:  func(_ bool, n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) },
			dial:  func(t *testing.T, addr string) *hs2test.Client { return dialBinary(t, addr, "bi") },
		},
		{
			name: "NOSASL", hive: hs2test.Config{NoSASL: true},
			head: func(bool, int) []byte { return nil },
			dial: func(t *testing.T, addr string) *hs2test.Client { return dialBinary(t, addr, "") },
		},
		{
			name: "HTTP", hive: hs2test.Config{HTTP: true},
			head: func(call bool, n int) []byte {
				if call {
					return fmt.Appendf(nil, "POST /cliservice HTTP/1.1\r\nHost: hive:10001\r\nAuthorization: Basic Ymk6czNjcmV0\r\nContent-Type: application/x-thrift\r\nContent-Length: %d\r\n\r\n", n)
				}
				return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/x-thrift\r\nContent-Length: %d\r\n\r\n", n)
			},
			dial: dialHTTP,
		},
	}
}

// forEachTransport runs a test once for each transport.
func forEachTransport(t *testing.T, test func(t *testing.T, tr transport)) {
	t.Helper()
	for _, tr := range transports() {
		t.Run(tr.name, func(t *testing.T) { test(t, tr) })
	}
}

// forEachWire is forEachTransport for tests whose HiveServer2 is a tape: it has TLS as well.
func forEachWire(t *testing.T, test func(t *testing.T, tr transport)) {
	t.Helper()
	forEachTransport(t, test)
	for _, tr := range transports() {
		tr.secure = true
		t.Run(tr.name+" in TLS", func(t *testing.T) { test(t, tr) })
	}
}

// proxy is a proxy for the transport.
func (tr transport) proxy(t *testing.T, upstream string, cfg intercept.Config) *proxied {
	t.Helper()
	if tr.secure {
		cfg.ClientTLS = certificate()
		cfg.ServerTLS = func(string) *tls.Config { return &tls.Config{InsecureSkipVerify: true} }
	}
	p := newProxy(t, upstream, cfg)
	p.secure = tr.secure
	return p
}

// certificate is a TLS server's, signed by itself.
var certificate = sync.OnceValue(func() *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
})

func dialBinary(t *testing.T, addr, user string) *hs2test.Client {
	t.Helper()
	c, err := hs2test.Dial(t.Context(), addr, user, "s3cret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Conn.Close() })
	return c
}

func dialHTTP(t *testing.T, addr string) *hs2test.Client {
	t.Helper()
	c, closeIdle, err := hs2test.DialHTTP(addr, "bi", "s3cret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeIdle)
	return c
}

// fake is the transport's HiveServer2 with a configuration.
func (tr transport) fake(t *testing.T, execute func(string) hs2test.Outcome) *hs2test.Server {
	t.Helper()
	cfg := tr.hive
	cfg.Execute, cfg.Repeatable = execute, true
	return newHive(t, cfg)
}

func (tr transport) call(message []byte) line {
	return says(tr.head(true, len(message)), message)
}

func (tr transport) reply(message []byte) line {
	return answers(tr.head(false, len(message)), message)
}

// message is a message of TBinaryProtocol, strict.
func message(name string, kind athrift.TMessageType, seq int32, content athrift.TStruct) []byte {
	ctx := context.Background()
	buffer := athrift.NewTMemoryBuffer()
	out := athrift.NewTBinaryProtocolConf(buffer, &athrift.TConfiguration{})
	if err := errors.Join(out.WriteMessageBegin(ctx, name, kind, seq), content.Write(ctx, out)); err != nil {
		panic(err)
	}
	return buffer.Bytes()
}

func handle(name byte) *hiveserver.THandleIdentifier {
	return &hiveserver.THandleIdentifier{GUID: bytes.Repeat([]byte{name}, 16), Secret: bytes.Repeat([]byte{'s'}, 16)}
}

func good() *hiveserver.TStatus {
	return &hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_SUCCESS_STATUS}
}

func aSession() *hiveserver.TSessionHandle { return &hiveserver.TSessionHandle{SessionId: handle('S')} }

func anOperation() *hiveserver.TOperationHandle {
	return &hiveserver.TOperationHandle{OperationId: handle('O'), HasResultSet: true}
}

func openCall(seq int32) []byte {
	return message("OpenSession", athrift.CALL, seq, &hiveserver.TCLIServiceOpenSessionArgs{Req: &hiveserver.TOpenSessionReq{
		ClientProtocol: hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V10, Configuration: map[string]string{"use:database": "sales"},
	}})
}

func openReply(seq int32) []byte {
	return message("OpenSession", athrift.REPLY, seq, &hiveserver.TCLIServiceOpenSessionResult{Success: &hiveserver.TOpenSessionResp{
		Status: good(), ServerProtocolVersion: hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V10, SessionHandle: aSession(),
	}})
}

func executeCall(seq int32, sql string) []byte {
	return message("ExecuteStatement", athrift.CALL, seq, &hiveserver.TCLIServiceExecuteStatementArgs{Req: &hiveserver.TExecuteStatementReq{
		SessionHandle: aSession(), Statement: sql, ConfOverlay: map[string]string{"hive.x": "y"},
	}})
}

func executeReply(seq int32) []byte {
	return message("ExecuteStatement", athrift.REPLY, seq, &hiveserver.TCLIServiceExecuteStatementResult{Success: &hiveserver.TExecuteStatementResp{
		Status: good(), OperationHandle: anOperation(),
	}})
}

func fetchCall(seq int32) []byte {
	return message("FetchResults", athrift.CALL, seq, &hiveserver.TCLIServiceFetchResultsArgs{Req: &hiveserver.TFetchResultsReq{
		OperationHandle: anOperation(), MaxRows: 1000,
	}})
}

// fetchReply is a result of one row with one value.
func fetchReply(seq int32, value string) []byte {
	return message("FetchResults", athrift.REPLY, seq, &hiveserver.TCLIServiceFetchResultsResult{Success: &hiveserver.TFetchResultsResp{
		Status: good(), Results: &hiveserver.TRowSet{Rows: []*hiveserver.TRow{}, Columns: []*hiveserver.TColumn{
			{StringVal: &hiveserver.TStringColumn{Values: []string{value}, Nulls: []byte{0}}},
		}},
	}})
}

// query is a login, a session, a statement and its result, of one client.
func (tr transport) query() []line {
	return append(slices.Clone(tr.login),
		tr.call(openCall(1)), tr.reply(openReply(1)),
		tr.call(executeCall(2, "select 1")), tr.reply(executeReply(2)),
		tr.call(fetchCall(3)), tr.reply(fetchReply(3, "one")))
}

// long cuts a message that holds mark in two, so that n bytes in mark's place make a message of length bytes.
func long(m []byte, length int) (head, tail []byte, n int) {
	const mark = "\x00\x00\x00\x06#MARK#"
	before, after, ok := strings.Cut(string(m), mark)
	if !ok {
		panic("no mark")
	}
	n = length - len(before) - 4 - len(after)
	return binary.BigEndian.AppendUint32([]byte(before), uint32(n)), []byte(after), n
}

// filled is a message that holds mark, made to have length bytes.
func filled(m []byte, length int) []byte {
	head, tail, n := long(m, length)
	return slices.Concat(head, bytes.Repeat([]byte("x"), n), tail)
}
