package client

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// servlet serves a fakeServer over HTTP as ThriftHttpServlet does: who logs in gets a cookie, and the cookie logs in.
type servlet struct {
	*fakeServer
	cookies bool
	// answer, when set, may answer a request itself.
	answer func(http.ResponseWriter, *http.Request) bool

	mu          sync.Mutex
	cookie      string // the valid one
	requests    []http.Header
	connections int
}

const basic = "u:hunter2"

func (s *servlet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Header)
	cookie, answer := s.cookie, s.answer
	s.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	sent, _ := r.Cookie("hive.server2.auth")
	switch {
	case r.URL.Path != "/cliservice":
		http.NotFound(w, r)
		return
	case cookie != "" && sent != nil && sent.Value == cookie:
	case r.Header.Get("Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(basic)):
		w.Header().Set("WWW-Authenticate", "Basic")
		http.Error(w, "Authentication Error: no such user", http.StatusUnauthorized)
		return
	case s.cookies:
		s.mu.Lock()
		s.cookie = "signed"
		s.mu.Unlock()
		http.SetCookie(w, &http.Cookie{Name: "hive.server2.auth", Value: "signed", HttpOnly: true})
	}
	in, out := athrift.NewTMemoryBuffer(), athrift.NewTMemoryBuffer()
	if _, err := in.ReadFrom(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := hiveserver.NewTCLIServiceProcessor(s.fakeServer).Process(r.Context(), athrift.NewTBinaryProtocolConf(in, nil), athrift.NewTBinaryProtocolConf(out, nil)); err != nil && out.Len() == 0 {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-thrift")
	_, _ = w.Write(out.Bytes())
}

// start serves s, with TLS when it is asked for, and returns the configuration.
func (s *servlet) start(t *testing.T, secure bool) Config {
	t.Helper()
	server := httptest.NewUnstartedServer(s)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.connections++
			s.mu.Unlock()
		}
	}
	config := Config{Transport: "http", Auth: "LDAP", User: "u", Password: "hunter2", CallTimeout: 20 * time.Second}
	if secure {
		server.StartTLS()
		config.TLS = trust(server)
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	config.Address = server.Listener.Addr().String()
	return config
}

// withAuthorization counts the requests that carried credentials.
func (s *servlet) withAuthorization() (n, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.requests {
		if h.Get("Authorization") != "" {
			n++
		}
	}
	return n, len(s.requests)
}

// Both kinds of connection work over one kept-alive connection; the password goes once where there are cookies, and
// always where there are none, at the price of one refused call.
func TestHTTP(t *testing.T) {
	for _, kind := range []string{"Conn", "Session"} {
		for _, cookies := range []bool{true, false} {
			s := &servlet{fakeServer: &fakeServer{}, cookies: cookies}
			run := opener(t, kind, s.start(t, false))
			s.fakeServer.mu.Lock()
			s.columns = described("a", hiveserver.TTypeId_STRING_TYPE)
			s.batches = []*hiveserver.TRowSet{stringColumns([]string{"x", "y"})}
			s.fakeServer.mu.Unlock()
			result, err := run("select 1")
			if err != nil || !equalRows(result.Rows, [][]string{{"x"}, {"y"}}) {
				t.Errorf("%s: rows %q, error %v", kind, flat(result.Rows), err)
			}
			with, of := s.withAuthorization()
			if cookies && with != 1 || !cookies && with != of-1 || of < 5 {
				t.Errorf("%s, cookies %v: %d of %d requests with a password", kind, cookies, with, of)
			}
			if s.count("ExecuteStatement") != s.count("CloseOperation") {
				t.Errorf("%s: calls %q", kind, s.calls)
			}
			s.mu.Lock()
			if s.connections != 1 {
				t.Errorf("%s: %d connections, want 1", kind, s.connections)
			}
			for _, h := range s.requests {
				if h.Get("X-Xsrf-Header") == "" || h.Get("Content-Type") != "application/x-thrift" || h.Get("Accept-Encoding") != "" {
					t.Errorf("%s: headers %v", kind, h)
				}
			}
			s.mu.Unlock()
		}
	}
}

// A cookie that has expired costs one refused request, not the connection, and no call is made twice.
func TestHTTPCookieExpires(t *testing.T) {
	s := &servlet{fakeServer: &fakeServer{}, cookies: true}
	c := dialed(t, s.start(t, false))
	s.mu.Lock()
	s.cookie = "another"
	s.mu.Unlock()
	if _, err := c.Run(t.Context(), Handle{}, "select 1", nil, false); err != nil {
		t.Fatal(err)
	}
	if s.count("ExecuteStatement") != 1 {
		t.Errorf("calls %q, want one statement", s.calls)
	}
}

func TestHTTPRefused(t *testing.T) {
	status := func(code int, header, value, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set(header, value)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	tests := map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		change func(*Config)
		want   string
		login  bool // an Error
	}{
		"wrong password": {nil, func(c *Config) { c.Password = "hunter3" }, "login refused: HTTP 401 Unauthorized: Authentication Error: no such user (it takes Basic)", true},
		"wrong path":     {nil, func(c *Config) { c.HTTPPath = "x" }, "HTTP 404 Not Found: 404 page not found: is the path", false},
		"forbidden":      {status(403, "X", "", "<html>"), nil, "login refused: HTTP 403 Forbidden", true},
		"redirect":       {status(302, "Location", "http://127.0.0.1:1/", ""), nil, "HTTP 302 Found", false},
		"server error":   {status(500, "X", "", "<html>"), nil, "HTTP 500 Internal Server Error", false},
		"a web page":     {status(200, "X", "", "<html>"), nil, "answers, but not in Thrift", false},
		"an empty page":  {status(200, "X", "", ""), nil, "answers, but not in Thrift", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &servlet{fakeServer: &fakeServer{}, answer: tt.answer}
			config := s.start(t, false)
			if tt.change != nil {
				tt.change(&config)
			}
			for kind, open := range map[string]func() error{
				"Dial": func() error { _, err := Dial(t.Context(), config); return err },
				"Open": func() error { _, err := Open(t.Context(), config, nil); return err },
			} {
				err := open()
				var refusal *Error
				switch {
				case err == nil || !strings.Contains(err.Error(), tt.want):
					t.Errorf("%s: error %v, want %q", kind, err, tt.want)
				case errors.As(err, &refusal) != tt.login:
					t.Errorf("%s: error %v is a refusal: %v, want %v", kind, err, !tt.login, tt.login)
				case strings.Contains(err.Error(), "hunter") || !strings.HasPrefix(err.Error(), "HiveServer2 "+config.Address):
					t.Errorf("%s: error %v", kind, err)
				}
			}
		})
	}
}

