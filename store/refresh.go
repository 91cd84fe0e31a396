package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

// RefreshRequest asks for a refresh of a table's statistics.
type RefreshRequest struct {
	// Upstream may be empty: any proxy's first upstream that knows the table.
	Upstream string
	Table    string
	Mode     statscheck.Mode
	// Columns for ModeColumns; none means those that joins read. Partitions limits it; none means the whole table.
	Columns    []string
	Partitions []string
	// NotAfter is the end of the schedule's window; zero: none.
	NotAfter    time.Time
	Reason      string
	RequestedBy string
	// Priority takes the place of the computed one; nil: none.
	Priority *float64
	// Schedule, WindowStart, Budget and Scope are statscheck.Refresh's; empty for a person's request.
	Schedule    string
	WindowStart time.Time
	Budget      time.Duration
	Scope       string
}

const enqueueRefresh = `
SELECT id, created
FROM hs2proxy.enqueue_refresh(@upstream::bigint, @table::text, @mode::text, @columns::text[], @partitions::text[], @not_after::timestamptz, @reason::text, @by::text, @at::timestamptz,
    @priority::double precision, @schedule::text, @window::timestamptz, @budget::double precision, @scope::text)`

// RequestRefresh asks for a refresh and wakes a proxy. While a request for the table is open, that one is returned
// (widened when it waits and asks for less) and created is false. Who asked is on record either way. ErrData when a policy in the database
// says never.
func (s *Store) RequestRefresh(ctx context.Context, r RefreshRequest) (id int64, created bool, err error) {
	var upstreams []string
	if r.Upstream != "" {
		upstreams = []string{r.Upstream}
	}
	err = s.inTx(ctx, "request a refresh", upstreams, func(ctx context.Context, tx pgx.Tx) error {
		var upstream *int64
		if r.Upstream != "" {
			key, err := s.upstreamID(ctx, r.Upstream)
			if err != nil {
				return err
			}
			upstream = &key
		}
		return tx.QueryRow(ctx, enqueueRefresh, pgx.NamedArgs{
			"upstream": upstream, "table": text(r.Table), "mode": string(r.Mode), "columns": texts(r.Columns), "partitions": texts(r.Partitions),
			"not_after": stampOrNil(r.NotAfter), "reason": text(s.o.Redact.Text(r.Reason)), "by": text(r.RequestedBy), "at": s.now(),
			"priority": r.Priority, "schedule": text(r.Schedule), "window": stampOrNil(r.WindowStart), "budget": secondsOrNil(r.Budget), "scope": text(r.Scope),
		}).Scan(&id, &created)
	})
	return id, created, err
}

const refreshColumns = `r.id, coalesce(u.name, ''), r.table_name, r.mode, r.columns, r.partitions, r.not_after, r.reason, r.requested_by, r.requested_at,
    r.started_at, r.ended_at, r.state, r.statements, r.before, r.after, coalesce(r.effect, ''), r.error,
    r.scope, r.priority, r.schedule, r.window_start, r.budget_seconds, r.not_before, r.attempts, r.losses, r.put_backs, r.analyze_seconds`

// seconds of Postgres' are a double, NULL for none.
func seconds(s *float64) time.Duration {
	if s == nil {
		return 0
	}
	return time.Duration(*s * float64(time.Second)).Round(time.Microsecond)
}

func secondsOrNil(d time.Duration) *float64 {
	if d <= 0 {
		return nil
	}
	return new(d.Seconds())
}

func readRefresh(row pgx.CollectableRow) (statscheck.Refresh, error) {
	var (
		r                        statscheck.Refresh
		notAfter, started, ended *time.Time
		window, notBefore        *time.Time
		budget, analyzed         *float64
		before, after            json.RawMessage
	)
	err := row.Scan(&r.ID, &r.Upstream, &r.Table, &r.Mode, &r.Columns, &r.Partitions, &notAfter, &r.Reason, &r.RequestedBy, &r.RequestedAt,
		&started, &ended, &r.State, &r.Statements, &before, &after, &r.Effect, &r.Error,
		&r.Scope, &r.Priority, &r.Schedule, &window, &budget, &notBefore, &r.Attempt, &r.Lost, &r.PutBacks, &analyzed)
	if err != nil {
		return r, err
	}
	r.NotAfter, r.StartedAt, r.EndedAt = orZero(notAfter), orZero(started), orZero(ended)
	r.WindowStart, r.NotBefore, r.Budget, r.Analyzed = orZero(window), orZero(notBefore), seconds(budget), seconds(analyzed)
	r.Columns, r.Partitions, r.Statements = nilIfEmpty(r.Columns), nilIfEmpty(r.Partitions), nilIfEmpty(r.Statements)
	if r.Before, err = readStats(before); err != nil {
		return r, err
	}
	r.After, err = readStats(after)
	return r, err
}

func readStats(b json.RawMessage) (*advisor.TableStats, error) {
	if len(b) == 0 {
		return nil, nil
	}
	var t advisor.TableStats
	if err := json.Unmarshal(b, &t); err != nil {
		return nil, fmt.Errorf("read a refresh's statistics: %w", err)
	}
	return &t, nil
}

