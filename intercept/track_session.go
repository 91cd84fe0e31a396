package intercept

import (
	"container/list"
	"maps"
	"strings"

	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// session is a live session; its Session is what events hold copies of, so its maps are replaced and never changed.
type session struct {
	Session
	// copied is the copy that events hold; nil when Session has changed since.
	copied *Session
	id     string // Handle.ID(), once a statement needed it
	// opener is the connection that it ends with; nil for a session opened out of sight.
	opener *Connection
	// doubtful: the session was first seen in a call that HiveServer2 has not accepted yet.
	doubtful   bool
	place      *list.Element
	statements few[*statement]
	closed     bool
}

// snapshot is a copy of the Session that never changes. It needs the lock.
func (s *session) snapshot() *Session {
	switch {
	case s.copied != nil:
	case s.closed: // nothing changes it any more
		s.copied = &s.Session
	default:
		c := s.Session
		s.copied = &c
	}
	return s.copied
}

// name is Handle.ID(). It needs the lock.
func (s *session) name() string {
	if s.id == "" {
		s.id = s.Handle.ID()
	}
	return s.id
}

// handleOf is nil's zero handle for anything that is no handle.
func handleOf(h *hiveserver.TSessionHandle) (handle SessionHandle, ok bool) {
	if h == nil || h.SessionId == nil || len(h.SessionId.GUID) != 16 || len(h.SessionId.Secret) != 16 {
		return handle, false
	}
	copy(handle.GUID[:], h.SessionId.GUID)
	copy(handle.Secret[:], h.SessionId.Secret)
	return handle, true
}

// open records a session that HiveServer2 has opened.
func (c *Connection) open(req *hiveserver.TOpenSessionReq, resp *hiveserver.TOpenSessionResp) {
	handle, ok := handleOf(resp.SessionHandle)
	if !ok || !succeeded(resp.Status) {
		return
	}
	t := c.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.sessions[handle]; old != nil {
		t.drop(old, StateLost)
	}
	s := &session{opener: c, Session: Session{
		Handle: handle, User: c.login.User, ClientProtocol: int(resp.ServerProtocolVersion) + 1,
		ClientName: clientName(req.Configuration), Configuration: redact(req.Configuration),
	}}
	if s.User == "" && req.Username != nil {
		s.User = *req.Username
	}
	s.Settings, s.Database = initialSettings(s.Configuration)
	c.add(s)
}

// adopt records a session that was opened out of sight: before the proxy started, or around it. Its settings and database
// are not known. It ends with the connection unless HiveServer2 confirms it by accepting the call. It needs the lock.
func (c *Connection) adopt(handle SessionHandle) *session {
	s := &session{opener: c, doubtful: true, Session: Session{Handle: handle, User: c.login.User, Settings: noSettings}}
	c.add(s)
	return s
}

func (c *Connection) add(s *session) {
	t := c.tracker
	s.Upstream, s.Server, s.ClientAddr, s.Auth, s.OpenedAt = t.cfg.Upstream, c.server, c.addr, c.auth(), t.cfg.Now()
	if len(t.sessions) >= t.cfg.MaxSessions {
		t.drop(t.used.Front().Value.(*session), StateLost)
		t.stats.ForgottenSessions++
	}
	t.sessions[s.Handle] = s
	s.place = t.used.PushBack(s)
	if c.login.Transport == thrift.HTTP && !s.doubtful {
		s.opener = nil // no connection ends a session over HTTP
	} else {
		c.opened.add(s)
		c.latest = s
	}
	t.emit(SessionOpened, s, nil)
}

// confirm unties an adopted session from the connection that used it first; the one that opened it is not known. It needs
// the lock.
func (s *session) confirm() {
	if s.doubtful {
		s.leave()
		s.opener = nil
	}
	s.doubtful = false
}

// session is the live session with this handle, nil without one.
func (c *Connection) session(h *hiveserver.TSessionHandle) *session {
	handle, ok := handleOf(h)
	if !ok {
		return nil
	}
	c.tracker.mu.Lock()
	defer c.tracker.mu.Unlock()
	return c.find(handle)
}

// find is the live session with this handle, nil without one. It needs the lock.
func (c *Connection) find(handle SessionHandle) *session {
	if s := c.latest; s != nil && s.Handle == handle {
		return s
	}
	s := c.tracker.sessions[handle]
	if s != nil && s.opener == c {
		c.latest = s
	}
	return s
}

// leave unties the session from the connection that it would end with. It needs the lock.
func (s *session) leave() {
	c := s.opener
	if c == nil {
		return
	}
	c.opened.remove(s)
	if c.latest == s {
		c.latest = nil
	}
}

func (t *Tracker) closeSession(s *session, open State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(s, open)
}

// drop ends a session, and its open statements with the given state. It needs the lock.
func (t *Tracker) drop(s *session, open State) {
	if s.closed {
		return
	}
	for st, ok := s.statements.any(); ok; st, ok = s.statements.any() {
		t.end(st, open)
	}
	s.closed = true
	s.ClosedAt, s.copied = t.cfg.Now(), nil
	delete(t.sessions, s.Handle)
	t.used.Remove(s.place)
	s.leave()
	t.emit(SessionClosed, s, nil)
}

// noSettings are those of a session without any; never changed.
var noSettings = map[string]string{}

// maxSettings bounds a session's settings; further names are not remembered.
const maxSettings = 4096

// set replaces the settings by a copy with the assignment in it.
func (s *session) set(name, value string) {
	if _, known := s.Settings[name]; !known && len(s.Settings) >= maxSettings {
		return
	}
	if secretSetting(name) {
		value = Redacted
	}
	settings := make(map[string]string, len(s.Settings)+1)
	maps.Copy(settings, s.Settings)
	settings[name] = value
	s.Settings, s.copied = settings, nil
}

// initialSettings reads OpenSession's configuration as HiveSessionImpl.configureSession does: "set:" is SET, "use:" is USE,
// anything else is the name of a setting.
func initialSettings(configuration map[string]string) (settings map[string]string, database string) {
	settings, database = noSettings, "default"
	for name, value := range configuration {
		switch {
		case strings.HasPrefix(name, "use:"):
			database = strings.ToLower(value)
		case len(settings) < maxSettings:
			if len(settings) == 0 {
				settings = make(map[string]string, len(configuration))
			}
			name = strings.TrimPrefix(name, "set:")
			settings[strings.TrimPrefix(name, "hiveconf:")] = value
		}
	}
	return settings, database
}

// clientNames are configuration names under which clients give their own name, without "set:" and "hiveconf:".
var clientNames = []string{"hive.client.application.name", "applicationName", "ApplicationName", "client.application.name", "hive.query.source"}

// clientNameRanks are the configuration's names of a client name, and which is taken before which: the first of clientNames, and
// of those with that name the one without a prefix.
var clientNameRanks = func() map[string]int {
	ranks := map[string]int{}
	for _, name := range clientNames {
		for _, prefix := range []string{"", "set:hiveconf:", "set:hivevar:"} {
			ranks[prefix+name] = len(ranks)
		}
	}
	return ranks
}()

func clientName(configuration map[string]string) (name string) {
	best := len(clientNameRanks)
	for key, value := range configuration {
		if rank, ok := clientNameRanks[key]; ok && rank < best && value != "" {
			best, name = rank, value
		}
	}
	return name
}
