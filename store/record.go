package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

const queryInsert = `
INSERT INTO hs2proxy.queries (fingerprint, kind, normalized, first_seen, last_seen)
VALUES (@fingerprint, @kind, @normalized, @started, @started)
ON CONFLICT (fingerprint) DO NOTHING`

const statementInsert = `
INSERT INTO hs2proxy.statements (id, session_id, operation_id, fingerprint, kind, database_name, sql_text, truncated, state, started_at)
VALUES (@id, @session, @operation, @fingerprint, @kind, @database, @sql, @truncated, 'RUNNING', @started)
ON CONFLICT (id) DO NOTHING`

const statementLock = `SELECT state, analyzed_at IS NOT NULL FROM hs2proxy.statements WHERE id = @id FOR UPDATE`

const statementOutcome = `
UPDATE hs2proxy.statements SET
    operation_id = coalesce(operation_id, @operation), state = @state, ended_at = @ended, error_code = @code, sql_state = @sqlstate,
    error_message = @message, modified_rows = coalesce(@modified, modified_rows)
WHERE id = @id`

const statementProgress = `
UPDATE hs2proxy.statements SET operation_id = coalesce(operation_id, @operation), modified_rows = coalesce(modified_rows, @modified)
WHERE id = @id AND (operation_id IS NULL AND @operation::uuid IS NOT NULL OR modified_rows IS NULL AND @modified::bigint IS NOT NULL)`

const statementAnalyzed = `
UPDATE hs2proxy.statements SET plan_id = @plan, analyzed_at = @at, explain_error = @error WHERE id = @id`

const queryRun = `
UPDATE hs2proxy.queries SET runs = runs + 1, first_seen = least(first_seen, @started), last_seen = greatest(last_seen, @started),
    sample_sql = CASE WHEN @sample::text IS NULL THEN sample_sql ELSE @sample END
WHERE fingerprint = @fingerprint`

// RecordStatement stores what is known of a statement, in one transaction. It may be called any number of times for one
// statement, as it starts, ends and is analysed, and again by a spool: what is new is added, runs and findings count
// once, and an outcome is never taken back (LOST gives way to a real one).
func (s *Store) RecordStatement(ctx context.Context, o Observation) error {
	upstreams := []string{o.Session.Upstream}
	for _, w := range o.Writes {
		if w.Upstream != "" {
			upstreams = append(upstreams, w.Upstream)
		}
	}
	return s.observe(ctx, "record statement", upstreams, func(ctx context.Context, tx pgx.Tx) error {
		upstream, err := s.upstreamID(ctx, o.Session.Upstream)
		if err != nil {
			return err
		}
		r := recording{s: s, tx: tx, upstream: upstream, o: o}
		return r.run(ctx)
	})
}

// recording is one run of RecordStatement's transaction.
//
// Lock order, for all transactions of this package: statement, plan chain (advisory), plan, tables by name, findings by
// kind and subject, uses, tables analysed and contradicted, query, tables written by name. Deadlocks that remain are run again.
type recording struct {
	s        *Store
	tx       pgx.Tx
	upstream int64
	o        Observation
	// unused: the analysis belongs to no statement and counts as no use of its query.
	unused bool
}

func (r *recording) run(ctx context.Context) error {
	inserted, old, err := r.insert(ctx)
	if err != nil {
		return err
	}
	st := r.o.Statement
	batch := &pgx.Batch{}
	if r.o.Analysis != nil {
		analysis := *r.o.Analysis
		ended := concludes(st, old.state)
		switch {
		case !old.analyzed:
			if ended {
				analysis.Findings = slices.Concat(analysis.Findings, r.o.Findings)
			}
			err = r.analysis(ctx, batch, analysis)
		case ended && len(r.o.Findings) > 0:
			err = r.endFindings(ctx, batch, analysis)
		}
		if err != nil {
			return err
		}
	}
	r.queueOutcome(batch, st, old.state)
	r.queueSignals(batch)
	if inserted && st.Info.Fingerprint != "" {
		batch.Queue(queryRun, pgx.NamedArgs{
			"fingerprint": text(st.Info.Fingerprint), "started": r.started(), "sample": r.sample(),
		})
	}
	if err := r.tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	return addWrites(ctx, r.tx, r.s, r.writes())
}

type oldStatement struct {
	state    intercept.State
	analyzed bool
}

// insert makes sure of the rows the statement hangs on, and of its own, which it locks.
func (r *recording) insert(ctx context.Context) (inserted bool, old oldStatement, err error) {
	st := r.o.Statement
	session, err := r.s.sessionArgs(r.upstream, r.o.Session)
	if err != nil {
		return false, old, err
	}
	batch := &pgx.Batch{}
	if st.Info.Fingerprint != "" {
		batch.Queue(queryInsert, pgx.NamedArgs{
			"fingerprint": text(st.Info.Fingerprint), "kind": kind(st.Info.Kind), "normalized": r.normalized(), "started": r.started(),
		})
	}
	batch.Queue(sessionInsert, session)
	batch.Queue(statementInsert, pgx.NamedArgs{
		"id": st.ID, "session": r.o.Session.Handle.ID(), "operation": orNil(st.OperationID), "fingerprint": orNil(text(st.Info.Fingerprint)),
		"kind": kind(st.Info.Kind), "database": text(st.Database), "sql": r.sqlText(), "truncated": st.Truncated, "started": r.started(),
	}).Exec(func(tag pgconn.CommandTag) error {
		inserted = tag.RowsAffected() == 1
		return nil
	})
	batch.Queue(statementLock, pgx.NamedArgs{"id": st.ID}).QueryRow(func(row pgx.Row) error {
		return row.Scan(&old.state, &old.analyzed)
	})
	err = r.tx.SendBatch(ctx, batch).Close()
	return inserted, old, err
}

