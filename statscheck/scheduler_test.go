package statscheck

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() zerolog.Logger { return zerolog.Nop() }

// fakeStore is Candidates and Requests.
type fakeStore struct {
	mu         sync.Mutex
	candidates func(ctx context.Context) ([]Candidate, error)
	request    func(Refresh) (int64, bool, error)
	requested  []string
}

func (s *fakeStore) Candidates(ctx context.Context) ([]Candidate, error) { return s.candidates(ctx) }

func (s *fakeStore) Request(_ context.Context, r Refresh) (int64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requested = append(s.requested, r.Table)
	if s.request == nil {
		return int64(len(s.requested)), true, nil
	}
	return s.request(r)
}

func someStale(context.Context) ([]Candidate, error) {
	return []Candidate{{Table: "db.b", Staleness: stale(LevelStale)}, {Table: "db.a", Staleness: stale(LevelHigh)}, {Table: "db.c"}}, nil
}

func newTestScheduler(t *testing.T, store *fakeStore, schedules ...Schedule) *Scheduler {
	t.Helper()
	s, err := NewScheduler(schedules, DefaultPolicy(), store, store, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFire(t *testing.T) {
	store := &fakeStore{candidates: someStale}
	s := newTestScheduler(t, store)
	created, err := s.Fire(t.Context(), Schedule{Name: "x"})
	if created != 2 || err != nil || !slices.Equal(store.requested, []string{"db.a", "db.b"}) {
		t.Errorf("%d created, %v, requested %v", created, err, store.requested)
	}

	store = &fakeStore{candidates: someStale, request: func(r Refresh) (int64, bool, error) {
		if r.Table == "db.a" {
			return 0, false, errors.New("no room")
		}
		return 5, false, nil
	}}
	s = newTestScheduler(t, store)
	created, err = s.Fire(t.Context(), Schedule{Name: "x"})
	if created != 0 || err == nil || !strings.Contains(err.Error(), "db.a: no room") || len(store.requested) != 2 {
		t.Errorf("%d created, %v, requested %v", created, err, store.requested)
	}

	store = &fakeStore{candidates: func(context.Context) ([]Candidate, error) { return nil, errors.New("database away") }}
	if _, err = newTestScheduler(t, store).Fire(t.Context(), Schedule{Name: "x"}); err == nil || !strings.Contains(err.Error(), "database away") {
		t.Errorf("got %v", err)
	}
}

// A panic in a firing must not end the scheduler, nor keep the schedule from firing again.
func TestSchedulerSurvivesPanic(t *testing.T) {
	calls := make(chan int, 10)
	count := 0
	store := &fakeStore{candidates: func(context.Context) ([]Candidate, error) {
		count++
		calls <- count
		if count == 1 {
			panic("boom")
		}
		return nil, nil
	}}
	s := newTestScheduler(t, store, Schedule{Name: "often", Cron: "@every 1s"})
	s.Start()
	s.Start() // does nothing
	for want := 1; want <= 2; want++ {
		select {
		case got := <-calls:
			if got != want {
				t.Errorf("call %d, want %d", got, want)
			}
		case <-t.Context().Done():
			t.Fatal("it never fired again")
		}
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSchedulerStopWaits(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	store := &fakeStore{candidates: func(ctx context.Context) ([]Candidate, error) {
		close(entered)
		select {
		case <-leave:
			return nil, ctx.Err()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	s := newTestScheduler(t, store, Schedule{Name: "often", Cron: "@every 1s"})
	s.Start()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(t.Context()) }()
	select {
	case err := <-stopped:
		t.Fatalf("stopped while a firing was under way: %v", err)
	default:
	}
	close(leave)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("the second Stop: %v", err)
	}
}

func TestSchedulerStopCancels(t *testing.T) {
	entered := make(chan struct{})
	store := &fakeStore{candidates: func(ctx context.Context) ([]Candidate, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	s := newTestScheduler(t, store, Schedule{Name: "often", Cron: "@every 1s"})
	s.Start()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSchedulerStartStop(t *testing.T) {
	s := newTestScheduler(t, &fakeStore{candidates: someStale}, Schedule{Name: "x", Cron: "@daily"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Errorf("Stop before Start: %v", err)
	}
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(s.Start)
		wait.Go(func() {
			if err := s.Stop(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}
