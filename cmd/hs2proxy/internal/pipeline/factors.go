package pipeline

import (
	"maps"
	"strings"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

// Configured are the thresholds as they were set, without what false alarms raised.
func (w *Watch) Configured() statscheck.Thresholds {
	limits := w.thresholds()
	limits.Factors = nil
	return limits
}

// SetFactors changes what false alarms raise the thresholds of tables by, from the next check on.
func (w *Watch) SetFactors(factors map[string]float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.limits.Factors = maps.Clone(factors)
}

// SetFactor changes one table's.
func (w *Watch) SetFactor(table string, factor float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	factors := maps.Clone(w.mu.limits.Factors) // a check may be reading the one before
	if factors == nil {
		factors = map[string]float64{}
	}
	factors[strings.ToLower(table)] = factor
	w.mu.limits.Factors = factors
}
