package statscheck

// Factors are what a refresh is worth.
type Factors struct {
	// Severity is 1 for SUSPECT to 5 for CRITICAL; 0: nothing is stale.
	Severity int `json:"severity"`
	// Joins is how many analysed statements joined the table in the last seven days.
	Joins int64 `json:"joins_7d"`
	// Uncertainty is the factor by which the rows may be wrong, at least 1.
	Uncertainty float64 `json:"uncertainty"`
	// Flips: a join gets another strategy within the uncertainty, or has another one by the true numbers.
	Flips bool `json:"flips"`
	// Seconds is how long ANALYZE is predicted to take; anything below 1 counts as 1.
	Seconds float64 `json:"predicted_seconds"`
}

// flipWeight is what a strategy that flips inside the uncertainty is worth.
const flipWeight = 4

// Priority is severity × joins × (4 when a strategy flips inside the uncertainty, else 1) ÷ predicted seconds.
func (f Factors) Priority() float64 {
	weight := 1.0
	if f.Flips {
		weight = flipWeight
	}
	return float64(f.Severity) * float64(f.Joins) * weight / max(f.Seconds, 1)
}

// SeverityOf is a level as a number: 1 for SUSPECT to 5 for CRITICAL, 0 for none.
func SeverityOf(l Level) int { return levels[l] }
