package statscheck

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// fakeQueue is a Queue in memory.
type fakeQueue struct {
	mu       sync.Mutex
	waiting  []Refresh
	claimErr error
	// due answers Due.
	due    time.Duration
	waits  bool
	dueErr error
	// finish answers Finish; nil records.
	finish    func(attempt int, r Refresh) error
	attempts  int
	finished  []Refresh
	abandoned []int64
}

func (q *fakeQueue) Claim(context.Context) (Refresh, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.claimErr != nil || len(q.waiting) == 0 {
		return Refresh{}, false, q.claimErr
	}
	r := q.waiting[0]
	q.waiting = q.waiting[1:]
	return r, true, nil
}

func (q *fakeQueue) Due(context.Context) (time.Duration, bool, error) {
	return q.due, q.waits, q.dueErr
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
	q.finished = append(q.finished, r)
	return nil
}

func (q *fakeQueue) Abandon(r Refresh) { q.abandoned = append(q.abandoned, r.ID) }

// jobs is Jobs as a function.
type jobs func(ctx context.Context, r Refresh) Refresh

func (f jobs) Run(ctx context.Context, r Refresh) Refresh { return f(ctx, r) }

func done(_ context.Context, r Refresh) Refresh {
	r.State = RefreshDone
	return r
}

func newTestWorker(q *fakeQueue, run jobs) *Worker {
	return NewWorker(WorkerConfig{FinishPause: time.Microsecond, BusyPause: 7 * time.Second}, q, run, quiet())
}

func job(id int64) Refresh {
	return Refresh{ID: id, Upstream: "a", Table: "db.t", State: RefreshRunning}
}

func TestWorkMakesOneAttempt(t *testing.T) {
	q := &fakeQueue{waiting: []Refresh{job(1), job(2)}}
	w := newTestWorker(q, done)
	for want := int64(1); want <= 2; want++ {
		if wait, err := w.Work(t.Context()); wait != 0 || err != nil {
			t.Errorf("%v, %v", wait, err)
		}
		if n := len(q.finished); int64(n) != want || q.finished[n-1].ID != want || q.finished[n-1].State != RefreshDone {
			t.Errorf("finished %+v", q.finished)
		}
	}
	if wait, err := w.Work(t.Context()); wait != 0 || err != nil || len(q.finished) != 2 {
		t.Errorf("with nothing to do: %v, %v, %+v", wait, err, q.finished)
	}
}

func TestWorkSaysHowLongToWait(t *testing.T) {
	for name, c := range map[string]struct {
		due  time.Duration
		ok   bool
		want time.Duration
	}{
		"nothing waits":         {0, false, 0},
		"put back":              {time.Hour, true, time.Hour},
		"others run":            {0, true, 7 * time.Second},
		"its time has come now": {-time.Second, true, 7 * time.Second},
	} {
		q := &fakeQueue{due: c.due, waits: c.ok}
		if wait, err := newTestWorker(q, done).Work(t.Context()); wait != c.want || err != nil {
			t.Errorf("%s: %v, %v, want %v", name, wait, err, c.want)
		}
	}
}

func TestWorkTellsThatTheQueueIsAway(t *testing.T) {
	away := errors.New("database away")
	for _, q := range []*fakeQueue{{claimErr: away}, {dueErr: away}} {
		if _, err := newTestWorker(q, done).Work(t.Context()); !errors.Is(err, away) {
			t.Errorf("got %v", err)
		}
	}
}

func TestWorkSurvivesPanic(t *testing.T) {
	q := &fakeQueue{waiting: []Refresh{job(1), job(2)}}
	w := newTestWorker(q, func(ctx context.Context, r Refresh) Refresh {
		if r.ID == 1 {
			panic("boom")
		}
		return done(ctx, r)
	})
	for range 2 {
		if _, err := w.Work(t.Context()); err != nil {
			t.Error(err)
		}
	}
	first, second := q.finished[0], q.finished[1]
	if first.State != RefreshFailed || first.Effect != EffectFailed || first.Error != "internal error: boom" || first.EndedAt.IsZero() {
		t.Errorf("%+v", first)
	}
	if second.ID != 2 || second.State != RefreshDone {
		t.Errorf("%+v", second)
	}
}

func TestWorkRecordsWhenTheQueueIsBack(t *testing.T) {
	q := &fakeQueue{waiting: []Refresh{job(1)}, finish: func(attempt int, _ Refresh) error {
		if attempt < finishAttempts {
			return errors.New("database away")
		}
		return nil
	}}
	if _, err := newTestWorker(q, done).Work(t.Context()); err != nil || len(q.finished) != 1 || len(q.abandoned) != 0 {
		t.Errorf("%v, finished %+v, abandoned %v", err, q.finished, q.abandoned)
	}
}

func TestWorkGivesUpRecording(t *testing.T) {
	gone := errors.New("database gone")
	q := &fakeQueue{waiting: []Refresh{job(1)}, finish: func(int, Refresh) error { return gone }}
	if _, err := newTestWorker(q, done).Work(t.Context()); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if q.attempts != finishAttempts || len(q.abandoned) != 1 || q.abandoned[0] != 1 {
		t.Errorf("%d attempts, abandoned %v", q.attempts, q.abandoned)
	}
}

// The context ends in mid-run: the job sees it, and what it hands back is recorded although that context has ended.
func TestWorkEndsWithItsContext(t *testing.T) {
	q := &fakeQueue{waiting: []Refresh{job(1)}}
	ctx, cancel := context.WithCancel(t.Context())
	w := newTestWorker(q, func(ctx context.Context, r Refresh) Refresh {
		cancel()
		<-ctx.Done()
		r.State, r.Error = RefreshRequested, ErrInterrupted.Error()
		return r
	})
	if _, err := w.Work(ctx); err != nil || len(q.finished) != 1 || q.finished[0].State != RefreshRequested {
		t.Errorf("%v, %+v", err, q.finished)
	}
}

func TestCancelEndsTheOneThatRuns(t *testing.T) {
	q := &fakeQueue{waiting: []Refresh{job(1)}}
	var w *Worker
	w = newTestWorker(q, func(ctx context.Context, r Refresh) Refresh {
		if w.Cancel(2, errors.New("another")) {
			t.Error("canceled what does not run")
		}
		if !w.Cancel(1, &Canceled{By: "ann", Reason: "enough"}) {
			t.Error("not canceled")
		}
		<-ctx.Done()
		r.State, r.Error = RefreshCanceled, context.Cause(ctx).Error()
		return r
	})
	if _, err := w.Work(t.Context()); err != nil || q.finished[0].Error != "canceled by ann: enough" {
		t.Errorf("%v, %+v", err, q.finished)
	}
	if w.Cancel(1, errors.New("late")) {
		t.Error("canceled what has ended")
	}
}
