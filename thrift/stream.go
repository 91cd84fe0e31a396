package thrift

import (
	"errors"
	"math"
)

// phase is the layer that a stream's next byte belongs to.
type phase uint8

const (
	phaseFirst  phase = iota // nothing has come from the client yet
	phaseSASL                // negotiation messages
	phaseFramed              // frames with messages in them
	phaseBare                // messages without frames (NOSASL)
	phaseHTTP                // requests and responses
	phaseOver                // the login was refused: pass the rest
)

// place is where in a message a stream is.
type place uint8

const (
	inHeader place = iota
	inBody
	inOpaque // the rest of the frame belongs to a message that is not walked
)

// Stream is one direction of a Conn.
type Stream struct {
	conn  *Conn
	side  Side
	limit int64 // of a frame or message, bytes

	phase phase
	sasl  *negotiation // until the frames begin
	frame frame

	place place
	// cut: the last frame ended inside an opaque message, or at its end; the next frame tells.
	cut  bool
	head header
	walk walker
	copy bodyCopy
	http *httpSide // on HTTP
}

// Feed looks at p, the next bytes from the stream's side. All of them may be forwarded unless an *OversizeError comes back:
// then only the first n may, and the connection must be closed. After RequestByRequest it may take only the first n, too: the rest
// is fed again.
func (s *Stream) Feed(p []byte) (n int, err error) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for n < len(p) && c.blind == NotBlind {
		switch s.phase {
		case phaseFirst:
			if s.side == HiveServer2 {
				// It spoke before the client did: no protocol we know.
				c.turnBlind(BlindUnknownProtocol)
				continue
			}
			s.firstByte(p[n])
			s.head.reset()
			c.server.head.reset()
		case phaseSASL:
			n += s.feedSASL(p[n:])
		case phaseFramed:
			k, err := s.feedFrame(p[n:])
			n += k
			if err != nil {
				return n, err
			}
		case phaseBare:
			k, err := s.feedMessage(p[n:], 0)
			n += k
			if err != nil {
				return n, err
			}
		case phaseHTTP:
			n += s.feedHTTP(p[n:])
			if s.paused() {
				return n, nil
			}
		default:
			return len(p), nil
		}
	}
	return len(p), nil
}

// Skip is how many of the coming bytes need not be fed; they are accounted for with Advance. It is 0 when the next byte
// matters, and math.MaxInt64 once nothing will.
func (s *Stream) Skip() int64 {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.blind != NotBlind || s.phase == phaseOver:
		return math.MaxInt64
	case s.phase == phaseFramed:
		switch {
		case s.place == inOpaque:
			return s.frame.left
		case s.place == inBody && s.uninteresting():
			return min(s.walk.skip, s.frame.left)
		}
	case s.phase == phaseBare && s.place == inBody && s.uninteresting():
		return s.walk.skip
	case s.phase == phaseHTTP:
		return s.skipHTTP()
	}
	return 0
}

// uninteresting: the copy, if there is one, would not grow.
func (s *Stream) uninteresting() bool { return !s.copy.active() || s.copy.full() }

// Advance accounts for n forwarded bytes that were not fed; n is at most what Skip said.
func (s *Stream) Advance(n int64) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blind != NotBlind || s.phase == phaseOver {
		return
	}
	if s.place == inBody {
		s.walk.advance(n)
	}
	if s.phase == phaseHTTP {
		s.http.untouched = false
		s.passData(n)
	}
	if s.phase == phaseFramed {
		s.frame.left -= n
		s.endFrame()
	}
}

// Inside reports whether the stream stands within a message or a frame: an end here is no polite one. It is false on a blind
// connection.
func (s *Stream) Inside() bool {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blind != NotBlind {
		return false
	}
	switch s.phase {
	case phaseSASL:
		return s.sasl != nil && (s.sasl.inside || s.sasl.have > 0)
	case phaseFramed, phaseBare:
		return s.frame.open() || s.frame.have > 0 || s.place != inHeader || s.head.begun()
	case phaseHTTP:
		return s.insideHTTP()
	default:
		return false
	}
}

func (s *Stream) startFrames() {
	s.phase = phaseFramed
	s.sasl = nil
	s.head.reset()
}

// feedFrame takes the rest of a frame, or its length.
func (s *Stream) feedFrame(p []byte) (n int, err error) {
	if !s.frame.open() {
		n, complete, ok := s.frame.header(p, s.limit)
		switch {
		case !ok:
			return 0, &OversizeError{Side: s.side, Length: s.frame.size, Limit: s.limit}
		case complete && s.place == inOpaque:
			s.place = inHeader
		}
		return n, nil
	}
	p = p[:min(int64(len(p)), s.frame.left)]
	for n < len(p) && s.conn.blind == NotBlind {
		if s.place == inOpaque {
			n = len(p)
			break
		}
		k, err := s.feedMessage(p[n:], s.frame.left-int64(n))
		n += k
		if err != nil {
			return n, err
		}
	}
	s.frame.left -= int64(n)
	s.endFrame()
	return n, nil
}

// endFrame notes that an opaque message reached the end of its frame. A frame too short for a header that follows it belongs to
// the message as well.
func (s *Stream) endFrame() {
	switch {
	case s.frame.left > 0:
	case s.place == inOpaque:
		s.place, s.cut = inHeader, true
		s.head.reset()
	case s.place == inHeader && s.cut:
		s.head.reset()
	}
}

// feedMessage takes the next part of a message. In a frame a body that cannot be walked makes the rest of the frame opaque:
// the next frame starts a message again. Without frames there is nothing to hold on to. left is how much of the frame comes,
// p included; 0 without frames.
func (s *Stream) feedMessage(p []byte, left int64) (n int, err error) {
	if s.place == inHeader {
		n, done, err := s.head.feed(p)
		switch {
		case err != nil:
			s.badHeader()
		case done:
			s.cut = false
			n += s.beginBody(p[n:], left-int64(n))
		}
		return n, nil
	}
	n, done, err := s.walk.feed(p)
	if s.copy.active() {
		s.copy.add(p[:n], s.copyLimit())
	}
	switch {
	case err != nil:
		return n, s.badBody(err)
	case done:
		s.place = inHeader
		s.endBody()
		s.head.reset()
	}
	return n, nil
}

func (s *Stream) badHeader() {
	c := s.conn
	switch {
	case s.phase == phaseFramed && s.cut:
		// No message begins here, so the frame continues the opaque one.
		s.head.reset()
		s.place = inOpaque
	case s.phase == phaseFramed && c.replies == 0 && c.login.Mechanism != mechanismPlain:
		c.turnBlind(BlindSealed)
	default:
		c.turnBlind(BlindMalformed)
	}
}

// badBody deals with a body that the walker refused; only a length in a bare message refuses the connection.
func (s *Stream) badBody(err error) error {
	var length *lengthError
	if s.phase == phaseBare {
		if errors.As(err, &length) {
			return &OversizeError{Side: s.side, Length: length.length, Limit: s.limit}
		}
		s.conn.turnBlind(BlindMalformed)
		return nil
	}
	s.place = inOpaque
	watched := s.copy.active()
	s.copy.release()
	s.conn.observer.DecodeFailed(s.side, s.head.method, err)
	if watched {
		s.deliver(nil, false)
	}
	return nil
}
