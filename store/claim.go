package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

// maxAttempts is how often a refresh is started before it is given up: each attempt but the last ended with its proxy.
const maxAttempts = 5

// claimLock lets one proxy claim at a time, so that no upstream gets more than it may.
const claimLock = `SELECT pg_advisory_xact_lock(hashtextextended('hs2proxy.claim', 0))`

// claimGiveUp fails refreshes whose every attempt ended with the proxy that ran it.
const claimGiveUp = `
UPDATE hs2proxy.refreshes SET state = 'FAILED', effect = 'FAILED', ended_at = @now, lease_until = NULL,
    error = 'given up: the proxy that ran it was gone before it ended, ' || attempts || ' times'
WHERE state = 'RUNNING' AND lease_until < clock_timestamp() AND attempts >= @attempts`

// claimNext takes a waiting refresh, or a running one whose proxy let the lease run out. Leases are kept by the
// server's clock: proxies need not agree on the time. A table that is being refreshed is left alone, and so is an
// upstream with as many running as it may have.
const claimNext = `
SELECT r.id, coalesce(r.upstream_id, c.upstream_id)
FROM hs2proxy.refreshes r
LEFT JOIN LATERAL (
    SELECT u.id AS upstream_id FROM hs2proxy.upstreams u
    LEFT JOIN hs2proxy.tables t ON t.upstream_id = u.id AND t.name = r.table_name
    WHERE u.name = ANY (@upstreams)
    ORDER BY t.id IS NULL, array_position(@upstreams::text[], u.name) LIMIT 1) c ON r.upstream_id IS NULL
WHERE (r.state = 'REQUESTED' OR r.state = 'RUNNING' AND r.lease_until < clock_timestamp())
  AND coalesce(r.upstream_id, c.upstream_id) IN (SELECT u.id FROM hs2proxy.upstreams u WHERE u.name = ANY (@upstreams))
  AND (SELECT count(*) FROM hs2proxy.refreshes o
       WHERE o.state = 'RUNNING' AND o.id <> r.id AND o.upstream_id = coalesce(r.upstream_id, c.upstream_id) AND o.lease_until >= clock_timestamp()) < @most
  AND NOT EXISTS (SELECT 1 FROM hs2proxy.refreshes o
       WHERE o.state = 'RUNNING' AND o.id <> r.id AND o.upstream_id = coalesce(r.upstream_id, c.upstream_id) AND o.table_name = r.table_name)
ORDER BY r.requested_at, r.id
LIMIT 1
FOR UPDATE OF r SKIP LOCKED`

const claimTake = `
UPDATE hs2proxy.refreshes SET state = 'RUNNING', upstream_id = @upstream, started_at = @now, claimed_by = @instance,
    lease_until = clock_timestamp() + @lease::interval, attempts = attempts + 1, error = ''
WHERE id = @id`

// ClaimRefresh takes the next refresh for one of the upstreams: RUNNING from now on and this instance's until the lease
// ends, which ExtendRefresh puts off. It is nil without an error when there is none. However many proxies ask, one gets
// it; one whose proxy is gone comes again after its lease. An upstream runs Options.RefreshesPerUpstream at a time.
func (s *Store) ClaimRefresh(ctx context.Context, upstreams []string, lease time.Duration) (*statscheck.Refresh, error) {
	var id int64
	err := s.inTx(ctx, "claim a refresh", upstreams, func(ctx context.Context, tx pgx.Tx) error {
		id = 0
		if _, err := tx.Exec(ctx, claimLock); err != nil {
			return err
		}
		now := s.now()
		if _, err := tx.Exec(ctx, claimGiveUp, pgx.NamedArgs{"now": now, "attempts": maxAttempts}); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, claimNext, pgx.NamedArgs{"upstreams": texts(upstreams), "most": s.o.RefreshesPerUpstream})
		if err != nil {
			return err
		}
		var next, upstream int64
		tag, err := pgx.ForEachRow(rows, []any{&next, &upstream}, func() error { return nil })
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, claimTake, pgx.NamedArgs{"id": next, "upstream": upstream, "now": now, "instance": s.o.Instance, "lease": lease})
		id = next
		return err
	})
	if err != nil || id == 0 {
		return nil, err
	}
	return s.Refresh(ctx, id)
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
