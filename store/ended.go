package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

// What ends with a table: all rules that hold, for it and its partitions, but a suspicion that the same statement raised; its baseline
// and what was counted since; what is known of its partitions. It begins anew, as of then, should the name come back. How queries use the
// name stays. A table whose baseline is younger has begun anew before, and is left alone: the statement comes a second time, or late.
const (
	tablesEnded = `
WITH ended AS (
    SELECT t.id, x.at, x.why
    FROM unnest(@upstreams::bigint[], @names::text[], @at::timestamptz[], @why::text[]) AS x(upstream, name, at, why)
    JOIN hs2proxy.tables t ON t.upstream_id = x.upstream AND t.name = x.name
    WHERE t.baseline_at IS NULL OR x.at > t.baseline_at
    ORDER BY t.upstream_id, t.name COLLATE "C" FOR UPDATE OF t
)` + endTables

	databaseEnded = `
WITH ended AS (
    SELECT t.id, @at::timestamptz AS at, @why::text AS why
    FROM hs2proxy.tables t
    WHERE t.upstream_id = @upstream AND starts_with(t.name, @database::text || '.') AND (t.baseline_at IS NULL OR @at > t.baseline_at)
    ORDER BY t.name COLLATE "C" FOR UPDATE OF t
)` + endTables

	endTables = `, cleared AS (
    UPDATE hs2proxy.staleness s SET cleared_at = greatest(s.since, e.at), cleared_by = e.why
    FROM ended e WHERE s.table_id = e.id AND s.cleared_at IS NULL AND (s.rule <> 'R6' OR s.seen_at < e.at)
), partitioned AS (
    DELETE FROM hs2proxy.partitions p USING ended e WHERE p.table_id = e.id AND p.read_at <= e.at
), later AS (
    SELECT e.id, e.at, coalesce(sum(w.written_rows), 0) AS written, count(w.written_rows) AS counted,
           count(*) FILTER (WHERE w.table_id IS NOT NULL AND w.written_rows IS NULL) AS uncounted, max(w.written_at) AS last_at,
           coalesce(bool_or(w.columns_changed), false) AS changed
    FROM ended e LEFT JOIN hs2proxy.table_writes w ON w.table_id = e.id AND w.written_at > e.at
    GROUP BY e.id, e.at
)
UPDATE hs2proxy.tables t SET
    baseline_rows = NULL, baseline_bytes = NULL, baseline_columns = '{}', baseline_at = l.at,
    writes_rows = least(l.written, 9223372036854775807)::bigint, writes_counted = l.counted, writes_uncounted = l.uncounted, writes_last_at = l.last_at,
    columns_changed = l.changed, health = NULL, known_rows = NULL, known_rows_from = NULL, known_bytes = NULL, known_bytes_from = NULL,
    columns_needed = '{}', columns_covered = '{}', check_failures = 0, check_failed_at = NULL, check_error = '', check_again_at = NULL
FROM later l WHERE t.id = l.id`
)

// endedBy is what ends the rules of a table that a write leaves no data of before; empty for other writes.
func endedBy(op hiveql.WriteOp) string {
	switch op { //nolint:exhaustive // the others leave the table's data
	case hiveql.WriteDrop:
		return "the table was dropped, or renamed"
	case hiveql.WriteRename:
		return "another table was given the name"
	}
	return ""
}

// queueEnded ends the tables that writes have dropped or replaced. The tables' rows are locked.
func queueEnded(batch *pgx.Batch, rows []writeRow) {
	var ended []writeRow
	last := map[tableKey]int{}
	for _, w := range rows {
		if endedBy(hiveql.WriteOp(w.op)) == "" {
			continue
		}
		if i, ok := last[w.key]; ok {
			if w.at.After(ended[i].at) {
				ended[i] = w
			}
			continue
		}
		last[w.key] = len(ended)
		ended = append(ended, w)
	}
	if len(ended) == 0 {
		return
	}
	batch.Queue(tablesEnded, pgx.NamedArgs{
		"upstreams": column(ended, func(w writeRow) int64 { return w.key.upstream }),
		"names":     column(ended, func(w writeRow) string { return w.key.name }),
		"at":        column(ended, func(w writeRow) time.Time { return w.at }),
		"why":       column(ended, func(w writeRow) string { return endedBy(hiveql.WriteOp(w.op)) }),
	})
}

// queueDropped ends the tables of the databases that were dropped.
func (w *wave) queueDropped() {
	for _, e := range w.entries {
		if e.o.DroppedDatabase != "" {
			w.last.Queue(databaseEnded, pgx.NamedArgs{
				"upstream": e.upstream, "database": text(e.o.DroppedDatabase), "at": e.ended(), "why": "the database was dropped",
			})
		}
	}
}
