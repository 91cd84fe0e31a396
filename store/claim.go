package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

// maxLosses is how many of a refresh's attempts may end with their proxy before it is given up.
const maxLosses = 5

// claimLock lets one proxy claim at a time, so that no upstream gets more than it may.
const claimLock = `SELECT pg_advisory_xact_lock(hashtextextended('hs2proxy.claim', 0))`

// claimLost closes the attempts whose proxies let their lease run out.
const claimLost = `
UPDATE hs2proxy.refresh_attempts a SET outcome = 'LOST', ended_at = greatest(@now::timestamptz, a.started_at),
    reason = 'the proxy ' || a.claimed_by || ' was gone: its lease ended at ' || to_char(r.lease_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
FROM hs2proxy.refreshes r
WHERE r.id = a.refresh_id AND a.outcome = 'RUNNING' AND r.state = 'RUNNING' AND r.lease_until < clock_timestamp()
  AND (r.cancel_requested_at IS NOT NULL OR r.losses + 1 >= @losses OR r.id = @id)`

// claimGiveUp fails refreshes whose every attempt ended with the proxy that ran it, and cancels those that a proxy which is gone was to
// cancel: HiveServer2 has ended the session, and what ran in it, with the connection.
const claimGiveUp = `
UPDATE hs2proxy.refreshes SET
    state = CASE WHEN cancel_requested_at IS NULL THEN 'FAILED' ELSE 'CANCELED' END,
    effect = CASE WHEN cancel_requested_at IS NULL THEN 'FAILED' END, ended_at = @now, lease_until = NULL, losses = losses + 1,
    error = CASE WHEN cancel_requested_at IS NULL THEN 'given up: the proxy that ran it was gone before it ended, ' || losses + 1 || ' times'
                 ELSE 'canceled by ' || cancel_by || ': ' || cancel_reason END,
    step = 0, steps = 0, doing = ''
WHERE state = 'RUNNING' AND lease_until < clock_timestamp() AND (losses + 1 >= @losses OR cancel_requested_at IS NOT NULL)`

// claimOver ends requests of schedules whose window is over, or whose window has no time for ANALYZE left.
const claimOver = `
UPDATE hs2proxy.refreshes r SET state = 'CANCELED', ended_at = @now, error = concat_ws('; before that: ',
    CASE WHEN r.not_after <= @now::timestamptz
         THEN 'not started: the schedule''s window ended at ' || to_char(r.not_after AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
         ELSE 'not started: the ' || r.budget_seconds || ' s that the schedule has for ANALYZE in a window are used up' END, nullif(r.error, ''))
WHERE r.state = 'REQUESTED'
  AND (r.not_after <= @now::timestamptz
       OR r.budget_seconds <= (SELECT w.seconds FROM hs2proxy.refresh_windows w
                               WHERE w.schedule = r.schedule AND w.window_start = r.window_start AND w.upstream_id = r.upstream_id))`

// claimNext takes a waiting refresh, or a running one whose proxy let the lease run out. Leases are kept by the
// server's clock: proxies need not agree on the time. A table that is being refreshed is left alone, and so is an
// upstream with as many running as it may have. What people asked for goes before schedules; then by priority.
const claimNext = `
SELECT r.id, coalesce(r.upstream_id, c.upstream_id), coalesce(r.priority, f.priority, 0),
       jsonb_build_object('given', r.priority, 'severity', f.severity, 'joins_7d', f.joins_7d, 'uncertainty', f.uncertainty, 'flips', f.flips,
                          'predicted_seconds', f.seconds),
       r.budget_seconds - (SELECT w.seconds FROM hs2proxy.refresh_windows w
                           WHERE w.schedule = r.schedule AND w.window_start = r.window_start AND w.upstream_id = r.upstream_id)
FROM hs2proxy.refreshes r
LEFT JOIN LATERAL (
    SELECT u.id AS upstream_id FROM hs2proxy.upstreams u
    LEFT JOIN hs2proxy.tables t ON t.upstream_id = u.id AND t.name = r.table_name
    WHERE u.name = ANY (@upstreams)
    ORDER BY t.id IS NULL, array_position(@upstreams::text[], u.name) LIMIT 1) c ON r.upstream_id IS NULL
LEFT JOIN hs2proxy.refresh_factors f ON f.upstream_id = coalesce(r.upstream_id, c.upstream_id) AND f.table_name = r.table_name
WHERE (r.state = 'REQUESTED' AND (r.not_before IS NULL OR r.not_before <= @now::timestamptz) OR r.state = 'RUNNING' AND r.lease_until < clock_timestamp())
  AND coalesce(r.upstream_id, c.upstream_id) IN (SELECT u.id FROM hs2proxy.upstreams u WHERE u.name = ANY (@upstreams))
  AND (SELECT count(*) FROM hs2proxy.refreshes o
       WHERE o.state = 'RUNNING' AND o.id <> r.id AND o.upstream_id = coalesce(r.upstream_id, c.upstream_id) AND o.lease_until >= clock_timestamp()) < @most
  AND NOT EXISTS (SELECT 1 FROM hs2proxy.refreshes o
       WHERE o.state = 'RUNNING' AND o.id <> r.id AND o.upstream_id = coalesce(r.upstream_id, c.upstream_id) AND o.table_name = r.table_name)
ORDER BY r.schedule <> '', coalesce(r.priority, f.priority, 0) DESC, r.requested_at, r.id
LIMIT 1
FOR UPDATE OF r SKIP LOCKED`