// A reply is read up to the limit, whether it announces its length or not.
func TestHTTPReplyTooLong(t *testing.T) {
	const limit = 64 << 10
	s := &servlet{fakeServer: &fakeServer{}, cookies: true}
	config := s.start(t, false)
	config.MaxMessageSize = limit
	for _, chunked := range []bool{false, true} {
		c := dialed(t, config)
		s.mu.Lock()
		s.answer = func(w http.ResponseWriter, _ *http.Request) bool {
			if chunked {
				w.(http.Flusher).Flush()
			}
			_, _ = w.Write(make([]byte, limit+1))
			return true
		}
		s.mu.Unlock()
		_, err := c.Run(t.Context(), Handle{}, "select 1", nil, false)
		if err == nil || !strings.Contains(err.Error(), "more than 65536") || c.Alive() {
			t.Errorf("chunked %v: error %v, alive %v", chunked, err, c.Alive())
		}
		s.mu.Lock()
		s.answer = nil
		s.mu.Unlock()
	}
}

// A server that does not answer is left as over the binary transport.
func TestHTTPHungServer(t *testing.T) {
	hung := func(t *testing.T, change func(*Config)) (*Conn, <-chan struct{}) {
		t.Helper()
		s := &servlet{fakeServer: &fakeServer{}, cookies: true}
		config := s.start(t, false)
		change(&config)
		c := dialed(t, config)
		asked, release := make(chan struct{}, 10), make(chan struct{})
		t.Cleanup(func() { close(release) })
		s.mu.Lock()
		s.answer = func(http.ResponseWriter, *http.Request) bool {
			asked <- struct{}{}
			<-release
			return true
		}
		s.mu.Unlock()
		return c, asked
	}
	t.Run("context", func(t *testing.T) {
		c, asked := hung(t, func(*Config) {})
		c.grace = 10 * time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		if _, err := c.Run(ctx, Handle{}, "select 1", nil, false); !errors.Is(err, context.Canceled) || c.Alive() {
			t.Errorf("error %v, alive %v; want the context's and the end", err, c.Alive())
		}
	})
	t.Run("deadline", func(t *testing.T) {
		c, _ := hung(t, func(c *Config) { c.CallTimeout = 50 * time.Millisecond })
		_, err := c.Run(t.Context(), Handle{}, "select 1", nil, false)
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() || c.Alive() {
			t.Errorf("error %v, alive %v; want a timeout and the end", err, c.Alive())
		}
	})
	t.Run("close", func(t *testing.T) {
		c, asked := hung(t, func(*Config) {})
		closed := make(chan error, 1)
		go func() { <-asked; closed <- c.Close() }()
		if _, err := c.Run(t.Context(), Handle{}, "select 1", nil, false); !errors.Is(err, net.ErrClosed) {
			t.Errorf("error %v, want a closed connection", err)
		}
		if err := <-closed; err != nil {
			t.Errorf("close: %v", err)
		}
	})
	t.Run("login", func(t *testing.T) {
		config := listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
		config.Transport, config.DialTimeout = "http", 20*time.Millisecond
		if _, err := Dial(t.Context(), config); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no login within 20ms") {
			t.Errorf("error %v, want the deadline", err)
		}
	})
}

// A statement whose context ends is cancelled and closed over HTTP too.
func TestHTTPCancelled(t *testing.T) {
	s := &servlet{fakeServer: &fakeServer{states: []*hiveserver.TGetOperationStatusResp{state(hiveserver.TOperationState_RUNNING_STATE)}}, cookies: true}
	c := dialed(t, s.start(t, false))
	ctx, cancel := context.WithCancel(t.Context())
	s.execute = func(*hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error) {
		cancel()
		return s.started(), nil
	}
	if _, err := c.Run(ctx, Handle{}, "select 1", nil, false); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if !slices.Equal(s.calls[len(s.calls)-2:], []string{"CancelOperation", "CloseOperation"}) || !c.Alive() {
		t.Errorf("calls %q, alive %v", s.calls, c.Alive())
	}
}
