package intercept

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// logLines is a log that tests read.
type logLines struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.data.Write(p)
}

// failures are the lines of failed connections: side and phase.
func (l *logLines) failures(t *testing.T) []string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed []string
	for line := range strings.Lines(l.data.String()) {
		var fields struct{ Message, Side, Phase, Advice, Error string }
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields.Message == "connection failed" {
			if fields.Advice == "" || fields.Error == "" {
				t.Errorf("no advice or error in %s", line)
			}
			failed = append(failed, fields.Side+" "+fields.Phase)
		}
	}
	return failed
}

// rig is a proxy in front of a fake HiveServer2.
type rig struct {
	t      *testing.T
	hive   *hs2test.Server
	server *Server
	queue  *Queue
	log    *logLines
	addr   string
	served chan error
}

func newRig(t *testing.T, hive hs2test.Config, cfg Config) *rig {
	t.Helper()
	fake, err := hs2test.Start(hive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	cfg.Address = fake.Addr()
	r := newRigAt(t, cfg)
	r.hive = fake
	return r
}

func newRigAt(t *testing.T, cfg Config) *rig {
	t.Helper()
	r := &rig{t: t, queue: NewQueue(10_000), log: &logLines{}, served: make(chan error, 1)}
	server, err := NewServer(cfg, NewTracker(TrackerConfig{Upstream: "fake"}, r.queue), zerolog.New(r.log))
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.server, r.addr = server, ln.Addr().String()
	go func() { r.served <- server.Serve(context.Background(), ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // cut what a test left open
		_ = server.Shutdown(ctx)
		if err := <-r.served; err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) dial() *hs2test.Client {
	r.t.Helper()
	c, err := hs2test.Dial(r.t.Context(), r.addr, "bi", "s3cret")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Conn.Close() })
	return c
}

// eventually waits for what other goroutines bring about.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s did not happen", what)
		}
	}
}

// events takes n events.
func (r *rig) events(n int) []string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	s := &sinkOf{}
	for range n {
		select {
		case e := <-r.queue.Events():
			s.events = append(s.events, e)
		case <-ctx.Done():
			r.t.Fatalf("only %d of %d events", len(s.events), n)
		}
	}
	lines := make([]string, n)
	for i, e := range s.events {
		lines[i] = []string{"", "opened", "started", "ended", "closed"}[e.Kind]
		if e.Statement != nil {
			lines[i] += " " + string(e.Statement.State) + " " + e.Statement.SQL
		}
	}
	return lines
}

func (r *rig) want(lines ...string) {
	r.t.Helper()
	if got := r.events(len(lines)); !slices.Equal(got, lines) {
		r.t.Errorf("events %q, wanted %q", got, lines)
	}
}

func blockSlow(sql string) hs2test.Outcome {
	return hs2test.Outcome{Block: strings.HasPrefix(sql, "slow"), Rows: 3, Width: 5}
}

// TestQuery: queries through the proxy, with results in frames of 20 MB, with its events, statistics and nothing left open.
func TestQuery(t *testing.T) {
	r := newRig(t, hs2test.Config{Execute: func(string) hs2test.Outcome {
		return hs2test.Outcome{Rows: 25_000, Width: 1000, Batch: 20_000}
	}}, Config{})
	c := r.dial()
	ctx := t.Context()
	session, err := c.Open(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"select 1", "set x=y", "select 2"} {
		resp, err := c.Execute(ctx, session, sql, false)
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := c.Fetch(ctx, resp.OperationHandle); err != nil || rows != 25_000 {
			t.Fatalf("%d rows, %v", rows, err)
		}
	}
	if got := r.server.Connections(); len(got) != 1 || got[0].FromServer < 75_000_000 || got[0].BytesFromClient == 0 || got[0].Blind != thrift.NotBlind {
		t.Errorf("connections %+v", got)
	}
	_ = c.Conn.Close()
	r.want("opened", "started RUNNING select 1", "ended FINISHED select 1", "started RUNNING set x=y", "ended FINISHED set x=y",
		"started RUNNING select 2", "ended FINISHED select 2", "closed")
	eventually(t, "the end of both connections", func() bool {
		connections, sessions, _ := r.hive.Open()
		return r.server.Stats().Open == 0 && connections == 0 && sessions == 0
	})
	if failed := r.log.failures(t); len(failed) != 0 {
		t.Errorf("failures %q", failed)
	}
}

