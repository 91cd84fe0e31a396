package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// socket is the TCP or TLS connection under the binary transport. It owns the deadlines: Thrift's TSocket would clear them
// before each read and write, so the setters it calls do nothing here.
type socket struct {
	net.Conn
	// cause is the first failure of a read or write; Thrift and gohive hide it behind errors of their own.
	cause atomic.Pointer[error]
}

// dial connects, with TLS where the configuration has it.
func dial(ctx context.Context, c Config) (*socket, error) {
	conn, err := c.dialer()(ctx, "tcp", c.Address)
	if err != nil {
		return nil, err
	}
	if c.TLS == nil {
		return &socket{Conn: conn}, nil
	}
	secured := tls.Client(conn, tlsConfig(c))
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return &socket{Conn: secured}, nil
}

// tlsConfig is Config.TLS with the name that the server's certificate has to have.
func tlsConfig(c Config) *tls.Config {
	if c.TLS == nil {
		return nil
	}
	config := c.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName = c.host()
	}
	return config
}

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	return n, s.note(err)
}

func (s *socket) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	return n, s.note(err)
}

func (s *socket) note(err error) error {
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

func (s *socket) broken() bool { return s.cause.Load() != nil }
