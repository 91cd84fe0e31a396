package statscheck

import (
	"fmt"
	"math"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// checkR5: the files changed and nothing seen explains it: another writer, who told Hive's statistics nothing. Either the file
// system holds other files than the metastore counts, or the metastore's bytes moved since the baseline and its rows did not.
func checkR5(s Subject, limits Thresholds) (Staleness, bool) {
	r := Staleness{Rule: R5Drift, Level: LevelHigh, Evidence: map[string]any{}}
	if behindHive(s, limits.Drift) {
		d := drift(s.Stats.TotalSize, &s.Files.Bytes)
		r.Evidence["drift"], r.Evidence["total_size"] = d, *s.Stats.TotalSize
		r.Evidence["bytes_listed"], r.Evidence["files_listed"] = s.Files.Bytes, s.Files.Count
		r.Reason = fmt.Sprintf("the file system holds %d bytes and the metastore counts %d: somebody writes files outside Hive",
			s.Files.Bytes, *s.Stats.TotalSize)
		return r, true
	}
	b := s.Baseline
	if !wasRead(s.Stats) || b == nil || b.Bytes == nil || s.Stats.TotalSize == nil || s.Stats.Rows == nil {
		return Staleness{}, false
	}
	seen := s.Writes.Counted > 0 || s.Writes.Uncounted > 0
	d := drift(b.Bytes, s.Stats.TotalSize)
	if d < limits.Drift || seen && !s.Writes.Foreign || followed(b, s.Stats) || compacted(b, s.Stats) {
		return Staleness{}, false
	}
	r.Evidence["drift"], r.Evidence["bytes_then"], r.Evidence["bytes_now"], r.Evidence["num_rows"] = d, *b.Bytes, *s.Stats.TotalSize, *s.Stats.Rows
	r.Reason = fmt.Sprintf("the files went from %d to %d bytes, which no statement seen explains, and numRows is %d",
		*b.Bytes, *s.Stats.TotalSize, *s.Stats.Rows)
	if b.Rows != nil {
		r.Evidence["rows_then"] = *b.Rows
	}
	return r, true
}

// behindHive: the files listed are not those the metastore counts. Directories of ACID and Iceberg tables hold old versions of
// rows too, and those of other storage handlers hold nothing.
func behindHive(s Subject, limit float64) bool {
	t := s.Stats
	return s.Files.settled() && t.TotalSize != nil && !t.Transactional && t.StorageHandler == "" && drift(t.TotalSize, &s.Files.Bytes) >= limit
}

// compacted: the bytes of an ACID table changed and its rows did not. Compactions run by themselves.
func compacted(b *Baseline, t advisor.TableStats) bool {
	return t.Transactional && b.Rows != nil && t.Rows != nil && *b.Rows == *t.Rows
}

// bytesPerRow is the factor by which the bytes of a row may change when rows and bytes moved together.
const bytesPerRow = 3

// followed: numRows moved with the files, by a writer that goes through a HiveServer2 we do not see, or by an ANALYZE of
// somebody's. It did not when the bytes moved three times as far, or the other way, or a row now takes three times the bytes.
func followed(b *Baseline, now advisor.TableStats) bool {
	if b.Rows == nil || now.Rows == nil || *b.Rows == *now.Rows {
		return false
	}
	if b.Bytes == nil || now.TotalSize == nil || *b.Bytes <= 0 || *b.Rows <= 0 {
		return *now.Rows > 0
	}
	rows, bytes := change(*b.Rows, *now.Rows), change(*b.Bytes, *now.TotalSize)
	if math.Abs(bytes) < bytesMoved {
		return true
	}
	if rows*bytes < 0 || math.Abs(rows) < math.Abs(bytes)/bytesPerRow {
		return false
	}
	if *now.Rows == 0 || *now.TotalSize == 0 {
		return *now.Rows == 0 && *now.TotalSize == 0
	}
	width := (1 + bytes) / (1 + rows)
	return width < bytesPerRow && width > 1.0/bytesPerRow
}

// change is (now − then) / then.
func change(then, now int64) float64 { return (float64(now) - float64(then)) / float64(then) }
