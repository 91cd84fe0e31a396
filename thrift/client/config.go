package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// Bounds and defaults.
const (
	// DefaultDialTimeout, DefaultCallTimeout and DefaultMaxMessageSize stand where Config has zero.
	DefaultDialTimeout           = 10 * time.Second
	DefaultCallTimeout           = 2 * time.Minute
	DefaultMaxMessageSize uint32 = 100 << 20

	// DefaultHTTPPath and DefaultKrb5Conf stand where Config has an empty string.
	DefaultHTTPPath = "cliservice"
	DefaultKrb5Conf = "/etc/krb5.conf"

	// Grace is how long a call may outlive its context, so that its operation can be found, cancelled and closed.
	Grace = 5 * time.Second

	// MaxRows, MaxResultBytes (of text) and MaxLogLines bound one Result.
	MaxRows        = 200_000
	MaxResultBytes = 256 << 20
	MaxLogLines    = 200_000
)

// Config says how to reach one HiveServer2.
type Config struct {
	// Address is host:port of the Thrift endpoint.
	Address string
	// Transport is hive.server2.transport.mode of that endpoint: binary, also when empty, or http.
	Transport string
	// HTTPPath is hive.server2.thrift.http.path, with or without the slash in front; cliservice when empty.
	HTTPPath string
	// TLS is set where the endpoint speaks TLS (hive.server2.use.SSL); nil is plain. An empty ServerName becomes the host
	// of Address. The value is not changed and may be shared.
	TLS *tls.Config
	// DialContext makes the TCP connections, TLS comes over them; nil just connects. It is where something may be sent in
	// front, such as a PROXY header. It has to heed its context, which has a deadline.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	// Auth is hive.server2.authentication of the server: NONE, LDAP, CUSTOM or PAM (SASL PLAIN all four, or HTTP Basic),
	// KERBEROS (SASL GSSAPI, or HTTP Negotiate) or NOSASL.
	Auth string
	// User and Password log in. NONE takes any non-empty password; an empty one is replaced. KERBEROS does not read them.
	User     string
	Password string

	// Principal is who logs in under KERBEROS, such as hs2proxy/host.example.com@EXAMPLE.COM. Without a realm it is
	// krb5.conf's default_realm.
	Principal string
	// KeytabFile is the path of the keytab with Principal's keys. It is read at each login, so it may be replaced.
	KeytabFile string
	// ServerPrincipal is hive.server2.authentication.kerberos.principal of the server, such as hive/_HOST@EXAMPLE.COM. _HOST
	// stands for the host of Address in lower case, as in a JDBC URL.
	ServerPrincipal string
	// Krb5Conf is the path of krb5.conf; DefaultKrb5Conf when empty.
	Krb5Conf string

	// DialTimeout bounds connecting and logging in together.
	DialTimeout time.Duration
	// CallTimeout bounds one call and its reply. It must exceed the longest compilation: HiveServer2 compiles inside
	// ExecuteStatement, also for asynchronous statements (hive.server2.async.exec.async.compile is false by default).
	CallTimeout time.Duration
	// MaxMessageSize is the longest reply read, in bytes.
	MaxMessageSize uint32
}

