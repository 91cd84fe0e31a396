package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// ActualSource says where rows that operators put out were counted.
type ActualSource string

// Sources: an operation log that a client fetched; numModifiedRows of a write; EXPLAIN ANALYZE on a schedule.
const (
	SourceCounters       ActualSource = "COUNTERS"
	SourceRowsModified   ActualSource = "ROWS_MODIFIED"
	SourceExplainAnalyze ActualSource = "EXPLAIN_ANALYZE"
)

// Actuals are operators' estimates beside the rows counted in one run.
type Actuals struct {
	Upstream string
	// StatementID is the run, whose observation is recorded before; empty for EXPLAIN ANALYZE, which is of Analysis's plan.
	StatementID string
	Analysis    *Analysis `json:",omitempty"`
	Source      ActualSource
	Operators   []advisor.OperatorActual
	// Findings are what the counts tell of the plan; StatementID's Fingerprint is the query they are about.
	Fingerprint string
	Findings    []advisor.Finding `json:",omitempty"`
	At          time.Time
}

// Redacted is a without what RecordActuals does not keep.
func (a Actuals) Redacted(keepLiterals bool, redact *Redactor) Actuals {
	r := recording{s: &Store{o: Options{KeepLiterals: keepLiterals, Redact: redact}}}
	a.Findings = r.findings(a.Findings)
	if a.Analysis != nil {
		a.Analysis = r.redactedAnalysis(*a.Analysis)
	}
	return a
}

const actualUpsert = `
INSERT INTO hs2proxy.operator_actuals AS a (plan_id, operator_id, kind, vertex, source, statement_id, estimated_rows, actual_rows, q_error, q_error_max, first_counted_at, counted_at)
VALUES (@plan, @operator, @kind, @vertex, @source, @statement, @estimated, @actual, @q, @q, @at, @at)
ON CONFLICT (plan_id, operator_id) DO UPDATE SET
    kind = excluded.kind, vertex = excluded.vertex, source = excluded.source, statement_id = excluded.statement_id,
    estimated_rows = excluded.estimated_rows, actual_rows = excluded.actual_rows, q_error = excluded.q_error,
    q_error_max = greatest(a.q_error_max, excluded.q_error), counted_at = excluded.counted_at,
    runs = a.runs + CASE WHEN a.statement_id IS NOT DISTINCT FROM excluded.statement_id
                              AND (excluded.statement_id IS NOT NULL OR a.counted_at = excluded.counted_at) THEN 0 ELSE 1 END
WHERE excluded.counted_at >= a.counted_at`

// RecordActuals stores the counts of one run beside its plan, in one transaction; of each operator the latest run stays. Again with
// the same is no other run. Counts of a statement that has no plan here are left out.
func (s *Store) RecordActuals(ctx context.Context, a Actuals) error {
	_, err := s.Record(ctx, []Record{{Actuals: &a}})
	return err
}

func (w *wave) addActuals(ctx context.Context, a Actuals) error {
	upstream, err := w.s.upstreamID(ctx, a.Upstream)
	if err != nil {
		return err
	}
	r := recording{s: w.s, tx: w.tx, upstream: upstream, unused: a.StatementID == ""}
	r.o.Statement.StartedAt = a.At
	w.actuals = append(w.actuals, actualsEntry{r, &a})
	if a.StatementID != "" || a.Analysis == nil || a.Analysis.Error != "" {
		return nil
	}
	if err := w.explain(upstream, a.Analysis); err != nil {
		return err
	}
	w.explained.o.Statement.StartedAt = a.At
	return nil
}

// countedPlan is the plan that the counts are of; 0 where there is none.
func (w *wave) countedPlan(a actualsEntry) int64 {
	if a.actuals.StatementID == "" {
		if w.explained == nil {
			return 0
		}
		return w.explained.plan
	}
	for _, e := range w.entries {
		if e.o.Statement.ID == a.actuals.StatementID && e.plan != 0 {
			return e.plan
		}
	}
	return w.old[a.actuals.StatementID].plan
}

// countedSeen notes what the counts tell of their plan. A finding counts once for a statement: its counts may come in several records, and
// each of them again from a spool.
func (w *wave) countedSeen(a actualsEntry) {
	plan := w.countedPlan(a)
	if plan == 0 || a.actuals.Fingerprint == "" {
		return
	}
	id := a.actuals.StatementID
	added := w.findings.add(&a.recording, plan, text(a.actuals.Fingerprint), a.actuals.Findings, slices.Concat(w.old[id].counted, w.counted[id])...)
	if id != "" && len(added) > 0 {
		w.counted[id] = append(w.counted[id], added...)
	}
}

const statementCounted = `
UPDATE hs2proxy.statements SET counted_findings = @findings WHERE id = @id`

// queueCounted remembers what the statements' counts have counted up. The statements are locked, or new.
func (w *wave) queueCounted() {
	for _, id := range slices.Sorted(maps.Keys(w.counted)) {
		all := slices.Concat(w.old[id].counted, w.counted[id])
		slices.Sort(all)
		w.last.Queue(statementCounted, pgx.NamedArgs{"id": id, "findings": all})
	}
}

func (w *wave) queueActuals() {
	for _, a := range w.actuals {
		plan := w.countedPlan(a)
		if plan == 0 {
			continue
		}
		for _, o := range a.actuals.Operators {
			if o.Estimated < 0 || o.Actual < 0 {
				continue
			}
			w.last.Queue(actualUpsert, pgx.NamedArgs{
				"plan": plan, "operator": text(o.ID), "kind": text(o.Kind), "vertex": text(o.Vertex), "source": string(a.actuals.Source),
				"statement": orNil(a.actuals.StatementID), "estimated": o.Estimated, "actual": o.Actual, "q": o.QError(), "at": a.started(),
			})
		}
	}
}
