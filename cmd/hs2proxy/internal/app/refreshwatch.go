package app

import (
	"context"
	"errors"
	"time"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

// cancelLook is how often cancellations are looked for where Postgres' notice was missed.
const cancelLook = 10 * time.Second

// watchCancels cancels what people want to end, in Hive too.
func (r *refresher) watchCancels(ctx context.Context) {
	tick := time.NewTicker(cancelLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.cancels:
		}
		wanted, err := r.store.Cancellations(ctx, r.leases.ids())
		if err != nil && ctx.Err() == nil {
			r.log.Warn().Err(err).Msg("cancellations not looked for")
		}
		for id, c := range wanted {
			if r.worker.Cancel(id, &c) {
				r.log.Info().Int64("refresh", id).Str("by", c.By).Msg("refresh is being canceled")
			}
		}
	}
}

var errLeaseGone = errors.New("the lease is lost: another proxy runs the refresh")

// leaseLost ends a refresh that another proxy has taken, or may take: its ANALYZE must not run twice.
func (r *refresher) leaseLost(id int64) { r.worker.Cancel(id, errLeaseGone) }

func (r *refresher) progress(ctx context.Context, id int64, step, steps int, doing string) {
	if err := r.store.SaveProgress(ctx, id, step, steps, doing); err != nil {
		r.log.Debug().Int64("refresh", id).Err(err).Msg("progress not recorded")
	}
}

// policyOf is what the database lays down for a table, else the configuration.
func (r *refresher) policyOf(ctx context.Context, _, table string) (statscheck.TablePolicy, error) {
	set, err := r.store.RefreshPolicies(ctx)
	if err != nil {
		return statscheck.TablePolicy{}, err
	}
	return statscheck.PolicyOf(table, set, r.policy.Load().Tables), nil
}
