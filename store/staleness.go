package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

const healthUpdate = `
UPDATE hs2proxy.tables SET health = @health, checked_at = @at, known_rows = @rows, known_rows_from = @rows_from, known_bytes = @bytes,
    known_bytes_from = @bytes_from, columns_needed = @needed, columns_covered = @covered,
    check_failures = 0, check_failed_at = NULL, check_error = '', check_again_at = NULL
WHERE upstream_id = @upstream AND name = @name`

const checkedUpdate = `UPDATE hs2proxy.tables SET checked_at = @at WHERE upstream_id = @upstream AND name = @name`

const stalenessUpsert = `
INSERT INTO hs2proxy.staleness AS s (table_id, partition_name, rule, level, reason, evidence, columns, since, seen_at)
SELECT t.id, @partition, @rule, @level, @reason, @evidence, @columns, @at, @at
FROM hs2proxy.tables t WHERE t.upstream_id = @upstream AND t.name = @name
ON CONFLICT (table_id, partition_name, rule) DO UPDATE SET
    level = excluded.level, reason = excluded.reason, evidence = excluded.evidence, columns = excluded.columns,
    since = CASE WHEN s.cleared_at IS NULL THEN s.since ELSE excluded.since END, seen_at = excluded.seen_at, cleared_at = NULL, cleared_by = ''`

// stalenessClear ends what was not found to hold in this check, as far as it looked. R7 is judged over all partitions. A write that
// was seen after the table was read keeps its R6.
const stalenessClear = `
UPDATE hs2proxy.staleness s SET cleared_at = @at, cleared_by = @by
FROM hs2proxy.tables t
WHERE t.id = s.table_id AND t.upstream_id = @upstream AND t.name = @name AND s.cleared_at IS NULL
  AND (@looked::text[] IS NULL OR s.partition_name = '' OR s.rule = 'R7' OR s.partition_name = ANY (@looked::text[]))
  AND (s.partition_name <> '' OR NOT @unread::boolean)
  AND (s.rule <> 'R6' OR s.partition_name <> '' OR @read::timestamptz IS NULL OR s.seen_at < @read::timestamptz)
  AND NOT EXISTS (SELECT 1 FROM unnest(@partitions::text[], @rules::text[]) AS h(partition_name, rule)
                  WHERE h.partition_name = s.partition_name AND h.rule = s.rule)`

// EndStaleness records that no rule holds any more for a table and its partitions, and why; its health is unknown.
func (s *Store) EndStaleness(ctx context.Context, upstream, table, why string) error {
	return s.SaveChecked(ctx, upstream, table, Checked{By: why, All: true})
}

// Checked is what a check of a table found.
type Checked struct {
	// Holds are the rules that hold.
	Holds  []statscheck.Staleness
	Health statscheck.Health
	// Partitions are those that were read and judged, Gone those that turned out to be there no more. What holds for others stays, unless
	// All are judged.
	Partitions, Gone []string
	All              bool
	// Unread: the table itself was not read. What holds for it stays, with its health and the failure on record.
	Unread bool
	Known  statscheck.Known
	// Needed are the columns that queries use, Covered those of them with valid statistics.
	Needed, Covered []string
	// ReadAt is when the table was read; zero when it was not.
	ReadAt time.Time
	// By is what ends the rules that held and do no longer.
	By string
}

