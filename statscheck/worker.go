package statscheck

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// ErrInterrupted is the Error of a refresh that goes back to the queue.
var ErrInterrupted = errors.New("interrupted: the proxy is shutting down")

// Queue holds refresh requests. It is the store's, over Postgres.
type Queue interface {
	// Claim takes the request that is next in turn, makes it RUNNING and returns it; false when none may run now. No upstream has more
	// than it may, whichever proxies claim.
	Claim(ctx context.Context) (job Refresh, ok bool, err error)
	// Due is how long it takes at least until one of those that wait may run: 0 where only those that run keep it back. ok is false
	// when none waits.
	Due(ctx context.Context) (in time.Duration, ok bool, err error)
	// Finish records what became of a claimed request: State DONE, FAILED or CANCELED with everything else in the Refresh, or
	// REQUESTED when it was interrupted or put back and is to be claimed again, after NotBefore.
	Finish(ctx context.Context, job Refresh) error
	// Abandon lets go of a claimed request whose outcome could not be recorded: another attempt may be made once the claim has run out.
	Abandon(job Refresh)
}

// Jobs runs one refresh to its end; a *Runner.
type Jobs interface {
	Run(ctx context.Context, job Refresh) Refresh
}

// WorkerConfig tunes a Worker.
type WorkerConfig struct {
	// FinishTimeout bounds one attempt to record an outcome, FinishPause the pause before the second one, doubled each
	// time; 10 s and 1 s when 0.
	FinishTimeout time.Duration
	FinishPause   time.Duration
	// BusyPause is how long to wait at most where only those that run keep others back; 15 s when 0.
	BusyPause time.Duration
}

// finishAttempts is how often an outcome is offered to the queue before it is given up, which is logged.
const finishAttempts = 6

// Worker makes attempts at refreshes. When, and how many at a time, is for whoever calls it.
type Worker struct {
	cfg   WorkerConfig
	queue Queue
	jobs  Jobs
	log   zerolog.Logger

	mu struct {
		sync.Mutex
		jobs map[int64]context.CancelCauseFunc
	}
}

// NewWorker returns a Worker.
func NewWorker(cfg WorkerConfig, queue Queue, jobs Jobs, log zerolog.Logger) *Worker {
	cfg.FinishTimeout = orElse(cfg.FinishTimeout, 10*time.Second)
	cfg.FinishPause = orElse(cfg.FinishPause, time.Second)
	cfg.BusyPause = orElse(cfg.BusyPause, 15*time.Second)
	w := &Worker{cfg: cfg, queue: queue, jobs: jobs, log: log}
	w.mu.jobs = map[int64]context.CancelCauseFunc{}
	return w
}

func orElse(d, other time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return other
}

// Work makes one attempt at the request that is next in turn and records what became of it. wait is how long to wait before the next
// call where none may run now though some wait; 0 otherwise. When ctx ends, what runs is canceled, in Hive too, and goes back to the
// queue. An error says that the queue did not answer, not that a refresh failed.
func (w *Worker) Work(ctx context.Context) (wait time.Duration, err error) {
	job, ok, err := w.queue.Claim(ctx)
	if err != nil {
		return 0, fmt.Errorf("claim a refresh: %w", err)
	}
	if ok {
		return 0, w.finish(ctx, w.run(ctx, job))
	}
	wait, ok, err = w.queue.Due(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for what waits: %w", err)
	}
	if ok && wait <= 0 {
		wait = w.cfg.BusyPause
	}
	return wait, nil
}

// Cancel ends one refresh that runs here, in Hive too, for a cause (a *Canceled for a person's word); false when it does not run here. Its
// outcome is recorded as that of any other.
func (w *Worker) Cancel(id int64, cause error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	cancel, ok := w.mu.jobs[id]
	if ok {
		cancel(cause)
	}
	return ok
}

// cancelable is the context of one job, which Cancel ends.
func (w *Worker) cancelable(ctx context.Context, id int64) (job context.Context, end func()) {
	job, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.jobs[id] = cancel
	return job, func() {
		w.mu.Lock()
		delete(w.mu.jobs, id)
		w.mu.Unlock()
		cancel(nil)
	}
}

// run turns a panic of the job into its failure.
func (w *Worker) run(ctx context.Context, job Refresh) (out Refresh) {
	defer func() {
		if p := recover(); p != nil {
			w.log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).Int64("refresh", job.ID).Msg("refresh panicked")
			out = job
			out.State, out.Effect, out.Error = RefreshFailed, EffectFailed, fmt.Sprintf("internal error: %v", p)
			out.EndedAt = time.Now()
		}
	}()
	ctx, end := w.cancelable(ctx, job.ID)
	defer end()
	return w.jobs.Run(ctx, job)
}

// finish records the outcome, also after ctx has ended. Only this process has it, so it offers it again while the queue is away, and
// once more at once when ctx ends.
func (w *Worker) finish(ctx context.Context, job Refresh) error {
	pause := w.cfg.FinishPause
	for attempt := 1; ; attempt++ {
		err := w.record(ctx, job)
		if err == nil {
			return nil
		}
		if attempt == finishAttempts || (attempt > 1 && ctx.Err() != nil) {
			w.log.Error().Err(err).Int64("refresh", job.ID).Str("table", job.Table).Msg("the outcome of a refresh is lost")
			w.queue.Abandon(job)
			return fmt.Errorf("record refresh %d: %w", job.ID, err)
		}
		w.log.Warn().Err(err).Int64("refresh", job.ID).Str("table", job.Table).Msg("recording a refresh failed")
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		pause *= 2
	}
}

func (w *Worker) record(ctx context.Context, job Refresh) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.FinishTimeout)
	defer cancel()
	return w.queue.Finish(ctx, job)
}