// Validate reports the first field that cannot work, with its value and what would be right. The password is never
// part of the error.
func (c Config) Validate() error {
	host, port, err := net.SplitHostPort(c.Address)
	if err != nil || host == "" {
		return fmt.Errorf("address %q: want host:port, for instance hive.example.com:10000", c.Address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("address %q: want a port from 1 to 65535", c.Address)
	}
	switch c.Transport {
	case "", "binary", "http":
	default:
		return fmt.Errorf("transport %q: want binary or http, as hive.server2.transport.mode of the server", c.Transport)
	}
	if strings.ContainsAny(c.HTTPPath, "?# ") {
		return fmt.Errorf("HTTP path %q: want a path such as %s, as hive.server2.thrift.http.path of the server", c.HTTPPath, DefaultHTTPPath)
	}
	if err := c.validateLogin(); err != nil {
		return err
	}
	if strings.ContainsRune(c.User, 0) {
		return fmt.Errorf("user %q: holds a NUL character", c.User)
	}
	if strings.ContainsRune(c.Password, 0) {
		return errors.New("password: holds a NUL character")
	}
	if c.DialTimeout < 0 {
		return fmt.Errorf("dial timeout %s: want a positive duration, or 0 for %s", c.DialTimeout, DefaultDialTimeout)
	}
	if c.CallTimeout < 0 {
		return fmt.Errorf("call timeout %s: want a positive duration, or 0 for %s", c.CallTimeout, DefaultCallTimeout)
	}
	if c.MaxMessageSize > math.MaxInt32 {
		return fmt.Errorf("maximum message size %d: want at most %d bytes", c.MaxMessageSize, math.MaxInt32)
	}
	return nil
}

// validateLogin is the part of Validate that depends on Auth.
func (c Config) validateLogin() error {
	switch c.Auth {
	case "NONE", "LDAP", "CUSTOM", "PAM":
		if c.User == "" {
			return fmt.Errorf("user: empty, but HiveServer2 refuses a login without a user under authentication %s", c.Auth)
		}
		if c.Password == "" && c.Auth != "NONE" {
			return fmt.Errorf("password: empty, but authentication %s needs one", c.Auth)
		}
		if c.http() && strings.ContainsRune(c.User, ':') {
			return fmt.Errorf("user %q: holds a colon, which HTTP Basic takes for the end of the name", c.User)
		}
	case "KERBEROS":
		if _, _, err := splitPrincipal(c.Principal); err != nil {
			return fmt.Errorf("principal %q: %w, such as hs2proxy@EXAMPLE.COM", c.Principal, err)
		}
		if c.KeytabFile == "" {
			return errors.New("keytab file: empty, but authentication KERBEROS needs one with the keys of the principal")
		}
		name, _, err := splitPrincipal(c.ServerPrincipal)
		if err == nil && !strings.Contains(name, "/") {
			err = errors.New("want service/host@REALM")
		}
		if err != nil {
			return fmt.Errorf("server principal %q: %w, such as hive/_HOST@EXAMPLE.COM, as hive.server2.authentication.kerberos.principal of the server", c.ServerPrincipal, err)
		}
	case "NOSASL":
	default:
		return fmt.Errorf("auth %q: want NONE, LDAP, CUSTOM, PAM, KERBEROS or NOSASL, as hive.server2.authentication of the server", c.Auth)
	}
	return nil
}

// splitPrincipal takes a Kerberos principal apart: name, with its slashes, and realm, which may be empty.
func splitPrincipal(principal string) (name, realm string, err error) {
	name, realm, found := strings.Cut(principal, "@")
	if name == "" || found && realm == "" || strings.ContainsRune(realm, '@') || strings.ContainsAny(principal, " \\\x00") {
		return "", "", errors.New("want name@REALM")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" {
			return "", "", errors.New("want name@REALM")
		}
	}
	return name, realm, nil
}

// dialer is DialContext or what stands for it.
func (c Config) dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	if c.DialContext != nil {
		return c.DialContext
	}
	return (&net.Dialer{Timeout: c.DialTimeout}).DialContext
}

// http reports whether the transport is HTTP.
func (c Config) http() bool { return c.Transport == "http" }

// host is the host of Address.
func (c Config) host() string {
	host, _, _ := net.SplitHostPort(c.Address) // Validate has read it
	return host
}

// String is the address and the user, so that a Config printed by mistake shows no password.
func (c Config) String() string {
	user := c.User
	if c.Auth == "KERBEROS" {
		user = c.Principal
	}
	return fmt.Sprintf("%s at HiveServer2 %s (%s)", user, c.Address, c.Auth)
}

// GoString is String.
func (c Config) GoString() string { return c.String() }

// withDefaults returns c with defaults in place of zeros. It is called behind Validate.
func (c Config) withDefaults() Config {
	if c.DialTimeout == 0 {
		c.DialTimeout = DefaultDialTimeout
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = DefaultCallTimeout
	}
	if c.MaxMessageSize == 0 {
		c.MaxMessageSize = DefaultMaxMessageSize
	}
	if c.Auth == "KERBEROS" {
		c.User, _, _ = splitPrincipal(c.Principal) // for messages; HiveServer2 takes the name from the ticket
	}
	if c.HTTPPath == "" {
		c.HTTPPath = DefaultHTTPPath
	}
	if c.Krb5Conf == "" {
		c.Krb5Conf = DefaultKrb5Conf
	}
	if c.User == "" {
		c.User = "anonymous" // what Hive itself says of nobody; gohive would send the local user's name
	}
	if c.Password == "" {
		c.Password = "anonymous" // SASL PLAIN has no empty password; NONE and NOSASL do not read it
	}
	return c
}
