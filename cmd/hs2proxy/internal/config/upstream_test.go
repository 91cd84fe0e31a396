package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/store"
)

// refuses checks that each change of a valid configuration is refused with the field named, and nothing secret repeated.
func refuses(t *testing.T, changes map[string]func(*Config)) {
	t.Helper()
	for name, change := range changes {
		field, _, _ := strings.Cut(name, " ")
		cfg := Default()
		cfg.Upstream.Address = "hive:10000"
		change(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), field+":") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// accepts checks that each change of a valid configuration is taken.
func accepts(t *testing.T, changes map[string]func(*Config)) {
	t.Helper()
	for name, change := range changes {
		cfg := Default()
		cfg.Upstream.Address = "hive:10000"
		change(&cfg)
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUpstreamRefuses(t *testing.T) {
	refuses(t, map[string]func(*Config){
		"upstream two of three":       func(c *Config) { c.Upstream.Servers = []Server{{Address: "b:1"}} },
		"upstream address, ZooKeeper": func(c *Config) { c.Upstream.ZooKeeper.Ensemble = "zk:2181" },
		"upstream.address none":       func(c *Config) { c.Upstream.Address = "" },
		"upstream.address only HTTP":  func(c *Config) { c.Upstream.Address, c.Upstream.HTTPAddress = "", "a:1" },
		"upstream.http_address":       func(c *Config) { c.Upstream.HTTPAddress = "a" },
		"upstream.servers[1].address": func(c *Config) {
			c.Upstream.Address, c.Upstream.Servers = "", []Server{{Address: "a:1"}, {Address: "b"}}
		},
		"upstream.servers[1].address twice": func(c *Config) {
			c.Upstream.Address, c.Upstream.Servers = "", []Server{{Address: "a:1"}, {Address: "a:1"}}
		},
		"upstream.servers[0].http_address": func(c *Config) {
			c.Upstream.Address, c.Upstream.Servers = "", []Server{{Address: "a:1", HTTPAddress: "x"}}
		},
		"upstream.zookeeper.ensemble": func(c *Config) { c.Upstream.Address, c.Upstream.ZooKeeper.Ensemble = "", "zk1:2181,:2181" },
		"upstream.zookeeper.namespace": func(c *Config) {
			c.Upstream.Address, c.Upstream.ZooKeeper = "", ZooKeeper{Ensemble: "zk:2181", Namespace: "/"}
		},
		"upstream.tls.enabled":   func(c *Config) { c.Upstream.TLS.CAFile = "ca.pem" },
		"upstream.tls.key_file":  func(c *Config) { c.Upstream.TLS = UpstreamTLS{Enabled: true, CertFile: "c.pem"} },
		"upstream.tls.cert_file": func(c *Config) { c.Upstream.TLS = UpstreamTLS{Enabled: true, KeyFile: "k.pem"} },
		"upstream.proxy_protocol": func(c *Config) {
			c.Upstream.ProxyProtocol = "v3"
		},
	})
}

func TestUpstreamAccepts(t *testing.T) {
	accepts(t, map[string]func(*Config){
		"both ports": func(c *Config) { c.Upstream.HTTPAddress = "hive:10001" },
		"a list": func(c *Config) {
			c.Upstream.Address, c.Upstream.Servers = "", []Server{{Address: "a:1", HTTPAddress: "a:2"}, {Address: "b:1"}}
		},
		"ZooKeeper":    func(c *Config) { c.Upstream.Address, c.Upstream.ZooKeeper.Ensemble = "", "zk1:2181, zk2/tree" },
		"TLS":          func(c *Config) { c.Upstream.TLS = UpstreamTLS{Enabled: true} },
		"TLS, mutual":  func(c *Config) { c.Upstream.TLS = UpstreamTLS{Enabled: true, CertFile: "c", KeyFile: "k"} },
		"PROXY header": func(c *Config) { c.Upstream.ProxyProtocol = "v2" },
	})
}

func TestSetServersReplaces(t *testing.T) {
	u := Upstream{Address: "x:1", HTTPAddress: "x:2", ZooKeeper: ZooKeeper{Ensemble: "zk:1", Namespace: "n"}}
	u.SetServers("a:1, b:2")
	if want := []Server{{Address: "a:1"}, {Address: "b:2"}}; !reflect.DeepEqual(u.List(), want) || u.String() != "a:1,b:2" {
		t.Errorf("got %+v, %s", u, u)
	}
	u.SetServers("c:3")
	if !reflect.DeepEqual(u.List(), []Server{{Address: "c:3"}}) || u.ZooKeeper.Ensemble != "" {
		t.Errorf("got %+v", u)
	}
	u = Upstream{ZooKeeper: ZooKeeper{Ensemble: "zk:1", Namespace: "/n"}}
	if u.List() != nil || u.String() != "ZooKeeper zk:1 /n" {
		t.Errorf("got %v, %s", u.List(), u)
	}
}

// TestListsFromTheEnvironment: what a file writes as a list can be a variable.
func TestListsFromTheEnvironment(t *testing.T) {
	cfg, err := Load(write(t, "upstream: {servers: [\"a:1\", {address: \"b:1\", http_address: \"b:2\"}]}"), []string{
		"HS2PROXY_CLIENTS__TRUSTED_NETWORKS=10.0.0.0/8,::1",
		`HS2PROXY_DATABASE__REDACT=[{pattern: "a,b", with: c}]`,
		"HS2PROXY_SERVICE__SETTINGS={tez.queue.name: stats}",
		"HS2PROXY_CLIENTS__TLS__REQUIRED=true",
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []Server{{Address: "a:1"}, {Address: "b:1", HTTPAddress: "b:2"}}; !reflect.DeepEqual(cfg.Upstream.Servers, want) {
		t.Errorf("servers: %+v", cfg.Upstream.Servers)
	}
	if want := []string{"10.0.0.0/8", "::1"}; !reflect.DeepEqual(cfg.Clients.TrustedNetworks, want) || !cfg.Clients.TLS.Required {
		t.Errorf("clients: %+v", cfg.Clients)
	}
	if want := []store.Redaction{{Pattern: "a,b", With: "c"}}; !reflect.DeepEqual(cfg.Database.Redact, want) {
		t.Errorf("redact: %+v", cfg.Database.Redact)
	}
	if cfg.Service.Settings["tez.queue.name"] != "stats" {
		t.Errorf("settings: %+v", cfg.Service.Settings)
	}
	cfg, err = Load("", []string{"HS2PROXY_UPSTREAM__SERVERS=a:1, b:1", "HS2PROXY_DATABASE__REDACT="})
	if err != nil || len(cfg.Upstream.Servers) != 2 || cfg.Upstream.Servers[1].Address != "b:1" || len(cfg.Database.Redact) != 0 {
		t.Errorf("got %+v, %v", cfg.Upstream.Servers, err)
	}
	if _, err := Load("", []string{"HS2PROXY_DATABASE__REDACT=[{pattern: "}); err == nil || !strings.Contains(err.Error(), "redact") {
		t.Errorf("a torn list: %v", err)
	}
}

func TestReleases(t *testing.T) {
	const vendor = `releases: [{name: vendor-7, base: hive-3, versions: ["3.1.3000.*"], defaults: {hive.stats.fetch.column.stats: true, hive.exec.reducers.max: 99}}]
`
	cfg, err := Load(write(t, vendor+`upstream: {address: "hive:10000", release: vendor-7}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	s := advisor.NewSettings(cfg.Releases.Choose(cfg.Upstream.Release, "4.0.1").Fill(nil, "4.0.1"))
	if s.Release != advisor.Hive3 || !s.FetchColumnStats || s.ReducersMax != 99 {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]string{
		`upstream: {address: "hive:10000", release: hive-5}`:                     `upstream.release: "hive-5" is not valid, want one of hive-4, hive-3, hive-2, or nothing`,
		`{upstream: {address: "hive:10000"}, releases: [{name: x, base: hive}]}`: `releases[0].base: "hive" is not valid`,
	} {
		cfg, err := Load(write(t, text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
