package admin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

func TestList(t *testing.T) {
	w := ask(handler("", sourceOf(newFake()), NewMetrics(), zerolog.Nop()), http.MethodGet, "/sessions", nil)
	body := w.Body.String()
	for _, secret := range []string{"Zaphod", "4242", "SSSS", "53535353", "hidden"} {
		if strings.Contains(body, secret) {
			t.Errorf("the list tells %q:\n%s", secret, body)
		}
	}
	var got []Session
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatal(err, w.Code)
	}
	if len(got) != 3 || got[0].ID != idleID || got[1].ID != busyID || got[2].ID != lostID {
		t.Fatalf("the oldest does not come first: %s", body)
	}
	idle, busy, lost := got[0], got[1], got[2]
	if idle.Statement != nil || idle.Running != 0 || idle.User != "ann" || idle.Database != "sales" || idle.Upstream != "prod" ||
		idle.ClientAddress != "10.0.0.7:4711" || idle.OpenedAt.IsZero() {
		t.Errorf("idle: %+v", idle)
	}
	if st := busy.Statement; busy.Running != 2 || st == nil || st.ID != "second" || st.Kind != "SELECT" || st.State != "RUNNING" ||
		!strings.Contains(st.Text, "from people where name = ?") || st.Since.IsZero() {
		t.Errorf("busy: %+v %+v", busy, busy.Statement)
	}
	if c := busy.Connection; c == nil || c.ID != 7 || c.BytesFromClient != 100 || c.BytesToClient != 2000 || c.WaitingCalls != 1 {
		t.Errorf("connection: %+v", busy.Connection)
	}
	if !slices.Equal(busy.SharedWith, []string{idleID}) || busy.Server != "a:10000" || busy.Transport != "binary" || busy.Auth != "SASL PLAIN" {
		t.Errorf("busy: %+v", busy)
	}
	// Over HTTP there is no connection, and all the rest.
	if lost.Connection != nil || lost.User != "bob" || lost.ClientAddress != "10.0.0.9" || lost.Transport != "http" ||
		lost.Auth != "HTTP BASIC" || lost.Server != "a:10000" || lost.Statement == nil || lost.Statement.State != "RUNNING" {
		t.Errorf("over HTTP: %+v", lost)
	}
}

// TestListIsRedacted: the patterns see the whole text, before it is cut.
func TestListIsRedacted(t *testing.T) {
	source := sourceOf(newFake())
	source.Redact = func(s string) string { return strings.ReplaceAll(s, "people", "(table)") }
	body := ask(handler("", source, NewMetrics(), zerolog.Nop()), http.MethodGet, "/sessions", nil).Body.String()
	if strings.Contains(body, "people") || !strings.Contains(body, "from (table) where") {
		t.Errorf("got %s", body)
	}
}

func TestNoSessionsIsAnEmptyList(t *testing.T) {
	relay := newFake()
	relay.sessions = nil
	w := ask(handler("", sourceOf(relay), NewMetrics(), zerolog.Nop()), http.MethodGet, "/sessions", nil)
	if strings.TrimSpace(w.Body.String()) != "[]" {
		t.Errorf("got %s", w.Body)
	}
}

func TestKill(t *testing.T) {
	relay, log := newFake(), &bytes.Buffer{}
	h := handler("", sourceOf(relay), NewMetrics(), zerolog.New(log))
	w := ask(h, http.MethodPost, "/sessions/"+busyID+"/kill", nil)
	var killed Killed
	if err := json.Unmarshal(w.Body.Bytes(), &killed); err != nil || w.Code != http.StatusOK {
		t.Fatal(err, w.Code)
	}
	if killed.Session != busyID || killed.Connection != 7 || !slices.Equal(killed.AlsoEnded, []string{idleID}) || !slices.Equal(relay.killed, []string{busyID}) {
		t.Errorf("answer %+v, killed %v", killed, relay.killed)
	}
	if killed.Closed || killed.Server != "a:10000" {
		t.Errorf("the answer does not say which way it went: %+v", killed)
	}
	if !strings.Contains(log.String(), busyID) || !strings.Contains(log.String(), idleID) {
		t.Errorf("the log does not tell what was killed: %s", log)
	}
	for _, c := range []struct {
		method, id string
		want       int
	}{
		{http.MethodPost, lostID, http.StatusBadGateway},
		{http.MethodPost, "nobody", http.StatusNotFound},
		{http.MethodGet, busyID, http.StatusMethodNotAllowed},
	} {
		if w := ask(h, c.method, "/sessions/"+c.id+"/kill", nil); w.Code != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.id, w.Code, c.want)
		}
	}
	if len(relay.killed) != 1 {
		t.Errorf("killed %v", relay.killed)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"äöü", 6, "äöü"}, {"äöü", 5, "äö…"}, {"äöü", 4, "äö…"}, {"ä", 1, "…"}, {"", 0, ""},
	} {
		if got := cut(c.text, c.n); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
