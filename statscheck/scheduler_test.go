package statscheck

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
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

// firings is Firings as a function.
type firings func(ctx context.Context, f Fired) error

func (f firings) Fired(ctx context.Context, one Fired) error { return f(ctx, one) }

// newTestScheduler does what its schedules fire itself.
func newTestScheduler(t *testing.T, store *fakeStore, schedules ...Schedule) *Scheduler {
	t.Helper()
	var s *Scheduler
	s, err := NewScheduler(schedules, DefaultPolicy(), firings(func(ctx context.Context, f Fired) error {
		_, err := s.Fire(ctx, f.Schedule, f.At)
		return err
	}), store, store, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFire(t *testing.T) {
	store := &fakeStore{candidates: someStale}
	s := newTestScheduler(t, store)
	created, err := s.Fire(t.Context(), Schedule{Name: "x"}, time.Now())
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
	created, err = s.Fire(t.Context(), Schedule{Name: "x"}, time.Now())
	if created != 0 || err == nil || !strings.Contains(err.Error(), "db.a: no room") || len(store.requested) != 2 {
		t.Errorf("%d created, %v, requested %v", created, err, store.requested)
	}

	store = &fakeStore{candidates: func(context.Context) ([]Candidate, error) { return nil, errors.New("database away") }}
	if _, err = newTestScheduler(t, store).Fire(t.Context(), Schedule{Name: "x"}, time.Now()); err == nil || !strings.Contains(err.Error(), "database away") {
		t.Errorf("got %v", err)
	}
}

// Proxies that fire for one time agree on its slot, also where a schedule counts from each proxy's start.
func TestSlotsOfFirings(t *testing.T) {
	got := make(chan Fired, 10)
	take := firings(func(_ context.Context, f Fired) error {
		select {
		case got <- f:
		default:
		}
		return nil
	})
	store := &fakeStore{candidates: someStale}
	schedules := []Schedule{{Name: "interval", Cron: "@every 1s"}}
	s, err := NewScheduler(schedules, DefaultPolicy(), take, store, store, quiet())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.Start()
	f := <-got
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if f.Schedule.Name != "interval" || f.At.Before(began.Truncate(time.Second)) || !f.Slot.Equal(f.At.Truncate(time.Second)) || f.At.Location() != time.UTC {
		t.Errorf("fired %+v", f)
	}

	at := time.Date(2026, 5, 4, 2, 30, 0, 0, time.UTC)
	s.timings[0], s.schedules[0] = mustCron(t, "@every 1h"), Schedule{Name: "hourly", Cron: "@every 1h"}
	s.fired(t.Context(), 0, at)
	if f = <-got; !f.At.Equal(at) || !f.Slot.Equal(at.Truncate(time.Hour)) {
		t.Errorf("fired %+v", f)
	}
	s.timings[0], s.schedules[0] = mustCron(t, "30 2 * * *"), Schedule{Name: "nightly", Cron: "30 2 * * *"}
	s.fired(t.Context(), 0, at)
	if f = <-got; !f.At.Equal(at) || !f.Slot.Equal(at) {
		t.Errorf("fired %+v", f)
	}
	for after, late := range map[time.Duration]bool{time.Hour: false, 24*time.Hour - time.Second: false, 24 * time.Hour: true} {
		if f.Late(at.Add(after)) != late {
			t.Errorf("%v after a nightly firing: late is %t", after, !late)
		}
	}
}

func mustCron(t *testing.T, line string) cron.Schedule {
	t.Helper()
	timing, err := ParseCron(line, "")
	if err != nil {
		t.Fatal(err)
	}
	return timing
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
