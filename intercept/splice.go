package intercept

import (
	"errors"
	"io"
	"math"
	"net"
	"os"
	"syscall"
)

// Bounds of what is handed to the kernel at a time, in bytes: below the first, copying is cheaper than the pipe it takes; the
// second keeps the byte counters of a long frame fresh.
const (
	spliceFrom = bufferSize
	spliceMost = 16 << 20
)

// spliceable is how many of the coming bytes may go from socket to socket without being read; 0 when they must be read. A blind
// connection is read too: it would hold a pipe for as long as it lives.
func spliceable(coming int64) int64 {
	if coming < spliceFrom || coming == math.MaxInt64 {
		return 0
	}
	return min(coming, spliceMost)
}

// spliceable leaves the last byte to be read: a message that ended within a splice would have ended for its receiver, who may close
// at once, before it has for the observation.
func (p *pump) spliceable(coming int64) int64 {
	if p.toTCP == nil {
		return 0
	}
	return min(spliceable(coming), max(coming-1, 0))
}

// splice moves n bytes that nobody looks at, by splice(2) where the system has it (net.TCPConn.ReadFrom). It reports whether
// the direction goes on.
func (p *pump) splice(n int64) bool {
	p.limited = io.LimitedReader{R: p.from, N: n}
	moved, err := p.toTCP.ReadFrom(&p.limited)
	p.relay.count(p.side, moved)
	p.coming = p.spliceable(p.relay.advance(p.stream, moved))
	switch {
	case err == nil && moved == n:
		return true
	case err == nil:
		p.ended(io.EOF)
	case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
		p.ended(err)
	case errors.Is(err, syscall.EPIPE):
		p.unwritable(err)
	default:
		// The error does not tell the socket it came from; the one that is read from does, if it was that.
		if ended(p.from) {
			p.ended(err)
		} else {
			p.unwritable(err)
		}
	}
	return false
}
