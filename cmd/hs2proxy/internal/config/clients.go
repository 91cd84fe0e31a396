package config

import (
	"fmt"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/proxyheader"
)

// Clients is what the proxy does for, and asks of, those who connect.
type Clients struct {
	TLS ClientsTLS `koanf:"tls"`
	// ProxyProtocol asks every connection of TrustedNetworks for a PROXY header (version 1 or 2).
	ProxyProtocol bool `koanf:"proxy_protocol"`
	// TrustedNetworks are the CIDRs (or single addresses) whose PROXY header and X-Forwarded-For are believed.
	TrustedNetworks []string `koanf:"trusted_networks"`
	// LoginTimeout is how long a connection may take from the accept to the end of its login.
	LoginTimeout time.Duration `koanf:"login_timeout"`
	// MaxConnections bounds the open connections, of all, of an address and of a user; 0: no limit.
	MaxConnections           int          `koanf:"max_connections"`
	MaxConnectionsPerAddress int          `koanf:"max_connections_per_address"`
	MaxConnectionsPerUser    int          `koanf:"max_connections_per_user"`
	FailedLogins             FailedLogins `koanf:"failed_logins"`
}

// ClientsTLS is TLS towards the clients, version 1.2 or later. Without CertFile TLS is passed through, unread.
type ClientsTLS struct {
	// CertFile and KeyFile are PEM: the certificate with its chain, and its key.
	CertFile string `koanf:"cert_file"`
	KeyFile  string `koanf:"key_file"`
	// ClientCAFile holds the authorities whose certificates clients must show; empty: none are asked for.
	ClientCAFile string `koanf:"client_ca_file"`
	// Required refuses connections without TLS.
	Required bool `koanf:"required"`
}

// FailedLogins closes the connections of an address for Pause once HiveServer2 has refused it Limit logins within Window.
// Limit 0: never.
type FailedLogins struct {
	Limit  int           `koanf:"limit"`
	Window time.Duration `koanf:"window"`
	Pause  time.Duration `koanf:"pause"`
}

// Networks are TrustedNetworks, parsed; a single address is a network of one.
func (c Clients) Networks() (proxyheader.Trusted, error) {
	trusted, err := proxyheader.ParsePrefixes(c.TrustedNetworks)
	if err != nil {
		return nil, fmt.Errorf("clients.trusted_networks: %w", err)
	}
	return trusted, nil
}

func (v *validator) clients(c Clients) {
	t := c.TLS
	v.pair("clients.tls.cert_file", t.CertFile, "clients.tls.key_file", t.KeyFile)
	v.check(t.CertFile != "" || t.ClientCAFile == "", "clients.tls.cert_file", t.CertFile, "a certificate (PEM), since clients.tls.client_ca_file is given")
	v.check(t.CertFile != "" || !t.Required, "clients.tls.cert_file", t.CertFile, "a certificate (PEM), since clients.tls.required is true")
	if _, err := c.Networks(); err != nil {
		v.errs = append(v.errs, err)
	}
	v.check(!c.ProxyProtocol || len(c.TrustedNetworks) > 0, "clients.trusted_networks", "", "the networks of the load balancers, since clients.proxy_protocol is true")
	v.positive("clients.login_timeout", c.LoginTimeout)
	for _, n := range []struct {
		field string
		value int
	}{
		{"clients.max_connections", c.MaxConnections},
		{"clients.max_connections_per_address", c.MaxConnectionsPerAddress},
		{"clients.max_connections_per_user", c.MaxConnectionsPerUser},
		{"clients.failed_logins.limit", c.FailedLogins.Limit},
	} {
		v.check(n.value >= 0, n.field, n.value, "0 (no limit) or a number")
	}
	v.positive("clients.failed_logins.window", c.FailedLogins.Window)
	v.positive("clients.failed_logins.pause", c.FailedLogins.Pause)
}

// pair asks for both of two files, or neither.
func (v *validator) pair(certField, cert, keyField, key string) {
	v.check(cert == "" || key != "", keyField, key, "the key (PEM) of "+certField)
	v.check(key == "" || cert != "", certField, cert, "the certificate (PEM) of "+keyField)
}
