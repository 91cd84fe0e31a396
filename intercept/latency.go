package intercept

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// latencySample: one in so many pieces that are relayed is timed.
const latencySample = 16

// latencyBounds are the upper bounds of the buckets; there is one more above the last.
var latencyBounds = [...]time.Duration{
	time.Microsecond, 2500 * time.Nanosecond, 5 * time.Microsecond, 10 * time.Microsecond, 25 * time.Microsecond, 50 * time.Microsecond,
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 25 * time.Millisecond,
	100 * time.Millisecond,
}

// Latencies is how long pieces of traffic stayed in the proxy between being read and being written, a sample of one in
// latencySample. A receiver that is slow to take them is not in it.
type Latencies struct {
	// Counts by upper bound, each without those below; the rest of Count was above the last bound.
	Bounds []time.Duration
	Counts []int64
	Count  int64
	Sum    time.Duration
}

// latencies are the live form.
type latencies struct {
	counts [len(latencyBounds) + 1]atomic.Int64
	sum    atomic.Int64 // nanoseconds
}

func (l *latencies) observe(d time.Duration) {
	i, _ := slices.BinarySearch(latencyBounds[:], d) // a bound belongs to its own bucket
	l.counts[i].Add(1)
	l.sum.Add(int64(d))
}

func (l *latencies) snapshot() Latencies {
	s := Latencies{Bounds: latencyBounds[:], Sum: time.Duration(l.sum.Load())}
	for i := range l.counts {
		n := l.counts[i].Load()
		s.Count += n
		if i < len(latencyBounds) {
			s.Counts = append(s.Counts, n)
		}
	}
	return s
}

// clock times one piece in latencySample of a direction, counted from somewhere so that the login is not always the piece.
type clock struct{ pieces uint8 }

func newClock(r *relay) clock { return clock{uint8(r.id)} } //nolint:gosec // any number will do

// observe is relay.observe, on the clock now and then.
func (c *clock) observe(r *relay, stream *thrift.Stream, b []byte) (n int, coming int64, err error) {
	c.pieces++
	if c.pieces%latencySample != 0 {
		return r.observe(stream, b)
	}
	start := time.Now()
	n, coming, err = r.observe(stream, b)
	r.server.counters.added.observe(time.Since(start))
	return n, coming, err
}
