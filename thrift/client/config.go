package client

import (
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

	// Grace is how long a call may outlive its context, so that its operation can be found, cancelled and closed.
	Grace = 5 * time.Second

	// MaxRows, MaxResultBytes (of text) and MaxLogLines bound one Result.
	MaxRows        = 200_000
	MaxResultBytes = 256 << 20
	MaxLogLines    = 200_000
)

// Config says how to reach one HiveServer2.
type Config struct {
	// Address is host:port of the binary Thrift endpoint.
	Address string
	// Auth is hive.server2.authentication of the server: NONE, LDAP or CUSTOM (SASL PLAIN all three) or NOSASL.
	Auth string
	// User and Password log in. NONE takes any non-empty password; an empty one is replaced.
	User     string
	Password string
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
	switch c.Auth {
	case "NONE", "LDAP", "CUSTOM":
		if c.User == "" {
			return fmt.Errorf("user: empty, but HiveServer2 refuses a login without a user under authentication %s", c.Auth)
		}
		if c.Password == "" && c.Auth != "NONE" {
			return fmt.Errorf("password: empty, but authentication %s needs one", c.Auth)
		}
	case "NOSASL":
	default:
		return fmt.Errorf("auth %q: want NONE, LDAP, CUSTOM or NOSASL, as hive.server2.authentication of the server", c.Auth)
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

// String is the address and the user, so that a Config printed by mistake shows no password.
func (c Config) String() string {
	return fmt.Sprintf("%s at HiveServer2 %s (%s)", c.User, c.Address, c.Auth)
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
	if c.User == "" {
		c.User = "anonymous" // what Hive itself says of nobody; gohive would send the local user's name
	}
	if c.Password == "" {
		c.Password = "anonymous" // SASL PLAIN has no empty password; NONE and NOSASL do not read it
	}
	return c
}
