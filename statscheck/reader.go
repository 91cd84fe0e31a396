package statscheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// Hive runs statements in one HiveServer2 session: a *client.Session, or anything in front of one. A *client.Error is Hive's
// refusal, every other error one of transport. When ctx ends, the statement is canceled in Hive.
type Hive interface {
	Query(ctx context.Context, sql string) (client.Result, error)
}

// ErrTableGone: the table, its database or the partition does not exist (any more).
var ErrTableGone = errors.New("the table does not exist")

// Codes of org.apache.hadoop.hive.ql.ErrorMsg.
const (
	codeInvalidTable     = 10001
	codeInvalidPartition = 10006
	codeNoDatabase       = 10072
)

// MaxColumnsRead bounds the column statistics ReadTable asks for: each costs a statement. Join columns come first, so
// they are the ones that are read.
const MaxColumnsRead = 64

// ReadTable reads a table's statistics by DESCRIBE FORMATTED, and those of the columns named by one statement each, at most
// MaxColumnsRead. Columns the table does not have are left out, as are those of a type without statistics and those that Hive
// refuses. ReadAt is the time before the first statement, so that a write in between counts as later. ErrTableGone means that there
// is no such table.
//
// The columns that Hive flags as accurate come from the table's parameters; for a partitioned table, where Hive never lists them,
// from the columns' own output, or from partitions where that is empty.
func ReadTable(ctx context.Context, hive Hive, table hiveql.TableName, columns []string) (advisor.TableStats, error) {
	readAt := time.Now()
	quoted, err := table.Quoted()
	if err != nil {
		return advisor.TableStats{}, fmt.Errorf("read table %s: %w", table, err)
	}
	stats, err := describe(ctx, hive, table, quoted)
	if err != nil {
		return advisor.TableStats{}, fmt.Errorf("read table %s: %w", table, err)
	}
	stats.ReadAt = readAt
	if stats.Kind == kindView {
		return stats, nil
	}
	if err := readColumns(ctx, hive, quoted, columns, &stats); err != nil {
		return advisor.TableStats{}, fmt.Errorf("read table %s: %w", table, err)
	}
	if err := vouchedByPartitions(ctx, hive, table, &stats); err != nil {
		return advisor.TableStats{}, fmt.Errorf("read table %s: %w", table, err)
	}
	return stats, nil
}

// ReadPartition reads one partition ("ds=2024-01-01/h=3", as SHOW PARTITIONS prints it) of a table, and the columns named as ReadTable
// does. Partition columns are left out: a partition has one value of each. Kind is empty, as Hive prints none. ErrTableGone means that
// there is no such table or partition.
func ReadPartition(ctx context.Context, hive Hive, table hiveql.TableName, partition string, columns []string) (advisor.TableStats, error) {
	readAt := time.Now()
	quoted, err := table.Quoted()
	if err != nil {
		return advisor.TableStats{}, fmt.Errorf("read partition of %s: %w", table, err)
	}
	clause, err := partitionClause(partition)
	if err != nil {
		return advisor.TableStats{}, fmt.Errorf("read partition of %s: %w", table, err)
	}
	target := quoted + " " + clause
	stats, err := describe(ctx, hive, table, target)
	if err != nil {
		return advisor.TableStats{}, fmt.Errorf("read partition %s of %s: %w", partition, table, err)
	}
	stats.Partition, stats.ReadAt = partition, readAt
	columns = slices.DeleteFunc(slices.Clone(columns), func(c string) bool {
		return slices.Contains(stats.PartitionColumns, strings.ToLower(c))
	})
	if err := readColumns(ctx, hive, target, columns, &stats); err != nil {
		return advisor.TableStats{}, fmt.Errorf("read partition %s of %s: %w", partition, table, err)
	}
	return stats, nil
}

// readColumns adds the statistics of columns to those of the table or partition that target names.
func readColumns(ctx context.Context, hive Hive, target string, columns []string, stats *advisor.TableStats) error {
	for _, c := range readableColumns(*stats, columns) {
		err := readColumn(ctx, hive, target, c, stats)
		if refused := (*client.Error)(nil); errors.As(err, &refused) && !errors.Is(err, ErrTableGone) {
			continue // dropped since, or not for our eyes: the column stays unread
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", c, err)
		}
	}
	slices.Sort(stats.ColumnsAccurate)
	return nil
}

func describe(ctx context.Context, hive Hive, table hiveql.TableName, target string) (advisor.TableStats, error) {
	res, err := hive.Query(ctx, "DESCRIBE FORMATTED "+target)
	if err != nil {
		return advisor.TableStats{}, goneOr(err)
	}
	return ParseDescribe(res.Rows, table.String())
}

func readColumn(ctx context.Context, hive Hive, target, column string, stats *advisor.TableStats) error {
	name, err := hiveql.QuoteIdentifier(column)
	if err != nil {
		return err
	}
	res, err := hive.Query(ctx, "DESCRIBE FORMATTED "+target+" "+name)
	if err != nil {
		return goneOr(err)
	}
	c, accurate, there, err := parseColumn(res.Rows)
	if err != nil {
		return err
	}
	stats.ColumnsRead = append(stats.ColumnsRead, column)
	if there {
		if stats.Columns == nil {
			stats.Columns = make(map[string]advisor.ColumnStats)
		}
		stats.Columns[column] = c
	}
	if accurate && there && !slices.Contains(stats.ColumnsAccurate, column) {
		stats.ColumnsAccurate = append(stats.ColumnsAccurate, column)
	}
	return nil
}

// readableColumns are those of the columns asked for that DESCRIBE can answer: Hive fails for an unknown column with no code
// of its own. Partition columns are readable: Hive derives their statistics from the partitions.
func readableColumns(t advisor.TableStats, columns []string) []string {
	var out []string
	for _, c := range columns {
		c = strings.ToLower(c)
		known := slices.ContainsFunc(t.ColumnTypes, func(ct advisor.ColumnType) bool {
			return ct.Name == c && hasStatsType(ct.Type)
		})
		if _, err := hiveql.QuoteIdentifier(c); known && err == nil && !slices.Contains(out, c) && len(out) < MaxColumnsRead {
			out = append(out, c)
		}
	}
	return out
}

// goneOr adds ErrTableGone to Hive's refusals that mean it.
func goneOr(err error) error {
	var refused *client.Error
	if errors.As(err, &refused) {
		switch refused.Code {
		case codeInvalidTable, codeNoDatabase, codeInvalidPartition:
			return fmt.Errorf("%w: %w", ErrTableGone, err)
		}
	}
	return err
}
