package statscheck

import (
	"context"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// columnsCountRows reports whether ANALYZE … FOR COLUMNS of this server counts rows and sizes too: Hive merged the two tasks in
// 3.0 (HIVE-16827; seen on 3.1.3). On 4.0.1 it mends a numRows that is wrong and flagged as well as one that is absent, of tables,
// partitions and ACID tables. A server that does not tell its version is taken for an old one.
func columnsCountRows(ctx context.Context, hive Hive) bool {
	res, err := hive.Query(ctx, "SELECT version()")
	if err != nil || len(res.Rows) != 1 {
		return false // before 2.1 Hive has no such function; a lost session shows in the ANALYZE
	}
	major, _, _ := strings.Cut(cell(res.Rows[0], 0), ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 3
}

// statementsFor are the statements of a refresh as this server needs them: one that does not count rows with the columns is asked
// for both.
func statementsFor(ctx context.Context, hive Hive, table hiveql.TableName, job Refresh, columns []string) ([]string, error) {
	statements, err := AnalyzeStatements(table, job.Mode, job.Partitions, columns)
	if err != nil || job.Mode != ModeColumns || len(columns) == 0 || columnsCountRows(ctx, hive) {
		return statements, err
	}
	rows, err := AnalyzeStatements(table, ModeBasic, job.Partitions, nil)
	if err != nil {
		return nil, err
	}
	both := make([]string, 0, 2*len(statements))
	for i := range statements { // one each for every partition
		both = append(both, rows[i], statements[i])
	}
	return both, nil
}
