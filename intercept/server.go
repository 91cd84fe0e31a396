package intercept

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Server relays the connections of its listeners to one HiveServer2.
type Server struct {
	cfg     Config
	tracker *Tracker
	log     zerolog.Logger
	now     func() time.Time
	dial    func(context.Context) (net.Conn, error) // to HiveServer2

	counters counters
	lastDial atomic.Pointer[Dial]
	// ctx ends when the drain is over; it aborts dials.
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // relays

	mu struct {
		sync.Mutex
		closing   bool
		listeners map[net.Listener]struct{}
		relays    map[*relay]struct{}
		lastID    int64
		idle      chan struct{} // closed when closing and no relay is left
	}
}

// NewServer makes a Server for the HiveServer2 at cfg.Address, whose sessions tracker follows. Several Servers of the same
// HiveServer2 share a Tracker.
func NewServer(cfg Config, tracker *Tracker, log zerolog.Logger) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("server configuration: %w", err)
	}
	s := &Server{cfg: cfg.withDefaults(), tracker: tracker, log: log, now: time.Now}
	s.dial = func(ctx context.Context) (net.Conn, error) {
		d := net.Dialer{KeepAliveConfig: s.cfg.probes()}
		return d.DialContext(ctx, "tcp", s.cfg.Address)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mu.listeners = map[net.Listener]struct{}{}
	s.mu.relays = map[*relay]struct{}{}
	s.mu.idle = make(chan struct{})
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
			// Out of descriptors or memory: wait for connections to end.
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			s.log.Warn().Err(err).Dur("retry_in", wait).Str("advice", "raise the limit of open files").Msg("cannot accept a connection")
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			case <-s.ctx.Done():
			}
		}
	}
}

// start relays a connection in its own goroutine, for which Shutdown waits.
func (s *Server) start(client net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closing {
		_ = client.Close()
		return
	}
	s.mu.lastID++
	r := s.newRelay(s.mu.lastID, client)
	s.mu.relays[r] = struct{}{}
	s.counters.accepted.Add(1)
	s.counters.open.Add(1)
	s.work.Go(func() { r.connect(s.ctx) })
}

func (s *Server) finish(r *relay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.relays, r)
	s.counters.open.Add(-1)
	if s.mu.closing && len(s.mu.relays) == 0 {
		close(s.mu.idle)
	}
}

// Shutdown stops accepting and waits until every connection has ended. When ctx ends first, the rest is cut, and the error
// says how many. In either case nothing of the Server runs any more when it returns. It must be called once, also after
// Serve has returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if s.mu.closing {
		s.mu.Unlock()
		s.work.Wait()
		return nil
	}
	s.mu.closing = true
	for ln := range s.mu.listeners {
		_ = ln.Close()
	}
	if len(s.mu.relays) == 0 {
		close(s.mu.idle)
	}
	s.mu.Unlock()

	var err error
	select {
	case <-s.mu.idle:
	case <-ctx.Done():
		if n := s.cutAll(); n > 0 {
			err = fmt.Errorf("cut %d connections that had not ended: %w", n, ctx.Err())
		}
	}
	s.cancel()
	s.work.Wait()
	return err
}

func (s *Server) cutAll() int {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.mu.relays {
		r.cut()
	}
	return len(s.mu.relays)
}

func (s *Server) addListener(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closing {
		return false
	}
	s.mu.listeners[ln] = struct{}{}
	return true
}

func (s *Server) removeListener(ln net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.listeners, ln)
	_ = ln.Close()
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