func TestNoSASL(t *testing.T) {
	r := newRig(t, hs2test.Config{NoSASL: true}, Config{})
	c, err := hs2test.Dial(t.Context(), r.addr, "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Conn.Close() }()
	session, err := c.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Execute(t.Context(), session, "select 1", false); err != nil {
		t.Fatal(err)
	}
	r.want("opened", "started RUNNING select 1", "ended FINISHED select 1")
}

// TestRefusedLoginReachesClient: BAD with its text, although a call was pipelined behind the login.
func TestRefusedLoginReachesClient(t *testing.T) {
	r := newRig(t, hs2test.Config{Passwords: map[string]string{"bi": "right"}}, Config{})
	direct, proxied := refusal(t, r.hive.Addr()), refusal(t, r.addr)
	if direct != proxied || !strings.Contains(direct, "status 3") {
		t.Errorf("direct: %s; through the proxy: %s", direct, proxied)
	}
	eventually(t, "the count", func() bool { return r.server.Stats().RefusedLogins == 1 })
	if failed := r.log.failures(t); len(failed) != 0 {
		t.Errorf("failures %q", failed)
	}
}

func refusal(t *testing.T, addr string) string {
	_, err := hs2test.Dial(t.Context(), addr, "bi", "wrong")
	if err == nil {
		t.Fatal("logged in")
	}
	return err.Error()
}

// TestUpstreamDown: the client is closed at once, and the line names HiveServer2.
func TestUpstreamDown(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	r := newRigAt(t, Config{Address: addr})
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.ReadAll(conn); err != nil && !isReset(err) {
		t.Error(err)
	}
	eventually(t, "the end", func() bool { return r.server.Stats().Open == 0 })
	if got := r.log.failures(t); !slices.Equal(got, []string{"HiveServer2 connect"}) {
		t.Errorf("failures %q", got)
	}
	if got := r.server.Stats().UpstreamFailures; got != 1 {
		t.Errorf("%d failures of the upstream", got)
	}
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

// TestUpstreamDies: the client of a running query sees the end, as it would without the proxy, and the statement is LOST.
func TestUpstreamDies(t *testing.T) {
	r := newRig(t, hs2test.Config{Execute: blockSlow}, Config{})
	c := r.dial()
	session, err := c.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := c.Execute(t.Context(), session, "slow", false)
		answered <- err
	}()
	r.want("opened", "started RUNNING slow")
	r.hive.Disconnect()
	if err := <-answered; err == nil {
		t.Error("the call was answered")
	}
	r.want("ended LOST slow", "closed")
	eventually(t, "the line", func() bool { return len(r.log.failures(t)) == 1 })
	if got := r.log.failures(t); got[0] != "HiveServer2 call" && got[0] != "HiveServer2 read" {
		t.Errorf("failures %q", got)
	}
	if _, err := r.dial().Open(t.Context(), nil); err != nil {
		t.Errorf("the next connection: %v", err)
	}
}

// TestClientGone: its connection to HiveServer2 ends with it, also in the middle of a call.
func TestClientGone(t *testing.T) {
	for _, reset := range []bool{false, true} {
		t.Run(fmt.Sprintf("reset=%t", reset), func(t *testing.T) {
			r := newRig(t, hs2test.Config{}, Config{})
			c := r.dial()
			if _, err := c.Open(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if reset {
				_ = c.Conn.(*net.TCPConn).SetLinger(0)
			}
			_ = c.Conn.Close()
			r.want("opened", "closed")
			eventually(t, "the end at HiveServer2", func() bool {
				connections, sessions, _ := r.hive.Open()
				return connections == 0 && sessions == 0
			})
			if got := r.log.failures(t); len(got) != 0 {
				t.Errorf("failures %q", got)
			}
		})
	}
}

// TestClientHalfCloses: a client that only stops sending still gets the reply it waits for.
func TestClientHalfCloses(t *testing.T) {
	r := newRig(t, hs2test.Config{Execute: blockSlow}, Config{HalfClose: time.Millisecond})
	c := r.dial()
	session, err := c.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := c.Execute(t.Context(), session, "slow", false)
		answered <- err
	}()
	r.want("opened", "started RUNNING slow")
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the operation", func() bool { _, _, operations := r.hive.Open(); return operations == 1 })
	r.hive.Release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	r.want("ended FINISHED slow", "closed")
	eventually(t, "the end", func() bool { return r.server.Stats().Open == 0 })
}

// TestServerCloses: the client learns of it, and no socket is left half open although the client never closes.
func TestServerCloses(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{HalfClose: 50 * time.Millisecond})
	c := r.dial()
	if _, err := c.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r.hive.Disconnect()
	if _, err := io.ReadAll(c.Conn); err != nil && !isReset(err) {
		t.Error(err)
	}
	eventually(t, "the end", func() bool { return r.server.Stats().Open == 0 })
	r.want("opened", "closed")
}

