package thrift

import "net/http"

// exchange is a request and its response. A call is in it once the request's message has told it, until its reply is told.
type exchange struct {
	waiting
	called   bool
	bodiless bool // a HEAD request
	closing  bool // the client wants the connection closed
}

// exchanges are those of a connection. HTTP answers in order.
type exchanges struct {
	asked    pending[exchange] // their responses have not begun
	answered exchange          // its response has begun
	open     bool              // the last request has not ended
	// early is the status of a response that began before the open request told its call; 0 otherwise.
	early int
	// answer is what the latest response's head said.
	answer Answer
}

func (e *exchanges) waiting() int {
	n := e.asked.size
	if e.answered.called {
		n++
	}
	return n
}

func (s *Stream) beginRequest(head []byte) {
	c, e := s.conn, s.conn.http
	r, why := parseRequest(head)
	if why != NotBlind {
		c.turnBlind(why)
		return
	}
	method := string(r.method)
	if !e.asked.push(exchange{bodiless: method == http.MethodHead, closing: r.closing}, c.limits.PendingCalls) {
		c.turnBlind(BlindPipeline)
		return
	}
	e.open, e.early = true, 0
	c.requestLogin(&r)
	how := contentOpaque
	if method == http.MethodPost {
		how = contentMessage
	}
	s.http.expect = r.expect
	s.beginHTTPBody(&r.framing, how, false)
}

// newRequest reports whether b begins a new request: the client asked with Expect whether to send a body, and the answer was
// not to (RFC 9110, 10.1.1). It may then send it or not, and only the bytes tell: a message begins with 0x80, a compressed one
// with a control character or an x, a chunk with a digit or one of the letters up to F.
func (s *Stream) newRequest(b byte) bool {
	s.http.unsure = false
	if !beginsRequest(b) {
		return false
	}
	s.endHTTP()
	return true
}

// beginsRequest reports whether b is the first letter of a request, where a message, a chunk or compressed bytes might begin, too.
func beginsRequest(b byte) bool {
	switch b {
	case 'G', 'H', 'O', 'P', 'T':
		return true
	default:
		return false
	}
}

func (s *Stream) beginResponse(head []byte) {
	c, e := s.conn, s.conn.http
	r, why := parseResponse(head)
	switch {
	case why != NotBlind:
		c.turnBlind(why)
		return
	case r.status == http.StatusSwitchingProtocols:
		c.turnBlind(BlindHTTP)
		return
	case r.status < 200:
		return // the response itself is still to come
	case e.asked.size == 0:
		c.turnBlind(BlindOutOfSync)
		return
	}
	toOpen := e.open && e.asked.size == 1
	e.answered = e.asked.pop()
	s.http.status = r.status
	e.answer = Answer{Status: r.status, Closing: r.closing || e.answered.closing}
	if c.byRequest && r.cookie != nil {
		e.answer.CookieHash = cookieHash(r.cookie)
	}
	c.judgeLogin(&r)
	if toOpen && !e.answered.called {
		e.early = r.status
		client := c.client.http
		client.unsure = client.expect && client.untouched
	}
	how := contentOpaque
	if e.answered.called {
		if r.thrift || r.status < 300 && !r.text {
			how = contentMessage
		} else {
			s.unanswered()
		}
	}
	if e.answered.bodiless || r.status == http.StatusNoContent || r.status == http.StatusNotModified {
		r.framing = framing{}
	}
	s.beginHTTPBody(&r.framing, how, true)
}

// judgeLogin learns from a response whether HiveServer2 took the login, and from its cookie whom it took it for.
func (c *Conn) judgeLogin(r *responseHead) {
	switch {
	case r.status == http.StatusUnauthorized || r.status == http.StatusForbidden:
		c.refused = true
	case r.status < 300:
		c.refused = false
		if user := cookieUser(r.cookie); c.login.User == "" && len(user) > 0 {
			l := c.login
			l.User = string(user)
			c.tellHTTPLogin(l)
		}
	}
}

// deliverHTTP tells the observer of the message whose header is in s.head.
func (s *Stream) deliverHTTP(content any, truncated bool) {
	c, e, h := s.conn, s.conn.http, &s.head
	if s.side == HiveServer2 {
		r := Reply{
			Method: h.method, SeqID: h.seq, Exception: h.typ == typeException, Truncated: truncated,
			HTTPStatus: s.http.status, Operation: s.http.operation,
		}
		if text, ok := content.(exceptionText); ok {
			r.Message = string(text)
		} else {
			r.Result = content
		}
		s.tellReply(r)
		return
	}
	oneway := h.typ == typeOneway
	token := c.observer.Call(Call{Method: h.method, SeqID: h.seq, Oneway: oneway, Request: content, Truncated: truncated})
	switch {
	case oneway:
	case e.early != 0:
		c.observer.Reply(token, withoutMessage(h.method, h.seq, e.early))
	default:
		x := e.asked.last()
		x.waiting, x.called = h.waits(content, token), true
	}
}

// unanswered tells the observer that the response held no reply to its call, if it was one and none was told.
func (s *Stream) unanswered() {
	if x := &s.conn.http.answered; x.called {
		s.tellReply(withoutMessage(x.method, x.seq, s.http.status))
	}
}

func (s *Stream) tellReply(r Reply) {
	c := s.conn
	token := c.http.answered.token
	c.http.answered = exchange{}
	c.replies++
	c.observer.Reply(token, r)
}

// withoutMessage is the reply to a call that was answered by an HTTP status alone.
func withoutMessage(m Method, seq int32, status int) Reply {
	return Reply{Method: m, SeqID: seq, HTTPStatus: status, Rejected: status >= 300 && status < 500}
}
