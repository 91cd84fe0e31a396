package statscheck

import (
	"fmt"
	"slices"
)

// probeShare is the share of the partitions read on the probe side that must be stale before R7 holds.
const probeShare = 0.1

// checkR7: partitions that queries read are stale by R1 to R5: any on the build side of a join, where rows decide whether the
// hash table fits, or a tenth of them elsewhere. It holds for each of those partitions.
func checkR7(s Subject) []Staleness {
	var out []Staleness
	for _, read := range s.Reads {
		var bad []string
		for _, p := range read.Partitions {
			if slices.Contains(s.StalePartitions, p) && !slices.Contains(bad, p) {
				bad = append(bad, p)
			}
		}
		total, side := max(read.Total, len(read.Partitions)), "probe"
		if read.Build {
			side = "build"
		}
		if len(bad) == 0 || !read.Build && float64(len(bad)) < probeShare*float64(total) {
			continue
		}
		for _, p := range bad {
			if len(out) >= MaxPartitions || slices.ContainsFunc(out, func(r Staleness) bool { return r.Partition == p }) {
				continue
			}
			out = append(out, Staleness{
				Partition: p, Rule: R7Partitions, Level: LevelHigh,
				Reason:   fmt.Sprintf("%d of the %d partitions that a query reads on the %s side are stale, and this is one", len(bad), total, side),
				Evidence: map[string]any{"stale": len(bad), "partitions": total, "side": side, "fingerprint": read.Fingerprint},
			})
		}
	}
	return out
}

// CountsForR7 reports whether a staleness of a partition makes the plans that read it doubtful.
func CountsForR7(s Staleness) bool {
	return s.Partition != "" && levels[s.Level] >= levels[LevelStale] &&
		slices.Contains([]Rule{R1Corrupt, R2NoBasic, R3Columns, R4Rows, R5Drift}, s.Rule)
}
