package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

// Signals is what was seen of a table beside its counters.
type Signals struct {
	// Writes are the last ones, at most 1,000, the youngest first.
	Writes []statscheck.Write
	// AnalyzedAt is when the last ANALYZE of the whole table that counts rows ended; zero when none was seen.
	AnalyzedAt time.Time
	// Analyzes are the last ones, at most 200, of the table and its partitions, ours and clients', the youngest first.
	Analyzes []Analyzed
	// Contradictions are those of seven days.
	Contradictions []statscheck.Contradiction
	// Reads are the last plans of seven days that read partitions of it, one for each query, at most 50.
	Reads []statscheck.PlanRead
	// Stale are the rules that hold for its partitions.
	Stale []statscheck.Staleness
}

// Analyzed is an ANALYZE that ended.
type Analyzed struct {
	// Spec is the partition as statscheck.PartitionSpec writes it, "" for the whole table.
	Spec string
	// CountsRows: it is no NOSCAN.
	CountsRows bool
	At         time.Time
}

const (
	tableOf = `SELECT t.id FROM hs2proxy.tables t JOIN hs2proxy.upstreams u ON u.id = t.upstream_id WHERE u.name = @upstream AND t.name = @table`

	writesSeen = `
SELECT partitions, written_rows, op, columns_changed, written_at FROM hs2proxy.table_writes WHERE table_id = @id
ORDER BY written_at DESC LIMIT 1000`

	lastAnalyze = `SELECT max(ended_at) FROM hs2proxy.last_analyzes WHERE table_id = @id`

	analyzesSeen = `
SELECT x.spec, x.counts_rows, x.ended_at
FROM (SELECT a.partition AS spec, a.counts_rows, a.ended_at FROM hs2proxy.analyzes a WHERE a.table_id = @id
      UNION ALL
      SELECT coalesce(p.name, ''), true, r.ended_at
      FROM hs2proxy.refreshes r
      JOIN hs2proxy.tables t ON t.id = @id AND r.table_name = t.name AND (r.upstream_id = t.upstream_id OR r.upstream_id IS NULL)
      LEFT JOIN LATERAL unnest(r.partitions) AS p(name) ON true
      WHERE r.state = 'DONE' AND r.ended_at IS NOT NULL) x
ORDER BY x.ended_at DESC LIMIT 200`

	contradictionsSeen = `
SELECT kind, estimated_rows, actual_rows, at_least, certain, words, at FROM hs2proxy.contradictions
WHERE table_id = @id AND at > @week ORDER BY at DESC LIMIT 100`

	planReads = `
SELECT l.fingerprint, l.partitions, l.partitions_read, l.build
FROM (SELECT DISTINCT ON (p.fingerprint, p.database_name) p.fingerprint, x.partitions, x.partitions_read, x.build, p.explained_at
      FROM hs2proxy.plan_tables x JOIN hs2proxy.plans p ON p.id = x.plan_id
      WHERE x.table_id = @id AND p.explained_at > @week
      ORDER BY p.fingerprint, p.database_name, p.explained_at DESC, p.id DESC) l
WHERE l.partitions_read > 0
ORDER BY l.explained_at DESC, l.fingerprint LIMIT 50`

	stalePartitions = `
SELECT partition_name, rule, level FROM hs2proxy.staleness
WHERE table_id = @id AND cleared_at IS NULL AND partition_name <> '' ORDER BY seen_at DESC, partition_name LIMIT 1000`
)

