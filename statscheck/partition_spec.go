package statscheck

import (
	"maps"
	"slices"
	"strings"
)

// PartitionSpec writes the static part of a PARTITION clause as SHOW PARTITIONS would, with the columns by name: the text
// does not tell the table's own order. It is "" without columns.
func PartitionSpec(static map[string]string) string {
	parts := make([]string, 0, len(static))
	for _, column := range slices.Sorted(maps.Keys(static)) {
		parts = append(parts, escapeName(column)+"="+escapeName(static[column]))
	}
	return strings.Join(parts, "/")
}

// Covers reports whether a partition has all the values that a spec names; "" covers every partition.
func Covers(spec, partition string) bool {
	if spec == "" {
		return true
	}
	have := pairs(partition)
	for column, value := range pairs(spec) {
		got, ok := have[column]
		if !ok || !sameValue(value, got) {
			return false
		}
	}
	return true
}

// SameSpec reports whether a spec names that partition alone.
func SameSpec(spec, partition string) bool {
	return spec != "" && strings.Count(spec, "/") == strings.Count(partition, "/") && Covers(spec, partition)
}

// PartitionOf puts a spec that names all partition columns into the table's order; false for any other spec.
func PartitionOf(spec string, columns []string) (string, bool) {
	have := pairs(spec)
	if len(columns) == 0 || len(have) != len(columns) {
		return "", false
	}
	parts := make([]string, len(columns))
	for i, c := range columns {
		value, ok := have[c]
		if !ok {
			return "", false
		}
		parts[i] = escapeName(c) + "=" + value
	}
	return strings.Join(parts, "/"), true
}

// pairs are a partition name's columns and values, these as they are escaped.
func pairs(name string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(name, "/") {
		if column, value, ok := strings.Cut(part, "="); ok {
			out[strings.ToLower(unescapeName(column))] = value
		}
	}
	return out
}

// sameValue: Hive writes the values of integer columns without leading zeros, whatever the statement wrote.
func sameValue(a, b string) bool {
	return a == b || integral(a) && integral(b) && strings.TrimLeft(a, "0") == strings.TrimLeft(b, "0")
}

func integral(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
