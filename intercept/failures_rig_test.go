package intercept_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// hang is when a test that waits for an event gives up: it guards against hanging and measures nothing.
const hang = 30 * time.Second

// proxied is a proxy as clients see it.
type proxied struct {
	server *intercept.Server
	queue  *intercept.Queue
	addr   string
	secure bool // TLS on both sides
}

// duplex is a connection whose sides end one by one.
type duplex interface {
	net.Conn
	CloseWrite() error
}

func newProxy(t *testing.T, upstream string, cfg intercept.Config) *proxied {
	t.Helper()
	cfg.Address = upstream
	p := &proxied{queue: intercept.NewQueue(10_000)}
	server, err := intercept.NewServer(cfg, intercept.NewTracker(intercept.TrackerConfig{Upstream: "fake"}, p.queue), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.server, p.addr = server, ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- server.Serve(context.Background(), ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // cut what a test left open
		_ = server.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return p
}

func newHive(t *testing.T, cfg hs2test.Config) *hs2test.Server {
	t.Helper()
	hive, err := hs2test.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hive.Close)
	return hive
}

// events takes n events: what happened, and of statements state and text.
func (p *proxied) events(t *testing.T, n int) (lines []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	for range n {
		select {
		case e := <-p.queue.Events():
			line := []string{"", "opened", "started", "ended", "closed"}[e.Kind]
			if e.Statement != nil {
				line += " " + string(e.Statement.State) + " " + e.Statement.SQL
			}
			lines = append(lines, line)
		case <-ctx.Done():
			t.Fatalf("only these events: %q", lines)
		}
	}
	return lines
}

func (p *proxied) want(t *testing.T, lines ...string) {
	t.Helper()
	if got := p.events(t, len(lines)); !slices.Equal(got, lines) {
		t.Errorf("events %q, wanted %q", got, lines)
	}
}

// observed fails when a connection was not.
func (p *proxied) observed(t *testing.T) {
	t.Helper()
	if blind := p.server.Stats().Blind; len(blind) > 0 {
		t.Errorf("connections were relayed blind: %v", blind)
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
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

// tape is a HiveServer2 that says what the test tells it to.
type tape struct {
	addr     string
	conns    chan *net.TCPConn
	accepted atomic.Int64
}

func newTape(t *testing.T) *tape {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tape{addr: ln.Addr().String(), conns: make(chan *net.TCPConn, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			p.accepted.Add(1)
			p.conns <- conn.(*net.TCPConn)
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
		for len(p.conns) > 0 {
			_ = (<-p.conns).Close()
		}
	})
	return p
}

// connect is a connection through the proxy, and its other end. Within TLS the proxy waits for the client's first words before it
// connects; so does the other end then.
func (p *tape) connect(t *testing.T, through *proxied) (client, server duplex) {
	t.Helper()
	conn, err := net.Dial("tcp", through.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	setDeadline(t, conn)
	if !through.secure {
		return conn.(*net.TCPConn), p.next(t)
	}
	c := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	return c, &lateConn{get: sync.OnceValue(func() *tls.Conn { return tls.Server(p.next(t), certificate()) })}
}

// next is the next connection to HiveServer2.
func (p *tape) next(t *testing.T) *net.TCPConn {
	t.Helper()
	select {
	case conn := <-p.conns:
		t.Cleanup(func() { _ = conn.Close() })
		setDeadline(t, conn)
		return conn
	case <-time.After(hang):
		t.Fatal("no connection to HiveServer2")
		return nil
	}
}

// lateConn is a connection that comes when it is first used.
type lateConn struct{ get func() *tls.Conn }

func (c *lateConn) Read(b []byte) (int, error)         { return c.get().Read(b) }
func (c *lateConn) Write(b []byte) (int, error)        { return c.get().Write(b) }
func (c *lateConn) Close() error                       { return c.get().Close() }
func (c *lateConn) CloseWrite() error                  { return c.get().CloseWrite() }
func (c *lateConn) LocalAddr() net.Addr                { return c.get().LocalAddr() }
func (c *lateConn) RemoteAddr() net.Addr               { return c.get().RemoteAddr() }
func (c *lateConn) SetDeadline(d time.Time) error      { return c.get().SetDeadline(d) }
func (c *lateConn) SetReadDeadline(d time.Time) error  { return c.get().SetReadDeadline(d) }
func (c *lateConn) SetWriteDeadline(d time.Time) error { return c.get().SetWriteDeadline(d) }

// socket is the connection below TLS.
func socket(conn net.Conn) *net.TCPConn {
	if c, ok := conn.(*lateConn); ok {
		conn = c.get()
	}
	if c, ok := conn.(*tls.Conn); ok {
		conn = c.NetConn()
	}
	return conn.(*net.TCPConn)
}

// line is what one side says.
type line struct {
	byServer bool
	data     []byte
}

func says(data ...[]byte) line    { return line{data: slices.Concat(data...)} }
func answers(data ...[]byte) line { return line{byServer: true, data: slices.Concat(data...)} }

// bytewise has every byte of the lines said by itself.
func bytewise(lines []line) (split []line) {
	for _, l := range lines {
		for i := range l.data {
			split = append(split, line{l.byServer, l.data[i : i+1]})
		}
	}
	return split
}

// pass has the lines said one after the other: each must have arrived before the next is said.
func pass(t *testing.T, client, server net.Conn, lines ...line) {
	t.Helper()
	for i, l := range lines {
		from, to := client, server
		if l.byServer {
			from, to = server, client
		}
		sent := make(chan error, 1)
		go func() {
			_, err := from.Write(l.data)
			sent <- err
		}()
		got := make([]byte, len(l.data))
		n, err := io.ReadFull(to, got)
		if err := errors.Join(err, <-sent); err != nil {
			t.Fatalf("line %d: %d of %d bytes arrived: %v", i, n, len(l.data), err)
		}
		if !bytes.Equal(got, l.data) {
			t.Fatalf("line %d arrived as %.300q, was %.300q", i, got, l.data)
		}
	}
}

// end has the client leave, then the server, and fails when either got a byte that was not in a line.
func end(t *testing.T, client, server duplex) {
	t.Helper()
	for _, leave := range [][2]duplex{{client, server}, {server, client}} {
		if err := leave[0].CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if extra, err := io.ReadAll(leave[1]); err != nil || len(extra) > 0 {
			t.Fatalf("%q at the end, %v", extra, err)
		}
	}
}

// gone reads until the connection is over, in whatever way, and returns what came before.
func gone(t *testing.T, conn net.Conn) []byte {
	t.Helper()
	got, err := io.ReadAll(conn)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatal("the connection goes on")
	}
	return got
}

func setDeadline(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
}
