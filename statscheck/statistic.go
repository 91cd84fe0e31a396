package statscheck

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// StatisticLevel is what a statistic describes.
type StatisticLevel string

// Levels of a statistic.
const (
	OfTable     StatisticLevel = "TABLE"
	OfPartition StatisticLevel = "PARTITION"
	OfColumn    StatisticLevel = "COLUMN"
)

// StatisticChange is one number (or flag) of a table, a partition or a column before and after a refresh.
type StatisticChange struct {
	Level StatisticLevel
	// Partition is empty for the table's own; Column is empty but for OfColumn.
	Partition string
	Column    string
	// Name is Hive's: numRows, rawDataSize, totalSize, numFiles, numPartitions and BASIC_STATS of a table or partition; the rows of
	// DESCRIBE FORMATTED table column (distinct_count, num_nulls, min, …) and COLUMN_STATS of a column.
	Name string
	// Before and After are as Hive prints them; empty: absent, or not read.
	Before, After string
}

// StatisticChanges pairs statistics read before and after: first the table's, then the partitions', each with its columns after it.
// Those that neither side has are left out; those that did not change are there.
func StatisticChanges(before, after []advisor.TableStats) []StatisticChange {
	var out []StatisticChange
	var done []string
	for _, t := range slices.Concat(before, after) {
		if slices.Contains(done, t.Partition) {
			continue
		}
		done = append(done, t.Partition)
		out = append(out, changesOf(ofPartition(before, t.Partition), ofPartition(after, t.Partition), t.Partition)...)
	}
	return out
}

func ofPartition(list []advisor.TableStats, partition string) *advisor.TableStats {
	for i := range list {
		if list[i].Partition == partition {
			return &list[i]
		}
	}
	return nil
}

// named are numbers by Hive's names, in a fixed order.
type named []struct{ name, value string }

func changesOf(before, after *advisor.TableStats, partition string) []StatisticChange {
	level := OfTable
	if partition != "" {
		level = OfPartition
	}
	out := pair(basicsOf(before), basicsOf(after), StatisticChange{Level: level, Partition: partition})
	columns := map[string]bool{}
	for _, t := range []*advisor.TableStats{before, after} {
		if t != nil {
			for c := range t.Columns {
				columns[c] = true
			}
		}
	}
	for _, c := range slices.Sorted(maps.Keys(columns)) {
		out = append(out, pair(columnOf(before, c), columnOf(after, c), StatisticChange{Level: OfColumn, Partition: partition, Column: c})...)
	}
	return out
}

// pair needs equal names in equal order.
func pair(before, after named, as StatisticChange) []StatisticChange {
	var out []StatisticChange
	for i := range before {
		if before[i].value == "" && after[i].value == "" {
			continue
		}
		as.Name, as.Before, as.After = before[i].name, before[i].value, after[i].value
		out = append(out, as)
	}
	return out
}

func basicsOf(t *advisor.TableStats) named {
	var s advisor.TableStats
	flag := ""
	if t != nil {
		s = *t
		flag = strconv.FormatBool(s.BasicAccurate)
	}
	return named{
		{"numRows", decimal(s.Rows)},
		{"rawDataSize", decimal(s.RawDataSize)},
		{"totalSize", decimal(s.TotalSize)},
		{"numFiles", decimal(s.Files)},
		{"numPartitions", decimal(s.PartitionsNum)},
		{"BASIC_STATS", flag},
	}
}

func columnOf(t *advisor.TableStats, column string) named {
	var c advisor.ColumnStats
	flag := ""
	if t != nil && (slices.Contains(t.ColumnsRead, column) || slices.Contains(t.ColumnsAccurate, column)) {
		c = t.Columns[column]
		flag = strconv.FormatBool(slices.Contains(t.ColumnsAccurate, column))
	}
	return named{
		{"distinct_count", decimal(c.NDV)},
		{"num_nulls", decimal(c.Nulls)},
		{"min", c.Low},
		{"max", c.High},
		{"avg_col_len", fraction(c.AvgLen)},
		{"max_col_len", decimal(c.MaxLen)},
		{"num_trues", decimal(c.Trues)},
		{"num_falses", decimal(c.Falses)},
		{"COLUMN_STATS", flag},
	}
}

func decimal(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func fraction(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}
