package config

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// Upstream is the HiveServer2 behind the proxy, or several that do the same work. They are told by one of Address, Servers
// and ZooKeeper.
type Upstream struct {
	// Name stands for the server, or all of them, in Postgres and in logs.
	Name string `koanf:"name"`
	// Address is host:port of its binary Thrift port, HTTPAddress of its HTTP port; an empty HTTPAddress is Address.
	Address     string `koanf:"address"`
	HTTPAddress string `koanf:"http_address"`
	// Servers are several: a connection goes to the one with the fewest.
	Servers   []Server    `koanf:"servers"`
	ZooKeeper ZooKeeper   `koanf:"zookeeper"`
	TLS       UpstreamTLS `koanf:"tls"`
	// ProxyProtocol is the version of the PROXY header sent in front of each connection: v1, v2, or empty for none.
	ProxyProtocol string `koanf:"proxy_protocol"`
	// KeepSessions is the opposite of HiveServer2's hive.server2.close.session.on.disconnect, which is true by default.
	KeepSessions bool          `koanf:"keep_sessions_on_disconnect"`
	DialTimeout  time.Duration `koanf:"dial_timeout"`
	// LLAPNodes is the number of LLAP nodes where Hive cannot tell it; 0 means unknown.
	LLAPNodes int `koanf:"llap_nodes"`
	// Release is the release line or the profile of Releases to judge joins by; empty: what the server's version tells.
	Release string `koanf:"release"`
}

// Server is one of several HiveServer2s: host:port of its binary port and of its HTTP port, which is Address when empty.
type Server struct {
	Address     string `koanf:"address"`
	HTTPAddress string `koanf:"http_address"`
}

// ZooKeeper is where HiveServer2s publish themselves (hive.server2.support.dynamic.service.discovery).
type ZooKeeper struct {
	// Ensemble is hive.zookeeper.quorum: host:port, separated by commas; a /path behind them when all of it is below one. Empty:
	// ZooKeeper is not asked.
	Ensemble string `koanf:"ensemble"`
	// Namespace is hive.server2.zookeeper.namespace.
	Namespace string `koanf:"namespace"`
}

// UpstreamTLS is TLS towards HiveServer2, version 1.2 or later.
type UpstreamTLS struct {
	Enabled bool `koanf:"enabled"`
	// CAFile holds the authorities that HiveServer2's certificate is checked against; empty: the system's.
	CAFile string `koanf:"ca_file"`
	// CertFile and KeyFile are the proxy's own certificate, where HiveServer2 asks for one.
	CertFile string `koanf:"cert_file"`
	KeyFile  string `koanf:"key_file"`
	// ServerName is the name in HiveServer2's certificate; empty: the host connected to.
	ServerName string `koanf:"server_name"`
}

// List is the servers that are configured by address; none when ZooKeeper tells them.
func (u Upstream) List() []Server {
	if u.Address != "" {
		return []Server{{Address: u.Address, HTTPAddress: u.HTTPAddress}}
	}
	return u.Servers
}

// SetServers replaces what is configured by a comma-separated list of host:port.
func (u *Upstream) SetServers(list string) {
	u.Address, u.HTTPAddress, u.Servers, u.ZooKeeper.Ensemble = "", "", nil, ""
	if !strings.Contains(list, ",") {
		u.Address = strings.TrimSpace(list)
		return
	}
	for _, s := range strings.Split(list, ",") {
		u.Servers = append(u.Servers, Server{Address: strings.TrimSpace(s)})
	}
}

// String is the servers on a line, for logs.
func (u Upstream) String() string {
	if u.ZooKeeper.Ensemble != "" {
		return "ZooKeeper " + u.ZooKeeper.Ensemble + " /" + strings.Trim(u.ZooKeeper.Namespace, "/")
	}
	var out []string
	for _, s := range u.List() {
		out = append(out, s.Address)
	}
	return strings.Join(out, ",")
}

func (v *validator) upstream(u Upstream) {
	given := 0
	for _, is := range []bool{u.Address != "", len(u.Servers) > 0, u.ZooKeeper.Ensemble != ""} {
		if is {
			given++
		}
	}
	if given > 1 {
		v.errs = append(v.errs, errors.New("upstream: address, servers and zookeeper.ensemble exclude each other, want one of them"))
	}
	if given == 0 || u.Address != "" {
		v.address("upstream.address", u.Address, false)
	}
	if u.HTTPAddress != "" {
		v.address("upstream.http_address", u.HTTPAddress, false)
		v.check(u.Address != "", "upstream.address", u.Address, "host:port of the same server, since upstream.http_address is given; a list has http_address in each of upstream.servers")
	}
	seen := map[string]bool{}
	for i, s := range u.Servers {
		field := "upstream.servers[" + strconv.Itoa(i) + "]"
		v.address(field+".address", s.Address, false)
		v.check(!seen[s.Address], field+".address", s.Address, "a server that is not in the list yet")
		seen[s.Address] = true
		if s.HTTPAddress != "" {
			v.address(field+".http_address", s.HTTPAddress, false)
		}
	}
	if u.ZooKeeper.Ensemble != "" {
		err := upstream.ZKConfig{Ensemble: u.ZooKeeper.Ensemble}.Validate()
		v.check(err == nil, "upstream.zookeeper.ensemble", u.ZooKeeper.Ensemble, "host:port, separated by commas, such as \"zk1:2181,zk2:2181\"")
		v.check(strings.Trim(u.ZooKeeper.Namespace, "/") != "", "upstream.zookeeper.namespace", u.ZooKeeper.Namespace, "hive.server2.zookeeper.namespace, such as \"hiveserver2\"")
	}
	t := u.TLS
	v.pair("upstream.tls.cert_file", t.CertFile, "upstream.tls.key_file", t.KeyFile)
	v.check(t.Enabled || t == UpstreamTLS{}, "upstream.tls.enabled", t.Enabled, "true, since other fields of upstream.tls are given")
	v.check(u.ProxyProtocol == "" || u.ProxyProtocol == "v1" || u.ProxyProtocol == "v2", "upstream.proxy_protocol", u.ProxyProtocol, "v1, v2, or nothing")
	v.check(u.Name != "", "upstream.name", u.Name, "a name for the server, such as \"prod\"")
	v.check(u.LLAPNodes >= 0, "upstream.llap_nodes", u.LLAPNodes, "0 (unknown) or the number of LLAP nodes")
	v.positive("upstream.dial_timeout", u.DialTimeout)
}