// SaveChecked records a check of a table. Rules that held before for what was judged, and are not in Holds, are cleared.
func (s *Store) SaveChecked(ctx context.Context, upstream, table string, c Checked) error {
	looked := append(texts(c.Partitions), texts(c.Gone)...)
	if c.All {
		looked = nil
	}
	holds, health := slices.Clone(c.Holds), c.Health
	slices.SortStableFunc(holds, func(a, b statscheck.Staleness) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Rule, b.Rule))
	})
	if health != nil {
		h := min(1, max(0, *health))
		health = &h
	}
	return s.inTx(ctx, "record staleness", []string{upstream}, func(ctx context.Context, tx pgx.Tx) error {
		id, err := s.upstreamID(ctx, upstream)
		if err != nil {
			return err
		}
		at := s.now()
		args := pgx.NamedArgs{
			"upstream": id, "name": text(table), "at": at, "health": health,
			"rows": c.Known.Rows, "rows_from": orNil(string(c.Known.RowsFrom)), "bytes": c.Known.Bytes, "bytes_from": orNil(string(c.Known.BytesFrom)),
			"needed": texts(c.Needed), "covered": texts(c.Covered), "by": text(s.o.Redact.Text(c.By)), "read": stampOrNil(c.ReadAt),
		}
		batch := &pgx.Batch{}
		batch.Queue(tableInsert, args)
		if c.Unread {
			batch.Queue(checkedUpdate, args)
		} else {
			batch.Queue(healthUpdate, args)
		}
		partitions, rules := make([]string, len(holds)), make([]string, len(holds))
		for i, h := range holds {
			partitions[i], rules[i] = text(h.Partition), text(string(h.Rule))
			ev, err := asJSON(s.o.Redact.evidence(h.Evidence))
			if err != nil {
				return err
			}
			batch.Queue(stalenessUpsert, pgx.NamedArgs{
				"upstream": id, "name": text(table), "at": at, "partition": partitions[i], "rule": rules[i], "level": string(h.Level),
				"reason": text(s.o.Redact.Text(h.Reason)), "evidence": ev, "columns": texts(h.Columns),
			})
		}
		batch.Queue(stalenessClear, pgx.NamedArgs{"upstream": id, "name": text(table), "at": at, "partitions": partitions, "rules": rules, "looked": looked, "by": args["by"], "read": args["read"], "unread": c.Unread})
		if len(looked) > 0 {
			args["partitions"], args["gone"] = texts(c.Partitions), texts(c.Gone)
			batch.Queue(partitionsRead, args)
			batch.Queue(partitionsGone, args)
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}

// StaleTable is a table for which at least one rule holds.
type StaleTable struct {
	Upstream string
	Table    string
	// Health is nil when unknown.
	Health statscheck.Health
	// Staleness are the rules that hold, the worst first.
	Staleness []statscheck.Staleness
	// Since is when the first of them began to hold.
	Since     time.Time
	CheckedAt time.Time
	// Joins7d is how many analysed statements joined the table in seven days.
	Joins7d int64
	// JoinColumns and OtherColumns are its columns that queries use, as in statscheck.Usage.
	JoinColumns, OtherColumns []string
	// History are its last refreshes, the youngest first, at most 20, open ones included: without statistics and plans.
	History []statscheck.Refresh
}

const staleSelect = `
SELECT u.name, t.name, t.health, coalesce(t.checked_at, t.first_seen), coalesce(tu.uses, 0), t.join_columns, t.other_columns,
       s.partition_name, s.rule, s.level, s.reason, s.evidence, s.columns, s.since
FROM hs2proxy.staleness s
JOIN hs2proxy.tables t ON t.id = s.table_id
JOIN hs2proxy.upstreams u ON u.id = t.upstream_id
LEFT JOIN hs2proxy.table_uses tu ON tu.table_id = t.id
WHERE s.cleared_at IS NULL AND (@upstream = '' OR u.name = @upstream)`

var severity = map[statscheck.Level]int{
	statscheck.LevelSuspect: 1, statscheck.LevelWatch: 2, statscheck.LevelStale: 3, statscheck.LevelHigh: 4, statscheck.LevelCritical: 5,
}

// StaleTables are the tables for which a rule holds, the worst first, then the most joined. Upstream "" means all.
func (s *Store) StaleTables(ctx context.Context, upstream string) (out []StaleTable, err error) {
	err = s.do(ctx, "read the stale tables", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, staleSelect, pgx.NamedArgs{"upstream": text(upstream)})
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, readStale)
		if err != nil {
			return err
		}
		out = groupStale(found)
		return s.addHistory(ctx, out)
	})
	return out, err
}

