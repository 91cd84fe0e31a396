package statscheck

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

const (
	// MaxPartitions is how many partitions a schedule puts into one refresh, and how many are analysed between two looks at the locks.
	MaxPartitions = 50
	// MaxNamedPartitions bounds the partitions one refresh may name: each costs its own statements.
	MaxNamedPartitions = 1000
)

// AnalyzeStatements are the statements of a refresh, in order: ANALYZE … COMPUTE STATISTICS, with columns … FOR COLUMNS in its
// place, or ANALYZE … COMPUTE STATISTICS NOSCAN; for each partition named, or for the whole table. FOR COLUMNS counts rows and
// sizes in the same scan, since Hive 3.0 (HIVE-16827): ServerStatements is for older ones too. Without a PARTITION clause Hive takes every
// partition of a partitioned table, in all forms (a clause must name every partition column: Hive answers 10006 otherwise).
//
// Every identifier is quoted, every partition value is a string literal.
func AnalyzeStatements(table hiveql.TableName, mode Mode, partitions, columns []string) ([]string, error) {
	if table.Database == "" {
		return nil, fmt.Errorf("analyze %s: the database is missing", table)
	}
	if len(partitions) > MaxNamedPartitions {
		return nil, fmt.Errorf("analyze %s: %d partitions, at most %d in one refresh", table, len(partitions), MaxNamedPartitions)
	}
	quoted, err := table.Quoted()
	if err != nil {
		return nil, fmt.Errorf("analyze: %w", err)
	}
	var forColumns string
	if len(columns) > 0 && mode == ModeColumns {
		list, err := quoteAll(columns)
		if err != nil {
			return nil, fmt.Errorf("analyze %s: %w", table, err)
		}
		forColumns = " FOR COLUMNS " + strings.Join(list, ", ")
	}
	targets := []string{quoted}
	if len(partitions) > 0 {
		targets = targets[:0]
	}
	for _, p := range partitions {
		clause, err := partitionClause(p)
		if err != nil {
			return nil, fmt.Errorf("analyze %s: %w", table, err)
		}
		targets = append(targets, quoted+" "+clause)
	}
	var out []string
	for _, target := range targets {
		how := forColumns
		if mode == ModeNoScan {
			how = " NOSCAN"
		}
		out = append(out, "ANALYZE TABLE "+target+" COMPUTE STATISTICS"+how)
	}
	return out, nil
}

func quoteAll(names []string) ([]string, error) {
	out := make([]string, len(names))
	var errs []error
	for i, n := range names {
		q, err := hiveql.QuoteIdentifier(n)
		errs = append(errs, err)
		out[i] = q
	}
	return out, errors.Join(errs...)
}

// partitionClause turns "ds=2024-01-01/h=3" into PARTITION (`ds`='2024-01-01', `h`='3'), which Hive takes for columns of any
// type. An error means that the name is no partition name, or that a column cannot be quoted.
func partitionClause(name string) (string, error) {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		column, value, ok := strings.Cut(part, "=")
		if !ok || column == "" {
			return "", fmt.Errorf("partition %q: %q is not column=value", name, part)
		}
		q, err := hiveql.QuoteIdentifier(unescapeName(column))
		if err != nil {
			return "", fmt.Errorf("partition %q: %w", name, err)
		}
		parts = append(parts, q+"="+stringLiteral(unescapeName(value)))
	}
	return "PARTITION (" + strings.Join(parts, ", ") + ")", nil
}

// literalEscapes are what a HiveQL string in single quotes needs (BaseSemanticAnalyzer.unescapeSQLString). ${ would start a
// variable, so its dollar sign is written as a code point.
var literalEscapes = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\x00", `\0`, "$", "\\u0024")

func stringLiteral(s string) string { return "'" + literalEscapes.Replace(s) + "'" }
