package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

const tableInsert = `
INSERT INTO hs2proxy.tables (upstream_id, name, first_seen) VALUES (@upstream, @name, @at)
ON CONFLICT (upstream_id, name) DO NOTHING`

const tableID = `SELECT id FROM hs2proxy.tables WHERE upstream_id = @upstream AND name = @name`

// writesInsert counts the writes that are new: one after the table's baseline, for one that the baseline already includes changes nothing. The
// tables' rows are locked. What the writes explain of changes by others is taken back: one came to light only now, for it ended while
// the files were read, or another proxy saw it. One that raises a suspicion raises R6 of its table, whose health is unknown until it
// is read; other rules stay.
const writesInsert = `
WITH given AS MATERIALIZED (
    SELECT t.id, x.statement::uuid AS statement, x.op, x.written, x.changed, x.at, x.partitions::text[] AS partitions, least(x.started, x.at) AS started, x.suspicion
    FROM unnest(@upstreams::bigint[], @names::text[], @statements::text[], @ops::text[], @rows::bigint[], @changed::boolean[], @at::timestamptz[],
                @partitions::text[], @started::timestamptz[], @suspicions::text[])
         AS x(upstream, name, statement, op, written, changed, at, partitions, started, suspicion)
    CROSS JOIN LATERAL (SELECT y.id FROM hs2proxy.tables y WHERE y.upstream_id = x.upstream AND y.name = x.name LIMIT 1) t
), added AS (
    INSERT INTO hs2proxy.table_writes (table_id, statement_id, op, written_rows, columns_changed, written_at, partitions, started_at)
    SELECT g.id, g.statement, g.op, g.written, g.changed, g.at, g.partitions, g.started FROM given g
    ON CONFLICT (table_id, statement_id) DO NOTHING
    RETURNING table_id, statement_id, written_rows, columns_changed, written_at, started_at
), suspected AS (
    INSERT INTO hs2proxy.staleness AS s (table_id, partition_name, rule, level, reason, evidence, columns, since, seen_at)
    SELECT a.table_id, '', @rule, @level, (array_agg(g.suspicion ORDER BY a.written_at DESC, a.statement_id))[1],
           jsonb_build_object('op', (array_agg(g.op ORDER BY a.written_at DESC, a.statement_id))[1], 'last_write_at', max(a.written_at)),
           '{}'::text[], min(a.written_at), max(a.written_at)
    FROM added a
    JOIN given g ON g.id = a.table_id AND g.statement = a.statement_id AND g.suspicion <> ''
    CROSS JOIN LATERAL (SELECT y.baseline_at FROM hs2proxy.tables y WHERE y.id = a.table_id LIMIT 1) b
    WHERE b.baseline_at IS NULL OR a.written_at > b.baseline_at
    GROUP BY a.table_id
    ON CONFLICT (table_id, partition_name, rule) DO UPDATE SET
        level = excluded.level, columns = excluded.columns,
        reason = CASE WHEN s.cleared_at IS NULL AND s.seen_at > excluded.seen_at THEN s.reason ELSE excluded.reason END,
        evidence = CASE WHEN s.cleared_at IS NULL AND s.seen_at > excluded.seen_at THEN s.evidence ELSE excluded.evidence END,
        since = CASE WHEN s.cleared_at IS NULL THEN least(s.since, excluded.since) ELSE excluded.since END,
        seen_at = CASE WHEN s.cleared_at IS NULL THEN greatest(s.seen_at, excluded.seen_at) ELSE excluded.seen_at END, cleared_at = NULL, cleared_by = ''
    RETURNING table_id
), explained AS (
    DELETE FROM hs2proxy.foreign_writes WHERE id IN (
        SELECT f.id FROM added a
        CROSS JOIN LATERAL (SELECT y.id FROM hs2proxy.foreign_writes y
                            WHERE y.table_id = a.table_id AND NOT y.listed AND y.since <= a.written_at
                              AND y.seen_at >= coalesce(a.started_at, a.written_at) OFFSET 0) f)
), counted AS (
    SELECT a.table_id, sum(a.written_rows) AS written, count(a.written_rows) AS counted, count(*) FILTER (WHERE a.written_rows IS NULL) AS uncounted,
           max(a.written_at) AS last_at, bool_or(a.columns_changed) AS changed
    FROM added a
    CROSS JOIN LATERAL (SELECT y.baseline_at FROM hs2proxy.tables y WHERE y.id = a.table_id LIMIT 1) b
    WHERE b.baseline_at IS NULL OR a.written_at > b.baseline_at
    GROUP BY a.table_id
)
UPDATE hs2proxy.tables t SET
    writes_rows = least(t.writes_rows + coalesce(c.written, 0), 9223372036854775807)::bigint, writes_counted = t.writes_counted + c.counted,
    writes_uncounted = t.writes_uncounted + c.uncounted, writes_last_at = greatest(t.writes_last_at, c.last_at),
    columns_changed = t.columns_changed OR c.changed,
    health = CASE WHEN EXISTS (SELECT 1 FROM suspected s WHERE s.table_id = t.id) THEN NULL ELSE t.health END
FROM counted c WHERE t.id = c.table_id`

