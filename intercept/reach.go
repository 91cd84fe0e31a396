package intercept

import (
	"context"
	"errors"
	"fmt"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// Probe connects to HiveServer2 as for a client, and closes at once. It costs HiveServer2 a worker thread for a moment and, with
// an older Thrift library than Hive 4's, an error in the log: ask Servers first.
func (s *Server) Probe(ctx context.Context) error {
	err := errNoServer
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
	s.cfg.Servers.Dialed(server, s.now(), err)
	s.counters.dials.Add(1)
	if err != nil {
		s.counters.failedDials.Add(1)
	}
}

// Servers are the HiveServer2s and how they do.
func (s *Server) Servers() []upstream.Status { return s.cfg.Servers.Snapshot() }

// Accepting reports whether a listener is served and Shutdown has not begun.
func (s *Server) Accepting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.mu.closing && len(s.mu.listeners) > 0
}
