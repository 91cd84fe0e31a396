package intercept

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/limit"
	"github.com/hs2proxy/hs2proxy/intercept/proxyheader"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// Defaults of Config.
const (
	DefaultDialTimeout  = 5 * time.Second
	DefaultKeepAlive    = 30 * time.Second
	DefaultHalfClose    = time.Second
	DefaultLoginTimeout = time.Minute
	DefaultDrainIdle    = 5 * time.Second
)

// Config configures a Server. A zero field stands for its default, except for Address and Servers, of which one is needed.
type Config struct {
	// Address is the host:port of a single HiveServer2, for whatever its clients speak.
	Address string
	// Servers are the HiveServer2s where there may be several.
	Servers *upstream.Set
	// Loops is how many event loops there are, on Linux; one for each processor by default.
	Loops int
	// DialTimeout bounds one attempt to connect to one of them; the client waits meanwhile.
	DialTimeout time.Duration
	// LoginTimeout bounds the time from accepting a connection to the end of its login; where that cannot be seen, to its first
	// byte. The time that HiveServer2 takes to be connected to does not count.
	LoginTimeout time.Duration
	// KeepAlive is the period of TCP keep-alive probes on both sides.
	KeepAlive time.Duration
	// HalfClose is how long one side may stay open after the other has closed, when no call waits for a reply.
	HalfClose time.Duration
	// DrainIdle is how long a connection must have been idle, with nothing running in its sessions, for Shutdown to end it.
	DrainIdle time.Duration
	// Limits bound lengths and copies.
	Limits thrift.Limits

	// ClientTLS ends TLS that clients begin; nil passes it through unread. TLSRequired refuses clients that begin none.
	ClientTLS   *tls.Config
	TLSRequired bool
	// ServerTLS is asked for the configuration of each connection to a HiveServer2 at host; nil speaks none of our own.
	ServerTLS func(host string) *tls.Config

	// Trusted networks' X-Forwarded-For headers are believed and, with ReadProxyHeader, every connection from them must begin
	// with a PROXY header, version 1 or 2.
	Trusted         proxyheader.Trusted
	ReadProxyHeader bool
	// SendProxyHeader is the version of the PROXY header that each connection to HiveServer2 begins with; 0 sends none.
	SendProxyHeader int

	// Limiter says who may connect; nil lets everybody.
	Limiter *limit.Limiter
}

func (c Config) withDefaults() (Config, error) {
	if c.DialTimeout == 0 {
		c.DialTimeout = DefaultDialTimeout
	}
	if c.LoginTimeout == 0 {
		c.LoginTimeout = DefaultLoginTimeout
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = DefaultKeepAlive
	}
	if c.HalfClose == 0 {
		c.HalfClose = DefaultHalfClose
	}
	if c.Loops == 0 {
		c.Loops = runtime.GOMAXPROCS(0)
	}
	if c.DrainIdle == 0 {
		c.DrainIdle = DefaultDrainIdle
	}
	if c.Servers == nil {
		set, err := upstream.NewStatic([]upstream.Server{{ID: c.Address, Binary: c.Address, HTTP: c.Address}}, upstream.Options{})
		if err != nil {
			return c, fmt.Errorf("address: %w", err)
		}
		c.Servers = set
	}
	return c, nil
}

// probes are the TCP keep-alive probes of both sides.
func (c Config) probes() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: c.KeepAlive, Interval: c.KeepAlive, Count: keepAliveCount}
}

// keepAliveCount is how many probes without an answer end a connection.
const keepAliveCount = 4

// Validate names the first field that cannot be used, its value and what would be right.
func (c Config) Validate() error {
	if c.Servers == nil {
		if _, _, err := net.SplitHostPort(c.Address); err != nil {
			return fmt.Errorf("address %q: must be host:port of HiveServer2, such as hive.example.org:10000", c.Address)
		}
	}
	if c.TLSRequired && c.ClientTLS == nil {
		return errors.New("TLS is required of clients, but there is no certificate to speak it with")
	}
	if c.ReadProxyHeader && len(c.Trusted) == 0 {
		return errors.New("PROXY headers are to be read, but no network is trusted to send them")
	}
	if v := c.SendProxyHeader; v < 0 || v > 2 {
		return fmt.Errorf("PROXY header version %d: must be 1 or 2, or 0 for none", v)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"dial timeout", c.DialTimeout}, {"login timeout", c.LoginTimeout}, {"keep-alive", c.KeepAlive}, {"half-close time", c.HalfClose}, {"idle time of a drain", c.DrainIdle}} {
		if d.value < 0 {
			return fmt.Errorf("%s %s: must not be negative", d.name, d.value)
		}
	}
	for _, l := range []struct {
		name  string
		value int64
	}{
		{"event loops", int64(c.Loops)},
		{"largest call", c.Limits.MaxCallBytes},
		{"largest reply", c.Limits.MaxReplyBytes},
		{"copy limit", int64(c.Limits.CopyBytes)},
		{"walk limit", int64(c.Limits.WalkBytes)},
		{"waiting calls", int64(c.Limits.PendingCalls)},
	} {
		if l.value < 0 {
			return fmt.Errorf("%s %d: must not be negative", l.name, l.value)
		}
	}
	return nil
}
