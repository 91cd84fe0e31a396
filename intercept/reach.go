package intercept

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// Dial is the outcome of an attempt to connect to HiveServer2.
type Dial struct {
	// At is zero when there was no attempt yet.
	At  time.Time
	Err error
}

// LastDial is the latest attempt, whether for a client or by Probe; where a server can be reached while another cannot, it is a
// good one.
func (s *Server) LastDial() Dial {
	if d := s.lastDial.Load(); d != nil {
		return *d
	}
	return Dial{}
}

// Probe connects to HiveServer2 as for a client, and closes at once. It costs HiveServer2 a worker thread for a moment and, with
// an older Thrift library than Hive 4's, an error in the log: ask LastDial first.
func (s *Server) Probe(ctx context.Context) error {
	err := error(errNoServer)
	for _, server := range s.candidates(upstream.Binary) {
		if err = s.probe(ctx, server); err == nil {
			return nil
		}
	}
	return fmt.Errorf("connect to HiveServer2: %w", err)
}

func (s *Server) probe(ctx context.Context, server *upstream.Server) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.DialTimeout)
	defer cancel()
	conn, err := s.dial(ctx, addressOf(server, upstream.Binary))
	s.dialed(server, err)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// dialed notes an attempt. One that was given up on our side says nothing about HiveServer2.
func (s *Server) dialed(server *upstream.Server, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	now := s.now()
	s.cfg.Servers.Dialed(server, now, err)
	s.counters.dials.Add(1)
	if err != nil {
		s.counters.failedDials.Add(1)
		if s.anyHealthy() {
			return
		}
	}
	s.lastDial.Store(&Dial{At: now, Err: err})
}

func (s *Server) anyHealthy() bool {
	return slices.ContainsFunc(s.cfg.Servers.Candidates(upstream.Binary), (*upstream.Server).Healthy)
}

// Servers are the HiveServer2s and how they do.
func (s *Server) Servers() []upstream.Status { return s.cfg.Servers.Snapshot() }

// Accepting reports whether a listener is served and Shutdown has not begun.
func (s *Server) Accepting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.mu.closing && len(s.mu.listeners) > 0
}