const refreshByID = `
SELECT ` + refreshColumns + `
FROM hs2proxy.refreshes r LEFT JOIN hs2proxy.upstreams u ON u.id = r.upstream_id
WHERE r.id = @id`

// Refresh is one refresh with its plans; ErrNotFound when there is none of that number.
func (s *Store) Refresh(ctx context.Context, id int64) (*statscheck.Refresh, error) {
	var out []statscheck.Refresh
	err := s.do(ctx, "read a refresh", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, refreshByID, pgx.NamedArgs{"id": id})
		if err != nil {
			return err
		}
		if out, err = pgx.CollectRows(rows, readRefresh); err != nil {
			return err
		}
		if len(out) == 0 {
			return fmt.Errorf("refresh %d: %w", id, ErrNotFound)
		}
		return s.addPlans(ctx, out)
	})
	if err != nil {
		return nil, err
	}
	return &out[0], nil
}

// RefreshFilter limits Refreshes; zero fields do not.
type RefreshFilter struct {
	Upstream string
	Table    string
	States   []statscheck.RefreshState
	// Since is the earliest time of request.
	Since time.Time
	// Limit is 1,000 when it is 0.
	Limit int
}

const refreshesSelect = `
SELECT ` + refreshColumns + `
FROM hs2proxy.refreshes r LEFT JOIN hs2proxy.upstreams u ON u.id = r.upstream_id
WHERE (@upstream = '' OR u.name = @upstream) AND (@table = '' OR r.table_name = @table)
  AND (@states::text[] IS NULL OR r.state = ANY (@states)) AND (@since::timestamptz IS NULL OR r.requested_at >= @since)
ORDER BY r.id DESC
LIMIT @most`

// Refreshes are refreshes with their plans, the newest first.
func (s *Store) Refreshes(ctx context.Context, f RefreshFilter) (out []statscheck.Refresh, err error) {
	var states []string
	for _, st := range f.States {
		states = append(states, string(st))
	}
	if f.Limit <= 0 {
		f.Limit = 1000
	}
	err = s.do(ctx, "read refreshes", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, refreshesSelect, pgx.NamedArgs{
			"upstream": text(f.Upstream), "table": text(f.Table), "states": states, "since": stampOrNil(f.Since), "most": f.Limit,
		})
		if err != nil {
			return err
		}
		if out, err = pgx.CollectRows(rows, readRefresh); err != nil {
			return err
		}
		return s.addPlans(ctx, out)
	})
	return out, err
}

const plansOfRefreshes = `
SELECT refresh_id, fingerprint, ordinal, strategy_before, strategy_after
FROM hs2proxy.refresh_plans WHERE refresh_id = ANY (@refreshes) ORDER BY refresh_id, position`

func (s *Store) addPlans(ctx context.Context, refreshes []statscheck.Refresh) error {
	if len(refreshes) == 0 {
		return nil
	}
	place := make(map[int64]int, len(refreshes))
	ids := make([]int64, len(refreshes))
	for i, r := range refreshes {
		place[r.ID], ids[i] = i, r.ID
	}
	rows, err := s.pool.Query(ctx, plansOfRefreshes, pgx.NamedArgs{"refreshes": ids})
	if err != nil {
		return err
	}
	var (
		id int64
		c  statscheck.PlanChange
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &c.Fingerprint, &c.Ordinal, &c.Before, &c.After}, func() error {
		r := &refreshes[place[id]]
		r.Plans = append(r.Plans, c)
		return nil
	})
	return err
}

const refreshEnd = `
UPDATE hs2proxy.refreshes SET
    state = @state, mode = @mode, columns = CASE WHEN cardinality(@columns::text[]) > 0 THEN @columns ELSE columns END,
    scope = CASE WHEN @scope::text <> '' THEN @scope ELSE scope END, started_at = @started, ended_at = @ended, lease_until = NULL, not_before = NULL,
    statements = @statements, before = @before, after = @after, effect = @effect, error = @error, analyze_seconds = @analyzed,
    step = 0, steps = 0, doing = ''
WHERE id = @id AND state = 'RUNNING' AND claimed_by = @instance`

const refreshEnded = `
SELECT EXISTS (SELECT 1 FROM hs2proxy.refreshes WHERE id = @id AND state = @state AND claimed_by = @instance AND ended_at = @ended)`

// refreshBack gives a claimed refresh back: nothing of this attempt stays but its number and the reason. One that somebody has
// asked to cancel meanwhile is canceled.
const refreshBack = `
UPDATE hs2proxy.refreshes SET
    state = CASE WHEN cancel_requested_at IS NULL THEN 'REQUESTED' ELSE 'CANCELED' END,
    ended_at = CASE WHEN cancel_requested_at IS NULL THEN NULL ELSE @at::timestamptz END,
    error = CASE WHEN cancel_requested_at IS NULL THEN @error::text ELSE 'canceled by ' || cancel_by || ': ' || cancel_reason END,
    started_at = NULL, lease_until = NULL, not_before = @not_before, put_backs = put_backs + @put_back::integer, step = 0, steps = 0, doing = ''
WHERE id = @id AND state = 'RUNNING' AND claimed_by = @instance`

