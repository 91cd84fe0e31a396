package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// RecordPlan stores an analysis that belongs to no statement: a query explained again before or after its tables'
// statistics changed. It counts as no use of the query.
func (s *Store) RecordPlan(ctx context.Context, a Analysis) error {
	if a.ExplainedAt.IsZero() {
		a.ExplainedAt = s.o.Now()
	}
	a.ExplainedAt = stamp(a.ExplainedAt)
	return s.observe(ctx, "record plan", []string{a.Upstream}, func(ctx context.Context, tx pgx.Tx) error {
		upstream, err := s.upstreamID(ctx, a.Upstream)
		if err != nil {
			return err
		}
		r := recording{s: s, tx: tx, upstream: upstream, o: Observation{Analysis: &a}, unused: true}
		batch := &pgx.Batch{}
		if _, err := r.plan(ctx, batch, a); err != nil {
			return err
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}
