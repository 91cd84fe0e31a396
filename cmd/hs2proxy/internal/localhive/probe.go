package localhive

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// probe tells whether a server serves on all its ports. A server that accepts connections but no sessions yet is given
// some time, and then asked again.
func (s *Server) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := s.probeBinary(ctx); err != nil || !s.options.HTTP {
		return err
	}
	// Sessions are served: of the HTTP transport only the port remains to be opened.
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.HTTPAddress())
	if err != nil {
		return fmt.Errorf("the HTTP port: %w", err)
	}
	return conn.Close()
}

// probeBinary opens and closes a session, or asks the caller's own probe.
func (s *Server) probeBinary(ctx context.Context) error {
	if s.options.Probe != nil {
		return s.options.Probe(ctx, s.Address())
	}
	user, password := "hs2proxy", "hs2proxy"
	for _, name := range slices.Sorted(maps.Keys(s.options.Users)) {
		user, password = name, s.options.Users[name]
	}
	if s.options.TLS {
		return s.handshake(ctx)
	}
	session, err := client.Open(ctx, client.Config{
		Address: s.Address(), Auth: string(s.options.Auth), User: user, Password: password,
		DialTimeout: 2 * time.Second, CallTimeout: 30 * time.Second,
	}, nil)
	if err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	if err := session.Close(); err != nil {
		return fmt.Errorf("close the session: %w", err)
	}
	return nil
}

// handshake asks a server with TLS for its certificate.
func (s *Server) handshake(ctx context.Context) error {
	config, err := clientTLS(s.CertFile())
	if err != nil {
		return err
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", s.Address())
	if err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	return conn.Close()
}