// attemptEnd closes the attempt that is on record as running.
const attemptEnd = `
UPDATE hs2proxy.refresh_attempts SET outcome = @outcome, ended_at = greatest(@ended::timestamptz, started_at), reason = @error,
    statements = @statements, analyze_seconds = @analyzed
WHERE refresh_id = @id AND outcome = 'RUNNING'`

// refreshTold tells the proxies that an attempt has ended: another refresh may have its turn now.
const refreshTold = `SELECT pg_notify('hs2proxy_refresh', (@id::bigint)::text)`

const refreshPlanInsert = `
INSERT INTO hs2proxy.refresh_plans (refresh_id, position, fingerprint, ordinal, strategy_before, strategy_after)
VALUES (@id, @position, @fingerprint, @ordinal, @before, @after)`

// FinishRefresh records the outcome of a refresh that this instance claimed: DONE, FAILED or CANCELED, or REQUESTED when it was
// interrupted or put back and is to be run again, after NotBefore. ErrLeaseLost when it is no longer this instance's.
func (s *Store) FinishRefresh(ctx context.Context, r statscheck.Refresh) error {
	return s.inTx(ctx, "finish a refresh", nil, func(ctx context.Context, tx pgx.Tx) error {
		switch r.State {
		case statscheck.RefreshRequested:
			return s.giveBack(ctx, tx, r)
		case statscheck.RefreshDone, statscheck.RefreshFailed, statscheck.RefreshCanceled:
			return s.finish(ctx, tx, r)
		default:
			return fmt.Errorf("%w: refresh %d is finished as %s", ErrData, r.ID, r.State)
		}
	})
}

func (s *Store) finish(ctx context.Context, tx pgx.Tx, r statscheck.Refresh) error {
	ended := r.EndedAt
	if ended.IsZero() {
		ended = s.o.Now()
	}
	args := pgx.NamedArgs{
		"id": r.ID, "instance": s.o.Instance, "state": string(r.State), "mode": string(r.Mode), "columns": texts(r.Columns),
		"started": stampOrNil(r.StartedAt), "ended": stamp(ended), "statements": texts(s.o.Redact.all(r.Statements)), "before": nil, "after": nil,
		"effect": orNil(string(r.Effect)), "error": message(s.o.Redact.Text(r.Error)), "scope": text(r.Scope), "analyzed": r.Analyzed.Seconds(),
		"outcome": string(r.State),
	}
	for name, t := range map[string]*advisor.TableStats{"before": r.Before, "after": r.After} {
		if t == nil {
			continue
		}
		b, err := asJSON(t)
		if err != nil {
			return err
		}
		args[name] = b
	}
	tag, err := tx.Exec(ctx, refreshEnd, args)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		var ours bool // the answer to an earlier attempt to finish it may have been lost
		if err := tx.QueryRow(ctx, refreshEnded, args).Scan(&ours); err != nil {
			return err
		}
		if !ours {
			return fmt.Errorf("refresh %d: %w", r.ID, ErrLeaseLost)
		}
		return nil
	}
	batch := &pgx.Batch{}
	batch.Queue(attemptEnd, args)
	batch.Queue(refreshTold, args)
	for i, c := range r.Plans {
		batch.Queue(refreshPlanInsert, pgx.NamedArgs{
			"id": r.ID, "position": i, "fingerprint": text(c.Fingerprint), "ordinal": c.Ordinal, "before": strategy(c.Before), "after": strategy(c.After),
		})
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	return s.finishProof(ctx, tx, r)
}

// giveBack makes a refresh wait again. When a new request for the table waits already, that one does its work.
func (s *Store) giveBack(ctx context.Context, tx pgx.Tx, r statscheck.Refresh) error {
	putBack := 0
	if !r.NotBefore.IsZero() {
		putBack = 1
	}
	args := pgx.NamedArgs{
		"id": r.ID, "instance": s.o.Instance, "error": message(s.o.Redact.Text(r.Error)), "at": s.now(), "not_before": stampOrNil(r.NotBefore), "put_back": putBack,
		"outcome": "PUT_BACK", "ended": s.now(), "statements": texts(s.o.Redact.all(r.Statements)), "analyzed": r.Analyzed.Seconds(),
	}
	err := pgx.BeginFunc(ctx, tx, func(nested pgx.Tx) error {
		tag, err := nested.Exec(ctx, refreshBack, args)
		if err == nil && tag.RowsAffected() == 0 {
			err = fmt.Errorf("refresh %d: %w", r.ID, ErrLeaseLost)
		}
		if err != nil {
			return err
		}
		if _, err = nested.Exec(ctx, attemptEnd, args); err == nil {
			_, err = nested.Exec(ctx, refreshTold, args)
		}
		return err
	})
	if !duplicate(err) {
		return err
	}
	r.State, r.Effect, r.StartedAt = statscheck.RefreshFailed, statscheck.EffectFailed, time.Time{}
	r.Error = "superseded by a newer request: " + r.Error
	return s.finish(ctx, tx, r)
}
