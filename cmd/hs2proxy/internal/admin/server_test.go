package admin

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
)

func start(t *testing.T, cfg config.Admin, relay *fakeRelay) *Server {
	t.Helper()
	source, metrics := sourceOf(relay), NewMetrics()
	metrics.Watch(source)
	s, err := New(cfg, source, metrics, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	s.Start(t.Context())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		s.Stop(ctx)
	})
	return s
}

func newClient(t *testing.T, listen, token string) *Client {
	t.Helper()
	c, err := NewClient(config.Admin{Listen: listen, Token: token}, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClient: the command line's end, with and without the token, and with what the port refuses.
func TestClient(t *testing.T) {
	relay := newFake()
	s := start(t, config.Admin{Listen: "0.0.0.0:0", Token: token}, relay)
	_, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, ":"+port, token)
	sessions, err := c.Sessions(t.Context())
	if err != nil || len(sessions) != 3 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	killed, err := c.Kill(t.Context(), busyID)
	if err != nil || killed.Session != busyID {
		t.Errorf("killed %+v, %v", killed, err)
	}
	for id, want := range map[string]string{lostID: "refused", "../../sessions": "no such session", "x y": "no such session"} {
		if _, err := c.Kill(t.Context(), id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("kill %q: %v, want %q", id, err, want)
		}
	}
	if _, err := newClient(t, "0.0.0.0:"+port, "").Sessions(t.Context()); err == nil || !strings.Contains(err.Error(), "admin.token_file") {
		t.Errorf("without the token: %v", err)
	}
	if _, err := NewClient(config.Admin{Listen: "nowhere"}, time.Second); err == nil {
		t.Error("an address without a port is taken")
	}
}

// TestPprof: profiles can be had, those that take time too.
func TestPprof(t *testing.T) {
	s := start(t, config.Admin{Listen: "127.0.0.1:0"}, newFake())
	for _, path := range []string{"", "goroutine?debug=1", "heap", "cmdline", "symbol", "profile?seconds=1", "trace?seconds=0.1"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+"/debug/pprof/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || len(body) == 0 {
			t.Errorf("%s: %s, %d bytes, %v", path, resp.Status, len(body), err)
		}
	}
}

// TestTakenAddress: the port comes up once the address is free, and Stop does not wait for that.
func TestTakenAddress(t *testing.T) {
	var lc net.ListenConfig
	holder, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := holder.Addr().String()
	waiting := start(t, config.Admin{Listen: listen}, newFake())
	abandoned := start(t, config.Admin{Listen: listen}, newFake())
	if waiting.Addr() != nil {
		t.Fatal("listens on a taken address")
	}
	abandoned.Stop(t.Context())
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c := newClient(t, listen, "")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := c.Sessions(ctx); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the port never came up")
		}
	}
}

// TestStopBreaksSlowRequests: a client that reads nothing does not hold the end up.
func TestStopBreaksSlowRequests(t *testing.T) {
	s := start(t, config.Admin{Listen: "127.0.0.1:0"}, newFake())
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET /debug/pprof/profile?seconds=25 HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Stop(ctx)
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the connection lives on: %v", err)
	}
}

// TestTimeouts: no phase of a request is without a bound.
func TestTimeouts(t *testing.T) {
	s := start(t, config.Admin{Listen: "127.0.0.1:0"}, newFake())
	if h := s.http; h.ReadHeaderTimeout <= 0 || h.ReadTimeout <= 0 || h.WriteTimeout <= 0 || h.IdleTimeout <= 0 || h.MaxHeaderBytes <= 0 {
		t.Errorf("%+v", h)
	}
}
