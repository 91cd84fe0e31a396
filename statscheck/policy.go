package statscheck

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Policy bounds what schedules may do. What a person asks for is not held back by it.
type Policy struct {
	// Cooldown is the least time between the end of a table's last refresh and the next one.
	Cooldown time.Duration `koanf:"cooldown"`
	// MaxFailures in a row take a table off the schedules, until a refresh that a person asked for succeeds or somebody switches the
	// table on again. Before that each failure in a row doubles the cooldown.
	MaxFailures int `koanf:"max_failures"`
	// Tables lay down more for tables by name. What is set in the database goes before them; then the first pattern that matches wins.
	Tables []TablePolicy `koanf:"tables"`
}

// DefaultPolicy is a cooldown of 12 hours and off after 3 failures in a row.
func DefaultPolicy() Policy { return Policy{Cooldown: 12 * time.Hour, MaxFailures: 3} }

// Validate reports every field that is wrong, with its value and what would be right.
func (p Policy) Validate() error {
	var errs []error
	if p.Cooldown < 0 {
		errs = append(errs, fmt.Errorf("cooldown: %v is negative; give a duration such as 12h, or 0", p.Cooldown))
	}
	if p.MaxFailures < 1 {
		errs = append(errs, fmt.Errorf("max_failures: %d is below 1; give a number of failures such as 3", p.MaxFailures))
	}
	for i, t := range p.Tables {
		for _, err := range t.validate() {
			errs = append(errs, fmt.Errorf("tables[%d].%w", i, err))
		}
	}
	return errors.Join(errs...)
}

// Allows reports whether a schedule may refresh a table now, given its earlier refreshes in any order, and if not, why. A refresh of
// some partitions cools down those partitions, not the table: see coolingPartitions.
func (p Policy) Allows(history []Refresh, now time.Time) (ok bool, why string) {
	return p.allows(history, TablePolicy{}, now)
}

func (p Policy) allows(history []Refresh, t TablePolicy, now time.Time) (ok bool, why string) {
	var ended []Refresh
	for _, r := range history {
		switch r.State {
		case RefreshRequested, RefreshRunning:
			return false, fmt.Sprintf("refresh %d is %s", r.ID, r.State)
		case RefreshDone, RefreshFailed:
			// One that never started says nothing about the table.
			if !r.StartedAt.IsZero() && (r.State == RefreshDone || r.EndedAt.After(t.FailuresSince)) {
				ended = append(ended, r)
			}
		case RefreshCanceled:
		}
	}
	slices.SortFunc(ended, func(a, b Refresh) int { return b.EndedAt.Compare(a.EndedAt) })
	failures := failuresInARow(ended)
	if failures >= p.MaxFailures {
		return false, fmt.Sprintf("off after %d failures in a row, the last one: %s", failures, ended[0].Error)
	}
	if failures > 0 {
		if next := ended[0].EndedAt.Add(p.backOff(failures, t)); now.Before(next) {
			return false, fmt.Sprintf("%d failed in a row, the last one: %s; backing off until %s", failures, ended[0].Error, next.UTC().Format(time.RFC3339))
		}
		return true, ""
	}
	whole := slices.IndexFunc(ended, func(r Refresh) bool { return len(r.Partitions) == 0 })
	if whole >= 0 {
		if next := ended[whole].EndedAt.Add(p.cooldown(t)); now.Before(next) {
			return false, fmt.Sprintf("cooling down until %s", next.UTC().Format(time.RFC3339))
		}
	}
	return true, ""
}

func (p Policy) cooldown(t TablePolicy) time.Duration {
	if t.Cooldown > 0 {
		return t.Cooldown
	}
	return p.Cooldown
}

// maxBackOff bounds the pause after failures.
const maxBackOff = 30 * 24 * time.Hour

// backOff is the pause after so many failures in a row: the cooldown, doubled with each after the first.
func (p Policy) backOff(failures int, t TablePolicy) time.Duration {
	pause := p.cooldown(t)
	for range failures - 1 {
		if pause >= maxBackOff/2 {
			return max(pause, maxBackOff)
		}
		pause *= 2
	}
	return pause
}

// coolingPartitions are those of which a refresh ended within the cooldown.
func (p Policy) coolingPartitions(history []Refresh, t TablePolicy, now time.Time) []string {
	var out []string
	for _, r := range history {
		if r.State == RefreshDone && now.Before(r.EndedAt.Add(p.cooldown(t))) {
			out = append(out, r.Partitions...)
		}
	}
	return out
}

// failuresInARow counts from the youngest, which comes first.
func failuresInARow(ended []Refresh) int {
	i := slices.IndexFunc(ended, func(r Refresh) bool { return r.State != RefreshFailed })
	if i < 0 {
		return len(ended)
	}
	return i
}
