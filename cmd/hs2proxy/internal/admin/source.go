package admin

import (
	"context"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/limit"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// Relay is what the admin port asks of an intercept.Server.
type Relay interface {
	Accepting() bool
	Probe(ctx context.Context) error
	Servers() []upstream.Status
	Stats() intercept.Stats
	Sessions() []intercept.LiveSession
}

// Source is the proxy as the admin port sees it. Its functions are called from many goroutines.
type Source struct {
	Relay    Relay
	Counters *pipeline.Counters
	// Kill ends a session. The error is intercept.ErrNoSession, or says why HiveServer2 still has the session.
	Kill func(ctx context.Context, id string) (Killed, error)
	// Discovery is the connection to ZooKeeper; false where the configuration tells the servers.
	Discovery func() (upstream.Discovery, bool)
	Limits    func() limit.Stats
	// Certificates are ours, one for each side that has one.
	Certificates []Certificate
	// QueueLength is how many observations wait for the pipeline, RecordsWaiting how many records for Postgres.
	QueueLength, RecordsWaiting func() int
	// Breaker is the state of the breaker in front of EXPLAIN: closed, half-open or open.
	Breaker func() string
	// SchemaReady reports whether Postgres has the schema; nil where no database is configured.
	SchemaReady func() bool
	// Redact takes out of a text what nobody is to read; nil takes nothing.
	Redact func(string) string
	// Refreshes are those in Postgres; nil where no database is configured.
	Refreshes Refreshes
	// Spool holds records on disk while Postgres is away; nil where none is configured.
	Spool interface {
		Len() int64   // records
		Bytes() int64 // that they take on disk
	}
}

// Certificate is what the proxy shows to one side.
type Certificate struct {
	// Side is who sees it: SideClients or SideUpstream.
	Side string
	// NotAfter is when the first of its chain expires, as it is now: a reload changes it.
	NotAfter func() time.Time
}

// The sides of a Certificate.
const (
	SideClients  = "clients"
	SideUpstream = "upstream"
)
