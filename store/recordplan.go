package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// RecordPlan stores an analysis that belongs to no statement: a query explained again before or after its tables'
// statistics changed. It counts as no use of the query.
func (s *Store) RecordPlan(ctx context.Context, a Analysis) error {
	return s.observe(ctx, "record plan", []string{a.Upstream}, func(ctx context.Context, tx pgx.Tx) error {
		upstream, err := s.upstreamID(ctx, a.Upstream)
		if err != nil {
			return err
		}
		w := newWave(s, tx)
		if err := w.explain(upstream, &a); err != nil {
			return err
		}
		return w.run(ctx)
	})
}
