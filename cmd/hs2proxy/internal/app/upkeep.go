package app

import (
	"context"
	"slices"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/store"
)

// firstRetry and longestRetry bound the pauses of what is tried until it works.
const (
	firstRetry   = time.Second
	longestRetry = time.Minute
)

// prepare brings the schema up to date, as soon as Postgres is there, then closes ready.
func (a *App) prepare(ctx context.Context, ready chan<- struct{}) {
	if !a.cfg.Database.Migrate {
		close(ready)
		return
	}
	untilDone(ctx, func() bool {
		done, err := a.store.Migrate(ctx)
		if err != nil {
			if ctx.Err() == nil {
				a.log.Warn().Err(err).Msg("schema not ready; traffic is not affected, observations wait")
			}
			return false
		}
		for _, m := range done {
			a.log.Info().Int64("version", m.Version).Str("name", m.Name).Msg("migrated")
		}
		close(ready)
		return true
	})
}

// keep records the server's settings, deletes what is older than the retention and looks at the agreement with the planner, again
// and again.
func (a *App) keep(ctx context.Context) {
	untilDone(ctx, func() bool { return a.saveSettings(ctx) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		r := a.Config().Retention
		policy := store.Policy{
			Statements: r.Statements, Sessions: r.Statements, Plans: r.Plans, Stats: r.Stats, Findings: r.Plans, Refreshes: r.Plans,
		}
		deleted, err := a.store.Retention(ctx, policy)
		if err != nil && ctx.Err() == nil {
			a.log.Warn().Err(err).Msg("old records not deleted; tried again later")
		}
		for table, n := range deleted {
			if n > 0 {
				a.log.Info().Str("table", table).Int64("rows", n).Msg("old records deleted")
			}
		}
		a.watchFidelity(ctx)
		timer.Reset(r.Every)
		select {
		case <-timer.C:
			a.saveSettings(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (a *App) saveSettings(ctx context.Context) bool {
	facts, err := a.facts.Facts(ctx)
	if err == nil {
		err = a.store.SaveSettings(ctx, a.cfg.Upstream.Name, settingsOf(facts))
	}
	if err != nil && ctx.Err() == nil {
		a.log.Warn().Err(err).Msg("settings of HiveServer2 not recorded; tried again later")
	}
	return err == nil
}

// settingsOf pairs the settings that matter to joins with Hive's own defaults.
func settingsOf(facts pipeline.ServerFacts) []store.Setting {
	var out []store.Setting
	for _, s := range advisor.Catalogue() {
		if value, ok := facts.Settings[s.Name]; ok {
			out = append(out, store.Setting{Name: s.Name, Value: value, Default: &s.Default})
		}
	}
	return slices.Clip(out)
}

// untilDone calls try until it reports true or ctx ends, with growing pauses.
func untilDone(ctx context.Context, try func() bool) {
	pause := firstRetry
	for !try() {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		pause = min(2*pause, longestRetry)
	}
}