const claimTake = `
UPDATE hs2proxy.refreshes SET state = 'RUNNING', upstream_id = @upstream, started_at = @now, claimed_by = @instance,
    lease_until = clock_timestamp() + @lease::interval, attempts = attempts + 1, error = '', not_before = NULL,
    losses = losses + CASE WHEN state = 'RUNNING' THEN 1 ELSE 0 END, step = 0, steps = 0, doing = ''
WHERE id = @id`

const claimAttempt = `
INSERT INTO hs2proxy.refresh_attempts (refresh_id, attempt, claimed_by, started_at, outcome, priority, factors)
SELECT r.id, r.attempts, r.claimed_by, r.started_at, 'RUNNING', @priority, @factors
FROM hs2proxy.refreshes r WHERE r.id = @id`

// tidy ends what is over, whoever would have run it. The claims of others wait until the transaction ends.
func tidy(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) error {
	if _, err := tx.Exec(ctx, claimLock); err != nil {
		return err
	}
	for _, sql := range []string{claimLost, claimGiveUp, claimOver} {
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return err
		}
	}
	return nil
}

// ClaimRefresh takes the next refresh for one of the upstreams: RUNNING from now on and this instance's until the lease
// ends, which ExtendRefresh puts off. It is nil without an error when there is none. However many proxies ask, one gets
// it; one whose proxy is gone comes again after its lease. An upstream runs Options.RefreshesPerUpstream at a time.
func (s *Store) ClaimRefresh(ctx context.Context, upstreams []string, lease time.Duration) (*statscheck.Refresh, error) {
	var (
		id   int64
		left *float64
	)
	err := s.inTx(ctx, "claim a refresh", upstreams, func(ctx context.Context, tx pgx.Tx) error {
		id = 0
		args := pgx.NamedArgs{
			"now": s.now(), "losses": maxLosses, "id": int64(0), "upstreams": texts(upstreams), "most": s.o.RefreshesPerUpstream,
			"instance": s.o.Instance, "lease": lease,
		}
		if err := tidy(ctx, tx, args); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, claimNext, args)
		if err != nil {
			return err
		}
		var (
			next, upstream int64
			priority       float64
			factors        json.RawMessage
		)
		tag, err := pgx.ForEachRow(rows, []any{&next, &upstream, &priority, &factors, &left}, func() error { return nil })
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		args["id"], args["upstream"], args["priority"], args["factors"] = next, upstream, priority, factors
		for _, sql := range []string{claimLost, claimTake, claimAttempt} {
			if _, err := tx.Exec(ctx, sql, args); err != nil {
				return err
			}
		}
		id = next
		return nil
	})
	if err != nil || id == 0 {
		return nil, err
	}
	r, err := s.Refresh(ctx, id)
	if err == nil && r.Budget > 0 {
		if r.BudgetLeft = r.Budget; left != nil {
			r.BudgetLeft = seconds(left)
		}
	}
	return r, err
}

const claimExtend = `
UPDATE hs2proxy.refreshes SET lease_until = clock_timestamp() + @lease::interval
WHERE id = @id AND state = 'RUNNING' AND claimed_by = @instance`

// ExtendRefresh puts off the end of a lease to lease from now. ErrLeaseLost: another proxy has the refresh, stop it.
func (s *Store) ExtendRefresh(ctx context.Context, id int64, lease time.Duration) error {
	return s.do(ctx, "extend a refresh", func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, claimExtend, pgx.NamedArgs{"id": id, "lease": lease, "instance": s.o.Instance})
		if err == nil && tag.RowsAffected() == 0 {
			err = fmt.Errorf("refresh %d: %w", id, ErrLeaseLost)
		}
		return err
	})
}
