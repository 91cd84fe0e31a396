package app

import "context"

// watchFidelity looks whether the simulation still agrees with the server's planner, and tells when that changes.
func (a *App) watchFidelity(ctx context.Context) {
	change, err := a.store.WatchFidelity(ctx, a.cfg.Upstream.Name, a.Config().Explain.Fidelity)
	switch {
	case err != nil && ctx.Err() == nil:
		a.log.Warn().Err(err).Msg("agreement with the planner not looked at; tried again later")
	case err != nil:
	case change.Fell != nil:
		a.log.Warn().Str("upstream", a.cfg.Upstream.Name).Str("kind", string(change.Fell.Kind)).Str("summary", change.Fell.Summary).
			Msg("agreement with the planner fell")
	case change.Recovered:
		a.log.Info().Str("upstream", a.cfg.Upstream.Name).Msg("agreement with the planner recovered")
	}
}
