package statscheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Hive's own table types (org.apache.hadoop.hive.metastore.TableType).
const (
	kindView    = "VIRTUAL_VIEW"
	kindManaged = "MANAGED_TABLE"
)

// Check returns the rules that hold for a table or partition, by rule number; R7 names partitions of the table. R1 excludes R2: a
// corrupt count is not a missing one. Both exclude R5 and R9, and R6 once the statistics were read. Views hold no data and temporary tables belong to one session, so no rule holds for them, nor for tables opted out.
//
// What was never read is not taken for missing: without a reading of the statistics, R1 to R3 rest on the plans alone.
func Check(s Subject, t Thresholds) []Staleness {
	if s.Stats.Kind == kindView || s.Stats.Temporary {
		return nil
	}
	limits, off := t.For(s.Stats.Table)
	if off {
		return nil
	}
	var out []Staleness
	if r, ok := checkR1(s.Stats, limits); ok {
		out = append(out, r)
	} else if r, ok := checkR2(s); ok {
		out = append(out, r)
	}
	rules := []func(Subject, Thresholds) (Staleness, bool){checkR3, checkR4, checkR8}
	if len(out) == 0 { // without a row count there is nothing to drift from or to grow old
		rules = append(rules, checkR5, checkR9)
	}
	if len(out) == 0 || !readSince(s) { // a reading has settled what R6 suspects
		rules = append(rules, checkR6)
	}
	for _, rule := range rules {
		if r, ok := rule(s, limits); ok {
			out = append(out, r)
		}
	}
	for i := range out {
		out[i].Partition = s.Stats.Partition
	}
	out = append(out, checkR7(s)...)
	for i := range out {
		out[i].Table = s.Stats.Table
	}
	slices.SortStableFunc(out, func(a, b Staleness) int { return strings.Compare(string(a.Rule), string(b.Rule)) })
	return out
}

// wasRead tells statistics that were read from those that nobody has asked for yet.
func wasRead(t advisor.TableStats) bool { return t.Kind != "" || !t.ReadAt.IsZero() }

// readSince reports whether the statistics were read after the last write seen.
func readSince(s Subject) bool { return wasRead(s.Stats) && s.Stats.ReadAt.After(s.Writes.LastAt) }

func hasBytes(t advisor.TableStats) bool { return t.TotalSize != nil && *t.TotalSize > 0 }

// sumOfPartitions: DESCRIBE FORMATTED of a partitioned table prints the sums over its partitions and takes an absent
// numRows for 0 (org.apache.hadoop.hive.ql.ddl.table.info.desc.DescTableOperation), so that its 0 may mean "unknown".
func sumOfPartitions(t advisor.TableStats) bool {
	return t.Partition == "" && (t.PartitionsNum != nil || len(t.PartitionColumns) > 0)
}

// checkR1: a row count that cannot be true. Hive's planner takes 0 rows with files for 1 row.
func checkR1(t advisor.TableStats, limits Thresholds) (Staleness, bool) {
	if t.Rows == nil {
		return Staleness{}, false
	}
	rows := *t.Rows
	r := Staleness{Rule: R1Corrupt, Level: LevelCritical, Evidence: map[string]any{"num_rows": rows}}
	switch {
	case rows < -1:
		r.Reason = fmt.Sprintf("numRows is %d: no table has a negative number of rows", rows)
		return r, true
	case rows != 0 || !hasBytes(t):
		return Staleness{}, false
	case sumOfPartitions(t) && !t.BasicAccurate:
		return Staleness{}, false // unknown, which is R2
	case t.BasicAccurate && tinyFiles(t, limits.TinyFileBytes):
		return Staleness{}, false
	}
	r.Evidence["total_size"] = *t.TotalSize
	r.Reason = fmt.Sprintf("numRows is 0, yet the files hold %d bytes: the planner takes the table for one row", *t.TotalSize)
	if t.Transactional {
		// Delete deltas of an ACID table outlive its rows until the next compaction.
		r.Level = LevelSuspect
		r.Reason = fmt.Sprintf("numRows is 0, yet the files hold %d bytes: deleted rows not compacted yet, or a false count", *t.TotalSize)
	}
	return r, true
}

func tinyFiles(t advisor.TableStats, limit int64) bool {
	files := int64(1)
	if t.Files != nil && *t.Files > 1 {
		files = *t.Files
	}
	return *t.TotalSize/files <= limit
}

// checkR2: no basic statistics. A plan's "Basic stats" NONE or PARTIAL confirms; COMPLETE never clears, because Hive prints it
// for row counts estimated from file sizes too.
func checkR2(s Subject) (Staleness, bool) {
	t := s.Stats
	r := Staleness{Rule: R2NoBasic, Level: LevelCritical, Evidence: map[string]any{}}
	confirmed := s.Usage.PlanBasic == "NONE" || s.Usage.PlanBasic == "PARTIAL"
	if confirmed {
		r.Evidence["plan_basic_stats"] = s.Usage.PlanBasic
	}
	if t.TotalSize != nil {
		r.Evidence["total_size"] = *t.TotalSize
	}
	if t.Rows != nil {
		r.Evidence["num_rows"] = *t.Rows
	}
	switch {
	case !wasRead(t):
		if !confirmed {
			return Staleness{}, false
		}
		r.Reason = fmt.Sprintf("the plans print Basic stats: %s, and the metastore has not been read yet", s.Usage.PlanBasic)
	case t.Rows == nil:
		r.Reason = "numRows is absent: the planner guesses the rows from the size of the files"
	case !t.BasicAccurate && hasBytes(t):
		r.Reason = fmt.Sprintf("COLUMN_STATS_ACCURATE lacks BASIC_STATS: numRows %d was not kept by the last write", *t.Rows)
		if sumOfPartitions(t) {
			r.Reason = "at least one of the partitions lacks basic statistics"
		}
	default:
		return Staleness{}, false
	}
	return r, true
}

