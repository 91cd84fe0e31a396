package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept"
)

// fakeRelay is a relay with connections of the test's making.
type fakeRelay struct {
	connections []intercept.ConnectionInfo
	sessions    []intercept.LiveSession
}

func (f *fakeRelay) Connections() []intercept.ConnectionInfo { return f.connections }
func (f *fakeRelay) Sessions() []intercept.LiveSession       { return f.sessions }

var noon = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// connect adds a connection and, with statements, a session in which they run, each a minute older than the one before.
func (f *fakeRelay) connect(id int64, waiting int, statements ...string) {
	c := intercept.ConnectionInfo{ID: id, ClientAddr: fmt.Sprintf("10.0.0.%d:999", id), OpenedAt: noon.Add(-time.Hour), Waiting: waiting}
	f.connections = append(f.connections, c)
	l := intercept.LiveSession{Connection: &c}
	l.Session.Handle.GUID[15] = byte(id)
	l.Session.User = fmt.Sprintf("user-%d", id)
	for i, sql := range statements {
		l.Running = append(l.Running, intercept.Statement{
			ID: fmt.Sprint(id, i), OperationID: fmt.Sprintf("op-%d-%d", id, i), SQL: sql, StartedAt: noon.Add(-time.Duration(i+1) * time.Minute),
		})
	}
	if len(statements) > 0 {
		f.sessions = append(f.sessions, l)
	}
}

// lines runs one report and reads what it logged.
func lines(t *testing.T, f *fakeRelay) (out []map[string]any, raw string) {
	t.Helper()
	var b bytes.Buffer
	ctx, cancel := context.WithDeadline(t.Context(), noon.Add(30*time.Second)) // long over by the real clock: one report, then the end
	defer cancel()
	reportDrain(ctx, f, zerolog.New(&b), nil, nil, func() time.Time { return noon })
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		var m map[string]any
		if line == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out, b.String()
}

func TestDrainReportNamesWhoBlocks(t *testing.T) {
	f := &fakeRelay{}
	f.connect(1, 0)
	f.connect(2, 1)
	f.connect(3, 1, "SELECT 'secret-literal' FROM a JOIN b ON a.x = b.x", "INSERT INTO t SELECT 1")
	f.connect(4, 1, "SELECT 1")
	f.sessions = append(f.sessions, intercept.LiveSession{}) // of no connection: it blocks nothing
	got, raw := lines(t, f)
	if len(got) != 5 {
		t.Fatalf("%d lines:\n%s", len(got), raw)
	}
	if m := got[0]; m["connections"] != 4.0 || m["statements"] != 3.0 || m["idle"] != 1.0 || m["cut_in"] == nil {
		t.Errorf("the summary: %v", m)
	}
	for i, want := range []float64{3, 4, 2, 1} {
		if m := got[i+1]; m["connection"] != want || m["client"] != fmt.Sprintf("10.0.0.%.0f:999", want) {
			t.Errorf("line %d: %v, want connection %v", i+1, m, want)
		}
	}
	m := got[1] // the older of two statements
	if m["user"] != "user-3" || m["kind"] != "INSERT" || m["operation"] != "op-3-1" || m["statements"] != 2.0 || m["fingerprint"] == nil ||
		m["since"] != "2024-05-01T11:58:00Z" || m["session"] != "00000000-0000-0000-0000-000000000003" {
		t.Errorf("got %v", m)
	}
	if strings.Contains(raw, "SELECT 1") || strings.Contains(raw, "literal") || strings.Contains(raw, "INSERT INTO") {
		t.Errorf("SQL text in the log:\n%s", raw)
	}
}

func TestDrainReportIsBounded(t *testing.T) {
	f := &fakeRelay{}
	if got, _ := lines(t, f); len(got) != 0 {
		t.Errorf("a report of nobody: %v", got)
	}
	for id := range int64(drainLines + 7) {
		f.connect(id, 0)
	}
	got, raw := lines(t, f)
	if len(got) != drainLines+2 || got[len(got)-1]["connections"] != 7.0 {
		t.Errorf("%d lines:\n%s", len(got), raw)
	}
}

// TestDrainReportGoesOn: a report for each tick, none after the end.
func TestDrainReportGoesOn(t *testing.T) {
	f := &fakeRelay{}
	f.connect(1, 0)
	out := &logs{}
	tick, done, ended := make(chan time.Time), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		reportDrain(t.Context(), f, zerolog.New(out), tick, done, time.Now)
	}()
	tick <- noon
	tick <- noon
	close(done)
	<-ended
	if n := strings.Count(out.String(), "drain waits for connections to end"); n != 3 {
		t.Errorf("%d reports:\n%s", n, out)
	}
}
