package intercept

import "sync/atomic"

// Queue is a bounded Sink. One or more consumers take events from Events; when they fall behind, new events are dropped
// and counted.
type Queue struct {
	events  chan Event
	dropped atomic.Int64
}

// NewQueue holds up to size events that nobody has taken yet.
func NewQueue(size int) *Queue { return &Queue{events: make(chan Event, size)} }

// Offer implements Sink.
func (q *Queue) Offer(e Event) bool {
	select {
	case q.events <- e:
		return true
	default:
		q.dropped.Add(1)
		return false
	}
}

// Events delivers in the order of Offer. The channel is never closed: after the Server's Shutdown has returned nothing is
// offered any more, and Len tells what is left.
func (q *Queue) Events() <-chan Event { return q.events }

// Len is how many events wait.
func (q *Queue) Len() int { return len(q.events) }

// Dropped is how many events found the queue full.
func (q *Queue) Dropped() int64 { return q.dropped.Load() }
