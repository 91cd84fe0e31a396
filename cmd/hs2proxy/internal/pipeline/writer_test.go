package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// fakeRecords is a store that answers with errors in turn, then with success.
type fakeRecords struct {
	mu     sync.Mutex
	errs   []error
	always error // in place of success
	do     func(ctx context.Context) error
	wrote  []string
	tries  int
	called chan struct{} // a value for each call
}

func newFakeRecords() *fakeRecords { return &fakeRecords{called: make(chan struct{}, 1<<15)} }

func (f *fakeRecords) write(ctx context.Context, what string) error {
	defer func() { f.called <- struct{}{} }()
	f.mu.Lock()
	do := f.do
	f.mu.Unlock()
	if do != nil {
		if err := do(ctx); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		if err != nil {
			return err
		}
	} else if f.always != nil {
		return f.always
	}
	f.wrote = append(f.wrote, what)
	return nil
}

func (f *fakeRecords) RecordStatement(ctx context.Context, o store.Observation) error {
	return f.write(ctx, o.Statement.ID)
}

func (f *fakeRecords) UpsertSession(ctx context.Context, s intercept.Session) error {
	return f.write(ctx, "open "+s.User)
}

func (f *fakeRecords) CloseSession(ctx context.Context, s intercept.Session) error {
	return f.write(ctx, "close "+s.User)
}

func (f *fakeRecords) RecordActuals(ctx context.Context, a store.Actuals) error {
	return f.write(ctx, "actuals "+a.StatementID)
}

func observationOf(id string) Record {
	return Record{Observation: &store.Observation{Statement: intercept.Statement{ID: id}}}
}

func unavailable() error { return fmt.Errorf("connect: %w", store.ErrUnavailable) }

func TestWriterRetriesInOrder(t *testing.T) {
	f := newFakeRecords()
	f.errs = []error{unavailable(), unavailable(), nil, fmt.Errorf("bad: %w", store.ErrData)}
	var told []string
	counters := &Counters{}
	w := StartWriter(f, quiet(), counters, func(o store.Observation) { told = append(told, o.Statement.ID) })
	w.Add(Record{Session: &intercept.Session{User: "u"}})
	w.Add(observationOf("refused"))
	w.Add(observationOf("1"))
	w.Add(observationOf("2"))
	w.Add(Record{Session: &intercept.Session{User: "u", ClosedAt: time.Now()}})
	if left := w.Stop(within(t)); left != 0 {
		t.Errorf("%d left", left)
	}
	if got, want := fmt.Sprint(f.wrote), "[open u 1 2 close u]"; got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(told), "[1 2]"; got != want {
		t.Errorf("told of %s, want %s", got, want)
	}
	if r, d, x := counters.Recorded.Load(), counters.RecordDropped.Load(), counters.RecordFailed.Load(); r != 4 || d != 0 || x != 1 {
		t.Errorf("%d recorded, %d dropped, %d failed", r, d, x)
	}
}

// What the store takes too long for is tried again, but not for ever.
func TestWriterTimeouts(t *testing.T) {
	timeout := fmt.Errorf("record statement: %w", context.DeadlineExceeded)
	t.Run("passing", func(t *testing.T) {
		f := newFakeRecords()
		f.errs = []error{timeout}
		counters := &Counters{}
		w := StartWriter(f, quiet(), counters, nil)
		w.Add(observationOf("1"))
		w.Stop(within(t))
		if counters.Recorded.Load() != 1 || counters.RecordFailed.Load() != 0 {
			t.Errorf("%d recorded, %d failed", counters.Recorded.Load(), counters.RecordFailed.Load())
		}
	})
	t.Run("lasting", func(t *testing.T) {
		f := newFakeRecords()
		for range maxTimeouts + 1 {
			f.errs = append(f.errs, timeout)
		}
		counters := &Counters{}
		w := StartWriter(f, quiet(), counters, nil)
		w.Add(observationOf("poison"))
		w.Add(observationOf("2"))
		w.Stop(within(t))
		if fmt.Sprint(f.wrote) != "[2]" || counters.RecordFailed.Load() != 1 {
			t.Errorf("wrote %v, %d failed", f.wrote, counters.RecordFailed.Load())
		}
	})
}

func TestWriterBacklogIsFull(t *testing.T) {
	f := newFakeRecords()
	entered, release := make(chan struct{}, 1), make(chan struct{})
	f.do = func(context.Context) error {
		select {
		case entered <- struct{}{}:
		default:
		}
		<-release
		return nil
	}
	counters := &Counters{}
	w := StartWriter(f, quiet(), counters, nil)
	w.Add(observationOf("in hand"))
	receive(t, entered)
	for i := range recordBacklog + 2 {
		w.Add(observationOf(fmt.Sprint(i)))
	}
	if n := counters.RecordDropped.Load(); n != 2 {
		t.Errorf("%d dropped, want 2", n)
	}
	close(release)
	if left := w.Stop(within(t)); left != 0 || counters.Recorded.Load() != recordBacklog+1 {
		t.Errorf("%d left, %d recorded", left, counters.Recorded.Load())
	}
}

func TestWriterStopGivesUp(t *testing.T) {
	f := newFakeRecords()
	f.always = unavailable()
	counters := &Counters{}
	w := StartWriter(f, quiet(), counters, nil)
	for i := range 3 {
		w.Add(observationOf(fmt.Sprint(i)))
	}
	receive(t, f.called)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if left := w.Stop(ctx); left != 3 || counters.RecordDropped.Load() != 3 || len(f.wrote) != 0 {
		t.Errorf("%d left, %d dropped, wrote %v; want all 3 left", left, counters.RecordDropped.Load(), f.wrote)
	}
}

func TestWriterStopEndsACall(t *testing.T) {
	f := newFakeRecords()
	entered := make(chan struct{})
	f.do = func(ctx context.Context) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}
	w := StartWriter(f, quiet(), &Counters{}, nil)
	w.Add(observationOf("1"))
	receive(t, entered)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if left := w.Stop(ctx); left != 1 {
		t.Errorf("%d left", left)
	}
}

func TestWriterIsolatesPanics(t *testing.T) {
	f := newFakeRecords()
	first := true
	f.do = func(context.Context) error {
		if first {
			first = false
			panic("defect")
		}
		return nil
	}
	counters := &Counters{}
	w := StartWriter(f, quiet(), counters, func(o store.Observation) {
		if o.Statement.ID == "2" {
			panic(errors.New("defect"))
		}
	})
	for i := range 4 {
		w.Add(observationOf(fmt.Sprint(i)))
	}
	w.Stop(within(t))
	if fmt.Sprint(f.wrote) != "[1 2 3]" || counters.Panics.Load() != 2 || counters.RecordFailed.Load() != 1 {
		t.Errorf("wrote %v, %d panics, %d failed", f.wrote, counters.Panics.Load(), counters.RecordFailed.Load())
	}
}