// concludes: the statement's state is final and was not recorded before.
func concludes(st intercept.Statement, old intercept.State) bool {
	return st.State != "" && st.State.Final() && (old == intercept.StateRunning || old == intercept.StateLost && st.State != intercept.StateLost)
}

const statementPlan = `SELECT plan_id FROM hs2proxy.statements WHERE id = @id`

// endFindings adds what the end of a statement tells of a plan that was recorded before.
func (r *recording) endFindings(ctx context.Context, batch *pgx.Batch, a Analysis) error {
	var plan *int64
	if err := r.tx.QueryRow(ctx, statementPlan, pgx.NamedArgs{"id": r.o.Statement.ID}).Scan(&plan); err != nil {
		return fmt.Errorf("read the statement's plan: %w", err)
	}
	if a.Fingerprint == "" {
		a.Fingerprint = r.o.Statement.Info.Fingerprint
	}
	if plan != nil && a.Fingerprint != "" {
		r.queueFindings(batch, *plan, Analysis{Fingerprint: text(a.Fingerprint), Findings: r.o.Findings})
	}
	return nil
}

// queueOutcome writes the final state once.
func (r *recording) queueOutcome(batch *pgx.Batch, st intercept.Statement, old intercept.State) {
	if !concludes(st, old) {
		batch.Queue(statementProgress, pgx.NamedArgs{"id": st.ID, "operation": orNil(st.OperationID), "modified": st.ModifiedRows})
		return
	}
	ended := st.EndedAt
	if ended.IsZero() {
		ended = r.s.o.Now()
	}
	batch.Queue(statementOutcome, pgx.NamedArgs{
		"id": st.ID, "operation": orNil(st.OperationID), "state": string(st.State), "ended": stamp(ended), "code": st.ErrorCode,
		"sqlstate": text(st.SQLState), "message": r.message(st.ErrorMessage), "modified": st.ModifiedRows,
	})
}

func (r *recording) writes() []TableWrite {
	out := make([]TableWrite, len(r.o.Writes))
	for i, w := range r.o.Writes {
		if w.Upstream == "" {
			w.Upstream = r.o.Session.Upstream
		}
		if w.StatementID == "" {
			w.StatementID = r.o.Statement.ID
		}
		if w.At.IsZero() {
			w.At = r.o.Statement.EndedAt
		}
		if w.At.IsZero() {
			w.At = r.started()
		}
		if w.StartedAt.IsZero() && !r.o.Statement.StartedAt.IsZero() {
			w.StartedAt = r.started()
		}
		out[i] = w
	}
	return out
}

func (r *recording) started() time.Time {
	if r.o.Statement.StartedAt.IsZero() {
		return r.s.now()
	}
	return stamp(r.o.Statement.StartedAt)
}

// sqlText is the statement as sent, nil unless it may be kept. A SET, and whatever else sounds like a secret, is kept
// in its normalized form at most.
func (r *recording) sqlText() *string {
	if !r.s.o.KeepLiterals {
		return nil
	}
	sql := r.o.Statement.SQL
	if r.o.Statement.Info.Kind == hiveql.KindSet || secretLiteral.MatchString(sql) {
		sql = r.o.Statement.Info.Normalized
	}
	sql = text(r.s.o.Redact.Text(sql))
	return &sql
}

// sample is the text that a refresh may explain again; nil when it may not be kept, or is no longer as it was sent.
func (r *recording) sample() *string {
	if !r.s.o.KeepLiterals || r.altered() {
		return nil
	}
	return r.sqlText()
}

func (r *recording) normalized() string {
	return text(r.s.o.Redact.Text(r.o.Statement.Info.Normalized))
}

func (r *recording) message(msg string) string {
	if !r.s.o.KeepLiterals {
		msg = withoutLiterals(msg, r.o.Statement.SQL, r.o.Statement.Info.Normalized)
	}
	return message(r.s.o.Redact.Text(msg))
}

// analysis records what was made of the statement's plan and links it, with what it puts into batch.
func (r *recording) analysis(ctx context.Context, batch *pgx.Batch, a Analysis) error {
	at := a.ExplainedAt
	if at.IsZero() {
		at = r.s.o.Now()
	}
	args := pgx.NamedArgs{"id": r.o.Statement.ID, "at": stamp(at), "plan": nil, "error": r.message(a.Error)}
	if a.Error == "" {
		a.ExplainedAt = stamp(at)
		plan, err := r.plan(ctx, batch, a)
		if err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		args["plan"] = plan
	}
	batch.Queue(statementAnalyzed, args)
	return nil
}

func kind(k hiveql.Kind) string {
	if k == "" {
		return string(hiveql.KindOther)
	}
	return text(string(k))
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