// TestOversizeFrame: both sides end, one line names the client.
func TestOversizeFrame(t *testing.T) {
	for name, length := range map[string]uint32{"2 GB": 1<<31 - 1, "negative": 1 << 31} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, hs2test.Config{}, Config{})
			c := r.dial()
			if _, err := c.Conn.Write(binary.BigEndian.AppendUint32(nil, length)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(c.Conn); err != nil && !isReset(err) {
				t.Error(err)
			}
			eventually(t, "the end", func() bool {
				connections, _, _ := r.hive.Open()
				return connections == 0 && r.server.Stats().Open == 0
			})
			if got := r.log.failures(t); !slices.Equal(got, []string{"client length"}) {
				t.Errorf("failures %q", got)
			}
		})
	}
}

// TestOversizeReply: the same from the other side.
func TestOversizeReply(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	r.hive.Override("OpenSession", func(x *hs2test.Exchange) error { return x.Raw([]byte{0x7f, 0xff, 0xff, 0xff, 0}) })
	c := r.dial()
	if _, err := c.Open(t.Context(), nil); err == nil {
		t.Error("a session opened")
	}
	eventually(t, "the end", func() bool { return r.server.Stats().Open == 0 })
	if got := r.log.failures(t); !slices.Equal(got, []string{"HiveServer2 length"}) {
		t.Errorf("failures %q", got)
	}
}

// TestAbsurdNegotiation: HiveServer2's own answer to an absurd SASL length reaches the client.
func TestAbsurdNegotiation(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	var answers [2][]byte
	for i, addr := range []string{r.hive.Addr(), r.addr} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte{1, 0x7f, 0xff, 0xff, 0xff}); err != nil {
			t.Fatal(err)
		}
		answers[i], _ = io.ReadAll(conn)
		_ = conn.Close()
	}
	if len(answers[0]) == 0 || answers[0][0] != 4 || !bytes.Equal(answers[0], answers[1]) {
		t.Errorf("direct %q, through the proxy %q", answers[0], answers[1])
	}
}

// TestMalformedReply: what HiveServer2 should never send still reaches the client, which judges it itself.
func TestMalformedReply(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	garbage := []byte("\x00\x00\x00\x09not a mes")
	r.hive.Override("OpenSession", func(x *hs2test.Exchange) error { return x.Raw(garbage) })
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := hs2test.Login(conn, "bi", "x"); err != nil {
		t.Fatal(err)
	}
	fromClient, _ := conversation()
	if _, err := conn.Write(fromClient[len(hs2test.Plain("bi", "s3cret")):]); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(garbage))
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, garbage) {
		t.Errorf("%q, %v", got, err)
	}
	if stats := r.server.Stats(); stats.Blind[thrift.BlindMalformed] != 1 {
		t.Errorf("stats %+v", stats)
	}
}

// TestUnknownCalls: HiveServer2's TApplicationException passes, and the connection goes on being observed.
func TestUnknownCalls(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	c := r.dial()
	_, err := c.GetTypeInfo(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "Invalid method name: 'GetTypeInfo'") {
		t.Fatalf("error %v", err)
	}
	if _, err := c.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r.want("opened")
}

