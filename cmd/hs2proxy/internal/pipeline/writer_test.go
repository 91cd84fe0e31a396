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

// fakeRecords is a store that answers with errors in turn, then with success. A batch is stored whole or not at all.
type fakeRecords struct {
	mu     sync.Mutex
	errs   []error
	refuse string // the record it refuses
	always error  // in place of success
	sizes  []int  // of the batches stored
	do     func(ctx context.Context) error
	wrote  []string
	tries  int
	called chan struct{} // a value for each call
}

func newFakeRecords() *fakeRecords { return &fakeRecords{called: make(chan struct{}, 1<<15)} }

func (f *fakeRecords) Record(ctx context.Context, records []Record) (int, error) {
	defer func() { f.called <- struct{}{} }()
	f.mu.Lock()
	do := f.do
	f.mu.Unlock()
	if do != nil {
		if err := do(ctx); err != nil {
			return 0, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		if err != nil {
			return 0, err
		}
	} else if f.always != nil {
		return 0, f.always
	}
	var names []string
	for _, r := range records {
		name := nameOf(r)
		if name == f.refuse {
			return 0, fmt.Errorf("bad: %w", store.ErrData)
		}
		if name == "panic" {
			panic("defect")
		}
		names = append(names, name)
	}
	f.wrote, f.sizes = append(f.wrote, names...), append(f.sizes, len(names))
	return len(records), nil
}

func nameOf(r Record) string {
	switch {
	case r.Observation != nil:
		return r.Observation.Statement.ID
	case r.Actuals != nil:
		return "actuals " + r.Actuals.StatementID
	case r.Session.ClosedAt.IsZero():
		return "open " + r.Session.User
	default:
		return "close " + r.Session.User
	}
}

func observationOf(id string) Record {
	return Record{Observation: &store.Observation{Statement: intercept.Statement{ID: id}}}
}

func unavailable() error { return fmt.Errorf("connect: %w", store.ErrUnavailable) }

func TestWriterRetriesInOrder(t *testing.T) {
	f := newFakeRecords()
	f.errs, f.refuse = []error{unavailable(), unavailable()}, "refused"
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

// held makes every call tell that it has begun, and wait until release is closed.
func (f *fakeRecords) held() (entered <-chan struct{}, release chan<- struct{}) {
	begun, end := make(chan struct{}, 64), make(chan struct{})
	f.do = func(context.Context) error {
		begun <- struct{}{}
		<-end
		return nil
	}
	return begun, end
}

func TestWriterIsolatesPanics(t *testing.T) {
	f := newFakeRecords()
	entered, release := f.held()
	counters := &Counters{}
	w := StartWriter(f, quiet(), counters, func(o store.Observation) {
		if o.Statement.ID == "2" {
			panic(errors.New("defect"))
		}
	})
	w.Add(observationOf("0"))
	receive(t, entered)
	for _, id := range []string{"1", "panic", "2", "3"} { // in one batch
		w.Add(observationOf(id))
	}
	close(release)
	w.Stop(within(t))
	if fmt.Sprint(f.wrote) != "[0 1 2 3]" || counters.Panics.Load() < 2 || counters.RecordFailed.Load() != 1 {
		t.Errorf("wrote %v, %d panics, %d failed", f.wrote, counters.Panics.Load(), counters.RecordFailed.Load())
	}
}

// What waits while the store is busy goes to it at once; what comes alone goes alone.
func TestWriterTakesWhatWaits(t *testing.T) {
	f := newFakeRecords()
	entered, release := f.held()
	w := StartWriter(f, quiet(), &Counters{}, nil)
	w.Add(observationOf("alone"))
	receive(t, entered)
	for i := range firstBatch {
		w.Add(observationOf(fmt.Sprint(i)))
	}
	close(release)
	w.Stop(within(t))
	if got, want := fmt.Sprint(f.sizes), fmt.Sprint([]int{1, firstBatch}); got != want {
		t.Errorf("batches of %s, want %s", got, want)
	}
}

// One record that is refused takes none of its batch with it, wherever it stands.
func TestWriterLeavesOutOneOfABatch(t *testing.T) {
	for place := range firstBatch {
		f := newFakeRecords()
		entered, release := make(chan struct{}, 1024), make(chan struct{})
		f.refuse = fmt.Sprint(place)
		f.do = func(context.Context) error {
			entered <- struct{}{}
			<-release
			return nil
		}
		counters := &Counters{}
		w := StartWriter(f, quiet(), counters, nil)
		w.Add(observationOf("first"))
		receive(t, entered)
		want := []string{"first"}
		for i := range firstBatch {
			w.Add(observationOf(fmt.Sprint(i)))
			if i != place {
				want = append(want, fmt.Sprint(i))
			}
		}
		close(release)
		if left := w.Stop(within(t)); left != 0 || counters.RecordFailed.Load() != 1 || counters.Recorded.Load() != firstBatch {
			t.Errorf("refused %d: %d left, %d failed, %d recorded", place, left, counters.RecordFailed.Load(), counters.Recorded.Load())
		}
		if fmt.Sprint(f.wrote) != fmt.Sprint(want) {
			t.Errorf("refused %d: wrote %v", place, f.wrote)
		}
	}
}
