package config

import (
	"net/netip"
	"testing"

	"github.com/hs2proxy/hs2proxy/store"
)

func TestClientsRefuses(t *testing.T) {
	refuses(t, map[string]func(*Config){
		"clients.tls.key_file":                   func(c *Config) { c.Clients.TLS.CertFile = "c.pem" },
		"clients.tls.cert_file":                  func(c *Config) { c.Clients.TLS.KeyFile = "k.pem" },
		"clients.tls.cert_file required":         func(c *Config) { c.Clients.TLS.Required = true },
		"clients.tls.cert_file client authority": func(c *Config) { c.Clients.TLS.ClientCAFile = "ca.pem" },
		"clients.trusted_networks no network":    func(c *Config) { c.Clients.TrustedNetworks = []string{"balancer"} },
		"clients.trusted_networks":               func(c *Config) { c.Clients.ProxyProtocol = true },
		"clients.login_timeout":                  func(c *Config) { c.Clients.LoginTimeout = 0 },
		"clients.max_connections":                func(c *Config) { c.Clients.MaxConnections = -1 },
		"clients.max_connections_per_address":    func(c *Config) { c.Clients.MaxConnectionsPerAddress = -1 },
		"clients.max_connections_per_user":       func(c *Config) { c.Clients.MaxConnectionsPerUser = -1 },
		"clients.failed_logins.limit":            func(c *Config) { c.Clients.FailedLogins.Limit = -1 },
		"clients.failed_logins.window":           func(c *Config) { c.Clients.FailedLogins.Window = 0 },
		"clients.failed_logins.pause":            func(c *Config) { c.Clients.FailedLogins.Pause = 0 },
		"database.redact[0].pattern":             func(c *Config) { c.Database.Redact = []store.Redaction{{Pattern: "("}} },
		"database.redact[1].with": func(c *Config) {
			c.Database.Redact = []store.Redaction{{Pattern: "a"}, {Pattern: "(b)", With: "$1x"}}
		},
		"service.transport": func(c *Config) { c.Service.Transport = "https" },
		"service.http_path": func(c *Config) { c.Service.Transport, c.Service.HTTPPath = TransportHTTP, "/" },
		"service.password_file": func(c *Config) {
			c.Service.Auth = "PAM"
		},
		"service.auth": func(c *Config) { c.Service.Principal = "p@R" },
	})
	kerberos := Service{
		Transport: TransportBinary, Auth: AuthKerberos, User: "u", Principal: "hs2proxy@R", KeytabFile: "k", ServerPrincipal: "hive/_HOST@R", Krb5Conf: "c",
	}
	accepts(t, map[string]func(*Config){"Kerberos": func(c *Config) { c.Service = kerberos }})
	refuses(t, map[string]func(*Config){
		"service.principal":        func(c *Config) { c.Service = kerberos; c.Service.Principal = "" },
		"service.keytab_file":      func(c *Config) { c.Service = kerberos; c.Service.KeytabFile = "" },
		"service.server_principal": func(c *Config) { c.Service = kerberos; c.Service.ServerPrincipal = "hive@R" },
		"service.krb5_conf":        func(c *Config) { c.Service = kerberos; c.Service.Krb5Conf = "" },
	})
}

func TestClientsAccepts(t *testing.T) {
	accepts(t, map[string]func(*Config){
		"TLS for all, with certificates": func(c *Config) {
			c.Clients.TLS = ClientsTLS{CertFile: "c", KeyFile: "k", ClientCAFile: "a", Required: true}
		},
		"PROXY header": func(c *Config) { c.Clients.ProxyProtocol, c.Clients.TrustedNetworks = true, []string{"::1"} },
	})
}

func TestNetworks(t *testing.T) {
	got, err := Clients{TrustedNetworks: []string{"10.0.0.0/8", "::1"}}.Networks()
	if err != nil || len(got) != 2 || !got.Contains(netip.MustParseAddr("10.1.2.3")) || got.Contains(netip.MustParseAddr("::2")) {
		t.Errorf("got %v, %v", got, err)
	}
}
