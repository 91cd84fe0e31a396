package pipeline

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

// What follows changes a part that runs. Each may be called at any time.

// SetRate changes how many EXPLAINs are sent a second.
func (e *Explainer) SetRate(perSecond float64) { e.limiter.SetLimit(rate.Limit(perSecond)) }

// Silence keeps the Recorder from asking HiveServer2 anything, plans or rows, or ends that. What is being asked goes on.
func (r *Recorder) Silence(on bool) { r.silent.Store(on) }

// SetMaxAge changes how long a plan stands.
func (c *Cache) SetMaxAge(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.maxAge = d
}

// SetThresholds changes what counts as stale, from the next check of a table on.
func (w *Watch) SetThresholds(limits statscheck.Thresholds) {
	w.mu.Lock()
	defer w.mu.Unlock()
	limits.Factors = w.mu.limits.Factors
	w.mu.limits = limits
}

func (w *Watch) thresholds() statscheck.Thresholds {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.limits
}
