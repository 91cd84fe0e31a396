package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// statementsInsert writes most statements once, with all that will ever be known of them.
const statementsInsert = `
INSERT INTO hs2proxy.statements (id, session_id, operation_id, fingerprint, plan_id, kind, database_name, sql_text, truncated, state,
    error_code, sql_state, error_message, modified_rows, started_at, ended_at, analyzed_at, explain_error)
SELECT x.id::uuid, x.session_id::uuid, x.operation::uuid, x.fingerprint, x.plan, x.kind, x.database_name, x.sql, x.truncated, x.state,
    x.code, x.sqlstate, x.message, x.modified, x.started, x.ended, x.analyzed, x.error
FROM unnest(@ids::text[], @sessions::text[], @operations::text[], @fingerprints::text[], @plans::bigint[], @kinds::text[], @databases::text[], @sql::text[],
            @truncated::boolean[], @states::text[], @codes::integer[], @sqlstates::text[], @messages::text[], @modified::bigint[],
            @started::timestamptz[], @ended::timestamptz[], @analyzed::timestamptz[], @errors::text[])
     AS x(id, session_id, operation, fingerprint, plan, kind, database_name, sql, truncated, state, code, sqlstate, message, modified, started, ended, analyzed, error)
ON CONFLICT (id) DO NOTHING`

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

// outcome is a statement's end as it is stored.
type outcome struct {
	state             string
	code              int32
	sqlstate, message string
	ended             *time.Time
}

// outcome is that of a statement that concludes, and of one that runs else.
func (e *entry) outcome() outcome {
	st := e.o.Statement
	if !e.concluded {
		return outcome{state: "RUNNING"}
	}
	ended := st.EndedAt
	if ended.IsZero() {
		ended = e.s.o.Now()
	}
	return outcome{state: string(st.State), code: st.ErrorCode, sqlstate: text(st.SQLState), message: e.message(st.ErrorMessage), ended: stampOrNil(ended)}
}

// planOrNil is the analysis's plan.
func (e *entry) planOrNil() *int64 {
	if e.plan == 0 {
		return nil
	}
	return &e.plan
}

// analyzedAt is nil where there is no analysis, or where it was recorded before.
func (e *entry) analyzedAt() *time.Time {
	if e.analysis == nil {
		return nil
	}
	return &e.analysis.ExplainedAt
}

func (e *entry) explainError() string {
	if e.analysis == nil {
		return ""
	}
	return e.message(e.analysis.Error)
}

// queueStatements writes the statements themselves. raced will tell that one of the new ones is there by now.
func (w *wave) queueStatements() (raced *bool) {
	raced = new(bool)
	var rows []*entry
	for _, e := range w.entries {
		if e.there {
			w.queueGrowth(e)
		} else {
			rows = append(rows, e)
		}
	}
	if len(rows) == 0 {
		return raced
	}
	slices.SortFunc(rows, func(a, b *entry) int { return cmp.Compare(a.o.Statement.ID, b.o.Statement.ID) })
	outcomes := column(rows, (*entry).outcome)
	w.last.Queue(statementsInsert, pgx.NamedArgs{
		"ids":          column(rows, func(e *entry) string { return e.o.Statement.ID }),
		"sessions":     column(rows, func(e *entry) string { return e.o.Session.Handle.ID() }),
		"operations":   column(rows, func(e *entry) *string { return orNil(e.o.Statement.OperationID) }),
		"fingerprints": column(rows, func(e *entry) *string { return orNil(text(e.o.Statement.Info.Fingerprint)) }),
		"plans":        column(rows, (*entry).planOrNil),
		"kinds":        column(rows, func(e *entry) string { return kind(e.o.Statement.Info.Kind) }),
		"databases":    column(rows, func(e *entry) string { return text(e.o.Statement.Database) }),
		"sql":          column(rows, func(e *entry) *string { return e.sqlText() }),
		"truncated":    column(rows, func(e *entry) bool { return e.o.Statement.Truncated }),
		"states":       column(outcomes, func(o outcome) string { return o.state }),
		"codes":        column(outcomes, func(o outcome) int32 { return o.code }),
		"sqlstates":    column(outcomes, func(o outcome) string { return o.sqlstate }),
		"messages":     column(outcomes, func(o outcome) string { return o.message }),
		"modified":     column(rows, func(e *entry) *int64 { return e.o.Statement.ModifiedRows }),
		"started":      column(rows, func(e *entry) time.Time { return e.started() }),
		"ended":        column(outcomes, func(o outcome) *time.Time { return o.ended }),
		"analyzed":     column(rows, (*entry).analyzedAt),
		"errors":       column(rows, (*entry).explainError),
	}).Exec(func(tag pgconn.CommandTag) error {
		*raced = tag.RowsAffected() < int64(len(rows))
		return nil
	})
	return raced
}

// queueGrowth adds to a statement that was there: its analysis, and its final state once.
func (w *wave) queueGrowth(e *entry) {
	st := e.o.Statement
	if e.analysis != nil {
		w.last.Queue(statementAnalyzed, pgx.NamedArgs{"id": st.ID, "at": e.analyzedAt(), "plan": e.planOrNil(), "error": e.explainError()})
	}
	if !e.concluded {
		w.last.Queue(statementProgress, pgx.NamedArgs{"id": st.ID, "operation": orNil(st.OperationID), "modified": st.ModifiedRows})
		return
	}
	o := e.outcome()
	w.last.Queue(statementOutcome, pgx.NamedArgs{
		"id": st.ID, "operation": orNil(st.OperationID), "state": o.state, "ended": o.ended, "code": o.code, "sqlstate": o.sqlstate,
		"message": o.message, "modified": st.ModifiedRows,
	})
}