func readStale(row pgx.CollectableRow) (StaleTable, error) {
	var (
		t StaleTable
		h statscheck.Staleness
	)
	err := row.Scan(&t.Upstream, &t.Table, &t.Health, &t.CheckedAt, &t.Joins7d, &t.JoinColumns, &t.OtherColumns,
		&h.Partition, &h.Rule, &h.Level, &h.Reason, &h.Evidence, &h.Columns, &t.Since)
	h.Table, h.Columns = t.Table, nilIfEmpty(h.Columns)
	t.JoinColumns, t.OtherColumns = nilIfEmpty(t.JoinColumns), nilIfEmpty(t.OtherColumns)
	if len(h.Evidence) == 0 {
		h.Evidence = nil
	}
	t.Staleness = []statscheck.Staleness{h}
	return t, err
}

const historySelect = `
SELECT g.place, r.id, r.mode, r.columns, r.partitions, r.state, r.requested_by, r.requested_at, r.started_at, r.ended_at, coalesce(r.effect, ''), r.error
FROM unnest(@upstreams::text[], @tables::text[]) WITH ORDINALITY AS g(upstream, table_name, place)
JOIN LATERAL (SELECT f.id, f.mode, f.columns, f.partitions, f.state, f.requested_by, f.requested_at, f.started_at, f.ended_at, f.effect, f.error
              FROM hs2proxy.refreshes f LEFT JOIN hs2proxy.upstreams u ON u.id = f.upstream_id
              WHERE f.table_name = g.table_name AND (u.name = g.upstream OR f.upstream_id IS NULL)
              ORDER BY f.id DESC LIMIT 20) r ON true
ORDER BY g.place, r.id DESC`

func (s *Store) addHistory(ctx context.Context, stale []StaleTable) error {
	upstreams, tables := make([]string, len(stale)), make([]string, len(stale))
	for i, t := range stale {
		upstreams[i], tables[i] = t.Upstream, t.Table
	}
	rows, err := s.pool.Query(ctx, historySelect, pgx.NamedArgs{"upstreams": upstreams, "tables": tables})
	if err != nil {
		return err
	}
	var (
		place          int
		r              statscheck.Refresh
		started, ended *time.Time
	)
	_, err = pgx.ForEachRow(rows, []any{
		&place, &r.ID, &r.Mode, &r.Columns, &r.Partitions, &r.State, &r.RequestedBy, &r.RequestedAt, &started, &ended, &r.Effect, &r.Error,
	}, func() error {
		t := &stale[place-1]
		r.Upstream, r.Table, r.StartedAt, r.EndedAt = t.Upstream, t.Table, orZero(started), orZero(ended)
		r.Columns, r.Partitions = slices.Clone(r.Columns), slices.Clone(r.Partitions)
		t.History = append(t.History, r)
		return nil
	})
	return err
}

func groupStale(found []StaleTable) []StaleTable {
	type key struct{ upstream, table string }
	place := map[key]int{}
	var out []StaleTable
	for _, t := range found {
		k := key{t.Upstream, t.Table}
		i, ok := place[k]
		if !ok {
			place[k] = len(out)
			out = append(out, t)
			continue
		}
		out[i].Staleness = append(out[i].Staleness, t.Staleness...)
		if t.Since.Before(out[i].Since) {
			out[i].Since = t.Since
		}
	}
	for _, t := range out {
		slices.SortFunc(t.Staleness, func(a, b statscheck.Staleness) int {
			return cmp.Or(cmp.Compare(severity[b.Level], severity[a.Level]), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Partition, b.Partition))
		})
	}
	slices.SortFunc(out, func(a, b StaleTable) int {
		return cmp.Or(cmp.Compare(severity[b.Staleness[0].Level], severity[a.Staleness[0].Level]), cmp.Compare(b.Joins7d, a.Joins7d),
			cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.Table, b.Table))
	})
	return out
}
