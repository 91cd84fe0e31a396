package thrift

import "sync"

// keptCopy is the largest buffer that goes back to the pool, in bytes: a rare long statement must not stay in memory.
const keptCopy = 64 << 10

var copies = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// bodyCopy is the bounded copy of a watched message's body.
type bodyCopy struct {
	buffer    *[]byte
	truncated bool
}

func (c *bodyCopy) start() {
	c.buffer = copies.Get().(*[]byte)
	c.truncated = false
}

func (c *bodyCopy) active() bool { return c.buffer != nil }

// full reports whether further bytes would be thrown away.
func (c *bodyCopy) full() bool { return c.truncated }

// add appends p up to limit bytes in all.
func (c *bodyCopy) add(p []byte, limit int) {
	room := limit - len(*c.buffer)
	if len(p) > room {
		p, c.truncated = p[:room], true
	}
	*c.buffer = append(*c.buffer, p...)
}

// release wipes the copy, which may hold a password, and gives its buffer back.
func (c *bodyCopy) release() {
	if c.buffer == nil {
		return
	}
	clear(*c.buffer)
	if cap(*c.buffer) <= keptCopy {
		*c.buffer = (*c.buffer)[:0]
		copies.Put(c.buffer)
	}
	c.buffer = nil
}
