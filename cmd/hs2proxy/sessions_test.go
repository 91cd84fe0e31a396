package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/admin"
)

func TestPrintSessions(t *testing.T) {
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	sessions := []admin.Session{
		{ID: "aaaa", User: "ann", ClientAddress: "10.0.0.7:4711", Database: "sales", OpenedAt: now.Add(time.Second)},
		{
			ID: "bbbb", Auth: "SASL PLAIN", Server: "hive-b:10000", User: "bob", ClientAddress: "10.0.0.8:4711", Database: "default", OpenedAt: now.Add(-90 * time.Minute), Running: 2,
			Statement:  &admin.Statement{Kind: "SELECT", State: "RUNNING", Since: now.Add(-61 * time.Second), Text: "select ? from " + strings.Repeat("t", 500)},
			Connection: &admin.Connection{BytesFromClient: 1023, BytesToClient: 3 << 29}, SharedWith: []string{"aaaa"},
		},
		{ID: "cccc", User: "zoe", ClientAddress: "10.0.0.9", Auth: "HTTP BASIC", Server: "hive-c:10000", OpenedAt: now, Running: 1, Statement: &admin.Statement{Kind: "SET", State: "RUNNING", Since: now}},
	}
	var b strings.Builder
	if err := printSessions(&b, sessions, "table", now); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	row := func(id string) string {
		for _, l := range lines {
			if strings.Contains(l, id) && strings.Contains(l, "│") {
				return l
			}
		}
		return ""
	}
	for id, want := range map[string][]string{
		"aaaa": {"ann", "sales", "idle", " 0s "},
		"bbbb": {"bob", "SASL PLAIN", "hive-b:10000", "(shared with 1)", "1h30m0s", "running (2)", "1m1s", "1023 B", "1.5 GiB", "select ?"},
		"cccc": {"zoe", "10.0.0.9", "HTTP BASIC", "hive-c:10000", "running", "SET"},
	} {
		for _, w := range want {
			if !strings.Contains(row(id), w) {
				t.Errorf("%s: no %q in %s", id, w, row(id))
			}
		}
	}
	if l := row("bbbb"); len(l) > 400 {
		t.Errorf("a long statement makes a line of %d bytes", len(l))
	}

	b.Reset()
	if err := printSessions(&b, sessions, "json", now); err != nil {
		t.Fatal(err)
	}
	var back []admin.Session
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil || len(back) != 3 || back[1].Statement.Text != sessions[1].Statement.Text {
		t.Errorf("json: %v, %d sessions", err, len(back))
	}
	b.Reset()
	if err := printSessions(&b, nil, "table", now); err != nil || !strings.Contains(b.String(), "no sessions") {
		t.Errorf("none: %q, %v", b.String(), err)
	}
}

func TestPrintKilled(t *testing.T) {
	var b strings.Builder
	k := admin.Killed{Session: "aaaa", Connection: 7, ClientAddress: "10.0.0.7:4711"}
	if err := printKilled(&b, k, "table"); err != nil || strings.Contains(b.String(), "shared") || !strings.Contains(b.String(), "10.0.0.7:4711") {
		t.Errorf("%q, %v", b.String(), err)
	}
	k.AlsoEnded = []string{"bbbb", "cccc"}
	if err := printKilled(&b, k, "table"); err != nil || !strings.Contains(b.String(), "shared; these sessions ended with it: bbbb, cccc") {
		t.Errorf("%q, %v", b.String(), err)
	}
	for want, k := range map[string]admin.Killed{
		"session aaaa killed: connection 7 of 10.0.0.7:4711 is cut\n": {Session: "aaaa", Connection: 7, ClientAddress: "10.0.0.7:4711"},
		"session aaaa killed: HiveServer2 h:10000 has closed it by its handle\n": {
			Session: "aaaa", Server: "h:10000", ClientAddress: "10.0.0.9", Closed: true,
		},
		"session aaaa killed: connection 7 of 10.0.0.7:4711 is cut, HiveServer2 h:10000 has closed it by its handle\n": {
			Session: "aaaa", Server: "h:10000", Connection: 7, ClientAddress: "10.0.0.7:4711", Closed: true,
		},
	} {
		var b strings.Builder
		if err := printKilled(&b, k, "table"); err != nil || b.String() != want {
			t.Errorf("%q, want %q, %v", b.String(), want, err)
		}
	}
}

// TestSessionsSendsTheToken: address and token come from the configuration.
func TestSessionsSendsTheToken(t *testing.T) {
	var got []string
	port := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		if r.Method == http.MethodPost {
			http.Error(w, `{"error": "no such session"}`, http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte("[]"))
	}))
	defer port.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HS2PROXY_ADMIN__LISTEN", port.Listener.Addr().String())
	t.Setenv("HS2PROXY_ADMIN__TOKEN_FILE", file)
	if err := (sessionsCmd{Format: "json", Timeout: 10 * time.Second}).Run(t.Context()); err != nil {
		t.Error(err)
	}
	err := sessionsCmd{Kill: "aaaa", Timeout: 10 * time.Second}.Run(t.Context())
	if err == nil || err.Error() != "session aaaa: no such session" {
		t.Errorf("kill: %v", err)
	}
	want := []string{"GET /sessions Bearer 0123456789abcdef", "POST /sessions/aaaa/kill Bearer 0123456789abcdef"}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("asked %q, want %q", got, want)
	}
}