// AddWrites counts writes, each once per statement and table however often it comes. A write at or before the table's
// baseline is remembered and not counted.
func (s *Store) AddWrites(ctx context.Context, writes []TableWrite) error {
	upstreams := make([]string, len(writes))
	for i, w := range writes {
		upstreams[i] = w.Upstream
	}
	return s.inTx(ctx, "count writes", upstreams, func(ctx context.Context, tx pgx.Tx) error {
		tables := newTableFold()
		rows, err := s.foldWrites(ctx, tables, writes)
		if err != nil || len(rows) == 0 {
			return err
		}
		batch := &pgx.Batch{}
		tables.queue(batch)
		queueWrites(batch, rows)
		return tx.SendBatch(ctx, batch).Close()
	})
}

// writeRow is a write as it is stored.
type writeRow struct {
	key                       tableKey
	statement, op, partitions string
	// suspicion is why R6 holds until the table is read; empty where it does not.
	suspicion string
	rows      *int64
	changed   bool
	at        time.Time
	started   *time.Time
}

// foldWrites are the writes as they are stored, each once; their tables are made sure of, and locked.
func (s *Store) foldWrites(ctx context.Context, tables *tableFold, writes []TableWrite) ([]writeRow, error) {
	writes = slices.Clone(writes)
	slices.SortStableFunc(writes, func(a, b TableWrite) int {
		return cmp.Or(cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.Table, b.Table), cmp.Compare(a.StatementID, b.StatementID))
	})
	rows := make([]writeRow, 0, len(writes))
	for _, w := range oncePerStatement(writes) {
		upstream, err := s.upstreamID(ctx, w.Upstream)
		if err != nil {
			return nil, err
		}
		if w.At.IsZero() {
			w.At = s.o.Now()
		}
		at := stamp(w.At)
		t := tables.named(upstream, text(w.Table), at)
		t.written = true
		row := writeRow{key: t.key, statement: w.StatementID, op: text(string(w.Op)), rows: w.Rows, changed: w.ColumnsChanged, at: at, started: stampOrNil(w.StartedAt)}
		partitions := specs(s.o.Redact, w.Partitions)
		row.partitions = arrayLiteral(partitions)
		if w.Suspect && w.Rows == nil {
			row.suspicion = text(statscheck.Suspicion(w.Op, partitions))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func queueWrites(batch *pgx.Batch, rows []writeRow) {
	if len(rows) == 0 {
		return
	}
	batch.Queue(writesInsert, pgx.NamedArgs{
		"upstreams":  column(rows, func(w writeRow) int64 { return w.key.upstream }),
		"names":      column(rows, func(w writeRow) string { return w.key.name }),
		"statements": column(rows, func(w writeRow) string { return w.statement }),
		"ops":        column(rows, func(w writeRow) string { return w.op }),
		"rows":       column(rows, func(w writeRow) *int64 { return w.rows }),
		"changed":    column(rows, func(w writeRow) bool { return w.changed }),
		"at":         column(rows, func(w writeRow) time.Time { return w.at }),
		"partitions": column(rows, func(w writeRow) string { return w.partitions }),
		"started":    column(rows, func(w writeRow) *time.Time { return w.started }),
		"suspicions": column(rows, func(w writeRow) string { return w.suspicion }),
		"rule":       string(statscheck.R6Uncounted), "level": string(statscheck.LevelSuspect),
	})
	queueEnded(batch, rows)
}

// oncePerStatement joins the writes of one statement to one table (a multi-insert may name it twice). Writes are sorted.
func oncePerStatement(writes []TableWrite) []TableWrite {
	var out []TableWrite
	for _, w := range writes {
		last := len(out) - 1
		if last < 0 || out[last].Upstream != w.Upstream || out[last].Table != w.Table || out[last].StatementID != w.StatementID {
			out = append(out, w)
			continue
		}
		o := &out[last]
		o.ColumnsChanged, o.Suspect = o.ColumnsChanged || w.ColumnsChanged, o.Suspect || w.Suspect
		o.Partitions = union(specs(nil, o.Partitions), specs(nil, w.Partitions))
		if o.Rows != nil && w.Rows != nil {
			sum := addUp(max(0, *o.Rows), max(0, *w.Rows))
			o.Rows = &sum
		} else {
			o.Rows = nil
		}
	}
	return out
}

const writesSelect = `
SELECT t.writes_rows, t.writes_counted, t.writes_uncounted, t.writes_last_at, t.columns_changed,
       (SELECT count(*) FROM hs2proxy.table_writes x
        WHERE x.table_id = t.id AND x.op IN ('INSERT_OVERWRITE', 'CREATE') AND (t.baseline_at IS NULL OR x.written_at > t.baseline_at)),
       (SELECT CASE WHEN bool_and(p.name <> '') AND count(*) FILTER (WHERE x.written_rows IS NULL) = 0 THEN count(DISTINCT p.name) ELSE 0 END
        FROM hs2proxy.table_writes x CROSS JOIN LATERAL unnest(x.partitions) AS p(name)
        WHERE x.table_id = t.id AND (t.baseline_at IS NULL OR x.written_at > t.baseline_at)),
       (SELECT CASE WHEN count(*) = count(x.written_rows) THEN sum(x.written_rows)::bigint END
        FROM hs2proxy.table_writes x
        WHERE x.table_id = t.id AND x.written_at >= (
            SELECT max(o.written_at) FROM hs2proxy.table_writes o
            WHERE o.table_id = t.id AND o.op IN ('INSERT_OVERWRITE', 'CREATE') AND o.partitions <@ ARRAY['']
              AND (t.baseline_at IS NULL OR o.written_at > t.baseline_at))),
       EXISTS (SELECT 1 FROM hs2proxy.foreign_writes f WHERE f.table_id = t.id AND f.partition_name = '' AND NOT f.followed AND NOT f.listed
                                                         AND (t.baseline_at IS NULL OR f.seen_at > t.baseline_at))
FROM hs2proxy.tables t JOIN hs2proxy.upstreams u ON u.id = t.upstream_id
WHERE u.name = @upstream AND t.name = @table`

// Writes is what was written to a table since its baseline; zero for a table never seen.
func (s *Store) Writes(ctx context.Context, upstream, table string) (statscheck.Writes, error) {
	var w statscheck.Writes
	err := s.do(ctx, "read writes", func(ctx context.Context) error {
		var last *time.Time
		err := s.pool.QueryRow(ctx, writesSelect, pgx.NamedArgs{"upstream": text(upstream), "table": text(table)}).
			Scan(&w.Rows, &w.Counted, &w.Uncounted, &last, &w.ColumnsChanged, &w.Overwrites, &w.Partitions, &w.Left, &w.Foreign)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		w.LastAt = orZero(last)
		return err
	})
	return w, err
}

const baselineSelect = `
SELECT t.baseline_rows, t.baseline_bytes, t.baseline_columns, t.baseline_at
FROM hs2proxy.tables t JOIN hs2proxy.upstreams u ON u.id = t.upstream_id
WHERE u.name = @upstream AND t.name = @table AND t.baseline_at IS NOT NULL`

// Baseline is a table's baseline; nil without an error when it has none.
func (s *Store) Baseline(ctx context.Context, upstream, table string) (*statscheck.Baseline, error) {
	var out *statscheck.Baseline
	err := s.do(ctx, "read a baseline", func(ctx context.Context) error {
		var b statscheck.Baseline
		err := s.pool.QueryRow(ctx, baselineSelect, pgx.NamedArgs{"upstream": text(upstream), "table": text(table)}).
			Scan(&b.Rows, &b.Bytes, &b.Columns, &b.At)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if len(b.Columns) == 0 {
			b.Columns = nil
		}
		out = &b
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

const baselineUpdate = `
UPDATE hs2proxy.tables SET baseline_rows = @rows, baseline_bytes = @bytes, baseline_columns = @columns, baseline_at = @at
WHERE upstream_id = @upstream AND name = @name`

// rebaseUpdate counts again what was written after the new baseline: a write may have come in while it was read.
const rebaseUpdate = `
UPDATE hs2proxy.tables t SET baseline_rows = @rows, baseline_bytes = @bytes, baseline_columns = @columns, baseline_at = @at,
    writes_rows = w.written, writes_counted = w.counted, writes_uncounted = w.uncounted, writes_last_at = w.last_at, columns_changed = w.changed
FROM (SELECT least(coalesce(sum(x.written_rows), 0), 9223372036854775807)::bigint AS written, count(x.written_rows) AS counted,
             count(*) FILTER (WHERE x.written_rows IS NULL) AS uncounted, max(x.written_at) AS last_at, coalesce(bool_or(x.columns_changed), false) AS changed
      FROM hs2proxy.table_writes x JOIN hs2proxy.tables y ON y.id = x.table_id
      WHERE y.upstream_id = @upstream AND y.name = @name AND x.written_at > @at::timestamptz) w
WHERE t.upstream_id = @upstream AND t.name = @name`

// SetBaseline records a table's baseline and leaves the writes counted so far.
func (s *Store) SetBaseline(ctx context.Context, upstream, table string, b statscheck.Baseline) error {
	return s.baseline(ctx, "set a baseline", baselineUpdate, upstream, table, "", b)
}

// Rebase records a table's baseline and counts writes from it on.
func (s *Store) Rebase(ctx context.Context, upstream, table string, b statscheck.Baseline) error {
	return s.baseline(ctx, "rebase", rebaseUpdate, upstream, table, "", b)
}

// baseline records that of a table, or of one of its partitions.
func (s *Store) baseline(ctx context.Context, what, update, upstream, table, partition string, b statscheck.Baseline) error {
	return s.inTx(ctx, what, []string{upstream}, func(ctx context.Context, tx pgx.Tx) error {
		id, err := s.upstreamID(ctx, upstream)
		if err != nil {
			return err
		}
		at := b.At
		if at.IsZero() {
			at = s.o.Now()
		}
		args := pgx.NamedArgs{
			"upstream": id, "name": text(table), "partition": text(partition), "at": stamp(at), "rows": b.Rows, "bytes": b.Bytes, "columns": texts(b.Columns),
		}
		batch := &pgx.Batch{}
		batch.Queue(tableInsert, args)
		batch.Queue(update, args)
		return tx.SendBatch(ctx, batch).Close()
	})
}
