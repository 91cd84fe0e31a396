package statscheck

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Policy bounds what schedules may do. What a person asks for is not held back by it.
type Policy struct {
	// Cooldown is the least time between the end of a table's last refresh and the next one.
	Cooldown time.Duration `koanf:"cooldown"`
	// MaxFailures in a row take a table off the schedules, until a refresh that a person asked for succeeds.
	MaxFailures int `koanf:"max_failures"`
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
	return errors.Join(errs...)
}

// Allows reports whether a schedule may refresh a table now, given its earlier refreshes in any order, and if not, why.
func (p Policy) Allows(history []Refresh, now time.Time) (ok bool, why string) {
	var ended []Refresh
	for _, r := range history {
		switch r.State {
		case RefreshRequested, RefreshRunning:
			return false, fmt.Sprintf("refresh %d is %s", r.ID, r.State)
		case RefreshDone, RefreshFailed:
			if !r.StartedAt.IsZero() { // one that never started says nothing about the table
				ended = append(ended, r)
			}
		}
	}
	slices.SortFunc(ended, func(a, b Refresh) int { return b.EndedAt.Compare(a.EndedAt) })
	if n := failuresInARow(ended); n >= p.MaxFailures {
		return false, fmt.Sprintf("off after %d failures in a row, the last one: %s", n, ended[0].Error)
	}
	if len(ended) > 0 {
		if next := ended[0].EndedAt.Add(p.Cooldown); now.Before(next) {
			return false, fmt.Sprintf("cooling down until %s", next.UTC().Format(time.RFC3339))
		}
	}
	return true, ""
}

// failuresInARow counts from the youngest, which comes first.
func failuresInARow(ended []Refresh) int {
	i := slices.IndexFunc(ended, func(r Refresh) bool { return r.State != RefreshFailed })
	if i < 0 {
		return len(ended)
	}
	return i
}

// icebergHandler keeps its own statistics beside its snapshots and takes ANALYZE.
const icebergHandler = "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler"

// Refusal says why ANALYZE must not or cannot run on a table; empty when it can.
func Refusal(t advisor.TableStats) string {
	switch {
	case t.Kind == kindView:
		return "a view holds no data: refresh its base tables"
	case t.Temporary:
		return "a temporary table belongs to its session: no other one can analyze it"
	case t.StorageHandler != "" && t.StorageHandler != icebergHandler:
		return fmt.Sprintf("the data lies in another system (storage handler %s): ANALYZE would read all of it there, and Hive's statistics would not follow its writes",
			t.StorageHandler)
	}
	return ""
}
