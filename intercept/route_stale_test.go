package intercept

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// TestRouteStaleConnection: when the system takes no byte for a connection that was kept, the request goes out on a new one, once.
func TestRouteStaleConnection(t *testing.T) {
	hive, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hive.Close() }()
	address := hive.Addr().String()
	set, err := upstream.NewStatic([]upstream.Server{{ID: "a", HTTP: address}, {ID: "b", HTTP: address}}, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	s, err := NewServer(Config{Servers: set}, NewTracker(TrackerConfig{}, NewQueue(10)), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Shutdown(t.Context()) }()
	near, client := net.Pipe()
	defer func() { _ = client.Close() }()
	s.start(near)
	deadline := time.Now().Add(30 * time.Second)
	if err := client.SetDeadline(deadline); err != nil {
		t.Fatal(err)
	}

	const asked, answer = "GET /cliservice HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"
	var ends []net.Conn
	for range 2 {
		if _, err := io.WriteString(client, asked); err != nil {
			t.Fatal(err)
		}
		end, err := hive.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = end.Close() }()
		ends = append(ends, end)
		got := make([]byte, len(asked))
		if err := end.SetDeadline(deadline); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(end, got); err != nil || string(got) != asked {
			t.Fatalf("%q, %v", got, err)
		}
		if _, err := io.WriteString(end, answer); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		// From here on the system takes nothing more for it; its reader hears of no end.
		if err := only(s).current.conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	if extra, err := io.ReadAll(ends[0]); err != nil || len(extra) > 0 {
		t.Errorf("the first connection got %q, %v", extra, err)
	}
	_ = client.Close()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// only is the one routed connection of a server.
func only(s *Server) *route {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.mu.relays {
		p := r.mu.carrier.(*pumped)
		p.conns.Lock()
		defer p.conns.Unlock()
		return p.conns.route
	}
	return nil
}
