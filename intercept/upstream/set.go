package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// keepUnlisted is how long a server that left, and has no connection open, can still be found by its ID: a session over HTTP
// lives without a connection, and goes back to its server with the next one.
const keepUnlisted = 24 * time.Hour

// Set is the HiveServer2s of one upstream. All methods may be called from several goroutines at once.
type Set struct {
	opts Options
	// lists are the listed servers that speak each transport, in a fixed order; never changed in place.
	lists [2]atomic.Pointer[[]*Server]
	// turn rotates the order of servers with equally many connections.
	turn      atomic.Uint64
	discovery *discovery // nil in a static Set

	wake   chan struct{} // tells the checks that a server went down
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu struct {
		sync.Mutex
		known map[string]*member // by ID; those that left too, for keepUnlisted
	}
}

// member is a server and since when it is not listed; zero while it is.
type member struct {
	*Server
	left time.Time
}

// NewStatic makes a Set of fixed servers. A server without ID gets its binary address, or else its HTTP address, as one.
func NewStatic(servers []Server, opts Options) (*Set, error) {
	s, _, err := newSet(opts)
	if err != nil {
		return nil, err
	}
	if err := s.Replace(servers); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func newSet(opts Options) (*Set, context.Context, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, nil, fmt.Errorf("upstream options: %w", err)
	}
	s := &Set{opts: opts, wake: make(chan struct{}, 1)}
	s.mu.known = map[string]*member{}
	for t := range s.lists {
		s.lists[t].Store(&[]*Server{})
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	if opts.Probe > 0 {
		s.work.Go(func() { s.probes(ctx) })
	}
	return s, ctx, nil
}

// Close ends what the Set runs and waits for it. The servers stay usable; the list stays as it was.
func (s *Set) Close() error {
	s.cancel()
	s.work.Wait()
	return nil
}

// Replace makes servers the members of a static Set, as after a change of the configuration. A server that stays keeps its
// connections and its health. The error names the first server that cannot be used; then nothing changes.
func (s *Set) Replace(servers []Server) error {
	if s.discovery != nil {
		return errors.New("the servers of this set come from ZooKeeper")
	}
	servers = slices.Clone(servers)
	seen := map[string]bool{}
	for i := range servers {
		v := &servers[i]
		if v.ID == "" {
			v.ID = cmp.Or(v.Binary, v.HTTP)
		}
		if v.ID == "" {
			return fmt.Errorf("server %d: has no address", i+1)
		}
		for _, address := range []string{v.Binary, v.HTTP} {
			if _, _, err := net.SplitHostPort(address); err != nil && address != "" {
				return fmt.Errorf("server %s: address %q must be host:port, such as hive.example.org:10000", v.ID, address)
			}
		}
		if v.Binary == "" && v.HTTP == "" {
			return fmt.Errorf("server %s: has no address", v.ID)
		}
		if seen[v.ID] {
			return fmt.Errorf("server %s: is listed twice", v.ID)
		}
		seen[v.ID] = true
	}
	s.update(servers)
	return nil
}

// update lists servers, whose IDs are distinct, and reports what that changes.
func (s *Set) update(servers []Server) { s.report(s.list(servers)...) }

func (s *Set) list(servers []Server) []Change {
	now := s.opts.Now()
	var changes []Change
	s.mu.Lock()
	defer s.mu.Unlock()
	lists := [2][]*Server{{}, {}}
	stays := map[string]bool{}
	for _, v := range servers {
		stays[v.ID] = true
		m := s.mu.known[v.ID]
		switch {
		case m == nil:
			m = &member{Server: &Server{ID: v.ID, Binary: v.Binary, HTTP: v.HTTP, Published: v.Published, live: &live{}}}
			s.mu.known[v.ID] = m
		case m.Binary != v.Binary || m.HTTP != v.HTTP || m.Published != v.Published:
			m.Server = &Server{ID: v.ID, Binary: v.Binary, HTTP: v.HTTP, Published: v.Published, live: m.live}
			m.forget()
			if m.listed.Load() {
				changes = append(changes, Change{Kind: Moved, Server: m.Server})
			}
		}
		if !m.listed.Swap(true) {
			m.left = time.Time{}
			m.forget()
			changes = append(changes, Change{Kind: Joined, Server: m.Server})
		}
		for _, t := range []Transport{Binary, HTTP} {
			if m.Address(t) != "" {
				lists[t] = append(lists[t], m.Server)
			}
		}
	}
	for id, m := range s.mu.known {
		switch {
		case stays[id]:
		case m.listed.Swap(false):
			m.left = now
			changes = append(changes, Change{Kind: Left, Server: m.Server})
		case m.Open() == 0 && now.Sub(m.left) > keepUnlisted:
			delete(s.mu.known, id)
		}
	}
	for t := range lists {
		s.lists[t].Store(&lists[t])
	}
	return changes
}

// ByID finds a server to go back to. It need not be listed any more: ask Listed before opening a new session on it.
func (s *Set) ByID(id string) (*Server, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.mu.known[id]
	if !ok {
		return nil, false
	}
	return m.Server, true
}

// ByAddress finds a server by the host:port of a transport, as it was written in the configuration or published; of several, one
// that is listed.
func (s *Set) ByAddress(t Transport, address string) (*Server, bool) {
	if address == "" {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *Server
	for _, m := range s.mu.known {
		if m.Address(t) == address && (found == nil || m.Listed()) {
			found = m.Server
		}
	}
	return found, found != nil
}

// Snapshot is every known server, the listed ones first, each group by ID.
func (s *Set) Snapshot() []Status {
	s.mu.Lock()
	out := make([]Status, 0, len(s.mu.known))
	for _, m := range s.mu.known {
		out = append(out, m.status())
	}
	s.mu.Unlock()
	slices.SortFunc(out, func(a, b Status) int {
		if a.Listed != b.Listed {
			if a.Listed {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return out
}

func (s *Server) status() Status {
	st := Status{Server: s, Open: s.Open(), Listed: s.Listed(), LastDial: s.LastDial()}
	if at := s.retryAt.Load(); at != 0 {
		st.DownUntil = time.Unix(0, at)
	}
	return st
}
