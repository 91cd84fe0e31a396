package intercept

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// through sends bytes both ways through a relay in memory whose reads bring at most `most` bytes, and returns what arrives.
func through(tb testing.TB, most int, fromClient, fromServer []byte) (toServer, toClient []byte, s *Server) {
	tb.Helper()
	s, err := NewServer(Config{Address: "127.0.0.1:1"}, NewTracker(TrackerConfig{}, NewQueue(1000)), zerolog.Nop())
	if err != nil {
		tb.Fatal(err)
	}
	client, front := memoryPair(most)
	back, server := memoryPair(most)
	s.dial = func(context.Context, string) (net.Conn, error) { return back, nil }
	s.start(front)

	var work sync.WaitGroup
	for _, end := range []struct {
		conn *memoryConn
		send []byte
		got  *[]byte
	}{{client, fromClient, &toClient}, {server, fromServer, &toServer}} {
		work.Go(func() {
			_, _ = end.conn.Write(end.send)
			_ = end.conn.CloseWrite()
		})
		work.Go(func() { *end.got, _ = io.ReadAll(end.conn) })
	}
	work.Wait()
	if err := s.Shutdown(context.Background()); err != nil {
		tb.Error(err)
	}
	return toServer, toClient, s
}

// conversation is the bytes of both sides of a recorded exchange with the fake server, recorded once.
var conversation = sync.OnceValues(func() (fromClient, fromServer []byte) {
	server, err := hs2test.Start(hs2test.Config{Execute: func(string) hs2test.Outcome { return hs2test.Outcome{Rows: 100, Width: 20, Batch: 50} }})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	var mu sync.Mutex
	record := func(into *[]byte) func([]byte) {
		return func(b []byte) {
			mu.Lock()
			defer mu.Unlock()
			*into = append(*into, b...)
		}
	}
	proxy, err := newRecorder(server.Addr(), record(&fromClient), record(&fromServer))
	if err != nil {
		panic(err)
	}
	if err := talk(context.Background(), proxy.addr()); err != nil {
		panic(err)
	}
	proxy.close()
	return fromClient, fromServer
})

// talk is a whole conversation: a session, a statement, its result.
func talk(ctx context.Context, addr string) error {
	c, err := hs2test.Dial(ctx, addr, "bi", "s3cret")
	if err != nil {
		return err
	}
	defer func() { _ = c.Conn.Close() }()
	session, err := c.Open(ctx, map[string]string{"use:database": "sales"})
	if err != nil {
		return err
	}
	resp, err := c.Execute(ctx, session, "select a.x, b.y from a join b on a.id = b.id", true)
	if err != nil {
		return err
	}
	if _, err := c.Poll(ctx, resp.OperationHandle); err != nil {
		return err
	}
	_, err = c.Fetch(ctx, resp.OperationHandle)
	return err
}

func TestRelayUnchanged(t *testing.T) {
	fromClient, fromServer := conversation()
	for _, most := range []int{1, 1460, 64 << 10} {
		toServer, toClient, s := through(t, most, fromClient, fromServer)
		if !bytes.Equal(toServer, fromClient) || !bytes.Equal(toClient, fromServer) {
			t.Errorf("reads of %d: %d of %d bytes to the server, %d of %d to the client", most, len(toServer), len(fromClient), len(toClient), len(fromServer))
		}
		if stats := s.Stats(); stats.BytesFromClients != int64(len(fromClient)) || stats.BytesFromServer != int64(len(fromServer)) {
			t.Errorf("counted %+v", stats)
		}
	}
}

