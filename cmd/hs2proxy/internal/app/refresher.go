package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/jobs"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// refresher turns schedules and operators' requests into ANALYZE: the store keeps the requests, River (package jobs) says when it is this
// proxy's turn, statscheck does the work.
type refresher struct {
	cfg       config.Config
	login     pipeline.Login
	store     *store.Store
	watch     *pipeline.Watch
	log       zerolog.Logger
	schedules schedules
	worker    *statscheck.Worker
	// jobs is this proxy's part of the queue, nil before it has started.
	jobs atomic.Pointer[jobs.Client]
	// wake wakes the announcing of requests, cancels the watch over what people want to end.
	wake, cancels chan struct{}
	leases        leases
	// policy is the one in force, which a reload replaces.
	policy atomic.Pointer[statscheck.Policy]
	// ended is told of each refresh whose outcome is on record.
	ended func(statscheck.Effect)
}

func newRefresher(cfg config.Config, login pipeline.Login, s *store.Store, w *pipeline.Watch, replan statscheck.Replanner, log zerolog.Logger) (*refresher, error) {
	r := &refresher{cfg: cfg, login: login, store: s, watch: w, log: log, wake: make(chan struct{}, 1), cancels: make(chan struct{}, 1), ended: func(statscheck.Effect) {}}
	r.leases = leases{extend: s.ExtendRefresh, lost: r.leaseLost, lasts: lease, log: log}
	apply, err := r.prepareSchedules(cfg)
	if err != nil {
		return nil, err
	}
	apply()
	runner := statscheck.NewRunner(statscheck.RunnerConfig{
		Timeout: cfg.Stats.Refresh.Timeout, Concurrency: cfg.Stats.Refresh.Concurrency, LockWait: cfg.Stats.Refresh.LockWait, Retries: openRetries,
		NeededColumns: r.neededColumns, Policy: r.policyOf, Request: r.Request, Progress: r.progress, Predicted: s.SavePrediction,
	}, r, replan, log)
	r.worker = statscheck.NewWorker(statscheck.WorkerConfig{}, r, runner, log)
	return r, nil
}

// run works until ctx ends, then waits for what runs: an ANALYZE is cancelled in Hive and its request stays open.
func (r *refresher) run(ctx context.Context) {
	queue := r.startJobs(ctx)
	if queue == nil {
		return
	}
	r.schedules.start()
	var watch sync.WaitGroup
	watch.Go(func() { r.watchCancels(ctx) })
	watch.Go(func() { r.announce(ctx, queue) })
	defer watch.Wait()
	if err := r.store.ListenRefresh(ctx, r.notify); err != nil {
		r.log.Error().Err(err).Msg("requests are no longer announced; the queue is asked at intervals")
	}
	<-ctx.Done()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	if err := errors.Join(r.schedules.stop(stop), queue.Stop(stop)); err != nil {
		r.log.Error().Err(err).Msg("a refresh did not end in time")
	}
	r.leases.stop()
}

// notify wakes whoever announces requests, and whoever looks for cancellations: one channel of Postgres tells of both.
func (r *refresher) notify() {
	for _, c := range []chan struct{}{r.wake, r.cancels} {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (r *refresher) neededColumns(ctx context.Context, upstream, table string) ([]string, error) {
	usage, err := r.store.UsageOf(ctx, upstream, table)
	if err != nil {
		return nil, err
	}
	return slices.Concat(usage.JoinColumns, usage.OtherColumns), nil
}

// historyWindow is how far back refreshes count for cooldown and failures in a row.
const historyWindow = 30 * 24 * time.Hour

// Candidates are the stale tables of this upstream with their history.
func (r *refresher) Candidates(ctx context.Context) ([]statscheck.Candidate, error) {
	return RefreshCandidates(ctx, r.store, r.cfg.Upstream.Name, time.Now())
}

// RefreshCandidates are the stale tables of an upstream with their history, what their refresh is worth, and the policies that are set.
func RefreshCandidates(ctx context.Context, s *store.Store, upstream string, now time.Time) ([]statscheck.Candidate, error) {
	stale, err := s.StaleTables(ctx, upstream)
	if err != nil {
		return nil, err
	}
	policies, err := s.RefreshPolicies(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(stale))
	for i, t := range stale {
		names[i] = t.Table
	}
	factors, err := s.RefreshFactors(ctx, upstream, names)
	if err != nil {
		return nil, err
	}
	since := now.Add(-historyWindow)
	out := make([]statscheck.Candidate, 0, len(stale))
	for _, t := range stale {
		out = append(out, statscheck.Candidate{
			Upstream: t.Upstream, Table: t.Table, Staleness: t.Staleness, Factors: factors[t.Table], Policies: policies,
			Columns: slices.Concat(t.JoinColumns, t.OtherColumns),
			History: slices.DeleteFunc(t.History, func(h statscheck.Refresh) bool { return h.RequestedAt.Before(since) }),
		})
	}
	return out, nil
}

// Request files a refresh.
func (r *refresher) Request(ctx context.Context, job statscheck.Refresh) (id int64, created bool, err error) {
	return r.store.RequestRefresh(ctx, store.RefreshRequest{
		Upstream: job.Upstream, Table: job.Table, Mode: job.Mode, Columns: job.Columns, Partitions: job.Partitions,
		NotAfter: job.NotAfter, Reason: job.Reason, RequestedBy: job.RequestedBy, Priority: job.Priority,
		Schedule: job.Schedule, WindowStart: job.WindowStart, Budget: job.Budget, Scope: job.Scope,
	})
}

// Claim takes the next request of this upstream, where it has room, and keeps its lease alive until Finish or Abandon.
func (r *refresher) Claim(ctx context.Context) (statscheck.Refresh, bool, error) {
	job, err := r.store.ClaimRefresh(ctx, []string{r.cfg.Upstream.Name}, lease)
	if err != nil || job == nil {
		return statscheck.Refresh{}, false, err
	}
	r.leases.hold(job.ID)
	return *job, true, nil
}

// Due is how long it takes until one of this upstream's requests may run.
func (r *refresher) Due(ctx context.Context) (in time.Duration, ok bool, err error) {
	return r.store.RefreshDue(ctx, []string{r.cfg.Upstream.Name})
}

// Abandon lets the lease of a request run out.
func (r *refresher) Abandon(job statscheck.Refresh) { r.leases.release(job.ID) }

// Finish records the outcome, then moves the table's baseline and has its staleness judged anew. Only the recording can
// fail it: the rest is made good by the next check of the table.
func (r *refresher) Finish(ctx context.Context, job statscheck.Refresh) error {
	err := r.store.FinishRefresh(ctx, job)
	if errors.Is(err, store.ErrLeaseLost) { // its outcome is the other proxy's to record
		r.leases.release(job.ID)
		r.log.Error().Int64("refresh", job.ID).Msg("another proxy took a refresh over; what ran here was canceled in Hive")
		return nil
	}
	if err != nil {
		return fmt.Errorf("record refresh %d: %w", job.ID, err)
	}
	r.leases.release(job.ID)
	if job.Effect != "" {
		r.ended(job.Effect)
	}
	if job.State != statscheck.RefreshDone || job.After == nil {
		return nil
	}
	if job.Effect != statscheck.EffectIneffective {
		err = r.store.Rebase(ctx, job.Upstream, job.Table, statscheck.NewBaseline(*job.After))
	}
	r.learn(ctx, job)
	if err = errors.Join(err, r.watch.Check(ctx, job.Table)); err != nil {
		r.log.Warn().Str("table", job.Table).Err(err).Msg("staleness after a refresh not judged yet")
	}
	return nil
}
