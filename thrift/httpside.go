package thrift

import "math"

// httpPlace is what a stream of HTTP expects next.
type httpPlace uint8

const (
	inHTTPHead  httpPlace = iota
	inHTTPData            // bytes of the body, left of them
	inHTTPChunk           // the framing between the chunks of a body
)

// content is how the bytes of a body are looked at.
type content uint8

const (
	contentOpaque content = iota // not at all
	contentMessage
	contentCoded // a compressed message: its copy is inflated at its end
)

// httpSide is what a stream knows of the request or response it is in.
type httpSide struct {
	at      httpPlace
	content content
	coding  coding
	begun   bool // the head has a byte
	chunked bool
	toClose bool // the body ends with the connection
	// untouched: no byte of the body has come. unsure: what comes may be the body, or the next request.
	untouched, unsure bool
	expect            bool
	over              bool // the byte fed last was a request's or a response's last
	left              int64
	// limit of the copy of a compressed body, in bytes; headOnly: of a body whose message is not watched.
	limit     int
	headOnly  bool
	end       headEnd
	chunks    chunks
	partial   bodyCopy // of a head that several reads cut
	status    int      // of the response
	operation GUID     // of the catalogue call answered
}

func (c *Conn) startHTTP() {
	c.http = &exchanges{}
	c.login.Transport = HTTP
	for _, s := range []*Stream{&c.client, &c.server} {
		s.phase, s.http = phaseHTTP, &httpSide{}
	}
}

// feedHTTP follows requests or responses and reports how much of p it took: all of it, unless the connection turns blind.
func (s *Stream) feedHTTP(p []byte) (n int) {
	h := s.http
	for n < len(p) && s.conn.blind == NotBlind {
		if h.unsure && s.newRequest(p[n]) {
			continue
		}
		h.over = false
		switch h.at {
		case inHTTPHead:
			n += s.feedHead(p[n:])
		case inHTTPData:
			h.untouched = false
			data := p[n:]
			if int64(len(data)) > h.left {
				data = data[:h.left]
			}
			n += len(data)
			s.feedContent(data)
			if s.conn.blind == NotBlind {
				s.passData(int64(len(data)))
			}
		case inHTTPChunk:
			h.untouched = false
			k, data, ended, err := h.chunks.feed(p[n:])
			n += k
			switch {
			case err != nil:
				s.conn.turnBlind(BlindMalformed)
			case data:
				h.at, h.left = inHTTPData, h.chunks.size
			case ended:
				s.endHTTP()
			}
		}
		if s.paused() {
			break
		}
	}
	return n
}

// passData accounts for n bytes of the body.
func (s *Stream) passData(n int64) {
	h := s.http
	if h.toClose {
		return
	}
	h.left -= n
	switch {
	case h.left > 0:
	case h.chunked:
		h.at = inHTTPChunk
	default:
		s.endHTTP()
	}
}

// feedHead takes head bytes, from one read in place, and acts on the head at its end. Empty lines in front of it are
// passed over, as RFC 9112 (2.2) asks for.
func (s *Stream) feedHead(p []byte) (n int) {
	h := s.http
	for !h.begun && n < len(p) {
		if p[n] != '\r' && p[n] != '\n' {
			h.begun = true
			break
		}
		n++
	}
	k, done := h.end.feed(p[n:])
	head := p[n : n+k]
	n += k
	if len(head) == 0 {
		return n
	}
	long := len(head) > maxHead
	if h.partial.active() || !done {
		if !h.partial.active() {
			h.partial.start()
		}
		h.partial.add(head, maxHead)
		head, long = *h.partial.buffer, h.partial.truncated
	}
	switch {
	case long:
		s.conn.turnBlind(BlindHTTP)
	case done:
		h.begun = false
		if s.side == Client {
			s.beginRequest(head)
		} else {
			s.beginResponse(head)
		}
		h.partial.release()
	}
	return n
}

// beginHTTPBody enters the body that f frames; one of no bytes ends at once. toClose: without any framing it ends with the
// connection.
func (s *Stream) beginHTTPBody(f *framing, how content, toClose bool) {
	h := s.http
	h.content, h.coding, h.chunked, h.toClose, h.untouched = how, f.coding, f.chunked, false, true
	s.place = inHeader
	s.head.reset()
	if how == contentMessage && f.coding != codingNone {
		s.beginCoded()
	}
	switch {
	case f.chunked:
		h.at, h.chunks = inHTTPChunk, chunks{}
	case f.length > 0:
		h.at, h.left = inHTTPData, f.length
	case f.length < 0 && toClose:
		h.at, h.left, h.toClose = inHTTPData, math.MaxInt64, true
	default:
		s.endHTTP()
	}
}

// endHTTP ends a request or a response.
func (s *Stream) endHTTP() {
	h := s.http
	s.endContent()
	h.at, h.unsure = inHTTPHead, false
	if s.conn.blind != NotBlind {
		return
	}
	h.over = true
	if s.side == Client {
		s.conn.http.open = false
		return
	}
	s.unanswered()
}

func (s *Stream) skipHTTP() int64 {
	h := s.http
	switch {
	case h.at != inHTTPData || h.unsure:
		return 0
	case h.content == contentOpaque && h.toClose:
		return math.MaxInt64
	case h.content == contentOpaque, h.content == contentCoded && s.uninteresting():
		return h.left
	case h.content == contentMessage && s.place == inBody && s.uninteresting():
		return min(s.walk.skip, h.left)
	default:
		return 0
	}
}

func (s *Stream) insideHTTP() bool {
	h := s.http
	switch {
	case h.at == inHTTPHead:
		return h.begun
	case h.unsure:
		return false
	case h.toClose:
		return h.content == contentMessage
	default:
		return true
	}
}

// End notes that the stream's side has sent its last byte: an HTTP response without a length ends so. It tells the observer what
// is complete by that, and is of no consequence elsewhere.
func (s *Stream) End() {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blind == NotBlind && s.phase == phaseHTTP && s.http.at == inHTTPData && s.http.toClose {
		s.http.toClose = false
		s.endHTTP()
	}
}
