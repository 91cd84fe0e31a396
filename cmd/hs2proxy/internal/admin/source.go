package admin

import (
	"context"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/intercept"
)

// Relay is what the admin port asks of an intercept.Server.
type Relay interface {
	Accepting() bool
	LastDial() intercept.Dial
	Probe(ctx context.Context) error
	Stats() intercept.Stats
	Sessions() []intercept.LiveSession
	KillSession(id string) (intercept.Killed, error)
}

// Source is the proxy as the admin port sees it. Its functions are called from many goroutines.
type Source struct {
	Relay    Relay
	Counters *pipeline.Counters
	// QueueLength is how many observations wait for the pipeline, RecordsWaiting how many records for Postgres.
	QueueLength, RecordsWaiting func() int
	// Breaker is the state of the breaker in front of EXPLAIN: closed, half-open or open.
	Breaker func() string
	// SchemaReady reports whether Postgres has the schema; nil where no database is configured.
	SchemaReady func() bool
	// Redact takes out of a text what nobody is to read; nil takes nothing.
	Redact func(string) string
	// Spool holds records on disk while Postgres is away; nil where none is configured.
	Spool interface {
		Len() int64   // records
		Bytes() int64 // that they take on disk
	}
}
