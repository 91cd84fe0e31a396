package app

import (
	"errors"
	"sync"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
)

// part of the proxy takes fields of a new configuration while it runs.
type part struct {
	// fields are its own, or levels above them, as the file writes them.
	fields []string
	// always prepares it at every reload: what it takes is in files that the configuration only names.
	always bool
	// prepare checks what is new and changes nothing; apply, which cannot fail, puts it in place.
	prepare func(next config.Config) (apply func(), err error)
}

// simple is a part that Validate has checked already.
func simple(apply func(next config.Config), fields ...string) part {
	return part{fields: fields, prepare: func(next config.Config) (func(), error) {
		return func() { apply(next) }, nil
	}}
}

// reloader holds the configuration that runs and changes it as a whole, or not at all.
type reloader struct {
	parts []part
	mu    struct {
		sync.Mutex
		running config.Config
	}
}

func newReloader(running config.Config, parts ...part) *reloader {
	r := &reloader{parts: parts}
	r.mu.running = running
	return r
}

// config is what runs now.
func (r *reloader) config() config.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.running
}

// live are the fields that change without a restart.
func (r *reloader) live() []string {
	var out []string
	for _, p := range r.parts {
		out = append(out, p.fields...)
	}
	return out
}

// reload applies what can be applied. Reloads come one at a time, but for r.mu nothing is locked meanwhile.
func (r *reloader) reload(next config.Config) (applied, needRestart []string, err error) {
	if err := next.Validate(); err != nil {
		return nil, nil, err
	}
	running, live := r.config(), r.live()
	applied, needRestart = config.Diff(running, next, live)
	var (
		applies []func()
		errs    []error
	)
	for _, p := range r.parts {
		if changed, _ := config.Diff(running, next, p.fields); len(changed) == 0 && !p.always {
			continue
		}
		apply, err := p.prepare(next)
		errs = append(errs, err)
		applies = append(applies, apply)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	for _, apply := range applies {
		apply()
	}
	r.mu.Lock()
	r.mu.running = config.Merge(running, next, live)
	r.mu.Unlock()
	return applied, needRestart, nil
}

// Reload takes a new configuration while the proxy runs. It returns the fields that were changed and those that wait for a restart,
// both as the file writes them. With an error, which names a field, nothing has changed. One call at a time.
func (a *App) Reload(next config.Config) (applied, needRestart []string, err error) {
	return a.reload.reload(next)
}

// Config is the configuration that runs: the one given to New and what was reloaded since.
func (a *App) Config() config.Config { return a.reload.config() }

// parts are those of a running proxy. log.level is the caller's, who made the logger.
func (a *App) parts(cache *pipeline.Cache) []part {
	parts := []part{
		simple(func(next config.Config) { a.recorder.Silence(!next.Explain.Enabled) }, "explain.enabled"),
		simple(func(next config.Config) { a.explainer.SetRate(next.Explain.Rate) }, "explain.rate"),
		simple(func(next config.Config) { cache.SetMaxAge(next.Explain.MaxAge) }, "explain.max_age"),
		{fields: []string{"database.redact"}, prepare: func(next config.Config) (func(), error) {
			rules := next.Database.Redact
			return func() {
				if err := a.redact.Set(rules); err != nil { // Validate has compiled them
					a.log.Error().Err(err).Msg("redaction patterns not changed")
				}
			}, nil
		}},
		// Read where they are needed, from Config.
		simple(func(config.Config) {}, "relay.drain_timeout", "retention", "explain.fidelity", "log.level"),
	}
	parts = append(parts, a.reachParts()...)
	if a.watch != nil {
		parts = append(parts, simple(func(next config.Config) { a.watch.SetThresholds(next.Stats.Thresholds) }, "statistics.thresholds"))
	}
	if a.refresher != nil {
		parts = append(parts, part{
			fields:  []string{"statistics.refresh.schedules", "statistics.refresh.cooldown", "statistics.refresh.max_failures", "statistics.refresh.tables"},
			prepare: a.refresher.prepareSchedules,
		})
	}
	return parts
}
