package statscheck

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

// fakeQueue is a Queue in memory.
type fakeQueue struct {
	mu       sync.Mutex
	waiting  []Refresh
	claimErr error
	// finish answers Finish; nil records.
	finish   func(attempt int, r Refresh) error
	attempts int
	claims   int
	finished chan Refresh
	claimed  chan struct{}
}

func newFakeQueue(jobs ...Refresh) *fakeQueue {
	return &fakeQueue{waiting: jobs, finished: make(chan Refresh, 100), claimed: make(chan struct{}, 1000)}
}

func (q *fakeQueue) add(r Refresh) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, r)
}

func (q *fakeQueue) Claim(_ context.Context, busy []string) (Refresh, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer func() {
		select {
		case q.claimed <- struct{}{}:
		default:
		}
	}()
	q.claims++
	if q.claimErr != nil {
		err := q.claimErr
		q.claimErr = nil
		return Refresh{}, false, err
	}
	for i, r := range q.waiting {
		if !slices.Contains(busy, r.Upstream) {
			q.waiting = slices.Delete(q.waiting, i, i+1)
			return r, true, nil
		}
	}
	return Refresh{}, false, nil
}

func (q *fakeQueue) Finish(ctx context.Context, r Refresh) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.attempts++
	if _, bounded := ctx.Deadline(); !bounded || ctx.Err() != nil {
		return errors.New("no live deadline")
	}
	if q.finish != nil {
		if err := q.finish(q.attempts, r); err != nil {
			return err
		}
	}
	q.finished <- r
	return nil
}

// jobs is Jobs as a function.
type jobs func(ctx context.Context, r Refresh) Refresh

func (f jobs) Run(ctx context.Context, r Refresh) Refresh { return f(ctx, r) }

func done(_ context.Context, r Refresh) Refresh {
	r.State = RefreshDone
	return r
}

