package statscheck

import (
	"context"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// ColumnsCountRows reports whether ANALYZE … FOR COLUMNS of a server of this version, as its version() tells it, counts rows and sizes
// too: Hive merged the two tasks in 3.0 (HIVE-16827; seen on 3.1.3). On 4.0.1 it mends a numRows that is wrong and flagged as well as
// one that is absent, of tables, partitions and ACID tables. A version that cannot be read is taken for an old one.
func ColumnsCountRows(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 3
}

// versionOf asks the server for its version; "" when it does not tell.
func versionOf(ctx context.Context, hive Hive) string {
	res, err := hive.Query(ctx, "SELECT version()")
	if err != nil || len(res.Rows) != 1 {
		return "" // before 2.1 Hive has no such function; a lost session shows in the ANALYZE
	}
	return cell(res.Rows[0], 0)
}

// statementsFor are the statements of a refresh as this server needs them.
func statementsFor(ctx context.Context, hive Hive, table hiveql.TableName, job Refresh, columns []string) ([]string, error) {
	oneScan := true
	if job.Mode == ModeColumns && len(columns) > 0 {
		oneScan = ColumnsCountRows(versionOf(ctx, hive))
	}
	return ServerStatements(table, job.Mode, job.Partitions, columns, oneScan)
}

// ServerStatements are AnalyzeStatements as a server needs them: one that counts no rows with the columns (oneScan is false) is asked
// for both, the rows first.
func ServerStatements(table hiveql.TableName, mode Mode, partitions, columns []string, oneScan bool) ([]string, error) {
	statements, err := AnalyzeStatements(table, mode, partitions, columns)
	if err != nil || oneScan || mode != ModeColumns || len(columns) == 0 {
		return statements, err
	}
	rows, err := AnalyzeStatements(table, ModeBasic, partitions, nil)
	if err != nil {
		return nil, err
	}
	both := make([]string, 0, 2*len(statements))
	for i := range statements { // one each for every partition
		both = append(both, rows[i], statements[i])
	}
	return both, nil
}
