package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// WaitingRefresh is an attempt that a proxy of the upstream is to make.
type WaitingRefresh struct {
	ID int64
	// Attempt is its number, from 1: the one after that of a proxy whose lease ended, or that put it back.
	Attempt int
	// Upstream is a key of hs2proxy.upstreams. A refresh that names none is there once for each upstream.
	Upstream int64
	// NotBefore is when it may begin; zero: at once.
	NotBefore time.Time
}

// maxWaiting bounds what is looked at in one go; what was asked for later waits for its turn.
const maxWaiting = 5000

const waitingSelect = `
SELECT r.id, r.attempts + 1, u.id, CASE WHEN r.state = 'REQUESTED' THEN r.not_before END
FROM hs2proxy.refreshes r
JOIN hs2proxy.upstreams u ON u.id = r.upstream_id OR r.upstream_id IS NULL
WHERE r.state = 'REQUESTED' OR r.state = 'RUNNING' AND r.lease_until < clock_timestamp()
ORDER BY r.id, u.id
LIMIT @limit`

// WaitingRefreshes are the attempts that no proxy is making, for all upstreams, the oldest requests first. What is over by now (its
// window ended, its proxies were gone too often) is ended and not among them.
func (s *Store) WaitingRefreshes(ctx context.Context) (out []WaitingRefresh, err error) {
	err = s.inTx(ctx, "look for refreshes that wait", nil, func(ctx context.Context, tx pgx.Tx) error {
		if err := tidy(ctx, tx, pgx.NamedArgs{"now": s.now(), "losses": maxLosses, "id": int64(0)}); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, waitingSelect, pgx.NamedArgs{"limit": maxWaiting})
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (w WaitingRefresh, err error) {
			var notBefore *time.Time
			err = row.Scan(&w.ID, &w.Attempt, &w.Upstream, &notBefore)
			w.NotBefore = orZero(notBefore)
			return w, err
		})
		return err
	})
	return out, err
}

// dueSelect takes those that claimNext could ever give to the upstreams.
const dueSelect = `
SELECT min(CASE WHEN r.state = 'REQUESTED' AND r.not_before > @now::timestamptz THEN r.not_before ELSE @now::timestamptz END)
FROM hs2proxy.refreshes r
WHERE (r.state = 'REQUESTED' OR r.state = 'RUNNING' AND r.lease_until < clock_timestamp())
  AND (r.upstream_id IS NULL OR r.upstream_id IN (SELECT u.id FROM hs2proxy.upstreams u WHERE u.name = ANY (@upstreams)))`

// RefreshDue is how long it takes at least until one of the upstreams' waiting refreshes may run: 0 where only those that run keep it
// back. ok is false when none waits.
func (s *Store) RefreshDue(ctx context.Context, upstreams []string) (in time.Duration, ok bool, err error) {
	err = s.do(ctx, "look for the next refresh", func(ctx context.Context) error {
		now := s.now()
		var at *time.Time
		if err := s.pool.QueryRow(ctx, dueSelect, pgx.NamedArgs{"now": now, "upstreams": texts(upstreams)}).Scan(&at); err != nil || at == nil {
			return err
		}
		in, ok = at.Sub(now), true
		return nil
	})
	return in, ok, err
}