// start starts a worker that only wake wakes, and stops it when the test ends.
func start(t *testing.T, q *fakeQueue, run jobs, wake <-chan struct{}) *Worker {
	t.Helper()
	w := NewWorker(WorkerConfig{Interval: time.Hour, FinishPause: time.Microsecond}, q, run, wake, quiet())
	w.Start()
	w.Start() // does nothing
	t.Cleanup(func() {
		if err := w.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func job(id int64, upstream string) Refresh {
	return Refresh{ID: id, Upstream: upstream, Table: "db.t", State: RefreshRunning}
}

func TestWorkerRunsWhatIsThere(t *testing.T) {
	q := newFakeQueue(job(1, "a"), job(2, "a"), job(3, "b"))
	start(t, q, done, nil)
	var got []int64
	for range 3 {
		r := <-q.finished
		if r.State != RefreshDone {
			t.Errorf("%+v", r)
		}
		got = append(got, r.ID)
	}
	slices.Sort(got)
	if !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
}

func TestWorkerWakes(t *testing.T) {
	q := newFakeQueue()
	wake := make(chan struct{})
	start(t, q, done, wake)
	<-q.claimed
	q.add(job(7, "a"))
	wake <- struct{}{}
	if r := <-q.finished; r.ID != 7 {
		t.Errorf("%+v", r)
	}
	close(wake) // the listener is gone: the worker must neither end nor spin
	<-q.claimed
	q.mu.Lock()
	claims := q.claims
	q.mu.Unlock()
	if claims > 10 {
		t.Errorf("%d claims", claims)
	}
}

func TestWorkerAsksAgainByItself(t *testing.T) {
	q := newFakeQueue()
	q.claimErr = errors.New("database away")
	w := NewWorker(WorkerConfig{Interval: time.Millisecond}, q, jobs(done), nil, quiet())
	w.Start()
	<-q.claimed
	q.add(job(1, "a"))
	<-q.finished
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// Two upstreams work side by side; the jobs of one never overlap.
func TestWorkerOneJobPerUpstream(t *testing.T) {
	q := newFakeQueue(job(1, "a"), job(2, "a"), job(3, "b"))
	var mu sync.Mutex
	running := map[string]int{}
	count := func(upstream string, by int) {
		mu.Lock()
		defer mu.Unlock()
		running[upstream] += by
		if running[upstream] > 1 {
			t.Errorf("two jobs on %s", upstream)
		}
	}
	var together sync.WaitGroup
	together.Add(2)
	start(t, q, func(ctx context.Context, r Refresh) Refresh {
		count(r.Upstream, 1)
		defer count(r.Upstream, -1)
		if r.ID != 2 {
			together.Done()
			together.Wait() // the first job of a and that of b end only when both run
		}
		return done(ctx, r)
	}, nil)
	for range 3 {
		<-q.finished
	}
}

func TestWorkerSurvivesPanic(t *testing.T) {
	q := newFakeQueue(job(1, "a"), job(2, "a"))
	start(t, q, func(ctx context.Context, r Refresh) Refresh {
		if r.ID == 1 {
			panic("boom")
		}
		return done(ctx, r)
	}, nil)
	first, second := <-q.finished, <-q.finished
	if first.State != RefreshFailed || first.Effect != EffectFailed || first.Error != "internal error: boom" || first.EndedAt.IsZero() {
		t.Errorf("%+v", first)
	}
	if second.ID != 2 || second.State != RefreshDone {
		t.Errorf("%+v", second)
	}
}

func TestWorkerRecordsWhenTheQueueIsBack(t *testing.T) {
	q := newFakeQueue(job(1, "a"))
	q.finish = func(attempt int, _ Refresh) error {
		if attempt < finishAttempts {
			return errors.New("database away")
		}
		return nil
	}
	start(t, q, done, nil)
	if r := <-q.finished; r.ID != 1 {
		t.Errorf("%+v", r)
	}
}

func TestWorkerGivesUpRecording(t *testing.T) {
	q := newFakeQueue(job(1, "a"))
	gaveUp := make(chan struct{})
	q.finish = func(attempt int, r Refresh) error {
		if r.ID == 2 {
			return nil
		}
		if attempt == finishAttempts {
			q.waiting = append(q.waiting, job(2, "a"))
			close(gaveUp)
		}
		return errors.New("database gone")
	}
	start(t, q, done, nil)
	<-gaveUp
	if r := <-q.finished; r.ID != 2 { // the worker goes on
		t.Errorf("%+v", r)
	}
	if q.attempts != finishAttempts+1 {
		t.Errorf("%d attempts", q.attempts)
	}
}

// Stop in mid-run: the job sees its context end, and what it hands back is recorded although that context has ended.
func TestWorkerStopInMidRun(t *testing.T) {
	q := newFakeQueue(job(1, "a"))
	started := make(chan struct{})
	w := NewWorker(WorkerConfig{Interval: time.Hour}, q, jobs(func(ctx context.Context, r Refresh) Refresh {
		close(started)
		<-ctx.Done()
		r.State, r.Error = RefreshRequested, ErrInterrupted.Error()
		return r
	}), nil, quiet())
	w.Start()
	<-started
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if r := <-q.finished; r.State != RefreshRequested {
		t.Errorf("%+v", r)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Errorf("the second Stop: %v", err)
	}
}

func TestWorkerStopIsBounded(t *testing.T) {
	q := newFakeQueue(job(1, "a"))
	started, leave := make(chan struct{}), make(chan struct{})
	w := NewWorker(WorkerConfig{Interval: time.Hour}, q, jobs(func(ctx context.Context, r Refresh) Refresh {
		close(started)
		<-leave // deaf to its context
		return done(ctx, r)
	}), nil, quiet())
	w.Start()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(leave)
	<-q.finished
}

func TestWorkerStartStop(t *testing.T) {
	q := newFakeQueue()
	w := NewWorker(WorkerConfig{}, q, jobs(done), nil, quiet())
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(w.Start)
		wait.Go(func() {
			if err := w.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
