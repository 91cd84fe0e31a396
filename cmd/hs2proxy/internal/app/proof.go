package app

import (
	"context"
	"time"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

const (
	// factorsEvery is how often what other proxies learnt from false alarms is read, judgeEvery how often later runs are looked at.
	factorsEvery = time.Minute
	judgeEvery   = 10 * time.Minute
)

// prove judges refreshes by later runs of the queries they affect, and keeps up with what refreshes taught about thresholds, until ctx ends.
func (a *App) prove(ctx context.Context) {
	tick := time.NewTicker(factorsEvery)
	defer tick.Stop()
	var judged time.Time
	for {
		a.readFactors(ctx)
		if now := time.Now(); now.Sub(judged) >= judgeEvery {
			judged = now
			a.judgeRefreshes(ctx)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (a *App) readFactors(ctx context.Context) {
	factors, err := a.store.ThresholdFactors(ctx, a.cfg.Upstream.Name)
	if err != nil {
		if ctx.Err() == nil {
			a.log.Warn().Err(err).Msg("what false alarms raised is not read; the thresholds stay as they were")
		}
		return
	}
	a.watch.SetFactors(factors)
}

func (a *App) judgeRefreshes(ctx context.Context) {
	judged, err := a.store.JudgeRuntimes(ctx, a.cfg.Upstream.Name)
	if err != nil && ctx.Err() == nil {
		a.log.Warn().Err(err).Msg("refreshes not judged by later runs; tried again later")
	}
	for _, j := range judged {
		e := a.log.Info()
		if j.Effect == statscheck.EffectRegressed {
			e = a.log.Warn()
		}
		e.Int64("refresh", j.ID).Str("table", j.Table).Str("effect", string(j.Effect)).Msg("later runs of the affected queries judge a refresh")
	}
}

// learn raises the thresholds of a table that was refreshed for nothing, and takes them back after a refresh that was worth it.
func (r *refresher) learn(ctx context.Context, job statscheck.Refresh) {
	limits, _ := r.watch.Configured().For(job.Table)
	factor, err := r.store.LearnFromRefresh(ctx, job, limits)
	if err != nil {
		r.log.Warn().Err(err).Int64("refresh", job.ID).Str("table", job.Table).Msg("nothing learnt from a refresh")
		return
	}
	r.watch.SetFactor(job.Table, factor)
	if statscheck.FalseAlarm(job) {
		r.log.Info().Int64("refresh", job.ID).Str("table", job.Table).Float64("factor", factor).Msg("false alarm: nothing had changed; the table's thresholds are raised")
	}
}
