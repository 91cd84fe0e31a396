package statscheck

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// FilesListable reports whether listing the files of a table or partition is cheap and tells something: not for a partitioned
// table as a whole, where Hive walks every partition, nor where files are no measure of rows.
func FilesListable(t advisor.TableStats) bool {
	return t.Kind != kindView && !t.Temporary && !t.Transactional && t.StorageHandler == "" && !sumOfPartitions(t)
}

// ReadFiles lists the files of a table, or of one of its partitions, by SHOW TABLE EXTENDED, which walks the directories
// (org.apache.hadoop.hive.ql.ddl.table.info.show.status.formatter.TextShowTableStatusFormatter). Ask FilesListable first.
func ReadFiles(ctx context.Context, hive Hive, table hiveql.TableName, partition string) (Files, error) {
	readAt := time.Now()
	database, err := hiveql.QuoteIdentifier(table.Database)
	if err != nil {
		return Files{}, fmt.Errorf("list files of %s: %w", table, err)
	}
	// Hive takes the name for a pattern, of which _ is a part; what else it brings is passed over.
	sql := "SHOW TABLE EXTENDED IN " + database + " LIKE " + stringLiteral(table.Table)
	if partition != "" {
		clause, err := partitionClause(partition)
		if err != nil {
			return Files{}, fmt.Errorf("list files of %s: %w", table, err)
		}
		sql += " " + clause
	}
	res, err := hive.Query(ctx, sql)
	if err != nil {
		return Files{}, fmt.Errorf("list files of %s: %w", table, goneOr(err))
	}
	f, err := ParseShowTable(res.Rows, table.Table)
	f.ReadAt = readAt
	if err != nil {
		return Files{}, fmt.Errorf("list files of %s: %w", table, err)
	}
	return f, nil
}

// ErrFilesUnknown: Hive could not read the directory, or said nothing of the table.
var ErrFilesUnknown = errors.New("the files are unknown to Hive")

// ParseShowTable reads the lines "key:value" of SHOW TABLE EXTENDED for one of the tables it lists. ReadAt is not set.
func ParseShowTable(rows [][]*string, table string) (Files, error) {
	got := map[string]string{}
	here := false
	for _, row := range rows {
		key, value, ok := strings.Cut(cell(row, 0), ":")
		if !ok {
			continue
		}
		if key == "tableName" {
			here = strings.EqualFold(value, table)
		}
		if here {
			got[key] = value
		}
	}
	number := func(key string) int64 {
		n, err := strconv.ParseInt(got[key], 10, 64)
		if err != nil {
			return -1 // "unknown", or no such line
		}
		return n
	}
	f := Files{Count: number("totalNumberFiles"), Bytes: number("totalFileSize")}
	updated := number("lastUpdateTime")
	if f.Count < 0 || f.Bytes < 0 || updated < 0 {
		return Files{}, ErrFilesUnknown
	}
	f.UpdatedAt = time.UnixMilli(updated)
	return f, nil
}

// ShowPartitions names the partitions of a table that have the static values of spec ("" for all), the last max of them in
// Hive's order, which is by name: the youngest where names begin with a date.
func ShowPartitions(ctx context.Context, hive Hive, table hiveql.TableName, spec string, most int) ([]string, error) {
	quoted, err := table.Quoted()
	if err != nil {
		return nil, fmt.Errorf("show partitions of %s: %w", table, err)
	}
	sql := "SHOW PARTITIONS " + quoted
	if spec != "" {
		clause, err := partitionClause(spec)
		if err != nil {
			return nil, fmt.Errorf("show partitions of %s: %w", table, err)
		}
		sql += " " + clause
	}
	res, err := hive.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("show partitions of %s: %w", table, goneOr(err))
	}
	from := max(0, len(res.Rows)-most)
	out := make([]string, 0, len(res.Rows)-from)
	for _, row := range res.Rows[from:] {
		if name := cell(row, 0); name != "" {
			out = append(out, name)
		}
	}
	return out, nil
}
