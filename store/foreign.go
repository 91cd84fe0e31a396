package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

// foreignInsert leaves out what is on record: another proxy may have read the same. Files that are listed and not in the metastore
// are found again with every check, so the last entry with the same numbers stands.
const foreignInsert = `
INSERT INTO hs2proxy.foreign_writes (table_id, partition_name, since, seen_at, rows_before, rows_after, bytes_before, bytes_after, files_before, files_after, followed, listed)
SELECT t.id, @partition, @since, @seen, @rows_before, @rows_after, @bytes_before, @bytes_after, @files_before, @files_after, @followed, @listed
FROM hs2proxy.tables t
WHERE t.upstream_id = @upstream AND t.name = @name
  AND NOT EXISTS (SELECT 1 FROM hs2proxy.table_writes w
                  WHERE w.table_id = t.id AND NOT @listed AND w.written_at >= @since::timestamptz AND coalesce(w.started_at, w.written_at) <= @seen::timestamptz)
  AND NOT EXISTS (SELECT 1 FROM hs2proxy.foreign_writes x
                  WHERE x.table_id = t.id AND x.partition_name = @partition AND x.listed AND @listed
                    AND x.bytes_before IS NOT DISTINCT FROM @bytes_before::bigint AND x.bytes_after IS NOT DISTINCT FROM @bytes_after::bigint
                    AND x.files_after IS NOT DISTINCT FROM @files_after::bigint)
ON CONFLICT DO NOTHING`

// AddForeignWrites records changes by others, each once. One that a write on record explains is left out.
func (s *Store) AddForeignWrites(ctx context.Context, upstream, table string, list []statscheck.ForeignWrite) error {
	if len(list) == 0 {
		return nil
	}
	return s.inTx(ctx, "record foreign writes", []string{upstream}, func(ctx context.Context, tx pgx.Tx) error {
		id, err := s.upstreamID(ctx, upstream)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(tableInsert, pgx.NamedArgs{"upstream": id, "name": text(table), "at": s.now()})
		for _, w := range list {
			seen := stamp(w.After.At)
			since := stamp(w.Before.At)
			if !since.Before(seen) {
				since = seen.Add(-time.Millisecond)
			}
			batch.Queue(foreignInsert, pgx.NamedArgs{
				"upstream": id, "name": text(table), "partition": text(w.Partition), "since": since, "seen": seen,
				"rows_before": w.Before.Rows, "rows_after": w.After.Rows, "bytes_before": w.Before.Bytes, "bytes_after": w.After.Bytes,
				"files_before": w.Before.Files, "files_after": w.After.Files, "followed": w.Followed, "listed": w.Listed,
			})
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}
