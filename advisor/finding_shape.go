package advisor

import "strings"

// crossProduct tells of joins without keys.
func (f *finder) crossProduct(v *JoinVerdict) {
	j := &v.Join
	if !isCross(j) || len(j.Inputs) < 2 {
		return
	}
	product := int64(1)
	for i := range j.Inputs {
		product = mulSaturating(product, max(j.Inputs[i].Rows, 1))
	}
	smallest := j.Inputs[0].Rows
	for i := range j.Inputs {
		smallest = min(smallest, j.Inputs[i].Rows)
	}
	severity := Medium
	advice := set("hive.strict.checks.cartesian.product", "true") + " -- refuses such queries; add an equality between the two sides to the ON clause"
	switch {
	case smallest <= 1:
		severity = Info // a single row, such as a scalar subquery
		advice = "-- nothing, where one side is a single row, such as the result of a subquery or the counts that Hive makes for NOT IN"
	case product < 1_000_000:
		severity = Low
	case product > 1_000_000_000:
		severity = High
	}
	f.add(Finding{
		Kind: CrossProduct, Severity: severity, Subject: subject(j),
		Summary:  names(j) + " are joined without an equality: up to " + grouped(product) + " rows",
		Evidence: map[string]any{"rows": product, "output_rows": j.OutputRows},
		Advice:   advice,
	})
}

// fullOuter explains why a FULL OUTER join is never broadcast and what is left.
func (f *finder) fullOuter(v *JoinVerdict) {
	j := &v.Join
	if !isFullOuter(j) || v.Decision.Strategy != MergeJoin || j.Strategy != MergeJoin {
		return
	}
	summary := names(j) + " are joined FULL OUTER, which Hive never broadcasts"
	advice := ""
	blocked := fullOuterHash(j, &f.settings)
	switch {
	case f.settings.Release != Hive4:
		summary += "; this release hashes it in no other way either"
	case f.replay(j, func(s *Settings) { s.DPHJ = true }) == DPHJ:
		advice = set("hive.optimize.dynamic.partition.hashjoin", "true")
		summary += "; a dynamically partitioned hash join would take it"
	case f.replay(j, unblockFullOuter) == DPHJ && !j.NullSafe && !j.Residual && !j.Filters:
		advice = f.setAll(toggleDPHJ, toggleFullOuter, toggleOptimized, toggleGrace)
		summary += "; a dynamically partitioned hash join would take it, but " + blocked
	case blocked != "":
		summary += "; a dynamically partitioned hash join is out too: " + blocked
	default:
		summary += "; its partitions do not fit the budget either"
	}
	if advice == "" {
		advice = "-- write the query as a LEFT JOIN, which may hash the right side, and a UNION ALL of the right rows without a match (NOT EXISTS), which hashes the left side if that fits"
	}
	f.add(Finding{
		Kind: FullOuterNoBroadcast, Severity: Low, Subject: subject(j), Summary: summary, Advice: advice,
		Evidence: map[string]any{"budget": v.Decision.Budget, "online_data_sizes": v.Decision.OnlineDataSizes},
	})
}

// setAll writes the switches that are not set as they should be, a statement a line.
func (f *finder) setAll(list ...toggle) string {
	var lines []string
	for _, t := range list {
		if t.off(&f.settings) {
			lines = append(lines, setLine(t))
		}
	}
	return strings.Join(lines, "\n")
}

func unblockFullOuter(s *Settings) {
	s.DPHJ, s.FullOuter, s.OptimizedHashTable, s.HybridGrace = true, true, true, false
}
