package intercept

import (
	"cmp"
	"errors"
	"slices"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// LiveSession is a snapshot of a session that has not ended, of what runs in it and of the connection it came by.
type LiveSession struct {
	Session Session
	// Running are the statements without a final state, the one started last at the end. Server.Sessions reads the beginning of
	// their texts (maxLiveText) into Info.
	Running []Statement
	// Connection is the one that opened the session; nil for a session opened out of sight, and for one that outlived it.
	Connection *ConnectionInfo
	// SharedWith are the ids of other live sessions opened by the same connection: they end with it too.
	SharedWith []string

	opener *Connection
}

// Why a session cannot be killed.
var (
	ErrNoSession    = errors.New("no such session")
	ErrNoConnection = errors.New("the connection that opened the session is not known, or has ended")
)

// Killed says what KillSession ended.
type Killed struct {
	// Connection that was cut.
	Connection ConnectionInfo
	// AlsoEnded are the ids of the other sessions that the connection had opened.
	AlsoEnded []string
}

// live is a snapshot of the live sessions, the one used last at the end; their connections are left out.
func (t *Tracker) live() []LiveSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]LiveSession, 0, len(t.sessions))
	for e := t.used.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*session).live())
	}
	return all
}

// liveByID is one of live, by Handle.ID().
func (t *Tracker) liveByID(id string) (LiveSession, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for handle, s := range t.sessions {
		if handle.ID() == id {
			return s.live(), true
		}
	}
	return LiveSession{}, false
}

// live needs the tracker's lock.
func (s *session) live() LiveSession {
	l := LiveSession{Session: s.Session, opener: s.opener}
	for _, st := range s.statements {
		l.Running = append(l.Running, st.Statement)
	}
	slices.SortFunc(l.Running, func(a, b Statement) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	if s.opener != nil {
		for _, other := range s.opener.opened {
			if other != s {
				l.SharedWith = append(l.SharedWith, other.Handle.ID())
			}
		}
		slices.Sort(l.SharedWith)
	}
	return l
}

// Sessions lists the live sessions of the upstream, the one used last at the end.
func (s *Server) Sessions() []LiveSession {
	all := s.tracker.live()
	infos := map[*Connection]ConnectionInfo{}
	s.mu.Lock()
	for r := range s.mu.relays {
		infos[r.watch.Connection] = r.info()
	}
	s.mu.Unlock()
	for i := range all {
		all[i].read()
		if info, ok := infos[all[i].opener]; ok {
			all[i].Connection = &info
		}
	}
	return all
}

// maxLiveText is how much of a running statement's text a list of sessions reads, in bytes.
const maxLiveText = 16 << 10

// read fills Info of the running statements, without the fingerprint, which is the whole text's.
func (l *LiveSession) read() {
	for i := range l.Running {
		st := &l.Running[i]
		st.Info = guarded(hiveql.Parse, st.SQL[:min(len(st.SQL), maxLiveText)])
		st.Info.Fingerprint = ""
	}
}

// KillSession cuts the connection that opened the session with this id, as SessionHandle.ID writes it: HiveServer2 then ends the
// session and what runs in it, unless it is configured to keep sessions. Other sessions of the same connection end with it.
// The error is ErrNoSession or ErrNoConnection.
func (s *Server) KillSession(id string) (Killed, error) {
	live, ok := s.tracker.liveByID(id)
	if !ok {
		return Killed{}, ErrNoSession
	}
	r := s.relayOf(live.opener)
	if r == nil {
		return Killed{}, ErrNoConnection
	}
	info := r.info()
	r.cut()
	return Killed{Connection: info, AlsoEnded: live.SharedWith}, nil
}

// SessionEnded notes that HiveServer2 has ended the session with this id out of the relay's sight. It reports whether the session was
// followed.
func (s *Server) SessionEnded(id string) bool { return s.tracker.ended(id) }

func (t *Tracker) ended(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for handle, s := range t.sessions {
		if handle.ID() == id {
			t.drop(s, StateClosed)
			return true
		}
	}
	return false
}

func (s *Server) relayOf(c *Connection) *relay {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.mu.relays {
		if r.watch.Connection == c {
			return r
		}
	}
	return nil
}
