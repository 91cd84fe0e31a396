package advisor

import (
	"math"
	"math/bits"
	"strings"
)

// Bytes of Java object overhead that the data size counts for each value of a type and a hash table does not store
// (JavaDataModel for 64-bit machines).
const (
	stringOverhead = 84
	binaryOverhead = 40
	objectOverhead = 32
)

// columnOverhead returns the overhead of one value of a Hive type in bytes, 0 for primitives and complex types.
func columnOverhead(hiveType string) int64 {
	switch {
	case hasFold(hiveType, "string", true), hasFold(hiveType, "varchar", false), hasFold(hiveType, "char", false):
		return stringOverhead
	case hasFold(hiveType, "binary", true):
		return binaryOverhead
	case hasFold(hiveType, "decimal", false), hasFold(hiveType, "date", true), hasFold(hiveType, "timestamp", true),
		hasFold(hiveType, "timestamp with local time zone", true):
		return objectOverhead
	}
	return 0
}

// hasFold compares a type with a name, or with the start of it, whatever the case.
func hasFold(hiveType, name string, whole bool) bool {
	if len(hiveType) < len(name) || (whole && len(hiveType) != len(name)) {
		return false
	}
	return strings.EqualFold(hiveType[:len(name)], name)
}

// onlineSize is the size in bytes of a hash table of the input as ConvertJoinMapJoin.computeOnlineDataSize estimates it.
// It can be negative: the column overhead is taken off with null counts that filters do not always scale.
func onlineSize(in *Input, longKey bool, s *Settings) int64 {
	if s.Release == Hive2 {
		return in.DataSize
	}
	perRow, perSlot := int64(12), int64(8)
	if s.FastHashTable && s.countsColumnOverhead() {
		if longKey {
			perRow, perSlot = -8, 16
		} else {
			perRow, perSlot = 9, 8
		}
	}
	rows := max(in.Rows, 1)
	size := in.DataSize
	if s.countsColumnOverhead() && s.FetchColumnStats {
		size -= overheadOf(in.Columns, rows)
	}
	return size + perRow*in.Rows + perSlot*slots(rows, s.LoadFactor)
}

// overheadOf sums the overhead of the columns the planner has statistics for, its made-up ones included.
func overheadOf(columns []Column, rows int64) int64 {
	var sum int64
	for i := range columns {
		c := &columns[i]
		if !c.HasStats && !c.Estimated {
			continue
		}
		per := columnOverhead(c.Type)
		if per == 0 {
			continue
		}
		values := rows
		if c.Nulls != nil && *c.Nulls > 0 {
			values = rows - *c.Nulls + 1
		}
		sum = addSaturating(sum, mulFloat(values, float64(per)))
	}
	return sum
}

// slots is the number of hash-table slots: rows over the load factor, as a 32-bit float, rounded up to a power of two.
func slots(rows int64, loadFactor float32) int64 {
	x := float64(float32(rows) / loadFactor)
	frac, exp := math.Frexp(x) // x = frac × 2^exp with frac in [0.5, 1)
	exp--
	if frac != 0.5 && exp >= 0 {
		exp++
	}
	return 1 << (uint(exp) & 63) // Java shifts modulo 64
}

// addSaturating adds and stops at the largest number, also on an underflow, as StatsUtils.safeAdd does.
func addSaturating(a, b int64) int64 {
	sum := a + b
	if (a > 0 && b > 0 && sum <= 0) || (a < 0 && b < 0 && sum >= 0) {
		return math.MaxInt64
	}
	return sum
}

// mulSaturating multiplies and stops at the largest number.
func mulSaturating(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(abs64(a)), uint64(abs64(b))) //nolint:gosec // magnitudes, also of the smallest number
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	if (a < 0) != (b < 0) {
		return -int64(lo)
	}
	return int64(lo)
}

func abs64(a int64) int64 {
	if a < 0 {
		return -a
	}
	return a
}

// mulFloat is a × b cut to whole numbers within the 64-bit range, as Java casts a double to a long.
func mulFloat(a int64, b float64) int64 { return toInt(float64(a) * b) }

// toInt cuts a float to a whole number as Java does: towards zero, at the ends of the range, NaN to 0.
func toInt(f float64) int64 {
	switch {
	case f != f:
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// longKeyed: a single key of a boolean or integer type, which the fast hash table stores in its slots.
func longKeyed(j *Join) bool {
	if len(j.Inputs) == 0 || len(j.Inputs[0].Keys) != 1 {
		return false
	}
	switch strings.ToLower(j.Inputs[0].Keys[0].Type) {
	case "boolean", "tinyint", "smallint", "int", "bigint":
		return true
	}
	return false
}
