package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/advisor"
)

const statsSeenAgain = `
UPDATE hs2proxy.table_stats SET read_at = greatest(read_at, @read)
WHERE id = (SELECT l.id FROM hs2proxy.table_stats l WHERE l.table_id = @table AND l.partition_name = @partition
            ORDER BY l.read_at DESC, l.id DESC LIMIT 1)
  AND content_hash = @hash`

const statsInsert = `
INSERT INTO hs2proxy.table_stats (table_id, partition_name, content_hash, kind, num_rows, raw_data_size, total_size, num_files, num_partitions,
    basic_accurate, columns_accurate, transactional, storage_handler, detail, columns_read, first_read_at, read_at)
VALUES (@table, @partition, @hash, @kind, @rows, @raw, @total, @files, @partitions,
    @basic, @columns_accurate, @transactional, @handler, @detail, @columns_read, @read, @read)
RETURNING id`

const columnInsert = `
INSERT INTO hs2proxy.column_stats (table_stats_id, column_name, ndv, nulls, avg_len, max_len, trues, falses, low, high)
VALUES (@stats, @column, @ndv, @nulls, @avg, @max, @trues, @falses, @low, @high)`

// SaveTableStats records what was read of tables and partitions. Values that are those of the latest snapshot only move
// its time.
func (s *Store) SaveTableStats(ctx context.Context, upstream string, stats []advisor.TableStats) error {
	stats = slices.Clone(stats)
	slices.SortStableFunc(stats, func(a, b advisor.TableStats) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Partition, b.Partition))
	})
	return s.inTx(ctx, "record table statistics", []string{upstream}, func(ctx context.Context, tx pgx.Tx) error {
		id, err := s.upstreamID(ctx, upstream)
		if err != nil {
			return err
		}
		for _, t := range stats {
			if err := s.saveTableStats(ctx, tx, id, t); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) saveTableStats(ctx context.Context, tx pgx.Tx, upstream int64, t advisor.TableStats) error {
	read := t.ReadAt
	if read.IsZero() {
		read = s.o.Now()
	}
	args := pgx.NamedArgs{"upstream": upstream, "name": text(t.Table), "at": stamp(read)}
	var table int64
	batch := &pgx.Batch{}
	batch.Queue(tableInsert, args)
	batch.Queue(tableID, args).QueryRow(func(row pgx.Row) error { return row.Scan(&table) })
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	return snapshotOf(ctx, tx, table, t, pgx.NamedArgs{"table": table, "partition": text(t.Partition), "read": stamp(read)})
}

// snapshot writes t unless the latest one has the same content.
func snapshotOf(ctx context.Context, tx pgx.Tx, table int64, t advisor.TableStats, args pgx.NamedArgs) error {
	content, err := contentHash(t)
	if err != nil {
		return err
	}
	args["hash"] = content
	tag, err := tx.Exec(ctx, statsSeenAgain, args)
	if err != nil || tag.RowsAffected() > 0 {
		return err
	}
	bare := t
	bare.Columns = nil
	if args["detail"], err = asJSON(bare); err != nil {
		return err
	}
	maps.Copy(args, pgx.NamedArgs{
		"table": table, "kind": text(t.Kind), "rows": t.Rows, "raw": t.RawDataSize, "total": t.TotalSize, "files": t.Files,
		"partitions": t.PartitionsNum, "basic": t.BasicAccurate, "columns_accurate": texts(t.ColumnsAccurate), "transactional": t.Transactional,
		"handler": text(t.StorageHandler), "columns_read": texts(t.ColumnsRead),
	})
	var id int64
	if err := tx.QueryRow(ctx, statsInsert, args).Scan(&id); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for _, name := range slices.Sorted(maps.Keys(t.Columns)) {
		c := t.Columns[name]
		batch.Queue(columnInsert, pgx.NamedArgs{
			"stats": id, "column": text(name), "ndv": c.NDV, "nulls": c.Nulls, "avg": c.AvgLen, "max": c.MaxLen,
			"trues": c.Trues, "falses": c.Falses, "low": text(c.Low), "high": text(c.High),
		})
	}
	return tx.SendBatch(ctx, batch).Close()
}

// contentHash is of all values but the time.
func contentHash(t advisor.TableStats) (string, error) {
	t.ReadAt = time.Time{}
	b, err := asJSON(t)
	if err != nil {
		return "", err
	}
	return hash(b), nil
}

const latestStats = `
SELECT DISTINCT ON (t.name, s.partition_name)
    s.id, t.name, s.partition_name, s.detail, s.read_at
FROM hs2proxy.table_stats s
JOIN hs2proxy.tables t ON t.id = s.table_id
JOIN hs2proxy.upstreams u ON u.id = t.upstream_id
WHERE u.name = @upstream AND (@tables::text[] IS NULL OR t.name = ANY (@tables))
ORDER BY t.name, s.partition_name, s.read_at DESC, s.id DESC`

const columnsOfStats = `
SELECT table_stats_id, column_name, ndv, nulls, avg_len, max_len, trues, falses, low, high
FROM hs2proxy.column_stats WHERE table_stats_id = ANY (@stats)`

// LatestTableStats are the latest snapshots by table: the table's own first (Partition ""), then its partitions' by
// name. Tables nil means all of the upstream's.
func (s *Store) LatestTableStats(ctx context.Context, upstream string, tables []string) (out map[string][]advisor.TableStats, err error) {
	out = map[string][]advisor.TableStats{}
	var names any // NULL for all
	if tables != nil {
		names = texts(tables)
	}
	err = s.do(ctx, "read table statistics", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, latestStats, pgx.NamedArgs{"upstream": text(upstream), "tables": names})
		if err != nil {
			return err
		}
		snapshots, err := pgx.CollectRows(rows, readSnapshot)
		if err != nil {
			return err
		}
		if err := s.addColumns(ctx, snapshots); err != nil {
			return err
		}
		for _, t := range snapshots {
			out[t.stats.Table] = append(out[t.stats.Table], t.stats)
		}
		return nil
	})
	return out, err
}

type snapshot struct {
	id    int64
	stats advisor.TableStats
}

func readSnapshot(row pgx.CollectableRow) (snapshot, error) {
	var (
		out    snapshot
		table  string
		part   string
		detail json.RawMessage
		read   time.Time
	)
	if err := row.Scan(&out.id, &table, &part, &detail, &read); err != nil {
		return out, err
	}
	if err := json.Unmarshal(detail, &out.stats); err != nil {
		return out, fmt.Errorf("read a snapshot: %w", err)
	}
	out.stats.Table, out.stats.Partition, out.stats.ReadAt = table, part, read
	return out, nil
}

func nilIfEmpty(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

func (s *Store) addColumns(ctx context.Context, snapshots []snapshot) error {
	place := make(map[int64]int, len(snapshots))
	ids := make([]int64, len(snapshots))
	for i, t := range snapshots {
		place[t.id], ids[i] = i, t.id
	}
	rows, err := s.pool.Query(ctx, columnsOfStats, pgx.NamedArgs{"stats": ids})
	if err != nil {
		return err
	}
	var (
		id   int64
		name string
		c    advisor.ColumnStats
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &name, &c.NDV, &c.Nulls, &c.AvgLen, &c.MaxLen, &c.Trues, &c.Falses, &c.Low, &c.High}, func() error {
		t := &snapshots[place[id]].stats
		if t.Columns == nil {
			t.Columns = map[string]advisor.ColumnStats{}
		}
		t.Columns[name] = c
		return nil
	})
	return err
}
