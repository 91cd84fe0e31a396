package intercept

import (
	"fmt"
	"net"
	"time"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// Defaults of Config.
const (
	DefaultDialTimeout = 5 * time.Second
	DefaultKeepAlive   = 30 * time.Second
	DefaultHalfClose   = time.Second
)

// Config configures a Server. A zero field stands for its default, except Address.
type Config struct {
	// Address is HiveServer2's host:port.
	Address string
	// DialTimeout bounds one attempt to connect to it; the client waits meanwhile.
	DialTimeout time.Duration
	// KeepAlive is the period of TCP keep-alive probes on both sides.
	KeepAlive time.Duration
	// HalfClose is how long one side may stay open after the other has closed, when no call waits for a reply.
	HalfClose time.Duration
	// Limits bound lengths and copies.
	Limits thrift.Limits
}

func (c Config) withDefaults() Config {
	if c.DialTimeout == 0 {
		c.DialTimeout = DefaultDialTimeout
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = DefaultKeepAlive
	}
	if c.HalfClose == 0 {
		c.HalfClose = DefaultHalfClose
	}
	return c
}

// probes are the TCP keep-alive probes of both sides.
func (c Config) probes() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: c.KeepAlive, Interval: c.KeepAlive, Count: 4}
}

// Validate names the first field that cannot be used, its value and what would be right.
func (c Config) Validate() error {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return fmt.Errorf("address %q: must be host:port of HiveServer2, such as hive.example.org:10000", c.Address)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"dial timeout", c.DialTimeout}, {"keep-alive", c.KeepAlive}, {"half-close time", c.HalfClose}} {
		if d.value < 0 {
			return fmt.Errorf("%s %s: must not be negative", d.name, d.value)
		}
	}
	for _, l := range []struct {
		name  string
		value int64
	}{
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
