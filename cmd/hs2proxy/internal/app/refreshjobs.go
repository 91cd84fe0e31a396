package app

import (
	"context"
	"errors"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/jobs"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

// aroundAnalyze is how long an attempt may take beside its ANALYZE and the wait for locks: reading statistics, of many partitions too, and
// explaining the affected queries twice.
const aroundAnalyze = time.Hour

// startJobs starts this proxy's part of the queue as soon as Postgres is there; nil when ctx ends before.
func (r *refresher) startJobs(ctx context.Context) *jobs.Client {
	var started *jobs.Client
	untilDone(ctx, func() bool {
		queue, err := r.newJobs(ctx)
		if err == nil {
			err = queue.Start(ctx)
		}
		if err != nil {
			if ctx.Err() == nil {
				r.log.Warn().Err(err).Msg("refreshes wait: the job queue has not started")
			}
			return false
		}
		started = queue
		return true
	})
	if started != nil {
		r.jobs.Store(started)
	}
	return started
}

func (r *refresher) newJobs(ctx context.Context) (*jobs.Client, error) {
	upstream, err := r.store.UpstreamKey(ctx, r.cfg.Upstream.Name)
	if err != nil {
		return nil, err
	}
	told, err := r.store.Announces(ctx)
	if err != nil {
		return nil, err
	}
	if !told {
		r.log.Warn().Msg("Postgres' notices do not arrive, perhaps for a pooler in between; the job queue is asked at intervals")
	}
	refresh := r.cfg.Stats.Refresh
	return jobs.New(r.store.Pool(), jobs.Config{
		Upstream: upstream, Concurrency: refresh.Concurrency, AttemptTimeout: refresh.Timeout + refresh.LockWait + aroundAnalyze, Stranded: lease,
		PollOnly: !told, Attempt: r.worker.Work, Waiting: r.store.WaitingRefreshes, Fire: r.fire, Log: r.log,
	})
}

// announce sees to it, at each wake, that what waits has jobs. A failure is made good by the leader's look.
func (r *refresher) announce(ctx context.Context, queue *jobs.Client) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		if err := queue.Announce(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn().Err(err).Msg("requests not announced yet")
		}
	}
}

var errNoJobs = errors.New("the job queue has not started")

// Fired hands a firing of a schedule to the queue, which has one proxy do it.
func (r *refresher) Fired(ctx context.Context, f statscheck.Fired) error {
	queue := r.jobs.Load()
	if queue == nil {
		return errNoJobs
	}
	return queue.Fired(ctx, f)
}

// fire does what a firing does, in this proxy's turn.
func (r *refresher) fire(ctx context.Context, f statscheck.Fired) error {
	requested, err := r.schedules.fire(ctx, f)
	if err != nil {
		r.log.Error().Err(err).Str("schedule", f.Schedule.Name).Msg("schedule failed to request refreshes")
		return err
	}
	r.log.Info().Str("schedule", f.Schedule.Name).Int("requested", requested).Msg("schedule fired")
	return nil
}
