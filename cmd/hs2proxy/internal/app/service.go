package app

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/proxyheader"
	"github.com/hs2proxy/hs2proxy/intercept/tlsfiles"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// ServiceConfig is the login of our own connections to one server. upstreamTLS is UpstreamTLS's, nil for none.
func ServiceConfig(cfg config.Config, server upstream.Server, upstreamTLS *tlsfiles.ClientTLS) client.Config {
	s := cfg.Service
	c := client.Config{
		Address: server.Binary, Transport: s.Transport, HTTPPath: s.HTTPPath,
		Auth: s.Auth, User: s.User, Password: s.Password,
		Principal: s.Principal, KeytabFile: s.KeytabFile, ServerPrincipal: s.ServerPrincipal, Krb5Conf: s.Krb5Conf,
		DialTimeout: cfg.Upstream.DialTimeout, CallTimeout: cfg.Explain.Timeout, MaxMessageSize: uint32(cfg.Relay.CallLimit), //nolint:gosec // validated to fit
	}
	if s.Transport == config.TransportHTTP {
		c.Address = server.HTTP
	}
	if upstreamTLS != nil {
		c.TLS = upstreamTLS.Config(hostOf(c.Address))
	}
	if proxyVersion(cfg) != 0 {
		c.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) { return DialUpstream(ctx, cfg, address) }
	}
	return c
}

// proxyVersion is that of the PROXY header HiveServer2 is sent, 0 for none.
func proxyVersion(cfg config.Config) int {
	switch cfg.Upstream.ProxyProtocol {
	case "v1":
		return 1
	case "v2":
		return 2
	default:
		return 0
	}
}

// DialUpstream connects to a HiveServer2 for ourselves; where it expects a PROXY header, with that of a connection of our own.
func DialUpstream(ctx context.Context, cfg config.Config, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: cfg.Upstream.DialTimeout}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	version := proxyVersion(cfg)
	if version == 0 {
		return conn, nil
	}
	if _, err := conn.Write(proxyheader.Append(nil, version, netip.AddrPort{}, netip.AddrPort{})); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("PROXY header: %w", err)
	}
	return conn, nil
}

// UpstreamTLS reads what TLS towards HiveServer2 needs; nil where it is not enabled. The error names the field.
func UpstreamTLS(cfg config.Config) (*tlsfiles.ClientTLS, error) {
	t := cfg.Upstream.TLS
	if !t.Enabled {
		return nil, nil
	}
	files, err := tlsfiles.Client(tlsfiles.ClientFiles{CA: t.CAFile, Cert: t.CertFile, Key: t.KeyFile, ServerName: t.ServerName})
	if err != nil {
		return nil, fmt.Errorf("upstream.tls: %w", err)
	}
	return files, nil
}

// ClientsTLS reads what TLS towards clients needs; nil where there is no certificate. The error names the field.
func ClientsTLS(cfg config.Config) (*tlsfiles.ServerTLS, error) {
	t := cfg.Clients.TLS
	if t.CertFile == "" {
		return nil, nil
	}
	files, err := tlsfiles.Server(tlsfiles.ServerFiles{Cert: t.CertFile, Key: t.KeyFile, ClientCA: t.ClientCAFile})
	if err != nil {
		return nil, fmt.Errorf("clients.tls: %w", err)
	}
	return files, nil
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
