package statscheck

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// ErrInterrupted is the Error of a refresh that goes back to the queue.
var ErrInterrupted = errors.New("interrupted: the proxy is shutting down")

// Queue holds refresh requests. It is the store's, over Postgres.
type Queue interface {
	// Claim takes the request that is next in turn, makes it RUNNING and returns it; false when there is none. busy names the upstream of
	// each that runs here: those with as many as they may have are passed over. No upstream has more, whichever proxies claim.
	Claim(ctx context.Context, busy []string) (job Refresh, ok bool, err error)
	// Finish records what became of a claimed request: State DONE, FAILED or CANCELED with everything else in the Refresh, or
	// REQUESTED when it was interrupted or put back and is to be claimed again, after NotBefore.
	Finish(ctx context.Context, job Refresh) error
}

// Jobs runs one refresh to its end; a *Runner.
type Jobs interface {
	Run(ctx context.Context, job Refresh) Refresh
}

// WorkerConfig tunes a Worker.
type WorkerConfig struct {
	// Interval is how often the queue is asked when nothing wakes the worker; 30 s when 0.
	Interval time.Duration
	// FinishTimeout bounds one attempt to record an outcome, FinishPause the pause before the second one, doubled each
	// time; 10 s and 1 s when 0.
	FinishTimeout time.Duration
	FinishPause   time.Duration
}

// finishAttempts is how often an outcome is offered to the queue before it is given up, which is logged.
const finishAttempts = 6

// Worker claims requests and has them run, as many per upstream as the queue gives.
type Worker struct {
	cfg   WorkerConfig
	queue Queue
	jobs  Jobs
	wake  <-chan struct{}
	log   zerolog.Logger

	mu struct {
		sync.Mutex
		cancel context.CancelFunc
		done   chan struct{}
		jobs   map[int64]context.CancelCauseFunc
	}
}

// NewWorker returns a Worker that is not started. A value on wake makes it ask the queue at once; wake may be nil.
func NewWorker(cfg WorkerConfig, queue Queue, jobs Jobs, wake <-chan struct{}, log zerolog.Logger) *Worker {
	cfg.Interval = orElse(cfg.Interval, 30*time.Second)
	cfg.FinishTimeout = orElse(cfg.FinishTimeout, 10*time.Second)
	cfg.FinishPause = orElse(cfg.FinishPause, time.Second)
	w := &Worker{cfg: cfg, queue: queue, jobs: jobs, wake: wake, log: log}
	w.mu.jobs = map[int64]context.CancelCauseFunc{}
	return w
}

func orElse(d, other time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return other
}

// Start begins to work until Stop. A second Start before Stop does nothing.
func (w *Worker) Start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.done != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	w.mu.cancel, w.mu.done = cancel, done
	go func() {
		defer close(done)
		w.loop(ctx)
	}()
}

// Stop cancels what runs, in Hive too, gives it back to the queue, and waits for that until ctx ends; then it returns
// ctx's error.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	cancel, done := w.mu.cancel, w.mu.done
	w.mu.cancel, w.mu.done = nil, nil
	w.mu.Unlock()
	if done == nil {
		return nil
	}
	cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop the refreshes: %w", ctx.Err())
	}
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

// loop owns busy and the jobs' goroutines; it returns when all of them have ended.
func (w *Worker) loop(ctx context.Context) {
	var busy []string
	ended := make(chan string)
	tick := time.NewTicker(w.cfg.Interval)
	defer tick.Stop()
	wake := w.wake
	for {
		busy = w.claim(ctx, busy, ended)
		select {
		case <-ctx.Done():
			for range busy {
				<-ended
			}
			return
		case upstream := <-ended:
			if i := slices.Index(busy, upstream); i >= 0 {
				busy = slices.Delete(busy, i, i+1) // one entry for each job, even if the queue gave an upstream two
			}
		case _, open := <-wake:
			if !open {
				wake = nil // whoever wakes us is gone: the interval remains
			}
		case <-tick.C:
		}
	}
}

// claim starts a job for every upstream that has one and is not busy.
func (w *Worker) claim(ctx context.Context, busy []string, ended chan<- string) []string {
	for ctx.Err() == nil {
		job, ok, err := w.queue.Claim(ctx, slices.Clone(busy))
		if err != nil {
			if ctx.Err() == nil {
				w.log.Warn().Err(err).Msg("claiming a refresh failed")
			}
			return busy
		}
		if !ok {
			return busy
		}
		busy = append(busy, job.Upstream)
		go func() {
			defer func() { ended <- job.Upstream }()
			w.finish(ctx, w.run(ctx, job))
		}()
	}
	return busy
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

// finish records the outcome, also after ctx has ended: it is offered again while the queue is away, and once more at once
// when the worker stops.
func (w *Worker) finish(ctx context.Context, job Refresh) {
	pause := w.cfg.FinishPause
	for attempt := 1; ; attempt++ {
		err := w.record(ctx, job)
		if err == nil {
			return
		}
		if attempt == finishAttempts || (attempt > 1 && ctx.Err() != nil) {
			w.log.Error().Err(err).Int64("refresh", job.ID).Str("table", job.Table).Msg("the outcome of a refresh is lost")
			return
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
