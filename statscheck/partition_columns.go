package statscheck

import (
	"context"
	"errors"
	"slices"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// partitionsAsked bounds the partitions whose flags stand in for what the metastore does not sum up.
const partitionsAsked = 16

// vouchedByPartitions looks at partitions where Hive has nothing to say of a partitioned table's columns. DESCRIBE FORMATTED table
// column sums over the partitions (Hive.getAggrColStatsFor), which a metastore does by direct SQL only: with
// metastore.try.direct.sql=false it answers "Jdo path is not implemented for stats aggr." (ObjectStore.get_aggr_stats_for), and Hive
// prints the same as for partitions without statistics. The last partitions by name, which are the youngest where names begin
// with a date, tell the two apart: a column that all of them flag is taken for accurate and for not read, since nobody knows its
// sums. One partition that lacks the columns ends it, and so does a refusal.
// Where time is over nothing is known of the columns, which is an error.
func vouchedByPartitions(ctx context.Context, hive Hive, table hiveql.TableName, stats *advisor.TableStats) error {
	var left []string
	for _, c := range stats.ColumnsRead {
		if _, there := stats.Columns[c]; !there && !slices.Contains(stats.PartitionColumns, c) {
			left = append(left, c)
		}
	}
	if len(left) == 0 || len(stats.PartitionColumns) == 0 || stats.StorageHandler != "" {
		return nil
	}
	names, err := ShowPartitions(ctx, hive, table, "", partitionsAsked)
	if err != nil || len(names) == 0 {
		return timeOver(ctx, err)
	}
	for _, name := range slices.Backward(names) {
		p, err := ReadPartition(ctx, hive, table, name, nil)
		if err != nil {
			return timeOver(ctx, err)
		}
		if left = intersection(left, p.ColumnsAccurate); len(left) == 0 {
			return nil
		}
	}
	for _, c := range left {
		if !slices.Contains(stats.ColumnsAccurate, c) {
			stats.ColumnsAccurate = append(stats.ColumnsAccurate, c)
		}
	}
	slices.Sort(stats.ColumnsAccurate)
	stats.ColumnsRead = slices.DeleteFunc(stats.ColumnsRead, func(c string) bool { return slices.Contains(left, c) })
	return nil
}

// timeOver is err where ctx has ended, and nil for a refusal.
func timeOver(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// vouched: partitions flag a column that this metastore does not sum up. Only columns that were read are flagged otherwise.
func vouched(t advisor.TableStats, column string) bool {
	return sumOfPartitions(t) && slices.Contains(t.ColumnsAccurate, column) && !slices.Contains(t.ColumnsRead, column)
}
