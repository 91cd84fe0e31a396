package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/store"
)

// Validate reports every field that cannot work: its name, its value and what would be right.
func (c Config) Validate() error {
	v := &validator{}
	v.address("listen", c.Listen, true)
	v.clients(c.Clients)
	v.upstream(c.Upstream)
	v.below("", c.Releases.Validate())
	v.check(c.Upstream.Release == "" || c.Releases.Knows(c.Upstream.Release), "upstream.release", c.Upstream.Release,
		"one of "+strings.Join(c.Releases.Names(), ", ")+", or nothing")
	const frameMin, frameMax = 1 << 20, 1<<31 - 1
	v.check(c.Relay.CallLimit >= frameMin && c.Relay.CallLimit <= frameMax, "relay.call_limit", c.Relay.CallLimit,
		"bytes between 1048576 and 2147483647, at least hive.server2.thrift.max.message.size")
	v.check(c.Relay.ReplyLimit >= frameMin && c.Relay.ReplyLimit <= frameMax, "relay.reply_limit", c.Relay.ReplyLimit,
		"bytes between 1048576 and 2147483647")
	v.check(c.Relay.CopyLimit >= 4<<10 && int64(c.Relay.CopyLimit) <= c.Relay.CallLimit, "relay.copy_limit", c.Relay.CopyLimit,
		"bytes between 4096 and relay.call_limit")
	v.check(c.Relay.QueueSize >= 16 && c.Relay.QueueSize <= 1<<20, "relay.queue_size", c.Relay.QueueSize, "between 16 and 1048576")
	v.check(c.Relay.Loops >= 0 && c.Relay.Loops <= 1024, "relay.loops", c.Relay.Loops, "between 0 (one for each processor) and 1024")
	v.positive("relay.drain_timeout", c.Relay.DrainTimeout)
	v.service(c.Service)
	v.positive("explain.timeout", c.Explain.Timeout)
	v.check(c.Explain.Concurrency >= 1 && c.Explain.Concurrency <= 64, "explain.concurrency", c.Explain.Concurrency, "between 1 and 64")
	v.check(c.Explain.Rate > 0 && c.Explain.Rate <= 1000, "explain.rate", c.Explain.Rate, "EXPLAINs a second, above 0 and at most 1000")
	v.positive("explain.max_age", c.Explain.MaxAge)
	v.check(c.Explain.BreakerFailures >= 1, "explain.breaker_failures", c.Explain.BreakerFailures, "at least 1")
	v.positive("explain.breaker_pause", c.Explain.BreakerPause)
	v.below("explain.fidelity.", c.Explain.Fidelity.Validate())
	v.database(c.Database.URL)
	if c.Database.SpoolDir != "" {
		v.check(c.Database.URL != "", "database.url", c.Database.URL, "a Postgres URL, since database.spool_dir is given")
		v.check(c.Database.SpoolLimit >= 1<<20, "database.spool_limit", c.Database.SpoolLimit, "bytes, at least 1048576")
	}
	_, err := store.NewRedactor(c.Database.Redact)
	v.below("database.", err)
	v.statistics(c)
	v.explainAnalyze(c)
	v.positive("retention.statements", c.Retention.Statements)
	v.positive("retention.plans", c.Retention.Plans)
	v.positive("retention.stats", c.Retention.Stats)
	v.positive("retention.every", c.Retention.Every)
	_, err = zerolog.ParseLevel(c.Log.Level)
	v.check(err == nil && c.Log.Level != "", "log.level", c.Log.Level, "debug, info, warn or error")
	v.oneOf("log.format", c.Log.Format, "json", "console")
	v.admin(c.Admin)
	return errors.Join(v.errs...)
}

type validator struct{ errs []error }

func (v *validator) check(ok bool, field string, value any, want string) {
	if !ok {
		v.errs = append(v.errs, fmt.Errorf("%s: %v is not valid, want %s", field, quoted(value), want))
	}
}

func quoted(value any) any {
	if s, ok := value.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return value
}

func (v *validator) positive(field string, d time.Duration) {
	v.check(d > 0, field, d, "a duration above 0, such as \"30s\"")
}

func (v *validator) oneOf(field, value string, allowed ...string) {
	for _, a := range allowed {
		if value == a {
			return
		}
	}
	v.check(false, field, value, "one of "+strings.Join(allowed, ", "))
}

func (v *validator) address(field, value string, emptyHost bool) {
	host, port, err := net.SplitHostPort(value)
	v.check(err == nil && port != "" && (host != "" || emptyHost), field, value, "host:port, such as \"hive.example.com:10000\"")
}

// minToken is the least length of the admin port's token, in bytes.
const minToken = 16

func (v *validator) admin(a Admin) {
	if a.Listen == "" {
		return
	}
	v.address("admin.listen", a.Listen, true)
	if a.TokenFile != "" || a.Token != "" {
		// The value is a secret: it is not repeated.
		v.check(len(a.Token) >= minToken, "admin.token_file", a.TokenFile, fmt.Sprintf("a file with a token of at least %d characters", minToken))
		return
	}
	v.check(a.Loopback(), "admin.token_file", "", fmt.Sprintf("a file with a token, since others than this machine reach admin.listen %q", a.Listen))
}

// Loopback reports whether only this machine reaches the port. An empty host is every interface.
func (a Admin) Loopback() bool {
	host, _, err := net.SplitHostPort(a.Listen)
	return err == nil && LoopbackHost(host)
}

// LoopbackHost reports whether a host, without a port, is this machine's name for itself or a loopback address.
func LoopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func (v *validator) database(raw string) {
	if raw == "" {
		return
	}
	u, err := url.Parse(raw)
	ok := err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
	// The value may hold a password: it is not repeated.
	v.check(ok, "database.url", "the given value", "postgres://user@host:5432/database (password by PGPASSWORD or PGPASSFILE)")
}

func (v *validator) statistics(c Config) {
	s := c.Stats
	v.positive("statistics.max_age", s.MaxAge)
	v.check(s.SysViews == SysAuto || s.SysViews == SysOff, "statistics.sys_views", s.SysViews, "auto or off")
	v.below("statistics.thresholds.", s.Thresholds.Validate())
	r := s.Refresh
	v.refresh(r)
	if r.Enabled {
		v.check(c.Database.URL != "", "database.url", c.Database.URL, "a Postgres URL, since statistics.refresh.enabled is true")
		v.check(s.Enabled, "statistics.enabled", s.Enabled, "true, since statistics.refresh.enabled is true")
	}
}

// below puts the path in front of each error of a part of the configuration.
func (v *validator) below(path string, err error) {
	if err == nil {
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		v.errs = append(v.errs, errors.New(path+line))
	}
}
