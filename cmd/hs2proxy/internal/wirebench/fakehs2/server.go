package fakehs2

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// Server is a running fake. Close ends it.
type Server struct {
	listener net.Listener
	work     sync.WaitGroup
	ids      atomic.Uint64
	own      map[string]athrift.TProcessorFunction // the generated dispatchers, by method
	explains atomic.Int64
	asked    atomic.Int64

	mu struct {
		sync.Mutex
		closed     bool
		conns      map[net.Conn]struct{}
		sessions   map[guid]*session
		operations map[guid]*operation
	}
}

type guid = [16]byte

// session knows its operations so that they end with it.
type session struct{ operations map[guid]struct{} }

// Counts is what the server was asked for, beside clients' statements.
type Counts struct {
	// Explains are EXPLAIN statements, Asked are DESCRIBE and SET.
	Explains, Asked int64
}

// Listen serves on an address, host:port; port 0 takes a free one.
func Listen(ctx context.Context, address string) (*Server, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("fake HiveServer2: %w", err)
	}
	s := &Server{listener: listener}
	s.own = hiveserver.NewTCLIServiceProcessor(&service{server: s}).ProcessorMap()
	s.mu.conns = map[net.Conn]struct{}{}
	s.mu.sessions = map[guid]*session{}
	s.mu.operations = map[guid]*operation{}
	s.work.Go(s.accept)
	return s, nil
}

// Addr is host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Counts so far.
func (s *Server) Counts() Counts { return Counts{Explains: s.explains.Load(), Asked: s.asked.Load()} }

// Open counts open sessions and operations.
func (s *Server) Open() (sessions, operations int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.sessions), len(s.mu.operations)
}

// Close breaks every connection and waits for all of them.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.mu.Lock()
	s.mu.closed = true
	for conn := range s.mu.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.work.Wait()
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.mu.closed {
			s.mu.Unlock()
			_ = conn.Close()
			return
		}
		s.mu.conns[conn] = struct{}{}
		s.mu.Unlock()
		s.work.Go(func() { s.serve(conn) })
	}
}

func (s *Server) serve(conn net.Conn) {
	c := newConnection(s, conn)
	defer func() {
		_ = conn.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.mu.conns, conn)
		for id := range c.opened { // hive.server2.close.session.on.disconnect
			s.closeSession(id)
		}
	}()
	if err := c.login(); err != nil {
		return
	}
	c.calls()
}

// newGUID is unique in this server, and no secret.
func (s *Server) newGUID() (g guid) {
	copy(g[:], "wirebench")
	binary.BigEndian.PutUint64(g[8:], s.ids.Add(1))
	return g
}

// closeSession needs the lock.
func (s *Server) closeSession(id guid) bool {
	closing := s.mu.sessions[id]
	if closing == nil {
		return false
	}
	for op := range closing.operations {
		delete(s.mu.operations, op)
	}
	delete(s.mu.sessions, id)
	return true
}
