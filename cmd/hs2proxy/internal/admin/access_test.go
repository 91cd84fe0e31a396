package admin

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
)

const token = "0123456789abcdef"

// ask sends a request to a handler and returns its status.
func ask(h http.Handler, method, path string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Host = "localhost:10010"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func authorize(value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", value) }
}

// TestToken: with a token every path asks for it, whatever the host is called.
func TestToken(t *testing.T) {
	h := handler(token, sourceOf(newFake()), NewMetrics(), zerolog.Nop())
	for value, want := range map[string]int{
		"Bearer " + token: http.StatusOK, "bearer  " + token: http.StatusOK,
		"": http.StatusUnauthorized, "Bearer": http.StatusUnauthorized, "Bearer ": http.StatusUnauthorized,
		"Bearer " + token + "x": http.StatusUnauthorized, "Bearer " + token[1:]: http.StatusUnauthorized,
		"Basic " + token: http.StatusUnauthorized, token: http.StatusUnauthorized,
	} {
		if w := ask(h, http.MethodGet, "/healthz", func(r *http.Request) { r.Host = "proxy.example.com"; authorize(value)(r) }); w.Code != want {
			t.Errorf("%q: %d, want %d", value, w.Code, want)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/sessions", "/debug/pprof/", "/debug/pprof/heap", "/nowhere"} {
		w := ask(h, http.MethodGet, path, nil)
		if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s without the token: %d", path, w.Code)
		}
	}
}

// TestHosts: without a token only names of this machine are answered, and a web page of another origin cannot post.
func TestHosts(t *testing.T) {
	h := handler("", sourceOf(newFake()), NewMetrics(), zerolog.Nop())
	for host, want := range map[string]int{
		"localhost:10010": http.StatusOK, "LOCALHOST": http.StatusOK, "127.0.0.1:10010": http.StatusOK, "127.1.2.3": http.StatusOK,
		"[::1]:10010": http.StatusOK, "[::1]": http.StatusOK,
		"evil.example.com": http.StatusForbidden, "evil.example.com:10010": http.StatusForbidden, "10.0.0.1:10010": http.StatusForbidden,
		"localhost.evil.example.com": http.StatusForbidden, "": http.StatusForbidden,
	} {
		if w := ask(h, http.MethodGet, "/sessions", func(r *http.Request) { r.Host = host }); w.Code != want {
			t.Errorf("host %q: %d, want %d", host, w.Code, want)
		}
	}
	cross := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	if w := ask(h, http.MethodPost, "/sessions/"+busyID+"/kill", cross); w.Code != http.StatusForbidden {
		t.Errorf("a page of another origin kills: %d", w.Code)
	}
	if w := ask(h, http.MethodPost, "/sessions/"+busyID+"/kill", nil); w.Code != http.StatusOK {
		t.Errorf("a tool on this machine does not: %d", w.Code)
	}
}

// TestNoTokenBeyondLoopback: an address that others reach needs a token.
func TestNoTokenBeyondLoopback(t *testing.T) {
	for listen, ok := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:0": true, "localhost:0": true,
		":10010": false, "0.0.0.0:10010": false, "[::]:10010": false, "10.0.0.1:10010": false, "proxy:10010": false,
	} {
		_, without := New(config.Admin{Listen: listen}, sourceOf(newFake()), NewMetrics(), zerolog.Nop())
		_, with := New(config.Admin{Listen: listen, Token: token}, sourceOf(newFake()), NewMetrics(), zerolog.Nop())
		if (without == nil) != ok || with != nil {
			t.Errorf("%s: without a token %v, with one %v", listen, without, with)
		}
	}
}
