package thrift

// Answer is what the head of an HTTP response told that matters to where further requests go.
type Answer struct {
	Status int
	// CookieHash stands for HiveServer2's cookie as the response set it, like HTTPRequest.CookieHash of a request that brings it
	// back; 0 where it set none.
	CookieHash uint64
	// Closing: the client or HiveServer2 has said that the connection ends with this response (Connection: close, or HTTP/1.0
	// without keep-alive).
	Closing bool
}

// RequestByRequest makes the client's Feed stop behind each HTTP request, for a carrier that chooses a server for the next one.
// It is called before anything is fed.
func (c *Conn) RequestByRequest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byRequest = true
}

// AtRequest reports whether next, the client's next byte, would begin an HTTP request. It is false on a blind connection, where
// nobody knows.
func (c *Conn) AtRequest(next byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch h := c.client.http; {
	case c.blind != NotBlind:
		return false
	case h == nil:
		return c.client.phase == phaseFirst
	case h.unsure:
		return beginsRequest(next)
	default:
		return h.at == inHTTPHead && !h.begun
	}
}

// Answered reports whether HiveServer2 has answered, to the last byte, every request whose head has been fed. It is true on a
// blind connection.
func (c *Conn) Answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blind != NotBlind || c.http == nil {
		return true
	}
	h := c.server.http
	return c.http.asked.size == 0 && h.at == inHTTPHead && !h.begun
}

// Answer is that of the latest response, zero before there was one.
func (c *Conn) Answer() Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.http == nil {
		return Answer{}
	}
	return c.http.answer
}

// paused: Feed has come to the end of a request, where RequestByRequest has it stop.
func (s *Stream) paused() bool {
	return s.conn.byRequest && s.side == Client && s.http.over && s.conn.blind == NotBlind
}
