package thrift

import (
	"errors"
	"fmt"
)

// codedHead is how much of a compressed reply that is not watched is inflated to learn its kind, in compressed bytes.
const codedHead = 1024

// headerRoom is the longest header of a message, with room, in bytes.
const headerRoom = maxName + 16

var errBodyEnd = errors.New("the HTTP body ends within the message")

// feedContent looks at bytes of a body.
func (s *Stream) feedContent(p []byte) {
	h := s.http
	for len(p) > 0 && h.content != contentOpaque && s.conn.blind == NotBlind {
		if h.content == contentMessage {
			p = p[s.feedHTTPMessage(p):]
			continue
		}
		s.copy.add(p, h.limit)
		if h.headOnly && s.copy.full() {
			s.endContent()
		}
		return
	}
}

// feedHTTPMessage takes the next part of a message. What follows the message in its body is not looked at.
func (s *Stream) feedHTTPMessage(p []byte) (n int) {
	if s.place == inHeader {
		n, done, err := s.head.feed(p)
		switch {
		case err != nil:
			s.noMessage()
		case done:
			s.beginHTTPMessage()
		}
		return n
	}
	n, done, err := s.walk.feed(p)
	s.copy.add(p[:n], s.copyLimit())
	switch {
	case err != nil:
		s.undecoded(err)
	case done:
		truncated := s.copy.truncated
		s.closeContent()
		s.decodeHTTP(*s.copy.buffer, truncated)
		s.copy.release()
	}
	return n
}

// beginHTTPMessage decides, with the header complete, what becomes of the rest: copied, or not looked at.
func (s *Stream) beginHTTPMessage() {
	switch {
	case !s.expected():
		s.closeContent()
		s.conn.turnBlind(BlindOutOfSync)
	case s.copiedHTTP():
		s.copy.start()
		s.place = inBody
		s.walk.start(s.limit)
	default:
		s.closeContent()
		s.deliver(nil, false)
	}
}

// copiedHTTP is copied on HTTP, where replies to catalogue calls are copied too, for the handles in them.
func (s *Stream) copiedHTTP() bool {
	return s.copied() || s.head.typ != typeOneway && s.side == HiveServer2 && s.head.method.catalogue()
}

// decodeHTTP decodes a whole message's body and hands it on.
func (s *Stream) decodeHTTP(body []byte, truncated bool) {
	if s.side == HiveServer2 && s.head.method.catalogue() {
		if s.head.typ == typeReply {
			s.http.operation = replyOperation(body)
		}
		s.deliver(nil, false)
		s.http.operation = GUID{}
		return
	}
	content, err := s.decode(body, truncated)
	if err != nil {
		s.conn.observer.DecodeFailed(s.side, s.head.method, err)
	}
	s.deliver(content, truncated)
}

// closeContent: the rest of the body is not looked at.
func (s *Stream) closeContent() {
	s.http.content = contentOpaque
	s.place = inHeader
}

// noMessage: the body holds no message. A response has then been all the reply its call gets.
func (s *Stream) noMessage() {
	s.closeContent()
	if s.side == HiveServer2 {
		s.unanswered()
	}
}

// undecoded: the message's body is not sound.
func (s *Stream) undecoded(err error) {
	s.closeContent()
	s.copy.release()
	s.conn.observer.DecodeFailed(s.side, s.head.method, err)
	s.deliver(nil, false)
}

// endContent deals with a message that its body has ended before it was told.
func (s *Stream) endContent() {
	switch how := s.http.content; {
	case how == contentMessage && s.place == inBody:
		s.undecoded(errBodyEnd)
	case how == contentMessage:
		s.noMessage()
	case how == contentCoded:
		s.closeContent()
		s.endCoded()
	}
}

// beginCoded prepares for a compressed body, whose method is known of replies only.
func (s *Stream) beginCoded() {
	h := s.http
	h.content, h.limit, h.headOnly = contentCoded, s.conn.limits.CopyBytes, false
	if s.side == HiveServer2 {
		switch m := s.conn.http.answered.method; {
		case m.catalogue():
			h.limit = min(h.limit, smallCall)
		case s.conn.http.answered.log:
			h.limit = min(h.limit, logCopy)
		case !m.watched():
			h.limit, h.headOnly = codedHead, true
		}
	}
	s.copy.start()
}

// endCoded inflates the copy of a compressed body and reads the message in it. No more is inflated than would be copied of a
// message that is not compressed.
func (s *Stream) endCoded() {
	h := s.http
	room := headerRoom
	if !h.headOnly {
		room += s.conn.limits.CopyBytes
	}
	var plain bodyCopy
	plain.start()
	defer plain.release()
	err := inflate(&plain, *s.copy.buffer, h.coding, room)
	if s.copy.truncated {
		plain.truncated, err = true, nil
	}
	s.copy.release()
	s.head.reset()
	n, done, headErr := s.head.feed(*plain.buffer)
	switch {
	case headErr != nil || !done:
		s.codedUnread(errors.Join(err, headErr))
	case !s.expected():
		s.conn.turnBlind(BlindOutOfSync)
	case !s.copiedHTTP():
		s.deliver(nil, false)
	default:
		s.walk.start(s.limit)
		k, done, walkErr := s.walk.feed((*plain.buffer)[n:])
		body := (*plain.buffer)[n : n+k]
		truncated := false
		if limit := s.copyLimit(); len(body) > limit {
			body, truncated = body[:limit], true
		}
		switch {
		case walkErr != nil:
			s.undecoded(walkErr)
		case !done && !plain.truncated:
			s.undecoded(errors.Join(errBodyEnd, err))
		default:
			s.decodeHTTP(body, truncated || !done)
		}
	}
}

// codedUnread: not even the header of a compressed message could be read. Nobody knows a request's method then; a response is
// taken for the reply to its call.
func (s *Stream) codedUnread(err error) {
	x := &s.conn.http.answered
	if s.side == Client || !x.called {
		return
	}
	if x.method.watched() {
		s.conn.observer.DecodeFailed(s.side, x.method, fmt.Errorf("compressed body: %w", err))
	}
	s.tellReply(Reply{Method: x.method, SeqID: x.seq, HTTPStatus: s.http.status})
}
