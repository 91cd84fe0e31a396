package statscheck

import (
	"fmt"
	"time"
)

const kindExternal = "EXTERNAL_TABLE"

// checkR9: the statistics are old, and nobody can tell what happened since: writes were seen whose rows are unknown, or the
// table is external, so that others may write it. A partition whose files are still those the metastore counts is not old.
func checkR9(s Subject, limits Thresholds) (Staleness, bool) {
	if s.Baseline == nil || s.Baseline.At.IsZero() || s.Now.IsZero() {
		return Staleness{}, false
	}
	external := s.Stats.Kind == kindExternal
	if s.Writes.Uncounted == 0 && !external {
		return Staleness{}, false
	}
	if s.Stats.Partition != "" && s.Writes.Uncounted == 0 && s.Files.settled() && s.Stats.TotalSize != nil && s.Files.Bytes == *s.Stats.TotalSize {
		return Staleness{}, false
	}
	limit := limits.AgeOther
	if s.Usage.Joins > 0 {
		limit = limits.AgeJoined
	}
	age := s.Now.Sub(s.Baseline.At)
	if limit <= 0 || age < limit {
		return Staleness{}, false
	}
	days := int64(age / (24 * time.Hour))
	r := Staleness{
		Rule: R9Age, Level: LevelWatch, Evidence: map[string]any{"age_days": days, "uncounted": s.Writes.Uncounted, "joins_7d": s.Usage.Joins, "external": external},
		Reason: fmt.Sprintf("the statistics are %d days old, and %d writes since could not be counted", days, s.Writes.Uncounted),
	}
	if external && s.Writes.Uncounted == 0 {
		r.Reason = fmt.Sprintf("the statistics are %d days old, and the table is external: others may write it unseen", days)
	}
	return r, true
}
