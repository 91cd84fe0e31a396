package thrift

// waiting is a call whose reply has not come.
type waiting struct {
	method   Method
	seq      int32
	nameHash uint64
	// log: it asks for lines of a log, and the observer wants to know of counters in them.
	log   bool
	token any
}

// waits is the call whose header h is.
func (h *header) waits(content, token any) waiting {
	_, log := content.(*LogFetch)
	return waiting{h.method, h.seq, h.nameHash, log && token != nil, token}
}

// pending holds what waits for its answer on a connection, in order: HiveServer2 answers strictly in order. It is a ring that
// grows to the depth a client pipelines.
type pending[T any] struct {
	ring        []T
	first, size int
}

// push adds one; false when limit wait already.
func (q *pending[T]) push(w T, limit int) bool {
	if q.size == limit {
		return false
	}
	if q.size == len(q.ring) {
		grown := make([]T, max(1, min(2*q.size, limit)))
		for i := range q.size {
			grown[i] = q.ring[(q.first+i)%len(q.ring)]
		}
		q.ring, q.first = grown, 0
	}
	q.ring[(q.first+q.size)%len(q.ring)] = w
	q.size++
	return true
}

// last is the one that came last, nil without one.
func (q *pending[T]) last() *T {
	if q.size == 0 {
		return nil
	}
	return &q.ring[(q.first+q.size-1)%len(q.ring)]
}

// peek is the oldest, nil without one.
func (q *pending[T]) peek() *T {
	if q.size == 0 {
		return nil
	}
	return &q.ring[q.first]
}

// pop removes the oldest.
func (q *pending[T]) pop() T {
	var none T
	w := q.ring[q.first]
	q.ring[q.first] = none
	q.first = (q.first + 1) % len(q.ring)
	q.size--
	return w
}
