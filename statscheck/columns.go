package statscheck

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// statsTypes are the types compute_stats takes in Hive 4.0.1 (GenericUDAFComputeStats). TIMESTAMP WITH LOCAL TIME ZONE is not
// among them: one such column fails the whole statement. Complex types have no column statistics.
var statsTypes = map[string]bool{
	"tinyint": true, "smallint": true, "int": true, "bigint": true, "float": true, "double": true, "decimal": true,
	"string": true, "varchar": true, "char": true, "boolean": true, "binary": true, "timestamp": true, "date": true,
}

// hasStatsType reports whether Hive keeps column statistics for a type such as "decimal(10,2)".
func hasStatsType(hiveType string) bool {
	base, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(hiveType)), "(")
	return statsTypes[strings.TrimSpace(base)]
}

// AnalyzableColumns returns the columns that ANALYZE … FOR COLUMNS takes, lower case, each once, in the order given: columns
// the table has, that are no partition columns, of a type with column statistics, and whose name can be quoted. Where the
// table's columns are not known, every such name passes.
func AnalyzableColumns(t advisor.TableStats, columns []string) []string {
	var out []string
	for _, c := range columns {
		c = strings.ToLower(c)
		if _, err := hiveql.QuoteIdentifier(c); err != nil || slices.Contains(out, c) || slices.Contains(t.PartitionColumns, c) {
			continue
		}
		i := slices.IndexFunc(t.ColumnTypes, func(ct advisor.ColumnType) bool { return strings.EqualFold(ct.Name, c) })
		if len(t.ColumnTypes) > 0 && (i < 0 || !hasStatsType(t.ColumnTypes[i].Type)) {
			continue
		}
		out = append(out, c)
	}
	return out
}
