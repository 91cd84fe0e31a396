package admin

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/intercept/limit"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeRelay is a relay in the state a test puts it in.
type fakeRelay struct {
	mu        sync.Mutex
	accepting bool
	servers   *upstream.Set
	now       func() time.Time
	probe     map[string]error // by server
	probes    int
	stats     intercept.Stats
	sessions  []intercept.LiveSession
	killed    []string
}

func (f *fakeRelay) Accepting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.accepting
}

func (f *fakeRelay) Servers() []upstream.Status { return f.servers.Snapshot() }

// Probe asks one after the other, as intercept.Server does.
func (f *fakeRelay) Probe(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probes++
	err := errors.New("no server")
	for _, s := range f.servers.Candidates(upstream.Binary) {
		err = f.probe[s.ID]
		f.servers.Dialed(s, f.now(), err)
		if err == nil {
			break
		}
	}
	return err
}

func (f *fakeRelay) Stats() intercept.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

func (f *fakeRelay) Sessions() []intercept.LiveSession {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sessions)
}

// kill cuts connections; it has no other way.
func (f *fakeRelay) kill(_ context.Context, id string) (Killed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sessions {
		if s.Session.Handle.ID() != id {
			continue
		}
		if s.Connection == nil {
			return Killed{}, errRefused
		}
		f.killed = append(f.killed, id)
		return Killed{Session: id, Server: "a:10000", Connection: s.Connection.ID, AlsoEnded: s.SharedWith}, nil
	}
	return Killed{}, intercept.ErrNoSession
}

const (
	idleID = "01010101-0101-0101-0101-010101010101"
	busyID = "02020202-0202-0202-0202-020202020202"
	lostID = "03030303-0303-0303-0303-030303030303"
)

var errRefused = errors.New("connection refused")

// handleOf has a secret that must never be seen.
func handleOf(b byte) (h intercept.SessionHandle) {
	for i := range h.GUID {
		h.GUID[i], h.Secret[i] = b, 'S'
	}
	return h
}

// newFake is a relay that works, with three sessions: one idle and one busy on a shared connection, and one without a
// connection.
func newFake() *fakeRelay {
	opened := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	conn := &intercept.ConnectionInfo{ID: 7, ClientAddr: "10.0.0.7:4711", OpenedAt: opened, BytesFromClient: 100, FromServer: 2000, Waiting: 1}
	session := func(b byte, minutes int) intercept.Session {
		return intercept.Session{
			Handle: handleOf(b), Upstream: "prod", Server: "a:10000", User: "ann", ClientAddr: "10.0.0.7:4711", Auth: "SASL PLAIN", Database: "sales",
			Settings: map[string]string{"some.password": "hidden"}, OpenedAt: opened.Add(time.Duration(minutes) * time.Minute),
		}
	}
	overHTTP := session(3, 5)
	overHTTP.User, overHTTP.ClientAddr, overHTTP.Auth = "bob", "10.0.0.9", "HTTP BASIC"
	sql := "SELECT * FROM people WHERE name = 'Zaphod' AND age > 4242"
	return &fakeRelay{
		accepting: true, now: time.Now, servers: newServers("a:10000", "b:10000"),
		stats: intercept.Stats{
			Accepted: 9, Open: 2, HTTP: 7, OpenHTTP: 1, ClientFailures: 1, UpstreamFailures: 3, BytesFromClients: 100, BytesFromServer: 2000,
			Dials: 5, FailedDials: 2, RefusedLogins: 4, DecodeFailures: 6, Blind: map[thrift.BlindReason]int64{thrift.BlindTLS: 8},
			Calls: []intercept.CallStats{{
				Method: thrift.ExecuteStatement, Calls: 12,
				Outcomes: map[intercept.Outcome]int64{intercept.OutcomeOK: 10, intercept.OutcomeRefused: 1},
			}},
			Added: intercept.Latencies{
				Bounds: []time.Duration{time.Microsecond, time.Millisecond}, Counts: []int64{2, 3}, Count: 6, Sum: 1500 * time.Millisecond,
			},
			Tracker: intercept.TrackerStats{Sessions: 3, Statements: 1, DroppedEvents: 11},
		},
		sessions: []intercept.LiveSession{
			{Session: overHTTP, Running: []intercept.Statement{{ID: "third", Info: hiveql.Parse("SELECT 3"), State: intercept.StateRunning, StartedAt: opened}}},
			{
				Session: session(2, 1), Connection: conn, SharedWith: []string{idleID},
				Running: []intercept.Statement{
					{ID: "first", Info: hiveql.Parse("SELECT 1"), State: intercept.StateRunning, StartedAt: opened},
					{ID: "second", SQL: sql, Info: hiveql.Parse(sql), State: intercept.StateRunning, StartedAt: opened.Add(time.Minute)},
				},
			},
			{Session: session(1, 0), Connection: conn, SharedWith: []string{busyID}},
		},
	}
}

// newServers is a list of which the first has been reached and has two connections, and the last has failed.
func newServers(ids ...string) *upstream.Set {
	var list []upstream.Server
	for _, id := range ids {
		list = append(list, upstream.Server{Binary: id})
	}
	set, err := upstream.NewStatic(list, upstream.Options{})
	if err != nil {
		panic(err)
	}
	for i, id := range ids {
		s, _ := set.ByID(id)
		switch i {
		case 0:
			set.Dialed(s, dialedAt, nil)
			s.Opened()
			s.Opened()
		case len(ids) - 1:
			set.Dialed(s, dialedAt, errRefused)
		}
	}
	return set
}

// dialedAt is when the servers of newServers were dialled.
var dialedAt = time.Now()

// fakeSpool has two records of 25 bytes.
type fakeSpool struct{}

func (fakeSpool) Len() int64   { return 2 }
func (fakeSpool) Bytes() int64 { return 50 }

func sourceOf(relay *fakeRelay) Source {
	counters := &pipeline.Counters{}
	counters.Explained.Store(21)
	counters.Budgets.Compared.Store(28)
	counters.Budgets.Agreed.Store(27)
	counters.Recorded.Store(22)
	counters.Replayed.Store(26)
	return Source{
		Relay: relay, Kill: relay.kill, Counters: counters, QueueLength: func() int { return 23 }, RecordsWaiting: func() int { return 24 },
		Breaker: func() string { return "half-open" }, Spool: fakeSpool{},
		Discovery: func() (upstream.Discovery, bool) {
			return upstream.Discovery{Connected: true, Since: time.Unix(1000, 0), ListedAt: time.Unix(1001, 0)}, true
		},
		Limits: func() limit.Stats {
			return limit.Stats{
				Addresses: 31, Users: 32, Watched: 33, Paused: 34, Forgotten: 35,
				Refused: map[limit.What]uint64{limit.Connections: 0, limit.AddressConnections: 36, limit.UserConnections: 0, limit.RefusedLogins: 37},
			}
		},
		Certificates: []Certificate{
			{Side: SideClients, NotAfter: func() time.Time { return time.Unix(4102444800, 0) }},
			{Side: SideUpstream, NotAfter: func() time.Time { return time.Time{} }}, // none of ours there
		},
	}
}
