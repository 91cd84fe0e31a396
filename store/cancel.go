package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

const refreshStop = `SELECT hs2proxy.stop_refresh(@id::bigint, @reason::text, @by::text, @at::timestamptz)`

// CancelRefresh cancels a refresh in somebody's name: CANCELED at once when it waits; RUNNING when it runs, until the proxy that runs it,
// which is told, has canceled it in Hive. ErrNotFound when there is none of that number, or it has ended.
func (s *Store) CancelRefresh(ctx context.Context, id int64, by, reason string) (state statscheck.RefreshState, err error) {
	err = s.do(ctx, "cancel a refresh", func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, refreshStop, pgx.NamedArgs{
			"id": id, "reason": text(s.o.Redact.Text(reason)), "by": text(by), "at": s.now(),
		}).Scan(&state)
		return notFound(err)
	})
	return state, err
}

// notFound gives no_data_found, raised by a function of ours, its class.
func notFound(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "P0002" {
		return fmt.Errorf("%w: %s (%s)", ErrNotFound, pg.Message, pg.Hint)
	}
	return err
}

const cancellationsSelect = `
SELECT id, cancel_by, cancel_reason
FROM hs2proxy.refreshes WHERE id = ANY (@ids) AND state = 'RUNNING' AND claimed_by = @instance AND cancel_requested_at IS NOT NULL`

// Cancellations are those of the refreshes that this instance runs which somebody wants to end.
func (s *Store) Cancellations(ctx context.Context, ids []int64) (map[int64]statscheck.Canceled, error) {
	out := map[int64]statscheck.Canceled{}
	if len(ids) == 0 {
		return out, nil
	}
	err := s.do(ctx, "look for cancellations", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, cancellationsSelect, pgx.NamedArgs{"ids": ids, "instance": s.o.Instance})
		if err != nil {
			return err
		}
		var (
			id int64
			c  statscheck.Canceled
		)
		_, err = pgx.ForEachRow(rows, []any{&id, &c.By, &c.Reason}, func() error {
			out[id] = c
			return nil
		})
		return err
	})
	return out, err
}

const progressUpdate = `
UPDATE hs2proxy.refreshes SET step = @step::integer, steps = greatest(@steps::integer, @step::integer), doing = @doing
WHERE id = @id AND state = 'RUNNING' AND claimed_by = @instance`

// SaveProgress records what a refresh of this instance does: the number of its statement, how many there are, and words.
func (s *Store) SaveProgress(ctx context.Context, id int64, step, steps int, doing string) error {
	return s.do(ctx, "record the progress of a refresh", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, progressUpdate, pgx.NamedArgs{
			"id": id, "step": step, "steps": steps, "doing": text(s.o.Redact.Text(doing)), "instance": s.o.Instance,
		})
		return err
	})
}

// Progress is where an open refresh stands.
type Progress struct {
	State       statscheck.RefreshState
	Step, Steps int
	// Doing is what it does just now, WaitsFor what keeps it from running.
	Doing, WaitsFor string
	// Place in the queue, from 1.
	Place int64
}

const progressSelect = `SELECT state, step, steps, doing, waits_for, place FROM hs2proxy.report_refresh_queue WHERE id = @id`

// RefreshProgress is where an open refresh stands; ErrNotFound when it is not open.
func (s *Store) RefreshProgress(ctx context.Context, id int64) (p Progress, err error) {
	err = s.do(ctx, "read the progress of a refresh", func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, progressSelect, pgx.NamedArgs{"id": id}).Scan(&p.State, &p.Step, &p.Steps, &p.Doing, &p.WaitsFor, &p.Place)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("open refresh %d: %w", id, ErrNotFound)
		}
		return err
	})
	return p, err
}
