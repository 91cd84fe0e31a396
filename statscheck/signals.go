package statscheck

import (
	"slices"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Files is what lies in the file system for a table or partition (SHOW TABLE EXTENDED), as against what the metastore says of it.
type Files struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
	// UpdatedAt is the youngest modification of a file or directory.
	UpdatedAt time.Time `json:"updated_at"`
	ReadAt    time.Time `json:"read_at"`
}

// filesSettle is how long files must have been left alone before their sizes are believed: a writer's staging directory lies
// within the table's.
const filesSettle = 30 * time.Second

// settled: nobody was writing when the files were listed.
func (f *Files) settled() bool { return f != nil && f.ReadAt.Sub(f.UpdatedAt) >= filesSettle }

// ContradictionKind is how an estimate was contradicted.
type ContradictionKind string

// Kinds: the rows a statement moved; a hash table that did not fit into memory.
const (
	ContradictedRows   ContradictionKind = "ROWS"
	ContradictedMemory ContradictionKind = "MEMORY"
)

// Contradiction is what one statement showed of a table against the planner's estimate of it.
type Contradiction struct {
	Kind ContradictionKind `json:"kind"`
	// Estimated and Actual are rows; nil when the text told none.
	Estimated *int64 `json:"estimated,omitempty"`
	Actual    *int64 `json:"actual,omitempty"`
	// AtLeast: the table has Actual rows or more. Otherwise it has exactly so many.
	AtLeast bool `json:"at_least,omitempty"`
	// Certain: the error names the hash table; otherwise a task ran out of memory, whatever for.
	Certain bool `json:"certain,omitempty"`
	// Words is Hive's text of a memory error in short.
	Words string    `json:"words,omitempty"`
	At    time.Time `json:"at"`
}

// PlanRead is which partitions one query's last plan reads of a table, and on which side of its joins.
type PlanRead struct {
	Fingerprint string
	// Partitions are as SHOW PARTITIONS prints them; Total may be more, where the list was cut.
	Partitions []string
	Total      int
	// Build: the rows go into a hash table.
	Build bool
}

// Write is one statement's write to a table.
type Write struct {
	// Specs are the partitions it names, as PartitionSpec writes them, "" for the whole table or partitions not named.
	// A spec that names some of the partition columns stands for all partitions that have those values.
	Specs []string
	// Rows written, over all Specs; nil when they could not be counted.
	Rows           *int64
	Overwrite      bool
	ColumnsChanged bool
	At             time.Time
}

// WritesTo adds up what was written to one partition after a moment. Rows of a statement that names several partitions, or
// not all partition columns, are uncounted for each: only their sum is known.
func WritesTo(partition string, list []Write, after time.Time) Writes {
	var out Writes
	for _, w := range list {
		if !w.At.After(after) || !w.touches(partition) {
			continue
		}
		if w.At.After(out.LastAt) {
			out.LastAt = w.At
		}
		out.ColumnsChanged = out.ColumnsChanged || w.ColumnsChanged
		if w.Rows == nil || len(w.Specs) != 1 || !SameSpec(w.Specs[0], partition) {
			out.Uncounted++
			continue
		}
		out.Counted++
		out.Rows = addUp(out.Rows, *w.Rows)
		if w.Overwrite {
			out.Overwrites++
		}
	}
	return out
}

func addUp(a, b int64) int64 {
	if sum := a + max(b, 0); sum >= a {
		return sum
	}
	return 1<<63 - 1
}

func (w Write) touches(partition string) bool {
	return slices.ContainsFunc(w.Specs, func(spec string) bool { return Covers(spec, partition) })
}

// Touched are those of the partitions that a write after the moment named or may have meant.
func Touched(partitions []string, list []Write, after func(partition string) time.Time) []string {
	var out []string
	for _, p := range partitions {
		since := after(p)
		if slices.ContainsFunc(list, func(w Write) bool { return w.At.After(since) && w.touches(p) }) {
			out = append(out, p)
		}
	}
	return out
}

// Reading is the part of a reading of the metastore by which foreign writes show.
type Reading struct {
	Rows, Bytes, Files *int64
	At                 time.Time
}

// ReadingOf takes them from statistics.
func ReadingOf(t advisor.TableStats) Reading {
	return Reading{Rows: t.Rows, Bytes: t.TotalSize, Files: t.Files, At: t.ReadAt}
}

// ForeignWrite is a change of a table's or partition's files between two readings that no statement seen explains.
type ForeignWrite struct {
	Partition string
	// Before and After are the readings; the write was between them.
	Before, After Reading
	// Followed: numRows moved with the files, so the writer told the metastore its rows.
	Followed bool
	// Listed: After is what lies in the file system, which the metastore does not know of.
	Listed bool
}

// ForeignWriteOf compares two readings. lastWrite is the last write seen; one at or after the first reading explains
// everything. Automatic compactions change the files of an ACID table and not its rows.
func ForeignWriteOf(before Reading, now advisor.TableStats, lastWrite time.Time) (ForeignWrite, bool) {
	after := ReadingOf(now)
	w := ForeignWrite{Partition: now.Partition, Before: before, After: after}
	switch {
	case before.At.IsZero() || !after.At.After(before.At) || !lastWrite.Before(before.At):
		return w, false
	case !moved(before.Bytes, after.Bytes) && !moved(before.Files, after.Files):
		return w, false
	case now.Transactional && !moved(before.Rows, after.Rows):
		return w, false
	}
	w.Followed = now.BasicAccurate && followed(&Baseline{Rows: before.Rows, Bytes: before.Bytes}, now)
	return w, true
}

// moved: both numbers are known and differ.
func moved(a, b *int64) bool { return a != nil && b != nil && *a != *b }

// ListedWrite is the foreign write that R5 sees in the file system and the metastore was never told of.
func ListedWrite(s Subject, limits Thresholds) (ForeignWrite, bool) {
	if !behindHive(s, limits.Drift) {
		return ForeignWrite{}, false
	}
	before := ReadingOf(s.Stats)
	before.At = s.Files.UpdatedAt
	return ForeignWrite{
		Partition: s.Stats.Partition, Before: before, Listed: true,
		After: Reading{Rows: s.Stats.Rows, Bytes: &s.Files.Bytes, Files: &s.Files.Count, At: s.Files.ReadAt},
	}, true
}
