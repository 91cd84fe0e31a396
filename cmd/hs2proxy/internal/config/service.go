package config

import "strings"

// Service is the login of the proxy's own connections: EXPLAIN, DESCRIBE and ANALYZE.
type Service struct {
	// Transport is binary or http, as hive.server2.transport.mode.
	Transport string `koanf:"transport"`
	// HTTPPath is hive.server2.thrift.http.path, for http.
	HTTPPath string `koanf:"http_path"`
	// Auth is HiveServer2's hive.server2.authentication: NONE, LDAP, CUSTOM, PAM, NOSASL or KERBEROS.
	Auth string `koanf:"auth"`
	User string `koanf:"user"`
	// Password may come from HS2PROXY_SERVICE__PASSWORD; PasswordFile is read at the start and at a reload, and wins.
	Password     string `koanf:"password"`
	PasswordFile string `koanf:"password_file"`
	// Principal and KeytabFile are the proxy's own, ServerPrincipal is HiveServer2's ("hive/_HOST@EXAMPLE.COM": _HOST stands for
	// the host connected to), and Krb5Conf says where the KDCs are. All four for KERBEROS only.
	Principal       string `koanf:"principal"`
	KeytabFile      string `koanf:"keytab_file"`
	ServerPrincipal string `koanf:"server_principal"`
	Krb5Conf        string `koanf:"krb5_conf"`
	// Settings are SET in the sessions that run ANALYZE (a queue, for instance).
	Settings map[string]string `koanf:"settings"`
}

// Values of Service.Transport and Service.Auth that callers ask for.
const (
	TransportBinary = "binary"
	TransportHTTP   = "http"
	AuthKerberos    = "KERBEROS"
)

func (v *validator) service(s Service) {
	v.oneOf("service.transport", s.Transport, TransportBinary, TransportHTTP)
	v.check(s.Transport != TransportHTTP || strings.Trim(s.HTTPPath, "/") != "", "service.http_path", s.HTTPPath,
		"hive.server2.thrift.http.path, such as \"cliservice\", since service.transport is http")
	v.oneOf("service.auth", s.Auth, "NONE", "LDAP", "CUSTOM", "PAM", "NOSASL", AuthKerberos)
	v.check(s.User != "", "service.user", s.User, "the user the proxy's own connections log in as")
	switch s.Auth {
	case "LDAP", "CUSTOM", "PAM":
		v.check(s.Password != "", "service.password_file", "", "a file holding the password that "+s.Auth+" asks for")
	case AuthKerberos:
		v.check(s.Principal != "", "service.principal", s.Principal, "the proxy's own principal, such as \"hs2proxy@EXAMPLE.COM\"")
		v.check(s.KeytabFile != "", "service.keytab_file", s.KeytabFile, "the keytab of service.principal")
		name, _, _ := strings.Cut(s.ServerPrincipal, "@")
		v.check(strings.Contains(name, "/"), "service.server_principal", s.ServerPrincipal,
			"hive.server2.authentication.kerberos.principal, such as \"hive/_HOST@EXAMPLE.COM\"")
		v.check(s.Krb5Conf != "", "service.krb5_conf", s.Krb5Conf, "a file such as \"/etc/krb5.conf\"")
	}
	if s.Auth != AuthKerberos {
		v.check(s.Principal == "" && s.KeytabFile == "", "service.auth", s.Auth, "KERBEROS, since service.principal or service.keytab_file is given")
	}
}
