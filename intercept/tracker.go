package intercept

import (
	"container/list"
	"sync"
	"time"
)

// Defaults of TrackerConfig.
const (
	DefaultMaxSessions   = 20_000
	DefaultMaxStatements = 50_000
	DefaultMaxTextBytes  = 256 << 20
)

// TrackerConfig configures a Tracker. A zero field stands for its default.
type TrackerConfig struct {
	// Upstream is the configured name of the HiveServer2.
	Upstream string
	// KeepSessionsOnDisconnect says that HiveServer2 runs with hive.server2.close.session.on.disconnect=false: a session then
	// outlives the connection that opened it.
	KeepSessionsOnDisconnect bool
	// MaxSessions and MaxStatements bound what is remembered; the one unused for longest, or oldest, is given up with state LOST.
	MaxSessions   int
	MaxStatements int
	// MaxTextBytes bounds the texts of running statements together, in bytes; the oldest are given up for a new one.
	MaxTextBytes int64
	// Now is the clock, time.Now by default; NewID makes statement ids, UUIDs of version 7 by default.
	Now   func() time.Time
	NewID func() string
}

// Tracker is the state machine of one upstream's sessions and statements. It does no I/O; every connection of the upstream
// reports to it, since HiveServer2 addresses sessions by handle and not by connection. It is safe for concurrent use.
type Tracker struct {
	cfg  TrackerConfig
	sink Sink

	mu         sync.Mutex
	sessions   map[SessionHandle]*session
	operations map[[16]byte]*statement
	// used orders sessions by last use, started orders running statements by start; the front is given up first.
	used    *list.List
	started *list.List
	late    lates
	text    int64 // bytes of running statements' texts
	stats   TrackerStats
}

// TrackerStats is a snapshot of a Tracker's counters; Sessions and Statements are what it remembers now.
type TrackerStats struct {
	Sessions, Statements int
	// DroppedEvents were refused by the Sink.
	DroppedEvents int64
	// ForgottenSessions and ForgottenStatements were given up because of the bounds.
	ForgottenSessions, ForgottenStatements int64
}

// NewTracker makes a Tracker whose events go to sink.
func NewTracker(cfg TrackerConfig, sink Sink) *Tracker {
	if cfg.MaxSessions <= 0 {
		cfg.MaxSessions = DefaultMaxSessions
	}
	if cfg.MaxStatements <= 0 {
		cfg.MaxStatements = DefaultMaxStatements
	}
	if cfg.MaxTextBytes <= 0 {
		cfg.MaxTextBytes = DefaultMaxTextBytes
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = newID
	}
	return &Tracker{
		cfg: cfg, sink: sink,
		sessions: map[SessionHandle]*session{}, operations: map[[16]byte]*statement{},
		used: list.New(), started: list.New(),
	}
}

// Stats returns the counters.
func (t *Tracker) Stats() TrackerStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.stats
	s.Sessions, s.Statements = len(t.sessions), t.started.Len()
	return s
}

// Sessions returns a snapshot of the live sessions, the one used last at the end.
func (t *Tracker) Sessions() []Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Session, 0, len(t.sessions))
	for e := t.used.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*session).Session)
	}
	return all
}

// emit needs the lock, so that events of a session keep their order.
func (t *Tracker) emit(kind EventKind, s *session, st *statement) {
	e := Event{Kind: kind, Session: s.snapshot()}
	switch {
	case st == nil:
	case st.State.Final(): // nothing changes it any more
		e.Statement = &st.Statement
	default:
		snapshot := st.Statement
		e.Statement = &snapshot
	}
	if !t.sink.Offer(e) {
		t.stats.DroppedEvents++
	}
}
