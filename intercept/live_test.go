package intercept

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// TestSessionsOfConnections: a live session names what runs in it, its connection and the sessions it shares that with, and
// nothing else does.
func TestSessionsOfConnections(t *testing.T) {
	r := newRig(t, hs2test.Config{Execute: blockSlow}, Config{})
	pooled, single := r.dial(), r.dial()
	a, errA := pooled.Open(t.Context(), nil)
	b, errB := pooled.Open(t.Context(), nil)
	c, errC := single.Open(t.Context(), nil)
	if err := errors.Join(errA, errB, errC); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"slow 1", "quick", "slow 2"} {
		if _, err := single.Execute(t.Context(), c, sql, true); err != nil {
			t.Fatal(err)
		}
	}
	var handles []string
	for _, h := range []*hiveserver.TSessionHandle{a, b, c} {
		handles = append(handles, formatGUID([16]byte(h.SessionId.GUID)))
	}
	live := map[string]LiveSession{}
	for _, s := range r.server.Sessions() {
		live[s.Session.Handle.ID()] = s
	}
	if len(live) != 3 {
		t.Fatalf("%d sessions, want 3", len(live))
	}
	for i, want := range [][]string{{handles[1]}, {handles[0]}, nil} {
		s := live[handles[i]]
		if !slices.Equal(s.SharedWith, want) {
			t.Errorf("session %d shares its connection with %v, want %v", i, s.SharedWith, want)
		}
		if s.Connection == nil || s.Connection.ClientAddr != s.Session.ClientAddr || s.Connection.BytesFromClient == 0 {
			t.Errorf("session %d: connection %+v, client %s", i, s.Connection, s.Session.ClientAddr)
		}
	}
	var running []string
	for _, st := range live[handles[2]].Running {
		running = append(running, st.SQL)
	}
	for _, st := range live[handles[2]].Running {
		if st.Info.Kind != hiveql.KindOther || st.Info.Normalized != hiveql.Parse(st.SQL).Normalized {
			t.Errorf("%q reads as %+v", st.SQL, st.Info)
		}
	}
	// The quick one has finished in HiveServer2, but nobody has asked yet.
	if !slices.Equal(running, []string{"slow 1", "quick", "slow 2"}) || len(live[handles[0]].Running) != 0 {
		t.Errorf("running %q and %+v", running, live[handles[0]].Running)
	}

	killed, err := r.server.KillSession(handles[0])
	if err != nil || !slices.Equal(killed.AlsoEnded, []string{handles[1]}) || killed.Connection.ID != live[handles[0]].Connection.ID {
		t.Errorf("killed %+v, %v", killed, err)
	}
	eventually(t, "the end of the killed connection", func() bool { return len(r.server.Sessions()) == 1 })
	eventually(t, "the end in HiveServer2", func() bool { _, sessions, _ := r.hive.Open(); return sessions == 1 })
	if _, err := pooled.Open(t.Context(), nil); err == nil {
		t.Error("the killed connection still answers")
	}
	if _, err := single.Execute(t.Context(), c, "quick", true); err != nil {
		t.Errorf("another connection was hit: %v", err)
	}
	if _, err := r.server.KillSession(handles[0]); !errors.Is(err, ErrNoSession) {
		t.Errorf("killed twice: %v", err)
	}
	if failed := r.log.failures(t); len(failed) != 0 {
		t.Errorf("a kill counts as a failure: %q", failed)
	}
}

// TestKillWithoutConnection: a session that was opened out of sight has no connection to cut.
func TestKillWithoutConnection(t *testing.T) {
	r := newRig(t, hs2test.Config{KeepSessions: true}, Config{})
	direct, err := hs2test.Dial(t.Context(), r.hive.Addr(), "bi", "s3cret")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = direct.Conn.Close() }()
	session, err := direct.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.dial().Execute(t.Context(), session, "select 1", true); err != nil {
		t.Fatal(err)
	}
	live := r.server.Sessions()
	if len(live) != 1 || live[0].Connection != nil {
		t.Fatalf("sessions %+v", live)
	}
	if _, err := r.server.KillSession(live[0].Session.Handle.ID()); !errors.Is(err, ErrNoConnection) {
		t.Errorf("got %v", err)
	}
}

