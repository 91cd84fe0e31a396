package intercept

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Dial is the outcome of an attempt to connect to HiveServer2.
type Dial struct {
	// At is zero when there was no attempt yet.
	At  time.Time
	Err error
}

// LastDial is the latest attempt, whether for a client or by Probe.
func (s *Server) LastDial() Dial {
	if d := s.lastDial.Load(); d != nil {
		return *d
	}
	return Dial{}
}

// Probe connects to HiveServer2 as for a client, and closes at once. It costs HiveServer2 a worker thread for a moment and, with
// an older Thrift library than Hive 4's, an error in the log: ask LastDial first.
func (s *Server) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.DialTimeout)
	defer cancel()
	conn, err := s.dial(ctx)
	s.dialed(err)
	if err != nil {
		return fmt.Errorf("connect to HiveServer2: %w", err)
	}
	_ = conn.Close()
	return nil
}

// dialed notes an attempt. One that was given up on our side says nothing about HiveServer2.
func (s *Server) dialed(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	if err != nil {
		s.counters.failedDials.Add(1)
	}
	s.counters.dials.Add(1)
	s.lastDial.Store(&Dial{At: s.now(), Err: err})
}

// Accepting reports whether a listener is served and Shutdown has not begun.
func (s *Server) Accepting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.mu.closing && len(s.mu.listeners) > 0
}
