package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

const alarmFactors = `
SELECT a.table_name, a.factor
FROM hs2proxy.false_alarms a JOIN hs2proxy.upstreams u ON u.id = a.upstream_id
WHERE u.name = @upstream AND a.factor > 1`

// ThresholdFactors are what false alarms raise the thresholds of an upstream's tables by, by table; those that are not raised are left out.
func (s *Store) ThresholdFactors(ctx context.Context, upstream string) (map[string]float64, error) {
	out := map[string]float64{}
	err := s.do(ctx, "read the factors of thresholds", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, alarmFactors, pgx.NamedArgs{"upstream": text(upstream)})
		if err != nil {
			return err
		}
		var (
			table  string
			factor float64
		)
		_, err = pgx.ForEachRow(rows, []any{&table, &factor}, func() error {
			out[table] = factor
			return nil
		})
		return err
	})
	return out, err
}

const alarmLock = `
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws('/', 'hs2proxy.false_alarm', @upstream::bigint, @table::text), 0))`

const alarmSelect = `
SELECT coalesce(max(factor), 1), coalesce(max(refresh_id), 0) FROM hs2proxy.false_alarms WHERE upstream_id = @upstream AND table_name = @table`

const alarmUpsert = `
INSERT INTO hs2proxy.false_alarms AS a (upstream_id, table_name, alarms, factor, stale_ratio, refresh_id, last_at, last_reason, seconds)
VALUES (@upstream, @table, 1, @factor, @stale, @refresh, @at, @reason, @seconds)
ON CONFLICT (upstream_id, table_name) DO UPDATE SET alarms = a.alarms + 1, factor = excluded.factor, stale_ratio = excluded.stale_ratio,
    refresh_id = excluded.refresh_id, last_at = excluded.last_at, last_reason = excluded.last_reason, seconds = a.seconds + excluded.seconds,
    reset_at = NULL, reset_by = NULL`

const alarmMark = `
INSERT INTO hs2proxy.refresh_proofs (refresh_id, false_alarm) SELECT r.id, true FROM hs2proxy.refreshes r WHERE r.id = @refresh
ON CONFLICT (refresh_id) DO UPDATE SET false_alarm = true`

// alarmReset takes the factor back, unless what raised it is younger than the refresh.
const alarmReset = `
UPDATE hs2proxy.false_alarms SET alarms = 0, factor = 1, stale_ratio = @stale, reset_at = @at, reset_by = @refresh
WHERE upstream_id = @upstream AND table_name = @table AND refresh_id < @refresh AND reset_at IS NULL`

// LearnFromRefresh raises the thresholds of a refreshed table after a false alarm, and takes them back after an effective refresh.
// configured are the thresholds that the configuration gives the table. Each refresh counts once. It returns the factor in force.
func (s *Store) LearnFromRefresh(ctx context.Context, r statscheck.Refresh, configured statscheck.Thresholds) (factor float64, err error) {
	alarm, reset := statscheck.FalseAlarm(r), r.State == statscheck.RefreshDone && r.Effect == statscheck.EffectEffective
	err = s.inTx(ctx, "learn from a refresh", []string{r.Upstream}, func(ctx context.Context, tx pgx.Tx) error {
		id, err := s.upstreamID(ctx, r.Upstream)
		if err != nil {
			return err
		}
		ended := r.EndedAt
		if ended.IsZero() {
			ended = s.o.Now()
		}
		args := pgx.NamedArgs{
			"upstream": id, "table": text(r.Table), "refresh": r.ID, "at": stamp(ended), "reason": text(s.o.Redact.Text(r.Reason)),
			"stale": configured.Stale, "seconds": max(0, took(r).Seconds()),
		}
		if _, err := tx.Exec(ctx, alarmLock, args); err != nil {
			return err
		}
		var last int64
		if err := tx.QueryRow(ctx, alarmSelect, args).Scan(&factor, &last); err != nil {
			return err
		}
		switch {
		case alarm && last < r.ID:
			factor = configured.NextFactor(factor)
			args["factor"], args["stale"] = factor, configured.Raised(factor).Stale
			batch := &pgx.Batch{}
			batch.Queue(alarmUpsert, args)
			batch.Queue(alarmMark, args)
			return tx.SendBatch(ctx, batch).Close()
		case reset:
			tag, err := tx.Exec(ctx, alarmReset, args)
			if tag.RowsAffected() > 0 {
				factor = 1
			}
			return err
		}
		return nil
	})
	return factor, err
}

func took(r statscheck.Refresh) time.Duration {
	if r.StartedAt.IsZero() || r.EndedAt.IsZero() {
		return 0
	}
	return r.EndedAt.Sub(r.StartedAt)
}
