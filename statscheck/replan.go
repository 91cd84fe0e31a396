package statscheck

import "context"

// Replanner explains the queries that a table's statistics affect.
type Replanner interface {
	// Before returns the joins of the affected queries as planned now; After explains the same queries again and returns
	// theirs. A query that cannot be explained (any more) is left out.
	Before(ctx context.Context, upstream, table string) ([]JoinStrategy, error)
	After(ctx context.Context, upstream, table string, before []JoinStrategy) ([]JoinStrategy, error)
}

// plansBefore and plansAfter never fail a refresh: the statistics are worth having without the proof.
func (r *Runner) plansBefore(ctx context.Context, job Refresh) []JoinStrategy {
	if r.replan == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ReplanTimeout)
	defer cancel()
	joins, err := r.replan.Before(ctx, job.Upstream, job.Table)
	if err != nil {
		r.log.Warn().Err(err).Int64("refresh", job.ID).Str("table", job.Table).Msg("explaining the affected queries before the refresh failed")
		return nil
	}
	return joins
}

func (r *Runner) plansAfter(ctx context.Context, job Refresh, before []JoinStrategy) []PlanChange {
	if len(before) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ReplanTimeout)
	defer cancel()
	after, err := r.replan.After(ctx, job.Upstream, job.Table, before)
	if err != nil {
		r.log.Warn().Err(err).Int64("refresh", job.ID).Str("table", job.Table).Msg("explaining the affected queries after the refresh failed")
		return nil
	}
	return PlanChanges(before, after)
}