// TestReach: the latest attempt to connect is known, whoever made it, and an attempt that we gave up is none.
func TestReach(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	if d := lastDial(r); !d.At.IsZero() {
		t.Errorf("dialled before anybody came: %+v", d)
	}
	eventually(t, "accepting", r.server.Accepting)
	r.dial()
	if d := lastDial(r); d.At.IsZero() || d.Err != nil {
		t.Errorf("after a client: %+v", d)
	}
	if err := r.server.Probe(t.Context()); err != nil || r.hive.Accepted() < 1 {
		t.Errorf("probe: %v", err)
	}
	r.hive.Close()
	if err := r.server.Probe(t.Context()); err == nil || lastDial(r).Err == nil {
		t.Errorf("probe of a server that is down: %v, noted %+v", err, lastDial(r))
	}
	at := lastDial(r).At
	r.server.dial = func(context.Context, string) (net.Conn, error) { return nil, context.Canceled }
	if err := r.server.Probe(t.Context()); err == nil || !lastDial(r).At.Equal(at) {
		t.Errorf("a canceled attempt was noted: %v", err)
	}
	if s := r.server.Stats(); s.Dials != 3 || s.FailedDials != 1 {
		t.Errorf("%d dials, %d failed", s.Dials, s.FailedDials)
	}
	if err := r.server.Shutdown(t.Context()); err != nil || r.server.Accepting() {
		t.Errorf("accepting after shutdown (%v)", err)
	}
}

// TestCallStats: calls are counted by method, and their replies by what they say.
func TestCallStats(t *testing.T) {
	r := newRig(t, hs2test.Config{Execute: func(sql string) hs2test.Outcome {
		if sql == "bad" {
			return hs2test.Outcome{Code: 40000, SQLState: "42000", Message: "no"}
		}
		return hs2test.Outcome{}
	}}, Config{})
	r.hive.Override("GetTypeInfo", func(x *hs2test.Exchange) error { return x.Exception(0, "no types") })
	c := r.dial()
	session, err := c.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"good", "bad", "good"} {
		if _, err := c.Execute(t.Context(), session, sql, true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.GetTypeInfo(t.Context(), &hiveserver.TGetTypeInfoReq{SessionHandle: session}); err == nil {
		t.Fatal("no exception")
	}
	want := map[thrift.Method][4]int64{
		thrift.OpenSession: {1, 1, 0, 0}, thrift.ExecuteStatement: {3, 2, 1, 0}, thrift.GetTypeInfo: {1, 0, 0, 1},
	}
	got := r.server.Stats().Calls
	for _, s := range got {
		if n := [4]int64{s.Calls, s.Outcomes[OutcomeOK], s.Outcomes[OutcomeRefused], s.Outcomes[OutcomeException]}; n != want[s.Method] {
			t.Errorf("%s: %v, want %v", s.Method, n, want[s.Method])
		}
	}
	if len(got) != len(want) {
		t.Errorf("methods %+v", got)
	}
}

// TestLatencies: a bucket takes what is at most its bound.
func TestLatencies(t *testing.T) {
	var l latencies
	for _, d := range []time.Duration{0, time.Microsecond, time.Microsecond + 1, 100 * time.Millisecond, time.Second} {
		l.observe(d)
	}
	s := l.snapshot()
	if s.Counts[0] != 2 || s.Counts[1] != 1 || s.Counts[len(s.Counts)-1] != 1 || s.Count != 5 || len(s.Counts) != len(s.Bounds) {
		t.Errorf("%+v", s)
	}
	if s.Sum != 2*time.Microsecond+1+1100*time.Millisecond {
		t.Errorf("sum %s", s.Sum)
	}
	if !slices.IsSorted(s.Bounds) {
		t.Errorf("bounds %v", s.Bounds)
	}
}

// TestAddedLatency: one piece in latencySample is timed, whatever passes.
func TestAddedLatency(t *testing.T) {
	r := newRig(t, hs2test.Config{}, Config{})
	c := r.dial()
	session, err := c.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const calls = 10 * latencySample
	for range calls {
		if _, err := c.Execute(t.Context(), session, "select 1", true); err != nil {
			t.Fatal(err)
		}
	}
	// Each call is a piece or more each way.
	if got := r.server.Stats().Added; got.Count < 2*calls/latencySample || got.Sum <= 0 {
		t.Errorf("%d pieces timed, %s in all, after %d calls", got.Count, got.Sum, calls)
	}
}

// lastDial is the latest attempt to connect to the only server.
func lastDial(r *rig) upstream.Dial { return r.server.Servers()[0].LastDial }
