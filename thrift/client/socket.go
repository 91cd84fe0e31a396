package client

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// socket is the TCP connection under gohive's transports. It owns the deadlines: Thrift's TSocket would clear them
// before each read and write, so the setters it calls do nothing here.
type socket struct {
	net.Conn
	login *loginGuard // nil without SASL
	// cause is the first failure of a read or write; gohive's login reports a bare status instead.
	cause atomic.Pointer[error]
}

// dial connects; with SASL the first replies are checked.
func dial(ctx context.Context, c Config) (*socket, error) {
	if c.http() || c.TLS != nil || c.Auth == "KERBEROS" {
		return nil, errors.New("HTTP, TLS and KERBEROS are configured, but not connected with yet")
	}
	dialer := net.Dialer{Timeout: c.DialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return nil, err
	}
	s := &socket{Conn: conn}
	if c.Auth != "NOSASL" {
		s.login = new(loginGuard)
	}
	return s, nil
}

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err == nil && s.login != nil {
		if err = s.login.see(p[:n]); err != nil {
			n = 0 // io.ReadFull would drop the error beside a whole header
		}
	}
	return n, s.failed(err)
}

func (s *socket) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	return n, s.failed(err)
}

func (s *socket) failed(err error) error {
	if err != nil {
		s.cause.CompareAndSwap(nil, &err)
	}
	return err
}

// SetDeadline does nothing; see begin.
func (s *socket) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing; see begin.
func (s *socket) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing; see begin.
func (s *socket) SetWriteDeadline(time.Time) error { return nil }

// begin starts a call that may take timeout, and grace from the moment ctx ends. The caller calls end behind it.
func (s *socket) begin(ctx context.Context, timeout, grace time.Duration) (end func()) {
	limit := time.Now().Add(timeout)
	_ = s.Conn.SetDeadline(limit) // fails only on a closed connection, as the call itself then does
	stop := context.AfterFunc(ctx, func() {
		if sooner := time.Now().Add(grace); sooner.Before(limit) {
			_ = s.Conn.SetDeadline(sooner)
		}
	})
	return func() { stop() }
}

// explain returns the cause of a transport error in place of what gohive or Thrift made of it.
func (s *socket) explain(err error) error {
	if cause := s.cause.Load(); err != nil && cause != nil {
		return *cause
	}
	return err
}
