package statscheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// Bounds of one reading of Hive's sys database. Hive pushes no filter into its tables (they have hive.sql.query): each statement moves a
// whole table of the metastore's database through HiveServer2's heap, so that the sizes of those tables count, not what is asked for.
const (
	// MaxSysTables bounds the tables asked for at once.
	MaxSysTables = 256
	// maxSysObjects bounds the tables of the metastore, and its partitions; maxSysColumns its column statistics of either.
	maxSysObjects, maxSysColumns = 20_000, 100_000
	// maxSysRows bounds the rows of one answer.
	maxSysRows = 150_000
)

var (
	// ErrNoSys: this server has no sys database, or it lacks a table. schematool -dbType hive makes it.
	ErrNoSys = errors.New("there is no sys database")
	// ErrSysLarge: the metastore, or an answer, is larger than a reading of sys may move.
	ErrSysLarge = errors.New("the metastore is too large to be read through sys")
	// ErrSysJob: the statements would not be answered by HiveServer2 itself.
	ErrSysJob = errors.New("reading sys would start a Tez job")
)

// SysTable is what Hive's sys database tells of a table or partition.
type SysTable struct {
	// Stats are the facts that DESCRIBE FORMATTED prints too: kind, numbers, flags, transactional, storage handler, bucketing version,
	// partition columns, and every column's statistics. Numbers of a partitioned table are sums over its partitions, as DESCRIBE has
	// them, and its Columns are empty. Schema, buckets and input format are not in it. ReadAt is before the first statement.
	Stats advisor.TableStats
	// DDLAt is transient_lastDdlTime, AnalyzedAt the youngest LAST_ANALYZED of a column; zero where there is none.
	DDLAt, AnalyzedAt time.Time
	// Digest stands for all else that was read: the object's id, its parameters and column statistics, and those of its partitions.
	Digest string
	// Partitions are those of a partitioned table, by name.
	Partitions map[string]SysTable
}

// SysSize is how much the metastore holds at most: the numbers that it has given out (SEQUENCE_TABLE).
type SysSize struct{ Tables, Columns, Partitions, PartitionColumns int64 }

func (s SysSize) tablesReadable() bool {
	return s.Tables <= maxSysObjects && s.Columns <= maxSysColumns
}

func (s SysSize) partitionsReadable() bool {
	return s.Partitions <= maxSysObjects && s.PartitionColumns <= maxSysColumns
}

// ReadSys reads the facts of up to MaxSysTables tables in five statements, and eight where one of them is partitioned, however many
// tables are asked for. The key is "database.table". A table that sys does not cover is left out: a temporary one, one that is gone,
// and a partitioned one where the metastore has too many partitions. Errors besides Hive's refusal and those of transport: ErrNoSys,
// ErrSysLarge.
func ReadSys(ctx context.Context, hive Hive, tables []hiveql.TableName) (map[string]SysTable, error) {
	r := sysReader{hive: hive, readAt: time.Now()}
	if err := r.read(ctx, tables[:min(len(tables), MaxSysTables)]); err != nil {
		return nil, fmt.Errorf("read sys: %w", err)
	}
	return r.result(), nil
}

// SysReadable reports why ReadSys is not to be used in this session; nil: it may be. It asks Hive to explain each statement, which
// checks rights as running it does, and wants HiveServer2 to answer it without any task.
func SysReadable(ctx context.Context, hive Hive) (SysSize, error) {
	for _, sql := range sysSamples() {
		res, err := hive.Query(ctx, "EXPLAIN "+sql)
		if err != nil {
			return SysSize{}, noSysOr(err)
		}
		if !fetchOnly(res.Rows) {
			return SysSize{}, fmt.Errorf("%w: %s", ErrSysJob, sql)
		}
	}
	r := sysReader{hive: hive}
	size, err := r.size(ctx)
	if err == nil && !size.tablesReadable() {
		err = fmt.Errorf("%w: up to %d tables and %d column statistics", ErrSysLarge, size.Tables, size.Columns)
	}
	return size, err
}

// fetchOnly: a plan has a stage besides the fetch's (Stage-0) when something runs outside HiveServer2.
func fetchOnly(plan [][]*string) bool {
	fetch := false
	for _, row := range plan {
		line := cell(row, 0)
		if strings.Contains(line, "Stage-") && !strings.Contains(line, "Stage-0") {
			return false
		}
		fetch = fetch || strings.Contains(line, "Fetch Operator")
	}
	return fetch
}

// noSysOr adds ErrNoSys to Hive's refusals that mean it.
func noSysOr(err error) error {
	var refused *client.Error
	if errors.As(err, &refused) && (refused.Code == codeInvalidTable || refused.Code == codeNoDatabase) {
		return fmt.Errorf("%w: %w", ErrNoSys, err)
	}
	return err
}

// Same reports that nothing sys tells of a table or partition has changed between two readings.
func (t SysTable) Same(other SysTable) bool {
	return t.Digest == other.Digest && t.DDLAt.Equal(other.DDLAt)
}

// PartitionStats are the facts of one partition as ReadPartition tells them, completed by the schema and storage of its table: one whose
// partitions differ in these is described as the table is. False: sys has no such partition.
func (t SysTable) PartitionStats(partition string, table advisor.TableStats) (advisor.TableStats, bool) {
	p, ok := t.Partitions[partition]
	if !ok {
		return advisor.TableStats{}, false
	}
	out := p.Stats
	out.Columns, out.ColumnsRead = nil, nil
	out.RowsInFooters, out.ColumnTypes = table.RowsInFooters, table.ColumnTypes
	out.Buckets, out.BucketColumns, out.SortColumns = table.Buckets, table.BucketColumns, table.SortColumns
	return out, true
}
