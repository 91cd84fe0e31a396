package hs2test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/beltran/gohive/hiveserver"
)

// Config says how the server speaks and behaves. Its zero value takes every login over SASL PLAIN and finishes every
// statement at once with an empty result.
type Config struct {
	// NoSASL serves bare Thrift.
	NoSASL bool
	// HTTP serves Thrift over HTTP at /cliservice instead, with Basic authentication. Sessions then outlive connections.
	HTTP bool
	// Passwords by user; nil takes everybody with a non-empty user and password, as HiveServer2's NONE does.
	Passwords map[string]string
	// Execute decides what a statement does; nil is Finish.
	Execute func(sql string) Outcome
	// KeepSessions leaves sessions open when their connection ends (hive.server2.close.session.on.disconnect=false).
	KeepSessions bool
	// Repeatable makes handles that only depend on the user and on how many this user had before, so that two runs of one
	// conversation are alike to the byte.
	Repeatable bool
	// Workers is hive.server2.thrift.max.worker.threads: so many connections are served at a time and the others wait, accepted
	// but unanswered. 0 is no limit. With RefuseBusy they are closed at once, as newer Thrift libraries do.
	Workers    int
	RefuseBusy bool
}

// Server is a running fake. Close ends it.
type Server struct {
	cfg      Config
	listener net.Listener
	work     sync.WaitGroup
	ctx      context.Context
	cancel   context.CancelFunc
	workers  chan struct{} // nil: no limit

	mu struct {
		sync.Mutex
		closed     bool
		conns      map[net.Conn]struct{}
		overrides  map[string]Override
		calls      []string
		sessions   map[[16]byte]*session
		operations map[[16]byte]*operation
		accepted   int
		waiting    int
		handles    map[string]int // made so far, by user
	}
}

// Start serves on a free port of the loopback.
func Start(cfg Config) (*Server, error) { return StartAt("127.0.0.1:0", cfg) }

// StartAt serves on the given address, so that a server can come back where one died.
func StartAt(address string, cfg Config) (*Server, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if cfg.Execute == nil {
		cfg.Execute = func(string) Outcome { return Outcome{} }
	}
	s := &Server{cfg: cfg, listener: listener}
	if cfg.Workers > 0 {
		s.workers = make(chan struct{}, cfg.Workers)
	}
	s.mu.handles = map[string]int{}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mu.conns = map[net.Conn]struct{}{}
	s.mu.overrides = map[string]Override{}
	s.mu.sessions = map[[16]byte]*session{}
	s.mu.operations = map[[16]byte]*operation{}
	if cfg.HTTP {
		s.work.Go(s.serveHTTP)
	} else {
		s.work.Go(s.accept)
	}
	return s, nil
}

// Addr is host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends the server as a crash would: connections break, running calls with them. It waits for everything.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.mu.Lock()
	s.mu.closed = true
	s.mu.Unlock()
	s.Disconnect()
	s.work.Wait()
}

// Disconnect breaks every connection and running call; the server goes on.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.mu.conns {
		_ = conn.Close()
	}
	s.cancel()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if s.mu.closed {
		s.cancel()
	}
}

// Override replaces the server's own answer to a method, of any name; nil takes the replacement back.
func (s *Server) Override(method string, o Override) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.overrides[method] = o
}

// Calls are the names of the calls so far, in order of arrival.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mu.calls)
}

// Open counts open connections, sessions and operations.
func (s *Server) Open() (connections, sessions, operations int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.conns), len(s.mu.sessions), len(s.mu.operations)
}

// Accepted is how many connections came so far.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.accepted
}

// Waiting is how many connections wait for a worker, those among them whose client has gone.
func (s *Server) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.waiting
}

// Release lets every blocked statement finish.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range s.mu.operations {
		op.finish(hiveserver.TOperationState_FINISHED_STATE)
	}
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		ctx, ok := s.opened(conn)
		if !ok {
			return
		}
		s.work.Go(func() { s.serve(ctx, conn) })
	}
}

// opened takes a connection in, with the context that Disconnect ends; false when the server is closed.
func (s *Server) opened(conn net.Conn) (context.Context, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		_ = conn.Close()
		return nil, false
	}
	s.mu.accepted++
	s.mu.conns[conn] = struct{}{}
	return s.ctx, true
}

// worker takes a worker thread for a connection; false when there is none for it.
func (s *Server) worker(ctx context.Context) bool {
	if s.workers == nil {
		return true
	}
	select {
	case s.workers <- struct{}{}:
		return true
	default:
	}
	if s.cfg.RefuseBusy {
		return false
	}
	s.wait(1)
	defer s.wait(-1)
	select {
	case s.workers <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Server) wait(change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.waiting += change
}

// serve answers one connection's calls in order, as HiveServer2's worker does.
func (s *Server) serve(ctx context.Context, conn net.Conn) {
	c := &connection{server: s, conn: conn, opened: map[[16]byte]struct{}{}}
	defer func() {
		_ = conn.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.mu.conns, conn)
		if !s.cfg.KeepSessions {
			for guid := range c.opened {
				s.closeSession(guid)
			}
		}
	}()
	if !s.worker(ctx) {
		return
	}
	if s.workers != nil {
		defer func() { <-s.workers }()
	}
	if !s.cfg.NoSASL {
		if err := c.login(); err != nil {
			return
		}
	}
	c.calls(ctx)
}

var errRefused = errors.New("login refused")
