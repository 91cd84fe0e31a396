package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

// PartitionState is what is known of one partition from before.
type PartitionState struct {
	// Baseline is nil without one.
	Baseline *statscheck.Baseline
	// ReadAt is when its statistics were last read; zero when never.
	ReadAt time.Time
	// Foreign: another writer changed its files since the baseline, and numRows did not follow.
	Foreign bool
}

const partitionStates = `
SELECT p.name, p.baseline_rows, p.baseline_bytes, p.baseline_columns, p.baseline_at, p.read_at,
       EXISTS (SELECT 1 FROM hs2proxy.foreign_writes f WHERE f.table_id = p.table_id AND f.partition_name = p.name AND NOT f.followed AND NOT f.listed
                                                         AND (p.baseline_at IS NULL OR f.seen_at > p.baseline_at))
FROM hs2proxy.partitions p
JOIN hs2proxy.tables t ON t.id = p.table_id
JOIN hs2proxy.upstreams u ON u.id = t.upstream_id
WHERE u.name = @upstream AND t.name = @table AND p.name = ANY (@names)`

// PartitionStates are those of the partitions named that were read before.
func (s *Store) PartitionStates(ctx context.Context, upstream, table string, names []string) (out map[string]PartitionState, err error) {
	err = s.do(ctx, "read the state of partitions", func(ctx context.Context) error {
		out = map[string]PartitionState{}
		rows, err := s.pool.Query(ctx, partitionStates, pgx.NamedArgs{"upstream": text(upstream), "table": text(table), "names": texts(names)})
		if err != nil {
			return err
		}
		var (
			name    string
			b       statscheck.Baseline
			at      *time.Time
			read    time.Time
			foreign bool
		)
		_, err = pgx.ForEachRow(rows, []any{&name, &b.Rows, &b.Bytes, &b.Columns, &at, &read, &foreign}, func() error {
			state := PartitionState{ReadAt: read, Foreign: foreign}
			if at != nil {
				known := b
				known.At, known.Columns = *at, nilIfEmpty(b.Columns)
				state.Baseline = &known
			}
			b = statscheck.Baseline{}
			out[name] = state
			return nil
		})
		return err
	})
	return out, err
}

const readingsSelect = `
SELECT g.name, s.num_rows, s.total_size, s.num_files, s.read_at
FROM unnest(@names::text[]) AS g(name)
JOIN hs2proxy.upstreams u ON u.name = @upstream
JOIN hs2proxy.tables t ON t.upstream_id = u.id AND t.name = @table
JOIN LATERAL (SELECT x.num_rows, x.total_size, x.num_files, x.read_at FROM hs2proxy.table_stats x
              WHERE x.table_id = t.id AND x.partition_name = g.name ORDER BY x.read_at DESC, x.id DESC LIMIT 1) s ON true`

// Readings are the last recorded ones of a table ("") and of partitions, by name.
func (s *Store) Readings(ctx context.Context, upstream, table string, names []string) (out map[string]statscheck.Reading, err error) {
	err = s.do(ctx, "read the last readings", func(ctx context.Context) error {
		out = map[string]statscheck.Reading{}
		rows, err := s.pool.Query(ctx, readingsSelect, pgx.NamedArgs{"upstream": text(upstream), "table": text(table), "names": texts(names)})
		if err != nil {
			return err
		}
		var (
			name string
			r    statscheck.Reading
		)
		_, err = pgx.ForEachRow(rows, []any{&name, &r.Rows, &r.Bytes, &r.Files, &r.At}, func() error {
			out[name] = r
			r = statscheck.Reading{}
			return nil
		})
		return err
	})
	return out, err
}

const partitionRebase = `
INSERT INTO hs2proxy.partitions (table_id, name, baseline_rows, baseline_bytes, baseline_columns, baseline_at, read_at)
SELECT t.id, @partition, @rows, @bytes, @columns, @at, @at FROM hs2proxy.tables t WHERE t.upstream_id = @upstream AND t.name = @name
ON CONFLICT (table_id, name) DO UPDATE SET
    baseline_rows = excluded.baseline_rows, baseline_bytes = excluded.baseline_bytes, baseline_columns = excluded.baseline_columns,
    baseline_at = excluded.baseline_at, read_at = greatest(hs2proxy.partitions.read_at, excluded.read_at)`

// RebasePartition records a partition's baseline. What was written after it is counted from the writes on record.
func (s *Store) RebasePartition(ctx context.Context, upstream, table, partition string, b statscheck.Baseline) error {
	return s.baseline(ctx, "rebase a partition", partitionRebase, upstream, table, partition, b)
}

const partitionsRead = `
INSERT INTO hs2proxy.partitions (table_id, name, read_at)
SELECT t.id, g.name, @at FROM hs2proxy.tables t CROSS JOIN (SELECT DISTINCT n.name FROM unnest(@partitions::text[]) AS n(name) ORDER BY n.name) g
WHERE t.upstream_id = @upstream AND t.name = @name
ON CONFLICT (table_id, name) DO UPDATE SET read_at = greatest(hs2proxy.partitions.read_at, excluded.read_at)`

const partitionsGone = `
DELETE FROM hs2proxy.partitions p USING hs2proxy.tables t
WHERE t.id = p.table_id AND t.upstream_id = @upstream AND t.name = @name AND p.name = ANY (@gone::text[])`
