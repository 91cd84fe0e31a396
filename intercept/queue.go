package intercept

import (
	"sync"
	"sync/atomic"
)

// DefaultQueueBytes is Queue.MaxBytes unless set.
const DefaultQueueBytes = 256 << 20

// Queue is a Sink bounded in events and in bytes of text. One or more consumers take events from Events; when they fall behind,
// new events are dropped and counted.
type Queue struct {
	// MaxBytes bounds the texts of the waiting events together, in bytes; set it before the first Offer.
	MaxBytes int64

	events  chan Event
	dropped atomic.Int64

	// sizes are the text bytes of the events in the channel, oldest first, and of some already taken: those beyond the channel's
	// length, which the next Offer forgets. first is where they begin, sum what they add up to.
	mu    sync.Mutex
	sizes []int64
	first int
	sum   int64
}

// NewQueue holds up to size events that nobody has taken yet.
func NewQueue(size int) *Queue {
	return &Queue{MaxBytes: DefaultQueueBytes, events: make(chan Event, size)}
}

// textBytes is the memory an event's texts may hold on to.
func textBytes(e Event) int64 {
	if e.Statement == nil {
		return 0
	}
	return int64(len(e.Statement.SQL) + len(e.Statement.ErrorMessage) + len(e.Statement.OperatorCounters))
}

// Offer implements Sink.
func (q *Queue) Offer(e Event) bool {
	size := textBytes(e)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forgetTaken()
	if q.sum+size <= q.MaxBytes {
		select {
		case q.events <- e:
			q.sizes = append(q.sizes, size)
			q.sum += size
			return true
		default:
		}
	}
	q.dropped.Add(1)
	return false
}

// forgetTaken drops the sizes of events that have left the channel, which is first in, first out.
func (q *Queue) forgetTaken() {
	for len(q.sizes)-q.first > len(q.events) {
		q.sum -= q.sizes[q.first]
		q.first++
	}
	if q.first > len(q.sizes)/2 {
		q.sizes = append(q.sizes[:0], q.sizes[q.first:]...)
		q.first = 0
	}
}

// Events delivers in the order of Offer. The channel is never closed: after the Server's Shutdown has returned nothing is
// offered any more, and Len tells what is left.
func (q *Queue) Events() <-chan Event { return q.events }

// Len is how many events wait.
func (q *Queue) Len() int { return len(q.events) }

// Dropped is how many events found the queue full.
func (q *Queue) Dropped() int64 { return q.dropped.Load() }
