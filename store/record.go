package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

const queryInsert = `
INSERT INTO hs2proxy.queries (fingerprint, kind, normalized, first_seen, last_seen)
VALUES (@fingerprint, @kind, @normalized, @started, @started)
ON CONFLICT (fingerprint) DO NOTHING`

// queriesRun counts runs; it makes the rows that are not there.
const queriesRun = `
INSERT INTO hs2proxy.queries AS q (fingerprint, kind, normalized, sample_sql, first_seen, last_seen, runs)
SELECT x.fingerprint, x.kind, x.normalized, x.sample, x.first_seen, x.last_seen, x.runs
FROM unnest(@fingerprints::text[], @kinds::text[], @normalized::text[], @samples::text[], @first::timestamptz[], @last::timestamptz[], @runs::bigint[])
     AS x(fingerprint, kind, normalized, sample, first_seen, last_seen, runs)
ORDER BY x.fingerprint COLLATE "C"
ON CONFLICT (fingerprint) DO UPDATE SET
    runs = q.runs + excluded.runs, first_seen = least(q.first_seen, excluded.first_seen), last_seen = greatest(q.last_seen, excluded.last_seen),
    sample_sql = coalesce(excluded.sample_sql, q.sample_sql)`

// RecordStatement stores what is known of a statement, in one transaction. It may be called any number of times for one
// statement, as it starts, ends and is analysed, and again by a spool: what is new is added, runs and findings count
// once, and an outcome is never taken back (LOST gives way to a real one).
func (s *Store) RecordStatement(ctx context.Context, o Observation) error {
	_, err := s.Record(ctx, []Record{{Observation: &o}})
	return err
}

// recording is what is recorded in a transaction: an observation, or an analysis that belongs to none.
type recording struct {
	s        *Store
	tx       pgx.Tx
	upstream int64
	o        Observation
	// unused: the analysis belongs to no statement and counts as no use of its query.
	unused bool
}

// oldStatement is a statement that was there.
type oldStatement struct {
	state    intercept.State
	analyzed bool
	// plan is 0 when it had none.
	plan int64
	// counted are the findings that its counted rows have counted up, as findingKey.told writes them.
	counted []string
}

// begin takes what was known of the statement, and decides what of the analysis is new.
func (e *entry) begin(there map[string]oldStatement) {
	st := e.o.Statement
	e.old, e.there = there[st.ID]
	if !e.there {
		e.old.state = intercept.StateRunning
	}
	e.concluded = concludes(st, e.old.state)
	if e.o.Analysis == nil || e.old.analyzed {
		return
	}
	e.analysis = e.o.Analysis // a copy of ours
	if e.concluded {
		e.analysis.Findings = slices.Concat(e.analysis.Findings, e.o.Findings)
	}
}

// concludes: the statement's state is final and was not recorded before.
func concludes(st intercept.Statement, old intercept.State) bool {
	return st.State != "" && st.State.Final() && (old == intercept.StateRunning || old == intercept.StateLost && st.State != intercept.StateLost)
}

// statementSeen notes what goes with a statement, but for its plan and its own row.
func (w *wave) statementSeen(e *entry) {
	if a := e.o.Analysis; a != nil && e.old.analyzed && e.concluded && e.old.plan != 0 && a.Fingerprint != "" {
		w.findings.add(&e.recording, e.old.plan, a.Fingerprint, e.o.Findings)
	}
	if !e.there && e.o.Statement.Info.Fingerprint != "" {
		w.queryRan(e)
	}
	if a := e.o.Analyzed; a != nil && a.Table != "" {
		w.tables.named(e.upstream, text(a.Table), e.ended())
	}
	for _, c := range e.o.Contradictions {
		w.tables.named(e.upstream, text(c.Table), e.ended())
	}
	w.writes = append(w.writes, e.writes()...)
}

// queryRow is what a wave has of a query.
type queryRow struct {
	fingerprint, kind, normalized string
	sample                        *string
	first, last                   time.Time
	runs                          int64
}

func (w *wave) queryRan(e *entry) {
	fingerprint, at := text(e.o.Statement.Info.Fingerprint), e.started()
	q := w.queries[fingerprint]
	if q == nil {
		q = &queryRow{fingerprint: fingerprint, kind: kind(e.o.Statement.Info.Kind), normalized: e.normalized(), first: at, last: at}
		w.queries[fingerprint] = q
	}
	q.runs++
	if at.Before(q.first) {
		q.first = at
	}
	if at.After(q.last) {
		q.last = at
	}
	if sample := e.sample(); sample != nil {
		q.sample = sample
	}
}

func (w *wave) queueQueries() {
	if len(w.queries) == 0 {
		return
	}
	rows := slices.Collect(maps.Values(w.queries))
	w.last.Queue(queriesRun, pgx.NamedArgs{
		"fingerprints": column(rows, func(q *queryRow) string { return q.fingerprint }),
		"kinds":        column(rows, func(q *queryRow) string { return q.kind }),
		"normalized":   column(rows, func(q *queryRow) string { return q.normalized }),
		"samples":      column(rows, func(q *queryRow) *string { return q.sample }),
		"first":        column(rows, func(q *queryRow) time.Time { return q.first }),
		"last":         column(rows, func(q *queryRow) time.Time { return q.last }),
		"runs":         column(rows, func(q *queryRow) int64 { return q.runs }),
	})
}

// ended is when the statement ended, or began where that is not known.
func (r *recording) ended() time.Time {
	if r.o.Statement.EndedAt.IsZero() {
		return r.started()
	}
	return stamp(r.o.Statement.EndedAt)
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