// TestCancelFromAnotherConnection: a second connection cancels what the first waits for.
func TestCancelFromAnotherConnection(t *testing.T) {
	r := newRig(t, hs2test.Config{Execute: blockSlow}, Config{})
	first, second := r.dial(), r.dial()
	session, err := first.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := first.Execute(t.Context(), session, "slow", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := cancelOperation(t.Context(), second, resp); err != nil {
		t.Fatal(err)
	}
	r.want("opened", "started RUNNING slow", "ended CANCELED slow")
	// Two sessions on one connection, and a statement of the first's session on the second.
	other, err := first.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Execute(t.Context(), session, "select 1", false); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Execute(t.Context(), other, "select 2", false); err != nil {
		t.Fatal(err)
	}
	_ = second.Conn.Close()
	r.want("opened", "started RUNNING select 1", "ended FINISHED select 1", "started RUNNING select 2", "ended FINISHED select 2")
	_ = first.Conn.Close()
	r.want("closed", "closed")
}

// TestDrain: Shutdown waits for a running statement, takes nobody new, and cuts when its time is over.
func TestDrain(t *testing.T) {
	r := newRig(t, hs2test.Config{Execute: blockSlow}, Config{})
	c := r.dial()
	session, err := c.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := c.Execute(t.Context(), session, "slow", false)
		_ = c.Conn.Close()
		answered <- err
	}()
	r.want("opened", "started RUNNING slow")
	drained := make(chan error, 1)
	go func() { drained <- r.server.Shutdown(t.Context()) }()
	if err := <-r.served; err != nil {
		t.Error(err)
	}
	r.served <- nil // for the cleanup
	if conn, err := net.Dial("tcp", r.addr); err == nil {
		_ = conn.Close()
		t.Error("a connection was taken while draining")
	}
	select {
	case err := <-drained:
		t.Fatalf("drained with a statement running: %v", err)
	default:
	}
	eventually(t, "the operation", func() bool { _, _, operations := r.hive.Open(); return operations == 1 })
	r.hive.Release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

func TestCut(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	c := r.dial()
	if _, err := c.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.server.Shutdown(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "cut 1 connection") {
		t.Errorf("shutdown: %v", err)
	}
	if stats := r.server.Stats(); stats.Open != 0 || stats.Tracker.Sessions != 0 {
		t.Errorf("stats %+v", stats)
	}
	if got := r.log.failures(t); len(got) != 0 {
		t.Errorf("failures %q", got)
	}
}

func TestServeEndsWithContext(t *testing.T) {
	server, err := NewServer(Config{Address: "127.0.0.1:1"}, NewTracker(TrackerConfig{}, NewQueue(1)), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, ln) }()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := server.Serve(t.Context(), ln); err != nil {
		t.Errorf("after Shutdown: %v", err)
	}
}

func TestConfigValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  Config
		want string
	}{
		"fine":             {Config{Address: "hive:10000"}, ""},
		"no address":       {Config{}, `address ""`},
		"no port":          {Config{Address: "hive"}, `address "hive"`},
		"negative timeout": {Config{Address: "hive:1", DialTimeout: -1}, "dial timeout"},
		"negative limit":   {Config{Address: "hive:1", Limits: thrift.Limits{MaxCallBytes: -1}}, "largest call"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewServer(tc.cfg, NewTracker(TrackerConfig{}, NewQueue(1)), zerolog.Nop())
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestOutOfSequence: a reply that answers another call passes, and the observation stops instead of guessing.
func TestOutOfSequence(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	r.hive.Override("GetInfo", func(x *hs2test.Exchange) error {
		name := "Apache Hive"
		return x.ReplyAs("GetInfo", x.SeqID+7, &hiveserver.TCLIServiceGetInfoResult{Success: &hiveserver.TGetInfoResp{Status: good(), InfoValue: &hiveserver.TGetInfoValue{StringValue: &name}}})
	})
	c := r.dial()
	if _, err := c.GetInfo(t.Context(), &hiveserver.TGetInfoReq{SessionHandle: aSession('A')}); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("error %v", err)
	}
	if stats := r.server.Stats(); stats.Blind[thrift.BlindOutOfSync] != 1 {
		t.Errorf("stats %+v", stats)
	}
}

// TestOverriddenCalls: an exception where a result belongs ends the statement, an answer after reading the call does not.
func TestOverriddenCalls(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	c := r.dial()
	session, err := c.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.hive.Override("ExecuteStatement", func(x *hs2test.Exchange) error { return x.Exception(6, "Internal error processing ExecuteStatement") })
	if _, err := c.Execute(t.Context(), session, "select 1", false); err == nil || !strings.Contains(err.Error(), "Internal error") {
		t.Errorf("error %v", err)
	}
	r.hive.Override("ExecuteStatement", func(x *hs2test.Exchange) error {
		var args hiveserver.TCLIServiceExecuteStatementArgs
		if err := x.Read(&args); err != nil {
			return err
		}
		return x.Reply(&hiveserver.TCLIServiceExecuteStatementResult{Success: &hiveserver.TExecuteStatementResp{
			Status: bad(10001, "42S02", "Table not found "+args.Req.Statement),
		}})
	})
	if resp, err := c.Execute(t.Context(), session, "select 2", true); err != nil || *resp.Status.ErrorMessage != "Table not found select 2" {
		t.Errorf("%v, %v", resp, err)
	}
	r.hive.Override("ExecuteStatement", nil)
	if _, err := c.Execute(t.Context(), session, "select 3", false); err != nil {
		t.Error(err)
	}
	r.want("opened", "started RUNNING select 1", "ended ERROR select 1", "started RUNNING select 2", "ended ERROR select 2",
		"started RUNNING select 3", "ended FINISHED select 3")
	if got := r.hive.Calls(); !slices.Equal(got, []string{"OpenSession", "ExecuteStatement", "ExecuteStatement", "ExecuteStatement"}) {
		t.Errorf("calls %q", got)
	}
}
