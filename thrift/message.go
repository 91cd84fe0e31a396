package thrift

// beginBody decides, with the header complete, what becomes of the body: decoded in place, copied, walked, or taken to fill its
// frame. p comes next, and left bytes of the frame; it reports how many it took.
func (s *Stream) beginBody(p []byte, left int64) (n int) {
	if !s.expected() {
		s.conn.turnBlind(BlindOutOfSync)
		return 0
	}
	if s.copied() {
		if s.decodeInPlace(p, left) {
			return len(p)
		}
		s.copy.start()
	} else {
		s.deliver(nil, false)
		if s.conn.blind != NotBlind {
			return 0
		}
		if s.phase == phaseFramed && s.frame.size > int64(s.conn.limits.WalkBytes) {
			s.place = inOpaque
			return 0
		}
	}
	s.place = inBody
	s.walk.start(s.limit)
	return 0
}

// copied reports whether the message whose header is in s.head is copied: watched ones, and fetches from logs.
func (s *Stream) copied() bool {
	return s.head.typ != typeOneway && (s.head.method.watched() || s.fetchesLog())
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
	w := s.answered()
	return w != nil && w.method == s.head.method && w.nameHash == s.head.nameHash && w.seq == s.head.seq
}

// smallCall bounds the copy of a call without a statement, in bytes.
const smallCall = 64 << 10

func (s *Stream) copyLimit() int {
	limit := s.conn.limits.CopyBytes
	switch {
	case s.side == Client && s.head.method != ExecuteStatement:
		return min(limit, smallCall)
	case s.head.method == FetchResults:
		return min(limit, logCopy)
	default:
		return limit
	}
}

// endBody decodes the copy of a message and hands it on.
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

// decodeInPlace decodes a watched message whose body is all there and fills its frame, as nearly all do, without a walk and a
// copy. It is false, and nothing has happened, where that is not so or the body has to be left to the generated reader.
func (s *Stream) decodeInPlace(body []byte, left int64) bool {
	if int64(len(body)) != left || len(body) > s.copyLimit() || s.head.typ == typeException {
		return false
	}
	p := partsPool.Get().(*parts)
	defer p.giveBack()
	var content any
	known := false
	switch {
	case s.side == Client && s.head.method == FetchResults:
		content, known = logFetch(body)
	case s.side == Client:
		content = p.plainCall(s.head.method, body)
	default:
		content = p.plainReply(s.head.method, body)
	}
	if content == nil && !known {
		return false
	}
	s.deliver(content, false)
	s.head.reset()
	return true
}

func (s *Stream) decode(body []byte, truncated bool) (any, error) {
	switch {
	case s.head.method == FetchResults && s.side == Client:
		content, _ := logFetch(body)
		return content, nil
	case s.head.method == FetchResults:
		return operatorCounters(body), nil
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
			c.calls.push(h.waits(content, token), c.limits.PendingCalls)
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
