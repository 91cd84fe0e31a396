package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Timing is how long a slice is.
type Timing struct {
	// Warm is not measured, Length is.
	Warm, Length time.Duration
	// Least is how many operations a connection does, however long they take.
	Least int
}

// grace is how long a slice may outlast its Timing before its connections are given up.
const grace = time.Minute

// Slice is what one scenario did for a while.
type Slice struct {
	// Operations that ended while it was measured, and the bytes of replies received meanwhile.
	Operations int
	Bytes      int64
	// Took is the time measured.
	Took time.Duration
	// P50 and P99 are of single operations.
	P50, P99 time.Duration
}

// Figure is the slice's value of a figure.
func (s Slice) Figure(f Figure) float64 {
	switch f {
	case Wait:
		return float64(s.P50) / float64(time.Microsecond)
	case Rate:
		return float64(s.Operations) / s.Took.Seconds()
	case Throughput:
		return float64(s.Bytes) / (1 << 20) / s.Took.Seconds()
	}
	return 0
}

// words makes statements of this process's slices differ from each other.
var words atomic.Uint32

// runner is one connection's loop.
type runner struct {
	worker worker
	times  []time.Duration
	bytes  int64
	err    error
}

// Measure runs a scenario against addr. mark is called where the measurement begins and where it ends, on the goroutine of the
// caller, so that it can read clocks of other processes. The first operation that fails is the error.
func Measure(ctx context.Context, sc Scenario, addr string, t Timing, mark func()) (Slice, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Warm+t.Length+grace)
	defer cancel()
	runners := make([]*runner, sc.Connections)
	defer func() {
		for _, r := range runners {
			if r != nil {
				r.worker.close()
			}
		}
	}()
	for i := range runners {
		w, err := sc.start(ctx, addr)
		if err != nil {
			return Slice{}, fmt.Errorf("%s: %w", sc.Name, err)
		}
		runners[i] = &runner{worker: w, times: make([]time.Duration, 0, 1<<10)}
	}
	var measured, over atomic.Bool
	var running sync.WaitGroup
	for _, r := range runners {
		running.Go(func() { r.run(ctx, t.Least, &measured, &over) })
	}
	defer running.Wait()
	defer over.Store(true)
	if err := rest(ctx, t.Warm); err != nil {
		return Slice{}, err
	}
	mark()
	start := time.Now()
	measured.Store(true)
	if err := rest(ctx, t.Length); err != nil {
		return Slice{}, err
	}
	over.Store(true)
	if t.Least > 0 { // what is under way may be all there is
		running.Wait()
	}
	s := Slice{Took: time.Since(start)}
	mark()
	running.Wait()
	return s, s.add(sc, runners)
}

func (s *Slice) add(sc Scenario, runners []*runner) error {
	var times []time.Duration
	for _, r := range runners {
		if r.err != nil {
			return fmt.Errorf("%s: %w", sc.Name, r.err)
		}
		times = append(times, r.times...)
		s.Bytes += r.bytes
	}
	if len(times) == 0 {
		return fmt.Errorf("%s: no operation ended within %s: measure for longer", sc.Name, s.Took)
	}
	slices.Sort(times)
	s.Operations = len(times)
	s.P50, s.P99 = times[len(times)/2], times[len(times)*99/100]
	return nil
}

// run does operations until they are over, and least in any case. Those count that end while it is measured, wherever they began.
func (r *runner) run(ctx context.Context, least int, measured, over *atomic.Bool) {
	for ctx.Err() == nil && (!over.Load() || len(r.times) < least) {
		before := r.worker.received()
		took, err := r.worker.do(ctx, words.Add(1))
		if err != nil {
			r.err = err
			return
		}
		if measured.Load() && (!over.Load() || len(r.times) < least) {
			r.times = append(r.times, took)
			r.bytes += r.worker.received() - before
		}
	}
}

// rest waits; it is no sleep, since ctx ends it.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
