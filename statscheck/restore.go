package statscheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// Restore puts a table's old statistics back.
type Restore struct {
	// Statements are HiveQL, in the order to run them: ALTER TABLE … UPDATE STATISTICS.
	Statements []string
	// Notes say what they cannot bring back.
	Notes []string
}

// RestoreStatements are the statements that set the statistics read before a refresh again: of the table (Partition ""), and of each
// partition. A partitioned table keeps none of its own, so only its partitions' are set.
//
// Hive takes numRows and rawDataSize only (AbstractAlterTablePropertiesAnalyzer) and clears the accuracy flags with them, so the
// columns come after. A number that was absent is set to −1, which Hive takes for absent.
func RestoreStatements(table hiveql.TableName, before []advisor.TableStats) (Restore, error) {
	quoted, err := table.Quoted()
	if err != nil {
		return Restore{}, fmt.Errorf("restore: %w", err)
	}
	var out Restore
	partitioned, partitions, flagged := false, 0, false
	for _, t := range before {
		if t.StorageHandler == icebergHandler {
			return Restore{Notes: []string{"Iceberg keeps its statistics beside the snapshot: Hive's UPDATE STATISTICS changes none that the planner reads"}}, nil
		}
		target := "ALTER TABLE " + quoted
		switch {
		case t.Partition != "":
			clause, err := partitionClause(t.Partition)
			if err != nil {
				return Restore{}, fmt.Errorf("restore %s: %w", table, err)
			}
			target += " " + clause
			partitions++
		case sumOfPartitions(t):
			partitioned = true
			continue
		}
		flagged = flagged || t.BasicAccurate
		out.Statements = append(out.Statements, fmt.Sprintf("%s UPDATE STATISTICS SET ('numRows'='%s', 'rawDataSize'='%s')",
			target, cmp.Or(decimal(t.Rows), "-1"), cmp.Or(decimal(t.RawDataSize), "-1")))
		statements, missing, err := restoreColumns(target, t)
		if err != nil {
			return Restore{}, fmt.Errorf("restore %s: %w", table, err)
		}
		out.Statements = append(out.Statements, statements...)
		if len(missing) > 0 {
			where := ""
			if t.Partition != "" {
				where = " in partition " + t.Partition
			}
			out.Notes = append(out.Notes, fmt.Sprintf("%s had no statistics before%s: Hive has no statement that takes them away", strings.Join(missing, ", "), where))
		}
	}
	if partitioned && partitions == 0 {
		out.Notes = append(out.Notes, "the statistics of the single partitions were not read before the refresh")
	}
	if flagged {
		out.Notes = append(out.Notes, "Hive does not flag statistics set by hand as accurate; it did so before")
	}
	return out, nil
}

// restoreColumns are the statements for the columns that were read, and the columns that had no statistics.
func restoreColumns(target string, t advisor.TableStats) (statements, missing []string, err error) {
	columns := slices.Sorted(slices.Values(t.ColumnsRead))
	for _, name := range slices.Compact(columns) {
		if slices.Contains(t.PartitionColumns, name) {
			continue
		}
		c, ok := t.Columns[name]
		if !ok {
			missing = append(missing, name)
			continue
		}
		set := settable(c, typeOf(t, name))
		if len(set) == 0 {
			continue
		}
		column, err := hiveql.QuoteIdentifier(name)
		if err != nil {
			return nil, nil, err
		}
		statements = append(statements, fmt.Sprintf("%s UPDATE STATISTICS FOR COLUMN %s SET (%s)", target, column, strings.Join(set, ", ")))
	}
	return statements, missing, nil
}

func typeOf(t advisor.TableStats, column string) string {
	for _, c := range t.ColumnTypes {
		if strings.EqualFold(c.Name, column) {
			base, _, _ := strings.Cut(strings.ToLower(c.Type), "(")
			return strings.TrimSpace(base)
		}
	}
	return ""
}

// settable are the key='value' pairs that Hive takes for a column of this type (ColumnStatsUpdateTask): any other key is an error
// there. A column of unknown type gets what every type has.
func settable(c advisor.ColumnStats, hiveType string) []string {
	keys := named{{"numNulls", decimal(c.Nulls)}}
	lengths := named{{"avgColLen", fraction(c.AvgLen)}, {"maxColLen", decimal(c.MaxLen)}}
	switch hiveType {
	case "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date", "timestamp":
		keys = append(named{{"numDVs", decimal(c.NDV)}}, append(keys, named{{"lowValue", c.Low}, {"highValue", c.High}}...)...)
	case "string", "char", "varchar":
		keys = append(named{{"numDVs", decimal(c.NDV)}}, append(keys, lengths...)...)
	case "binary":
		keys = append(keys, lengths...)
	case "boolean":
		keys = append(keys, named{{"numTrues", decimal(c.Trues)}, {"numFalses", decimal(c.Falses)}}...)
	}
	var out []string
	for _, k := range keys {
		if k.value != "" {
			out = append(out, "'"+k.name+"'="+stringLiteral(k.value))
		}
	}
	return out
}
