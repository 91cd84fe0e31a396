package intercept

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// Server relays the connections of its listeners to the HiveServer2s of one upstream.
type Server struct {
	cfg      Config
	tracker  *Tracker
	log      zerolog.Logger
	now      func() time.Time
	dial     func(ctx context.Context, address string) (net.Conn, error) // but for the loops'
	resolver *upstream.Resolver
	loops    loops
	affinity *affinity // of HTTP requests

	counters counters
	// ctx ends when the drain is over; it aborts dials.
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // goroutines of relays, and the loops
	// serving are the listeners.
	serving sync.WaitGroup
	// draining is closed when Shutdown begins.
	draining chan struct{}

	mu struct {
		sync.Mutex
		closing   bool
		listeners map[net.Listener]struct{}
		relays    map[*relay]struct{}
		lastID    int64
		idle      chan struct{} // closed when closing and no relay is left
	}
}

// NewServer makes a Server for the HiveServer2s of cfg, whose sessions tracker follows. Several Servers of the same HiveServer2s
// share a Tracker.
func NewServer(cfg Config, tracker *Tracker, log zerolog.Logger) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("server configuration: %w", err)
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("server configuration: %w", err)
	}
	s := &Server{cfg: cfg, tracker: tracker, log: log, now: time.Now}
	if s.affinity, err = newAffinity(); err != nil {
		return nil, err
	}
	s.dial = func(ctx context.Context, address string) (net.Conn, error) {
		d := net.Dialer{KeepAliveConfig: cfg.probes()}
		return d.DialContext(ctx, "tcp", address)
	}
	s.resolver = upstream.NewResolver(upstream.ResolverOptions{Timeout: cfg.DialTimeout})
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mu.listeners = map[net.Listener]struct{}{}
	s.mu.relays = map[*relay]struct{}{}
	s.mu.idle = make(chan struct{})
	s.draining = make(chan struct{})
	return s, nil
}

// Serve accepts from ln, which it closes, until ctx ends or Shutdown is called; then it returns nil. Connections go on:
// Shutdown ends them. It may be called for several listeners at once.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if !s.addListener(ln) {
		_ = ln.Close()
		return nil
	}
	defer s.removeListener(ln)
	if looped, err := s.serveLooped(ctx, ln); looped {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	var wait time.Duration
	for {
		client, err := ln.Accept()
		switch {
		case err == nil:
			wait = 0
			s.start(client)
		case ctx.Err() != nil || s.closing():
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept connections: %w", err)
		default:
			wait = s.acceptFailed(err, wait)
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			case <-s.ctx.Done():
			}
		}
	}
}

// acceptFailed says how long to wait for connections to end: the process is out of descriptors or memory.
func (s *Server) acceptFailed(err error, waited time.Duration) (wait time.Duration) {
	wait = min(max(2*waited, 5*time.Millisecond), time.Second)
	s.log.Warn().Err(err).Dur("retry_in", wait).Str("advice", "raise the limit of open files").Msg("cannot accept a connection")
	return wait
}

// start relays a connection in goroutines of its own, for which Shutdown waits.
func (s *Server) start(client net.Conn) {
	r := &relay{reached: tcpAddr(client.LocalAddr())}
	if !s.begin(r, tcpAddr(client.RemoteAddr()), client.RemoteAddr().String()) {
		_ = client.Close()
		return
	}
	s.pump(r, client, nil)
}

// add registers a relay; false once Shutdown has begun. Whoever adds one calls its end.
func (s *Server) add(r *relay) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closing {
		return false
	}
	s.mu.lastID++
	r.id = s.mu.lastID
	r.traffic = s.counters.traffic.of(r.id)
	s.mu.relays[r] = struct{}{}
	s.counters.accepted.Add(1)
	s.counters.open.Add(1)
	return true
}

func (s *Server) remove(r *relay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.relays, r)
	s.counters.open.Add(-1)
	if s.mu.closing && len(s.mu.relays) == 0 {
		close(s.mu.idle)
	}
}

// refused counts a connection that a limit keeps out. The line is at debug: an attack must not fill the log.
func (s *Server) refused(peer netip.AddrPort, err error) {
	s.counters.limited.Add(1)
	s.log.Debug().Stringer("client", peer).Err(err).Msg("connection refused")
}

// Shutdown stops accepting and waits until every connection has ended; it ends those that nobody uses (Config.DrainIdle). When ctx
// ends first, the rest is cut, and the error says how many. In either case nothing of the Server runs any more when it returns. It
// must be called once, also after Serve has returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if s.mu.closing {
		s.mu.Unlock()
		s.work.Wait()
		return nil
	}
	s.mu.closing = true
	close(s.draining)
	for ln := range s.mu.listeners {
		_ = ln.Close()
	}
	if len(s.mu.relays) == 0 {
		close(s.mu.idle)
	}
	s.mu.Unlock()
	s.serving.Wait()

	err := s.drain(ctx)
	if err != nil {
		n := s.cutAll()
		if err = fmt.Errorf("cut %d connections that had not ended: %w", n, err); n == 0 {
			err = nil
		}
	}
	s.cancel()
	s.loops.stop()
	s.work.Wait()
	return err
}

func (s *Server) cutAll() int {
	all := s.relays()
	s.cancel() // not before: it ends those that are being connected
	for _, r := range all {
		r.cut()
	}
	return len(all)
}

func (s *Server) relays() []*relay {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.mu.relays))
}

func (s *Server) addListener(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closing {
		return false
	}
	s.mu.listeners[ln] = struct{}{}
	s.serving.Add(1)
	return true
}

func (s *Server) removeListener(ln net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.listeners, ln)
	_ = ln.Close()
	s.serving.Done()
}

func (s *Server) closing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.closing
}

// Stats returns the counters, the Tracker's with them.
func (s *Server) Stats() Stats {
	stats := s.counters.snapshot()
	stats.Tracker = s.tracker.Stats()
	return stats
}

// Connections lists the open connections in no order.
func (s *Server) Connections() []ConnectionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]ConnectionInfo, 0, len(s.mu.relays))
	for r := range s.mu.relays {
		all = append(all, r.info())
	}
	return all
}
