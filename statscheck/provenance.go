package statscheck

import "slices"

// Provenance is where a number comes from.
type Provenance string

// Provenances: the metastore as it was read; the planner's guess from file sizes; the metastore's number at a baseline and the
// rows counted on the wire since; the metastore right after an ANALYZE that was seen, nothing written since; the file system.
const (
	FromMetastore Provenance = "METASTORE"
	FromEstimate  Provenance = "ESTIMATED"
	FromWire      Provenance = "WIRE"
	FromAnalyze   Provenance = "ANALYZE"
	FromFiles     Provenance = "FILES"
)

// Known is the best that is known of a table's or partition's size, each number with its provenance, which is empty where the
// number is nil.
type Known struct {
	Rows      *int64
	RowsFrom  Provenance
	Bytes     *int64
	BytesFrom Provenance
}

// KnownOf picks the best numbers.
func KnownOf(s Subject) Known {
	var k Known
	if rows, from := bestRows(s); from != "" {
		k.Rows, k.RowsFrom = &rows, from
	}
	switch {
	case s.Files.settled() && !s.Stats.Transactional && s.Stats.StorageHandler == "":
		k.Bytes, k.BytesFrom = &s.Files.Bytes, FromFiles
	case s.Stats.TotalSize != nil:
		k.Bytes, k.BytesFrom = s.Stats.TotalSize, FromMetastore
	}
	return k
}

func bestRows(s Subject) (int64, Provenance) {
	t := s.Stats
	_, corrupt := checkR1(t, DefaultThresholds())
	_, missing := checkR2(Subject{Stats: t})
	written, seen := RowsByWrites(s.Baseline, s.Writes, len(t.PartitionColumns) > 0)
	switch {
	case seen:
		return written, FromWire
	case (!wasRead(t) || corrupt || missing) && s.Usage.PlanRows != nil && len(t.PartitionColumns) == 0:
		return *s.Usage.PlanRows, FromEstimate
	case !wasRead(t) || corrupt || t.Rows == nil:
		return 0, ""
	case !missing && !s.AnalyzedAt.IsZero() && t.ReadAt.After(s.AnalyzedAt) && s.AnalyzedAt.After(s.Writes.LastAt):
		return *t.Rows, FromAnalyze
	}
	return *t.Rows, FromMetastore
}

// RowsByWrites are the rows that a table should hold by what was written: those of the last statement that replaced all of them, else the
// baseline's, and those counted since. False where nothing was counted, or not everything.
func RowsByWrites(b *Baseline, w Writes, partitioned bool) (int64, bool) {
	switch {
	case w.Left != nil && !w.Foreign && !partitioned:
		return *w.Left, true
	case w.Rows > 0 && w.Uncounted == 0 && w.Overwrites == 0 && b != nil && b.Rows != nil:
		return addUp(*b.Rows, w.Rows), true
	}
	return 0, false
}

// Coverage lists the columns that joins, filters and groupings use, without those that have no statistics in Hive, and which of
// them have valid ones.
func Coverage(s Subject) (needed, covered []string) {
	needed = neededColumns(s)
	invalid := invalidColumns(s)
	for _, c := range needed {
		if !slices.Contains(invalid, c) {
			covered = append(covered, c)
		}
	}
	return needed, covered
}
