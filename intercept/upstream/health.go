package upstream

import (
	"context"
	"errors"
	"time"
)

// Dialed notes how an attempt to connect to a server ended, at that time: after a failure the server goes behind the others for
// the back-off. A failure within a running back-off is the same outage and does not prolong it, so that a hundred clients who
// connect at once count once. An attempt given up on our side (context.Canceled) says nothing about the server and is not noted.
func (s *Set) Dialed(srv *Server, at time.Time, err error) {
	if errors.Is(err, context.Canceled) {
		if srv.trial.Swap(false) {
			srv.leave(at)
		}
		return
	}
	if err != nil {
		s.failed(srv, at, err)
		return
	}
	h := &srv.health
	h.mu.Lock()
	h.lastDial = Dial{At: at}
	h.failures = 0
	srv.trial.Store(false)
	up := srv.retryAt.Swap(0) != 0
	h.mu.Unlock()
	if up {
		s.report(Change{Kind: Up, Server: srv})
	}
}

func (s *Set) failed(srv *Server, at time.Time, err error) {
	h := &srv.health
	h.mu.Lock()
	h.lastDial = Dial{At: at, Err: err}
	first := h.failures == 0
	if tried := srv.trial.Swap(false); first || tried || at.UnixNano() >= srv.retryAt.Load() {
		srv.retryAt.Store(at.Add(s.backoff(h.failures)).UnixNano())
		h.failures++
	}
	h.mu.Unlock()
	if first {
		s.report(Change{Kind: Down, Server: srv, Err: err})
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// leave gives the one try after the back-off to the next caller.
func (s *Server) leave(at time.Time) {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	if s.health.failures > 0 {
		s.retryAt.Store(at.UnixNano())
	}
}

// forget makes the server as healthy as one that was never dialed: it has been started anew, or somewhere else.
func (s *Server) forget() {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	s.health.failures = 0
	s.trial.Store(false)
	s.retryAt.Store(0)
}

// backoff after so many failures before this one.
func (s *Set) backoff(failures int) time.Duration {
	d := s.opts.MinBackoff
	for range failures {
		if d >= s.opts.MaxBackoff/2 {
			return s.opts.MaxBackoff
		}
		d *= 2
	}
	return d
}

// LastDial is the latest attempt to connect, for a client or as a check.
func (s *Server) LastDial() Dial {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	return s.health.lastDial
}

// Healthy reports whether the last dial succeeded, or there was none yet.
func (s *Server) Healthy() bool { return s.retryAt.Load() == 0 }
