package config

import (
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// Config is everything an operator can set. Durations are written as "30s", "5m"; sizes are bytes.
type Config struct {
	// Listen is the address clients connect to, host:port. Binary Thrift, HTTP and TLS share it.
	Listen   string   `koanf:"listen"`
	Clients  Clients  `koanf:"clients"`
	Upstream Upstream `koanf:"upstream"`
	// Releases are vendors' releases, as data.
	Releases  advisor.Profiles `koanf:"releases"`
	Relay     Relay            `koanf:"relay"`
	Service   Service          `koanf:"service"`
	Explain   Explain          `koanf:"explain"`
	Database  Database         `koanf:"database"`
	Stats     Statistics       `koanf:"statistics"`
	Actuals   Actuals          `koanf:"actuals"`
	Retention Retention        `koanf:"retention"`
	Log       Log              `koanf:"log"`
	Admin     Admin            `koanf:"admin"`
}

// Relay bounds what the proxy accepts and copies.
type Relay struct {
	// CallLimit and ReplyLimit are the longest frame a client and HiveServer2 may send, in bytes; a longer announcement ends
	// the connection.
	CallLimit  int64 `koanf:"call_limit"`
	ReplyLimit int64 `koanf:"reply_limit"`
	// CopyLimit is how much of a watched call is copied for decoding, in bytes; longer statements pass but are not explained.
	CopyLimit int `koanf:"copy_limit"`
	// Loops is how many event loops move the bytes; 0: one for each processor.
	Loops int `koanf:"loops"`
	// QueueSize is how many observations may wait for analysis; further ones are counted and dropped.
	QueueSize int `koanf:"queue_size"`
	// DrainTimeout is how long running connections may finish after SIGTERM.
	DrainTimeout time.Duration `koanf:"drain_timeout"`
	// ReusePort lets another process listen on the same address (SO_REUSEPORT), so that a new version starts before the old one
	// stops.
	ReusePort bool `koanf:"reuse_port"`
}

// Explain bounds what explaining may cost HiveServer2.
type Explain struct {
	Enabled bool          `koanf:"enabled"`
	Timeout time.Duration `koanf:"timeout"`
	// Concurrency is the number of EXPLAINs at a time, each on a connection of its own.
	Concurrency int `koanf:"concurrency"`
	// Rate is the number of EXPLAINs a second at most, with bursts of Concurrency.
	Rate float64 `koanf:"rate"`
	// MaxAge is how long a plan of the same fingerprint, settings and database stands before it is explained again.
	MaxAge time.Duration `koanf:"max_age"`
	// BreakerFailures in a row stop explaining for BreakerPause.
	BreakerFailures uint32        `koanf:"breaker_failures"`
	BreakerPause    time.Duration `koanf:"breaker_pause"`
	// Witness asks Hive 4 for the planner's own numbers with each EXPLAIN.
	Witness bool `koanf:"witness"`
	// Fidelity says when the agreement of the simulation with the planner counts as fallen.
	Fidelity advisor.FidelityPolicy `koanf:"fidelity"`
}

// Database is the Postgres that keeps what was seen. Without a URL the proxy relays, explains and logs findings.
type Database struct {
	URL string `koanf:"url"`
	// Migrate brings the schema up to date at the start.
	Migrate bool `koanf:"migrate"`
	// KeepLiterals stores statements as sent; by default literals are replaced by ? and only the proxy's memory knows them.
	KeepLiterals bool `koanf:"keep_literals"`
	// AsyncCommit does not wait for Postgres' disk with what was seen.
	AsyncCommit bool `koanf:"async_commit"`
	// SpoolDir is where records wait on disk while Postgres is away, in up to SpoolLimit bytes. Empty: some thousand wait in
	// memory. Each proxy needs a folder of its own.
	SpoolDir   string `koanf:"spool_dir"`
	SpoolLimit int64  `koanf:"spool_limit"`
	// Redact are patterns whose matches leave the proxy in no text: not to Postgres, not to the spool, not to the log.
	Redact []store.Redaction `koanf:"redact"`
}

// Statistics are the staleness rules and the refreshes.
type Statistics struct {
	// Enabled reads table statistics and applies the rules; refreshing needs Refresh.Enabled too.
	Enabled bool `koanf:"enabled"`
	// MaxAge is how long a table's statistics are believed before DESCRIBE FORMATTED is asked again.
	MaxAge time.Duration `koanf:"max_age"`
	// SysViews: SysAuto looks into Hive's sys database, where it can be read, which tables have changed; SysOff describes each.
	SysViews string `koanf:"sys_views"`
	// Thresholds say when a rule holds, per table too.
	Thresholds statscheck.Thresholds `koanf:"thresholds"`
	Refresh    Refresh               `koanf:"refresh"`
}

// Values of Statistics.SysViews.
const (
	SysAuto = "auto"
	SysOff  = "off"
)

// Retention is how long records stay.
type Retention struct {
	Statements time.Duration `koanf:"statements"`
	Plans      time.Duration `koanf:"plans"`
	Stats      time.Duration `koanf:"stats"`
	// Every is how often old records are deleted.
	Every time.Duration `koanf:"every"`
}

// Log is how the proxy logs, to standard error.
type Log struct {
	// Level is debug, info, warn or error. SQL text appears at debug only.
	Level string `koanf:"level"`
	// Format is json or console.
	Format string `koanf:"format"`
}

// Admin is the port for operators and monitoring: health, metrics, live sessions, profiles.
type Admin struct {
	// Listen is host:port; empty turns the port off. Beyond a loopback address it needs TokenFile.
	Listen string `koanf:"listen"`
	// TokenFile holds what every request must send as "Authorization: Bearer …", read once at the start into Token.
	TokenFile string `koanf:"token_file"`
	Token     string `koanf:"-"`
}

// Default is the configuration before any file or variable.
func Default() Config {
	const day = 24 * time.Hour
	return Config{
		Listen:   "127.0.0.1:10009",
		Clients:  Clients{LoginTimeout: time.Minute, FailedLogins: FailedLogins{Window: time.Minute, Pause: time.Minute}},
		Upstream: Upstream{Name: "default", DialTimeout: 10 * time.Second, ZooKeeper: ZooKeeper{Namespace: "hiveserver2"}},
		Relay:    Relay{CallLimit: thrift.DefaultMaxCallBytes, ReplyLimit: thrift.DefaultMaxReplyBytes, CopyLimit: thrift.DefaultCopyBytes, QueueSize: 4096, DrainTimeout: 30 * time.Second},
		Service:  Service{Transport: TransportBinary, HTTPPath: "cliservice", Auth: "NONE", User: "hs2proxy", Krb5Conf: "/etc/krb5.conf"},
		Explain: Explain{
			Enabled: true, Timeout: 30 * time.Second, Concurrency: 2, Rate: 5, MaxAge: 6 * time.Hour,
			BreakerFailures: 5, BreakerPause: time.Minute, Witness: true, Fidelity: advisor.DefaultFidelityPolicy(),
		},
		Database: Database{Migrate: true, SpoolLimit: 1 << 30},
		Stats: Statistics{
			Enabled: true, MaxAge: 10 * time.Minute, SysViews: SysAuto,
			Thresholds: statscheck.DefaultThresholds(),
			Refresh:    defaultRefresh(),
		},
		Actuals:   Actuals{ExplainAnalyze: defaultExplainAnalyze()},
		Retention: Retention{Statements: 30 * day, Plans: 180 * day, Stats: 90 * day, Every: time.Hour},
		Log:       Log{Level: "info", Format: "json"},
		Admin:     Admin{Listen: "127.0.0.1:10010"},
	}
}
