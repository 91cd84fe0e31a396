package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
)

// Options of a Store. The zero value is a sensible default for each.
type Options struct {
	// Instance is this proxy's name, under which it claims refreshes; default host name and process number.
	Instance string
	// ApplicationName is what pg_stat_activity shows; default "hs2proxy".
	ApplicationName string
	// MaxConns bounds the pool; default 8. ListenRefresh takes one more, and so does the job queue, which listens too.
	MaxConns int32
	// ConnectTimeout bounds one attempt to connect; default 5 s.
	ConnectTimeout time.Duration
	// StatementTimeout bounds each SQL statement on the server, and twice that each call here; default 15 s.
	StatementTimeout time.Duration
	// LockTimeout bounds each wait for a lock; default 5 s.
	LockTimeout time.Duration
	// KeepLiterals stores statements as sent, a sample of each query and the plans' text. Default: normalized text only.
	KeepLiterals bool
	// Redact replaces, behind the removal of literals, what nobody is to read in statements, messages, plans, findings, client
	// names and settings of sessions. Default: nothing. Settings of Hive's own that decide joins, and names of tables and columns,
	// stay.
	Redact *Redactor
	// AsyncCommit lets transactions of what was seen end before Postgres' disk has them (synchronous_commit = off): a server that
	// crashes forgets the last half second or so of them, each whole. What somebody decided or asked for always waits.
	AsyncCommit bool
	// RefreshesPerUpstream is how many refreshes may run on one upstream at a time, over all proxies; default 1.
	RefreshesPerUpstream int
	// Now is the clock; default time.Now.
	Now    func() time.Time
	Logger zerolog.Logger
}

func (o Options) withDefaults() Options {
	if o.Instance == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		o.Instance = host + ":" + strconv.Itoa(os.Getpid())
	}
	if o.ApplicationName == "" {
		o.ApplicationName = "hs2proxy"
	}
	if o.MaxConns <= 0 {
		o.MaxConns = 8
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 5 * time.Second
	}
	if o.StatementTimeout <= 0 {
		o.StatementTimeout = 15 * time.Second
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = 5 * time.Second
	}
	if o.RefreshesPerUpstream <= 0 {
		o.RefreshesPerUpstream = 1
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Store is a pool of connections to our database. It is safe for use by several goroutines.
type Store struct {
	pool *pgxpool.Pool
	o    Options
	// upstreams remembers keys of the table upstreams by name. We never delete rows of that table.
	upstreams sync.Map // string → int64
	// hashes remembers those of the settings of analyses that are reused.
	hashes *lru.Cache[*Analysis, string]
}

// hashesKept bounds the hashes: about as many queries as are reused.
const hashesKept = 4096

// Open prepares a Store on dsn (a URL or key=value pairs, as libpq takes them). Connections are made when they are
// needed: only a DSN that cannot be read is an error.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	o = o.withDefaults()
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the DSN: %w", err)
	}
	cfg.MaxConns = o.MaxConns
	cfg.MinConns = 0
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.ConnConfig.ConnectTimeout = o.ConnectTimeout
	p := cfg.ConnConfig.RuntimeParams
	p["application_name"] = o.ApplicationName
	p["statement_timeout"] = milliseconds(o.StatementTimeout)
	p["lock_timeout"] = milliseconds(o.LockTimeout)
	p["idle_in_transaction_session_timeout"] = milliseconds(2 * o.StatementTimeout)
	cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		c.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("make the pool: %w", err)
	}
	hashes, _ := lru.New[*Analysis, string](hashesKept) // fails for no size only
	return &Store{pool: pool, o: o, hashes: hashes}, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

// Close ends all connections; calls under way are waited for.
func (s *Store) Close() { s.pool.Close() }

// Ping reports whether the server answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.do(ctx, "ping", s.pool.Ping)
}

// do runs fn under the deadline of a call and classifies its error.
func (s *Store) do(ctx context.Context, what string, fn func(context.Context) error) error {
	callCtx, cancel := context.WithTimeout(ctx, 2*s.o.StatementTimeout)
	defer cancel()
	return classify(ctx, what, fn(callCtx))
}

// txTries is how often a transaction is run when it loses a deadlock or a serialization conflict.
const txTries = 4

// inTx runs fn in a transaction. fn may run several times and must not keep what a failed run did. The upstreams named
// are made sure of before: fn's upstreamID then needs no second connection, of which there might be none.
func (s *Store) inTx(ctx context.Context, what string, upstreams []string, fn func(context.Context, pgx.Tx) error) error {
	return s.inTxOf(ctx, what, pgx.TxOptions{}, upstreams, fn)
}

// observe is inTx for what was seen, as opposed to what somebody decided or asked for.
func (s *Store) observe(ctx context.Context, what string, upstreams []string, fn func(context.Context, pgx.Tx) error) error {
	var o pgx.TxOptions
	if s.o.AsyncCommit {
		o.BeginQuery = "BEGIN; SET LOCAL synchronous_commit = off"
	}
	return s.inTxOf(ctx, what, o, upstreams, fn)
}

func (s *Store) inTxOf(ctx context.Context, what string, o pgx.TxOptions, upstreams []string, fn func(context.Context, pgx.Tx) error) error {
	return s.do(ctx, what, func(ctx context.Context) error {
		for try := 1; ; try++ {
			for _, name := range upstreams {
				if _, err := s.upstreamID(ctx, name); err != nil {
					return err
				}
			}
			err := pgx.BeginTxFunc(ctx, s.pool, o, func(tx pgx.Tx) error { return fn(ctx, tx) })
			if upstreamGone(err) { // the database was restored under us
				s.upstreams.Clear()
			} else if !conflict(err) && !errors.Is(err, errRaced) {
				return err
			}
			if try == txTries {
				return err
			}
		}
	})
}

// now is the clock at Postgres' precision, so that what is written equals what is read.
func (s *Store) now() time.Time { return stamp(s.o.Now()) }

const upstreamInsert = `
INSERT INTO hs2proxy.upstreams (name, first_seen) VALUES (@name, @now)
ON CONFLICT (name) DO NOTHING`

const upstreamSelect = `SELECT id FROM hs2proxy.upstreams WHERE name = @name`

// upstreamID is the key of an upstream, which is made when it is new.
func (s *Store) upstreamID(ctx context.Context, name string) (int64, error) {
	name = text(name)
	if id, ok := s.upstreams.Load(name); ok {
		return id.(int64), nil
	}
	if name == "" {
		return 0, fmt.Errorf("%w: no upstream is named", ErrData)
	}
	id, err := s.knownUpstreamID(ctx, name)
	if !errors.Is(err, pgx.ErrNoRows) {
		return id, err
	}
	if _, err := s.pool.Exec(ctx, upstreamInsert, pgx.NamedArgs{"name": name, "now": s.now()}); err != nil {
		return 0, err
	}
	return s.knownUpstreamID(ctx, name)
}

// knownUpstreamID is pgx.ErrNoRows for an upstream never seen.
func (s *Store) knownUpstreamID(ctx context.Context, name string) (int64, error) {
	name = text(name)
	if id, ok := s.upstreams.Load(name); ok {
		return id.(int64), nil
	}
	var id int64
	if err := s.pool.QueryRow(ctx, upstreamSelect, pgx.NamedArgs{"name": name}).Scan(&id); err != nil {
		return 0, err
	}
	s.upstreams.Store(name, id)
	return id, nil
}
