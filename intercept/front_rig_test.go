package intercept

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// hang is when a test that waits for an event gives up: it guards against hanging and measures nothing.
const hang = 30 * time.Second

// way is how the connections of a test are relayed: by the event loops where there are any, or by goroutines, as everywhere else.
type way struct {
	name   string
	listen func(net.Listener) net.Listener
}

// plainListener hides that it is TCP's, so that no event loop takes it.
type plainListener struct{ net.Listener }

var (
	looped    = way{"looped", func(ln net.Listener) net.Listener { return ln }}
	goroutine = way{"goroutines", func(ln net.Listener) net.Listener { return plainListener{ln} }}
)

func forWays(t *testing.T, test func(t *testing.T, w way)) {
	for _, w := range []way{looped, goroutine} {
		if w.name == looped.name && runtime.GOOS != "linux" {
			continue
		}
		t.Run(w.name, func(t *testing.T) { test(t, w) })
	}
}

// rig is a proxy as newRigAt makes it; prepare changes the Server before it accepts.
func (w way) rig(t *testing.T, cfg Config, prepare ...func(*Server)) *rig {
	t.Helper()
	r := &rig{t: t, queue: NewQueue(10_000), log: &logLines{}, served: make(chan error, 1)}
	server, err := NewServer(cfg, NewTracker(TrackerConfig{Upstream: "fake"}, r.queue), zerolog.New(r.log))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range prepare {
		f(server)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.server, r.addr = server, ln.Addr().String()
	go func() { r.served <- server.Serve(context.Background(), w.listen(ln)) }()
	t.Cleanup(func() {
		_ = r.stop()
		if err := <-r.served; err != nil {
			t.Error(err)
		}
	})
	return r
}

// stop cuts what is open and waits until nothing of the server is left.
func (r *rig) stop() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return r.server.Shutdown(ctx)
}

// over waits for the end of every connection.
func (r *rig) over() {
	r.t.Helper()
	eventually(r.t, "the end of every connection", func() bool { return r.server.Stats().Open == 0 })
}

// failed waits for the end of every connection and compares the lines about failures: side and phase.
func (r *rig) failed(want ...string) {
	r.t.Helper()
	r.over()
	got := r.log.failures(r.t)
	if len(got) != len(want) {
		r.t.Errorf("failures %q, want %q", got, want)
		return
	}
	for i := range want {
		if got[i] != want[i] {
			r.t.Errorf("failures %q, want %q", got, want)
		}
	}
}

// script is a HiveServer2 that says what the test tells it to.
type script struct {
	addr  string
	conns chan *net.TCPConn
}

func newScript(t *testing.T) *script {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &script{ln.Addr().String(), make(chan *net.TCPConn, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			s.conns <- conn.(*net.TCPConn)
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
		for len(s.conns) > 0 {
			_ = (<-s.conns).Close()
		}
	})
	return s
}

// next is the next connection that comes.
func (s *script) next(t *testing.T) *net.TCPConn {
	t.Helper()
	select {
	case conn := <-s.conns:
		guardConn(t, conn)
		return conn
	case <-time.After(hang):
		t.Fatal("no connection to HiveServer2")
		return nil
	}
}

// dialTo connects to a proxy.
func dialTo(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	guardConn(t, conn)
	return conn.(*net.TCPConn)
}

func guardConn(t *testing.T, conn net.Conn) {
	t.Helper()
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
}

// connect is a client's connection and its other end, where HiveServer2 is connected to at once.
func (s *script) connect(t *testing.T, addr string) (client, server *net.TCPConn) {
	t.Helper()
	client = dialTo(t, addr)
	return client, s.next(t)
}

// says has one side say b and the other receive it.
func says(t *testing.T, from, to net.Conn, b []byte) {
	t.Helper()
	sent := make(chan error, 1)
	go func() {
		_, err := from.Write(b)
		sent <- err
	}()
	receives(t, to, b)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func receives(t *testing.T, conn net.Conn, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(conn, got)
	if !bytes.Equal(got[:n], want) || err != nil {
		t.Fatalf("%d of %d bytes arrived, %v: %.100q, want %.100q", n, len(want), err, got[:n], want)
	}
}

// ends reads until the connection is over, in whatever way, and returns what came before.
func ends(t *testing.T, conn net.Conn) []byte {
	t.Helper()
	got, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection goes on")
	}
	return got
}

func writes(t *testing.T, conn net.Conn, b ...[]byte) {
	t.Helper()
	if _, err := conn.Write(bytes.Join(b, nil)); err != nil {
		t.Fatal(err)
	}
}

// reset ends a connection with RST.
func reset(t *testing.T, conn *net.TCPConn) {
	t.Helper()
	if err := errors.Join(conn.SetLinger(0), conn.Close()); err != nil {
		t.Fatal(err)
	}
}

// complete is the SASL message that ends a login.
var complete = []byte{5, 0, 0, 0, 0}

// fetchCall asks for the rows of a result.
func fetchCall() []byte {
	return frameOf("FetchResults", athrift.CALL, &hiveserver.TCLIServiceFetchResultsArgs{Req: &hiveserver.TFetchResultsReq{OperationHandle: anOperation('o')}})
}

// rowsReply is a reply to fetchCall with a row of size bytes.
func rowsReply(size int) []byte {
	column := &hiveserver.TColumn{StringVal: &hiveserver.TStringColumn{Values: []string{strings.Repeat("x", size)}, Nulls: []byte{}}}
	return frameOf("FetchResults", athrift.REPLY, &hiveserver.TCLIServiceFetchResultsResult{Success: &hiveserver.TFetchResultsResp{
		Status: good(), Results: &hiveserver.TRowSet{Rows: []*hiveserver.TRow{}, Columns: []*hiveserver.TColumn{column}},
	}})
}

// logIn passes a login; its bytes have been observed when it returns.
func logIn(t *testing.T, client, server net.Conn) {
	t.Helper()
	says(t, client, server, hs2test.Plain("bi", "x"))
	says(t, server, client, complete)
}

// openRequest is the arguments of OpenSession.
func openRequest() *hiveserver.TCLIServiceOpenSessionArgs {
	return &hiveserver.TCLIServiceOpenSessionArgs{Req: &hiveserver.TOpenSessionReq{ClientProtocol: hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V10}}
}

// statusOf reads an HTTP response.
func statusOf(t *testing.T, conn net.Conn) int {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