// FuzzRelayUnchanged: whatever both sides send, the other gets exactly that; when a length is refused, the beginning of it.
func FuzzRelayUnchanged(f *testing.F) {
	fromClient, fromServer := conversation()
	f.Add(fromClient, fromServer)
	f.Add(fromClient[:300], fromServer[:100])
	f.Add(append(hs2test.Plain("bi", "x"), 0x7f, 0xff, 0xff, 0xff, 1, 2, 3), []byte{5, 0, 0, 0, 0, 0x80, 0, 0, 0})
	f.Add([]byte("POST /cliservice HTTP/1.1\r\n\r\n"), []byte("HTTP/1.1 401 Unauthorized\r\n\r\n"))
	f.Add([]byte{0x80, 1, 0, 1, 0, 0, 0, 7, 'G', 'e', 't', 'I', 'n', 'f', 'o', 0, 0, 0, 1, 0}, []byte{4, 0, 0, 0, 2, 'n', 'o'})
	f.Fuzz(func(t *testing.T, fromClient, fromServer []byte) {
		for _, most := range []int{1, 1460, 64 << 10} {
			toServer, toClient, s := through(t, most, fromClient, fromServer)
			stats := s.Stats()
			if refused := stats.ClientFailures+stats.UpstreamFailures > 0; !refused {
				if !bytes.Equal(toServer, fromClient) || !bytes.Equal(toClient, fromServer) {
					t.Fatalf("reads of %d: bytes changed", most)
				}
			}
			if !bytes.HasPrefix(fromClient, toServer) || !bytes.HasPrefix(fromServer, toClient) {
				t.Fatalf("reads of %d: bytes changed", most)
			}
			if stats.Open != 0 || stats.Accepted != 1 {
				t.Fatalf("stats %+v", stats)
			}
		}
	})
}

// TestOversizeCutsBoth: an absurd length on either side ends both, and what came before it is delivered.
func TestOversizeCutsBoth(t *testing.T) {
	login := hs2test.Plain("bi", "x")
	absurd := binary.BigEndian.AppendUint32(nil, 1<<31-1)
	toServer, _, s := through(t, 64<<10, bytes.Join([][]byte{login, absurd, []byte("more")}, nil), nil)
	if !bytes.Equal(toServer, login) || s.Stats().ClientFailures != 1 {
		t.Errorf("%d bytes to the server, %+v", len(toServer), s.Stats())
	}
}

// TestPanicTurnsBlind: a panic in the observation costs the observation, not the bytes.
func TestPanicTurnsBlind(t *testing.T) {
	fromClient, fromServer := conversation()
	s, err := NewServer(Config{Address: "127.0.0.1:1"}, NewTracker(TrackerConfig{}, panickingSink{}), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	client, front := memoryPair(1460)
	back, server := memoryPair(1460)
	s.dial = func(context.Context, string) (net.Conn, error) { return back, nil }
	s.start(front)
	// In the order of the wire, so that the session's opening, which panics, is observed.
	if _, err := client.Write(fromClient); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(fromClient))
	if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, fromClient) {
		t.Fatalf("%v, or bytes changed", err)
	}
	if _, err := server.Write(fromServer); err != nil {
		t.Fatal(err)
	}
	got = make([]byte, len(fromServer))
	if _, err := io.ReadFull(client, got); err != nil || !bytes.Equal(got, fromServer) {
		t.Fatalf("%v, or bytes changed", err)
	}
	_ = client.CloseWrite()
	_ = server.CloseWrite()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if got := s.Stats().Blind[thrift.BlindPanic]; got != 1 {
		t.Errorf("%d connections blind after a panic", got)
	}
}

type panickingSink struct{}

func (panickingSink) Offer(Event) bool { panic("analysis failed") }

// recorder is a relay of the tests' own that shows both directions.
type recorder struct {
	listener net.Listener
	work     sync.WaitGroup
}

func newRecorder(upstream string, fromClient, fromServer func([]byte)) (*recorder, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &recorder{listener: listener}
	r.work.Go(func() {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", upstream)
		if err != nil {
			panic(err)
		}
		r.work.Go(func() { tee(server, client, fromClient) })
		r.work.Go(func() { tee(client, server, fromServer) })
	})
	return r, nil
}

func (r *recorder) addr() string { return r.listener.Addr().String() }

func (r *recorder) close() {
	_ = r.listener.Close()
	r.work.Wait()
}

func tee(to, from net.Conn, show func([]byte)) {
	defer func() { _ = to.Close() }()
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		show(b[:n])
		if _, werr := to.Write(b[:n]); err != nil || werr != nil {
			return
		}
	}
}
