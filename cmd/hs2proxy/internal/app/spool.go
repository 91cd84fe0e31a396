package app

import (
	"fmt"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/spool"
)

// openSpool opens the spool, where one is configured.
func (a *App) openSpool() error {
	d := a.cfg.Database
	if d.SpoolDir == "" {
		return nil
	}
	s, err := spool.Open(spool.Options{
		Dir: d.SpoolDir, Limit: d.SpoolLimit, KeepLiterals: d.KeepLiterals, Redact: a.redact, Log: a.log, Counters: a.counters,
	})
	if err != nil {
		return fmt.Errorf("database.spool_dir: %w", err)
	}
	a.spool = s
	return nil
}

func (a *App) closeSpool() {
	if a.spool == nil {
		return
	}
	if err := a.spool.Close(); err != nil {
		a.log.Error().Err(err).Msg("the spool was not closed well; the next start checks it")
	}
}

func (a *App) startWriter(records pipeline.Records) *pipeline.Writer {
	if a.spool == nil {
		return pipeline.StartWriter(records, a.log, a.counters, a.recorded)
	}
	return pipeline.StartSpooledWriter(records, a.spool, a.log, a.counters, a.recorded)
}

// Spooled is how many records wait on disk.
func (a *App) Spooled() int64 {
	if a.spool == nil {
		return 0
	}
	return a.spool.Len()
}

// SpoolBytes is what they take.
func (a *App) SpoolBytes() int64 {
	if a.spool == nil {
		return 0
	}
	return a.spool.Bytes()
}