// checkR3: a column that a join, filter or grouping uses has no valid statistics, or the columns changed and were not read again.
func checkR3(s Subject, _ Thresholds) (Staleness, bool) {
	r := Staleness{Rule: R3Columns, Level: LevelHigh, Evidence: map[string]any{}}
	if s.Usage.PlanColumn != "" {
		r.Evidence["plan_column_stats"] = s.Usage.PlanColumn
	}
	if s.Writes.ColumnsChanged && !readSince(s) {
		r.Columns = neededColumns(s)
		r.Reason = "columns were added, replaced or changed: Hive drops column statistics on such a change"
		return r, true
	}
	if !wasRead(s.Stats) || empty(s.Stats) {
		return Staleness{}, false
	}
	if r.Columns = invalidColumns(s); len(r.Columns) == 0 {
		return Staleness{}, false
	}
	r.Evidence["columns_needed"] = len(neededColumns(s))
	r.Reason = fmt.Sprintf("no valid column statistics for %s, used by joins, filters or groupings", strings.Join(r.Columns, ", "))
	return r, true
}

// empty: no rows and no bytes, and Hive vouches for it. There is nothing column statistics could say.
func empty(t advisor.TableStats) bool {
	return t.BasicAccurate && t.Rows != nil && *t.Rows == 0 && !hasBytes(t)
}

// neededColumns are the columns the queries use, joins first, without those for which Hive keeps no statistics:
// partition columns (the planner derives them from the partitions' names) and types compute_stats does not take.
func neededColumns(s Subject) []string {
	return AnalyzableColumns(s.Stats, slices.Concat(s.Usage.JoinColumns, s.Usage.OtherColumns))
}

// invalidColumns are the needed columns without valid statistics: not flagged accurate, or flagged but read and found empty.
// In a partitioned table the flags of DESCRIBE speak only of partitions that have statistics at all, so a plan's
// "Column stats" NONE there condemns every needed column, but for those that partitions flag and the metastore does not sum up: the
// planner has nothing of them either, and no ANALYZE would change that.
func invalidColumns(s Subject) []string {
	t := s.Stats
	var out []string
	for _, c := range neededColumns(s) {
		_, there := t.Columns[c]
		missing := slices.Contains(t.ColumnsRead, c) && !there
		if missing || !slices.Contains(t.ColumnsAccurate, c) || (sumOfPartitions(t) && s.Usage.PlanColumn == "NONE" && !vouched(t, c)) {
			out = append(out, c)
		}
	}
	return out
}

// checkR4: rows counted on the wire since the baseline, against the rows known then.
func checkR4(s Subject, limits Thresholds) (Staleness, bool) {
	known, ok := knownRows(s)
	if !ok || s.Writes.Rows < limits.MinRows || s.Writes.Rows <= 0 {
		return Staleness{}, false
	}
	ratio := float64(s.Writes.Rows) / float64(max(known, 1))
	r := Staleness{Rule: R4Rows, Evidence: map[string]any{
		"rows_written": s.Writes.Rows, "rows_known": known, "statements": s.Writes.Counted,
	}}
	if n := s.Stats.PartitionsNum; n != nil && *n > 0 && s.Writes.Partitions > 0 {
		// The rows of a few partitions say little about the others.
		if p := float64(s.Writes.Partitions) / float64(*n); p < ratio {
			ratio = p
			r.Evidence["partitions_touched"], r.Evidence["partitions"] = s.Writes.Partitions, *n
		}
	}
	r.Evidence["ratio"] = ratio
	switch {
	case ratio >= limits.High:
		r.Level = LevelHigh
	case ratio >= limits.Stale:
		r.Level = LevelStale
	case ratio >= limits.Watch:
		r.Level = LevelWatch
	default:
		return Staleness{}, false
	}
	r.Reason = fmt.Sprintf("%d rows written since the statistics counted %d (ratio %.2f)", s.Writes.Rows, known, ratio)
	return r, true
}

// knownRows is N0: the baseline's rows, else what the metastore says.
func knownRows(s Subject) (int64, bool) {
	switch {
	case s.Baseline != nil && s.Baseline.Rows != nil:
		return *s.Baseline.Rows, *s.Baseline.Rows >= 0
	case s.Stats.Rows != nil:
		return *s.Stats.Rows, *s.Stats.Rows >= 0
	}
	return 0, false
}

// checkR6: a write was seen whose rows could not be counted. Reading the statistics again settles it, and R1 to R4 speak,
// unless what was read contradicts the write.
func checkR6(s Subject, _ Thresholds) (Staleness, bool) {
	r := Staleness{
		Rule: R6Uncounted, Level: LevelSuspect,
		Reason:   fmt.Sprintf("%d writes whose rows could not be counted since the statistics were read", s.Writes.Uncounted),
		Evidence: map[string]any{"uncounted": s.Writes.Uncounted, "last_write_at": s.Writes.LastAt},
	}
	switch {
	case s.Writes.Uncounted == 0:
		return Staleness{}, false
	case readSince(s) && !contradicts(s.Baseline, s.Stats):
		return Staleness{}, false
	case readSince(s):
		r.Reason = contradiction(s.Baseline, s.Stats) + fmt.Sprintf(" after %d writes whose rows could not be counted", s.Writes.Uncounted)
	}
	return r, true
}
