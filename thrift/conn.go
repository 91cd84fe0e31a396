package thrift

import "sync"

// Conn follows one relayed connection in both directions. Its two streams may be fed from two goroutines; bytes must be fed
// before they are forwarded, so that a call is known before its reply can come.
type Conn struct {
	limits   Limits
	observer Observer

	mu     sync.Mutex // guards everything below, in both streams too
	client Stream
	server Stream
	calls  pending[waiting]
	http   *exchanges // nil until the client speaks HTTP

	byRequest bool // RequestByRequest was called

	login    Login
	told     bool // the observer knows login
	loggedIn bool // HiveServer2 sent COMPLETE
	sealed   bool // payloads will be wrapped after COMPLETE
	refused  bool
	replies  int64
	blind    BlindReason
}

// NewConn follows a new connection and tells observer what passes.
func NewConn(limits Limits, observer Observer) *Conn {
	c := &Conn{limits: limits.withDefaults(), observer: observer}
	c.client = Stream{conn: c, side: Client, limit: c.limits.MaxCallBytes}
	c.server = Stream{conn: c, side: HiveServer2, limit: c.limits.MaxReplyBytes}
	return c
}

// Stream is the direction whose bytes come from side.
func (c *Conn) Stream(side Side) *Stream {
	if side == Client {
		return &c.client
	}
	return &c.server
}

// Blind is why the connection is not observed, NotBlind while it is.
func (c *Conn) Blind() BlindReason {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blind
}

// TurnBlind stops the observation, for a reason outside of the bytes; false when it had stopped already. The observer is not
// called: it may be the reason.
func (c *Conn) TurnBlind(reason BlindReason) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blind != NotBlind {
		return false
	}
	c.blind = reason
	c.forget()
	return true
}

// Waiting is how many calls, or HTTP requests, wait for a reply; 0 when the connection is blind.
func (c *Conn) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.http != nil {
		return c.http.waiting()
	}
	return c.calls.size
}

// Refused reports whether the login ended with BAD or ERROR; on HTTP, whether the last request was answered with 401 or 403.
func (c *Conn) Refused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// Release gives pooled memory back. Nothing may be fed afterwards.
func (c *Conn) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget()
}

// turnBlind needs the lock.
func (c *Conn) turnBlind(reason BlindReason) {
	if c.blind != NotBlind {
		return
	}
	c.blind = reason
	c.forget()
	c.observer.Blind(reason)
}

func (c *Conn) forget() {
	c.calls = pending[waiting]{}
	if c.http != nil {
		*c.http = exchanges{}
	}
	for _, s := range []*Stream{&c.client, &c.server} {
		s.copy.release()
		s.walk.stack = nil
		s.sasl = nil
		if s.http != nil {
			s.http.partial.release()
		}
	}
}
