package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// rowCounter runs EXPLAIN ANALYZE on its schedule: of several proxies one takes a firing, and keeps a lease on it.
type rowCounter struct {
	upstream string
	store    *store.Store
	counts   *pipeline.RowCount
	timing   cron.Schedule
	lease    time.Duration
	log      zerolog.Logger
}

func newRowCounter(cfg config.Config, analyzer *pipeline.Analyzer, samples *pipeline.Samples, s *store.Store, log zerolog.Logger) (*rowCounter, error) {
	c := cfg.Actuals.ExplainAnalyze
	timing, err := statscheck.ParseCron(c.Cron, c.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("actuals.explain_analyze.%w", err)
	}
	return &rowCounter{
		upstream: cfg.Upstream.Name, store: s, timing: timing, lease: lease, log: log,
		counts: &pipeline.RowCount{
			Analyzer: analyzer, Samples: samples, Records: s, Fingerprints: c.Fingerprints, MostJoined: c.MostJoined,
			Timeout: c.Timeout, MaxTime: c.MaxTime, Queue: c.Queue, Log: log,
		},
	}, nil
}

// run fires until ctx ends; what runs then is canceled in Hive.
func (r *rowCounter) run(ctx context.Context) {
	c := statscheck.NewCron(r.log.With().Str("schedule", "EXPLAIN ANALYZE").Logger())
	var id cron.EntryID
	id = c.Schedule(r.timing, cron.FuncJob(func() { r.fired(ctx, c.Entry(id).Prev) }))
	c.Start()
	<-ctx.Done()
	<-c.Stop().Done()
}

// gap is how long a firing keeps other proxies' from being another: schedules of hours and days fire at the same time everywhere, those
// that count from a proxy's start do not.
func (r *rowCounter) gap() time.Duration {
	if every, ok := r.timing.(cron.ConstantDelaySchedule); ok {
		return every.Delay / 2
	}
	return 0
}

func (r *rowCounter) fired(ctx context.Context, at time.Time) {
	run, ok, err := r.store.ClaimExplainAnalyze(ctx, r.upstream, at, r.gap(), r.lease)
	if err != nil && ctx.Err() == nil {
		r.log.Error().Err(err).Msg("EXPLAIN ANALYZE not run: its firing could not be claimed")
	}
	if err != nil || !ok {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	held := leases{extend: r.store.ExtendExplainAnalyze, lost: func(int64) { cancel(store.ErrLeaseLost) }, lasts: r.lease, log: r.log}
	held.hold(run)
	err = r.counts.Run(ctx, run)
	held.stop()
	reason := ""
	if err != nil {
		reason = err.Error()
		r.log.Warn().Err(err).Int64("run", run).Msg("EXPLAIN ANALYZE ended early")
	}
	finish, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	if err := r.store.FinishExplainAnalyze(finish, run, reason); err != nil && !errors.Is(err, store.ErrLeaseLost) {
		r.log.Error().Err(err).Int64("run", run).Msg("the end of an EXPLAIN ANALYZE is not on record; its lease ends it")
	}
}
