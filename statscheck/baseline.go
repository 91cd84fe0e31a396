package statscheck

import (
	"fmt"
	"slices"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// rowTolerance is how far numRows may be from what the wire counted and still be "about" it; the same share of rows makes a
// refresh effective.
const rowTolerance = 0.05

// bytesMoved is the share by which the files must change before an unchanged row count is not believed.
const bytesMoved = 0.2

// Rebasing says what a fresh reading makes of a table's baseline.
type Rebasing struct {
	// Kept: Hive's autogather kept up with the writes, or the table is seen for the first time with valid statistics.
	// Baseline and Writes are then the new ones; otherwise they are the old ones.
	Kept     bool
	Baseline *Baseline
	Writes   Writes
	// Reason is one sentence with the numbers compared.
	Reason string
}

// NewBaseline takes statistics just read after a verified ANALYZE, or valid when first seen, for the new zero point.
func NewBaseline(t advisor.TableStats) Baseline {
	return Baseline{Rows: t.Rows, Bytes: t.TotalSize, Columns: slices.Clone(t.ColumnsAccurate), At: t.ReadAt}
}

// Rebase decides after a reading whether autogather kept up with the writes seen since the baseline. It did when Hive still
// flags the basic statistics as accurate and numRows moved by about the rows counted (or holds about as many: an overwrite).
// The flag alone is no proof: ANALYZE … NOSCAN sets it and leaves numRows as it was.
//
// A reading that is not younger than the last write proves nothing.
func Rebase(b *Baseline, w Writes, read advisor.TableStats) Rebasing {
	out := Rebasing{Baseline: b, Writes: w}
	kept, reason := keptUp(b, w, read)
	out.Reason = reason
	if !kept {
		return out
	}
	fresh := NewBaseline(read)
	return Rebasing{Kept: true, Baseline: &fresh, Reason: reason}
}

func keptUp(b *Baseline, w Writes, read advisor.TableStats) (bool, string) {
	_, corrupt := checkR1(read, DefaultThresholds())
	switch {
	case !wasRead(read) || !read.ReadAt.After(w.LastAt):
		return false, "the statistics were not read after the last write"
	case !read.BasicAccurate || read.Rows == nil:
		return false, "Hive no longer flags the basic statistics as accurate"
	case corrupt:
		return false, fmt.Sprintf("numRows %d cannot be true", *read.Rows)
	case b == nil || b.Rows == nil:
		return true, fmt.Sprintf("first seen with valid statistics: %d rows", *read.Rows)
	}
	moved := *read.Rows - *b.Rows
	tolerance := max(1, int64(float64(w.Rows)*rowTolerance))
	switch {
	case w.Foreign && !followed(b, read):
		return false, "another writer changed the files, and the rows were not counted again"
	case w.Rows == 0 && w.Counted == 0 && w.Uncounted == 0:
		if followed(b, read) {
			return true, fmt.Sprintf("nothing seen was written, and numRows went from %d to %d with the files", *b.Rows, *read.Rows)
		}
		return false, "nothing was written" // the baseline stands, with its own age
	case contradicts(b, read):
		return false, contradiction(b, read)
	case w.Uncounted > 0: // the rows are unknown, so only a contradiction could be found
		return true, fmt.Sprintf("flagged accurate after %d uncounted writes: numRows %d to %d", w.Uncounted, *b.Rows, *read.Rows)
	case moved >= w.Rows-tolerance, max(*read.Rows, w.Rows)-min(*read.Rows, w.Rows) <= tolerance:
		return true, fmt.Sprintf("autogather kept up: %d rows counted, numRows %d to %d", w.Rows, *b.Rows, *read.Rows)
	}
	return false, fmt.Sprintf("autogather did not keep up: %d rows counted, numRows %d to %d", w.Rows, *b.Rows, *read.Rows)
}

// contradicts: the files changed and numRows did not, so that its flag is not believed. An UPDATE of a transactional or Iceberg table, or
// a compaction, does just that and is no contradiction.
func contradicts(b *Baseline, read advisor.TableStats) bool {
	return !read.Transactional && read.StorageHandler != icebergHandler && b != nil && b.Rows != nil && read.Rows != nil && *b.Rows == *read.Rows && drift(b.Bytes, read.TotalSize) >= bytesMoved
}

func contradiction(b *Baseline, read advisor.TableStats) string {
	return fmt.Sprintf("the files changed by %.0f %% and numRows stayed at %d", 100*drift(b.Bytes, read.TotalSize), *read.Rows)
}

// RebaseAnalyzed takes a reading for the new zero point when it is younger than an ANALYZE that was seen and counts rows, which is
// younger than the baseline and all writes, and Hive flags what it counted.
func RebaseAnalyzed(b *Baseline, w Writes, analyzedAt time.Time, read advisor.TableStats) Rebasing {
	out := Rebasing{Baseline: b, Writes: w}
	_, corrupt := checkR1(read, DefaultThresholds())
	switch {
	case analyzedAt.IsZero() || b != nil && !analyzedAt.After(b.At):
		out.Reason = "no ANALYZE was seen since the baseline"
	case !read.ReadAt.After(analyzedAt) || !analyzedAt.After(w.LastAt):
		out.Reason = "something was written after the ANALYZE, or the statistics were not read after it"
	case !read.BasicAccurate || read.Rows == nil || corrupt:
		out.Reason = "Hive does not flag what ANALYZE counted"
	default:
		fresh := NewBaseline(read)
		return Rebasing{Kept: true, Baseline: &fresh, Reason: fmt.Sprintf("analysed: %d rows", *read.Rows)}
	}
	return out
}
