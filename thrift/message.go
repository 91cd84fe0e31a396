package thrift

// beginBody decides, with the header complete, what becomes of the body: copied, walked, or taken to fill its frame.
func (s *Stream) beginBody() {
	if !s.expected() {
		s.conn.turnBlind(BlindOutOfSync)
		return
	}
	watched := s.head.method.watched() && s.head.typ != typeOneway
	if watched {
		s.copy.start()
	} else {
		s.deliver(nil, false)
		if s.conn.blind != NotBlind {
			return
		}
		if s.phase == phaseFramed && s.frame.size > int64(s.conn.limits.WalkBytes) {
			s.place = inOpaque
			return
		}
	}
	s.place = inBody
	s.walk.start(s.limit)
}

// expected reports whether the message fits its direction and, for a reply, the oldest waiting call. Names and sequence ids
// must agree: HiveServer2 (Java's TBaseProcessor) repeats both.
func (s *Stream) expected() bool {
	if s.side == Client {
		return s.head.typ == typeCall || s.head.typ == typeOneway
	}
	if s.head.typ != typeReply && s.head.typ != typeException {
		return false
	}
	w := s.conn.calls.peek()
	if s.phase == phaseHTTP {
		w = &s.conn.http.answered.waiting
	}
	return w != nil && w.method == s.head.method && w.nameHash == s.head.nameHash && w.seq == s.head.seq
}

// smallCall bounds the copy of a call without a statement, in bytes.
const smallCall = 64 << 10

func (s *Stream) copyLimit() int {
	limit := s.conn.limits.CopyBytes
	if s.side == Client && s.head.method != ExecuteStatement {
		limit = min(limit, smallCall)
	}
	return limit
}

// endBody decodes the copy of a watched message and hands it on.
func (s *Stream) endBody() {
	if !s.copy.active() {
		return
	}
	content, err := s.decode(*s.copy.buffer, s.copy.truncated)
	truncated := s.copy.truncated
	s.copy.release()
	if err != nil {
		s.conn.observer.DecodeFailed(s.side, s.head.method, err)
	}
	s.deliver(content, truncated)
}

func (s *Stream) decode(body []byte, truncated bool) (any, error) {
	switch {
	case s.side == Client:
		return decodeCall(s.head.method, body, truncated)
	case s.head.typ == typeException:
		return decodeException(body, truncated)
	default:
		return decodeReply(s.head.method, body, truncated)
	}
}

// deliver tells the observer of the message whose header is in s.head, and matches calls and replies.
func (s *Stream) deliver(content any, truncated bool) {
	c, h := s.conn, &s.head
	if s.phase == phaseHTTP {
		s.deliverHTTP(content, truncated)
		return
	}
	if s.side == Client {
		if h.typ != typeOneway && c.calls.size == c.limits.PendingCalls {
			c.turnBlind(BlindPipeline)
			return
		}
		token := c.observer.Call(Call{
			Method: h.method, SeqID: h.seq, Oneway: h.typ == typeOneway,
			Request: content, Truncated: truncated,
		})
		if h.typ != typeOneway {
			c.calls.push(waiting{h.method, h.seq, h.nameHash, token}, c.limits.PendingCalls)
		}
		return
	}
	w := c.calls.pop()
	c.replies++
	r := Reply{Method: h.method, SeqID: h.seq, Exception: h.typ == typeException, Truncated: truncated}
	if text, ok := content.(exceptionText); ok {
		r.Message = string(text)
	} else {
		r.Result = content
	}
	c.observer.Reply(w.token, r)
}
