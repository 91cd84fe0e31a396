package localhive

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// probe opens and closes a session on each of the server's ports, or asks the caller's own probe. A server that accepts
// connections but no sessions yet is given some time, and then asked again.
func (s *Server) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if s.options.Probe != nil {
		return s.options.Probe(ctx, s.Address())
	}
	if err := s.session(ctx, s.Address(), "binary"); err != nil || !s.options.HTTP {
		return err
	}
	return s.session(ctx, s.HTTPAddress(), "http")
}

func (s *Server) session(ctx context.Context, address, transport string) error {
	config := client.Config{
		Address: address, Transport: transport, Auth: string(s.options.Auth), User: "hs2proxy", Password: "hs2proxy",
		DialTimeout: 2 * time.Second, CallTimeout: 30 * time.Second,
	}
	for _, name := range slices.Sorted(maps.Keys(s.options.Users)) {
		config.User, config.Password = name, s.options.Users[name]
	}
	if s.options.TLS {
		var err error
		if config.TLS, err = clientTLS(s.CertFile()); err != nil {
			return err
		}
	}
	session, err := client.Open(ctx, config, nil)
	if err != nil {
		return fmt.Errorf("open a session (%s): %w", transport, err)
	}
	if err := session.Close(); err != nil {
		return fmt.Errorf("close the session (%s): %w", transport, err)
	}
	return nil
}