// Signals of a table; empty for one never seen.
func (s *Store) Signals(ctx context.Context, upstream, table string) (out Signals, err error) {
	err = s.do(ctx, "read the signals of a table", func(ctx context.Context) error {
		out = Signals{}
		var id int64
		err := s.pool.QueryRow(ctx, tableOf, pgx.NamedArgs{"upstream": text(upstream), "table": text(table)}).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		args := pgx.NamedArgs{"id": id, "week": s.now().Add(-7 * 24 * time.Hour)}
		batch := &pgx.Batch{}
		batch.Queue(writesSeen, args).Query(gather(&out.Writes, readWrite))
		batch.Queue(lastAnalyze, args).QueryRow(func(row pgx.Row) error {
			var at *time.Time
			err := row.Scan(&at)
			out.AnalyzedAt = orZero(at)
			return err
		})
		batch.Queue(analyzesSeen, args).Query(gather(&out.Analyzes, pgx.RowToStructByPos[Analyzed]))
		batch.Queue(contradictionsSeen, args).Query(gather(&out.Contradictions, readContradiction))
		batch.Queue(planReads, args).Query(gather(&out.Reads, pgx.RowToStructByPos[statscheck.PlanRead]))
		batch.Queue(stalePartitions, args).Query(gather(&out.Stale, func(row pgx.CollectableRow) (statscheck.Staleness, error) {
			h := statscheck.Staleness{Table: table}
			err := row.Scan(&h.Partition, &h.Rule, &h.Level)
			return h, err
		}))
		return s.pool.SendBatch(ctx, batch).Close()
	})
	return out, err
}

func gather[T any](to *[]T, read pgx.RowToFunc[T]) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*to, err = pgx.CollectRows(rows, read)
		return err
	}
}

func readWrite(row pgx.CollectableRow) (statscheck.Write, error) {
	var (
		w  statscheck.Write
		op hiveql.WriteOp
	)
	err := row.Scan(&w.Specs, &w.Rows, &op, &w.ColumnsChanged, &w.At)
	w.Overwrite = op == hiveql.WriteInsertOverwrite || op == hiveql.WriteCreate
	return w, err
}

func readContradiction(row pgx.CollectableRow) (statscheck.Contradiction, error) {
	var c statscheck.Contradiction
	err := row.Scan(&c.Kind, &c.Estimated, &c.Actual, &c.AtLeast, &c.Certain, &c.Words, &c.At)
	return c, err
}

const analyzeInsert = `
INSERT INTO hs2proxy.analyzes (table_id, statement_id, partition, for_columns, columns, counts_rows, started_at, ended_at)
SELECT t.id, @statement, @partition, @for_columns, @columns, @counts, least(@started::timestamptz, @ended::timestamptz), @ended
FROM hs2proxy.tables t WHERE t.upstream_id = @upstream AND t.name = @name
ON CONFLICT DO NOTHING`

const contradictionInsert = `
INSERT INTO hs2proxy.contradictions (table_id, statement_id, kind, estimated_rows, actual_rows, at_least, certain, words, at)
SELECT t.id, @statement, @kind, @estimated, @actual, @at_least, @certain, @words, @at
FROM hs2proxy.tables t WHERE t.upstream_id = @upstream AND t.name = @name
ON CONFLICT DO NOTHING`

// queueSignals records what the ends of statements tell of tables' statistics.
func (w *wave) queueSignals() {
	for _, e := range w.entries {
		e.queueSignals(w.last)
	}
}

func (r *recording) queueSignals(batch *pgx.Batch) {
	ended := r.ended()
	if a := r.o.Analyzed; a != nil && a.Table != "" {
		batch.Queue(analyzeInsert, pgx.NamedArgs{
			"upstream": r.upstream, "name": text(a.Table), "statement": r.o.Statement.ID, "partition": specs(r.s.o.Redact, []string{a.Partition})[0], "for_columns": a.ForColumns,
			"columns": texts(a.Columns), "counts": a.CountsRows, "started": r.started(), "ended": ended,
		})
	}
	for _, c := range r.o.Contradictions {
		at := ended
		if !c.At.IsZero() {
			at = stamp(c.At)
		}
		batch.Queue(contradictionInsert, pgx.NamedArgs{
			"upstream": r.upstream, "name": text(c.Table), "statement": r.o.Statement.ID, "kind": string(c.Kind), "estimated": c.Estimated,
			"actual": c.Actual, "at_least": c.AtLeast, "certain": c.Certain, "words": text(c.Words), "at": at,
		})
	}
}
