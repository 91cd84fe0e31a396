package thrift

// waiting is a call whose reply has not come.
type waiting struct {
	method   Method
	seq      int32
	nameHash uint64
	token    any
}

// pending holds the waiting calls of a connection in order: HiveServer2 answers strictly in order. It is a ring that grows to
// the depth a client pipelines.
type pending struct {
	ring        []waiting
	first, size int
}

// push adds a call; false when limit calls wait already.
func (q *pending) push(w waiting, limit int) bool {
	if q.size == limit {
		return false
	}
	if q.size == len(q.ring) {
		grown := make([]waiting, max(1, min(2*q.size, limit)))
		for i := range q.size {
			grown[i] = q.ring[(q.first+i)%len(q.ring)]
		}
		q.ring, q.first = grown, 0
	}
	q.ring[(q.first+q.size)%len(q.ring)] = w
	q.size++
	return true
}

// peek is the oldest waiting call, nil without one.
func (q *pending) peek() *waiting {
	if q.size == 0 {
		return nil
	}
	return &q.ring[q.first]
}

// pop removes the oldest waiting call.
func (q *pending) pop() waiting {
	w := q.ring[q.first]
	q.ring[q.first] = waiting{}
	q.first = (q.first + 1) % len(q.ring)
	q.size--
	return w
}
