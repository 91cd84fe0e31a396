package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/intercept"
)

// Record is one of: what is known of a statement, a session opened or, with ClosedAt, closed, or rows that operators were counted with.
type Record struct {
	Observation *Observation
	Session     *intercept.Session
	Actuals     *Actuals
}

// maxWave is how many records one transaction takes.
const maxWave = 256

// errRaced: another transaction has put in what this one had found missing. Run again, it finds it.
var errRaced = fmt.Errorf("%w: another transaction was faster", ErrUnavailable)

// Record stores records in their order, many in one transaction, as if each were recorded alone. done is how many are stored, of the
// first ones; an error is about those behind them, of which none is.
func (s *Store) Record(ctx context.Context, records []Record) (done int, err error) {
	for done < len(records) {
		n := waveLength(records[done:])
		if err := s.recordWave(ctx, records[done:done+n]); err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// waveLength is how many of the records one transaction takes: of a statement one observation only, none behind the end of its session, and an
// EXPLAIN ANALYZE alone.
func waveLength(records []Record) int {
	seen := map[string]bool{} // statements, and sessions that have ended
	for i, r := range records[:min(len(records), maxWave)] {
		switch {
		case r.Observation != nil:
			id, session := r.Observation.Statement.ID, r.Observation.Session.Handle.ID()
			if seen[id] || seen[session] {
				return i
			}
			seen[id] = true
		case r.Actuals != nil && r.Actuals.StatementID == "":
			return max(i, 1)
		case r.Actuals != nil:
			seen[r.Actuals.StatementID] = true
		case r.Session != nil && !r.Session.ClosedAt.IsZero():
			seen[r.Session.Handle.ID()] = true
		}
	}
	return min(len(records), maxWave)
}

func (s *Store) recordWave(ctx context.Context, records []Record) error {
	what, upstreams := "record", []string(nil)
	for _, r := range records {
		switch {
		case r.Observation != nil:
			what = "record statement"
			upstreams = append(upstreams, r.Observation.Session.Upstream)
			for _, w := range r.Observation.Writes {
				if w.Upstream != "" {
					upstreams = append(upstreams, w.Upstream)
				}
			}
		case r.Actuals != nil:
			what = "record actual rows"
			upstreams = append(upstreams, r.Actuals.Upstream)
		case r.Session != nil:
			what = "record session"
			upstreams = append(upstreams, r.Session.Upstream)
		default:
			return fmt.Errorf("%w: the record is empty", ErrData)
		}
	}
	slices.Sort(upstreams)
	return s.observe(ctx, what, slices.Compact(upstreams), func(ctx context.Context, tx pgx.Tx) error {
		w := newWave(s, tx)
		for _, r := range records {
			if err := w.add(ctx, r); err != nil {
				return err
			}
		}
		return w.run(ctx)
	})
}

// wave is the records of one transaction. What they do to the same row is done once.
//
// Lock order, for all transactions of this package: statements by id, sessions by id, plan chains (advisory) by name, plans, the day's
// fidelity, tables by upstream and name, findings by upstream, query, kind and subject, uses, actual rows, queries by fingerprint.
// Deadlocks that remain are run again.
type wave struct {
	s       *Store
	tx      pgx.Tx
	entries []*entry
	actuals []actualsEntry
	// explained: the one analysis here belongs to no statement and counts as no use of its query.
	explained *entry

	sessions *sessionFold
	tables   *tableFold
	findings *findingFold
	uses     map[planDay]int64
	queries  map[string]*queryRow
	writes   []TableWrite
	// old are the statements that were there.
	old map[string]oldStatement
	// counted are, by statement, the findings that its counted rows count up for the first time.
	counted map[string][]string
	// last goes to the server in one piece.
	last *pgx.Batch
}

// entry is one observation of a wave, or an analysis that belongs to no statement.
type entry struct {
	recording
	// old is the statement as it was, where it was there.
	old   oldStatement
	there bool
	// concluded: the statement's end was not recorded before.
	concluded bool
	// analysis is to be recorded; nil when there is none, or when it was recorded before.
	analysis *Analysis
	// chain is the analysis's; known is the plan in force there where that was asked for and is, and plan the one that the analysis
	// belongs to; 0 when there is none.
	chain       planChain
	known, plan int64
}

type actualsEntry struct {
	recording
	actuals *Actuals
}

func newWave(s *Store, tx pgx.Tx) *wave {
	return &wave{
		s: s, tx: tx, sessions: newSessionFold(), tables: newTableFold(), findings: newFindingFold(), uses: map[planDay]int64{},
		queries: map[string]*queryRow{}, old: map[string]oldStatement{}, counted: map[string][]string{}, last: &pgx.Batch{},
	}
}

func (w *wave) add(ctx context.Context, r Record) error {
	switch {
	case r.Observation != nil:
		upstream, err := w.s.upstreamID(ctx, r.Observation.Session.Upstream)
		if err != nil {
			return err
		}
		e, err := w.entry(upstream, *r.Observation)
		if err != nil {
			return err
		}
		w.entries = append(w.entries, e)
		return w.sessions.missing(w.s, upstream, r.Observation.Session)
	case r.Actuals != nil:
		return w.addActuals(ctx, *r.Actuals)
	default:
		upstream, err := w.s.upstreamID(ctx, r.Session.Upstream)
		if err != nil {
			return err
		}
		return w.sessions.upsert(w.s, upstream, *r.Session)
	}
}

// explain adds an analysis that belongs to no statement.
func (w *wave) explain(upstream int64, a *Analysis) error {
	e, err := w.entry(upstream, Observation{Analysis: a})
	if err != nil {
		return err
	}
	e.unused, e.analysis = true, e.o.Analysis
	w.explained = e
	return nil
}

// entry prepares an observation. Its analysis is a copy: the one given may be shared.
func (w *wave) entry(upstream int64, o Observation) (*entry, error) {
	e := &entry{recording: recording{s: w.s, tx: w.tx, upstream: upstream, o: o}}
	if o.Analysis == nil {
		return e, nil
	}
	a := *o.Analysis
	a.Fingerprint, a.Database, a.HiveVersion = text(cmp.Or(a.Fingerprint, o.Statement.Info.Fingerprint)), text(a.Database), text(a.HiveVersion)
	if a.ExplainedAt.IsZero() {
		a.ExplainedAt = w.s.o.Now()
	}
	a.ExplainedAt = stamp(a.ExplainedAt)
	e.o.Analysis = &a
	settings, err := w.s.settingsHash(o.Analysis)
	e.chain = planChain{upstream, a.Fingerprint, a.Database, settings}
	return e, err
}

// settingsHash remembers that of an analysis which is reused: many statements share it, and nothing changes it.
func (s *Store) settingsHash(a *Analysis) (string, error) {
	if h, ok := s.hashes.Get(a); ok {
		return h, nil
	}
	settings, err := asJSON(settingsOf(a.Settings))
	if err != nil {
		return "", err
	}
	h := hash(settings)
	if a.Reused {
		s.hashes.Add(a, h)
	}
	return h, nil
}

func (w *wave) run(ctx context.Context) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	if err := w.plans(ctx); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	for _, e := range w.all() {
		if e.plan != 0 {
			w.planSeen(e)
		}
	}
	for _, e := range w.entries {
		w.statementSeen(e)
	}
	for _, a := range w.actuals {
		w.countedSeen(a)
	}
	writes, err := w.s.foldWrites(ctx, w.tables, w.writes)
	if err != nil {
		return err
	}
	w.tables.queue(w.last)
	w.findings.queue(w.last, w.explained != nil)
	w.queueUses()
	w.queueActuals()
	w.queueQueries()
	raced := w.queueStatements()
	w.queueCounted()
	w.queueSignals()
	w.sessions.queueLost(w.last)
	queueWrites(w.last, writes)
	w.queueDropped()
	if err := w.send(ctx, w.last); err != nil {
		return err
	}
	if *raced {
		return errRaced
	}
	return nil
}

// all are the observations, and the analysis that belongs to none.
func (w *wave) all() []*entry {
	if w.explained == nil {
		return w.entries
	}
	return append(slices.Clip(w.entries), w.explained)
}

func (w *wave) send(ctx context.Context, batch *pgx.Batch) error {
	if batch.Len() == 0 {
		return nil
	}
	return w.tx.SendBatch(ctx, batch).Close()
}

const statementsLock = `
SELECT s.id::text, s.state, s.analyzed_at IS NOT NULL, coalesce(s.plan_id, 0), s.counted_findings
FROM hs2proxy.statements s WHERE s.id = ANY ((@ids::text[])::uuid[]) ORDER BY s.id FOR UPDATE`

// begin locks the statements that are there, makes sure of the sessions, and looks for the plans that are known.
func (w *wave) begin(ctx context.Context) error {
	batch := &pgx.Batch{}
	if ids := w.statementIDs(); len(ids) > 0 {
		batch.Queue(statementsLock, pgx.NamedArgs{"ids": ids}).Query(func(rows pgx.Rows) error {
			var (
				id  string
				old oldStatement
			)
			_, err := pgx.ForEachRow(rows, []any{&id, &old.state, &old.analyzed, &old.plan, &old.counted}, func() error {
				w.old[id] = old
				old = oldStatement{}
				return nil
			})
			return err
		})
	}
	w.sessions.queue(batch)
	w.queuePlansKnown(batch)
	if err := w.send(ctx, batch); err != nil {
		return err
	}
	for _, e := range w.entries {
		e.begin(w.old)
	}
	return nil
}

func (w *wave) statementIDs() []string {
	ids := make([]string, 0, len(w.entries)+len(w.actuals))
	for _, e := range w.entries {
		ids = append(ids, e.o.Statement.ID)
	}
	for _, a := range w.actuals {
		if a.actuals.StatementID != "" {
			ids = append(ids, a.actuals.StatementID)
		}
	}
	return ids
}

// column is one field of all rows, as unnest takes it.
func column[R, V any](rows []R, of func(R) V) []V {
	out := make([]V, len(rows))
	for i, r := range rows {
		out[i] = of(r)
	}
	return out
}
