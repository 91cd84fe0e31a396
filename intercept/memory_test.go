package intercept

import (
	"io"
	"net"
	"sync"
	"time"
)

// memoryConn is one end of a connection in memory that knows half-closes and delivers at most `most` bytes a read.
type memoryConn struct {
	in   *memoryPipe
	out  *memoryPipe
	most int
}

// memoryPair is a connection whose two ends read at most `most` bytes at a time.
func memoryPair(most int) (a, b *memoryConn) {
	one, two := newMemoryPipe(), newMemoryPipe()
	return &memoryConn{one, two, most}, &memoryConn{two, one, most}
}

func (c *memoryConn) Read(p []byte) (int, error)  { return c.in.read(p[:min(len(p), c.most)]) }
func (c *memoryConn) Write(p []byte) (int, error) { return c.out.write(p) }
func (c *memoryConn) CloseWrite() error           { c.out.end(); return nil }

func (c *memoryConn) Close() error {
	c.out.end()
	c.in.breakOff()
	return nil
}

func (*memoryConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*memoryConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*memoryConn) SetDeadline(time.Time) error      { return nil }
func (*memoryConn) SetReadDeadline(time.Time) error  { return nil }
func (*memoryConn) SetWriteDeadline(time.Time) error { return nil }

// memoryPipe is one direction: an unbounded buffer.
type memoryPipe struct {
	mu     sync.Mutex
	change sync.Cond
	data   []byte
	ended  bool // by the writer
	broken bool // by the reader
}

func newMemoryPipe() *memoryPipe {
	p := &memoryPipe{}
	p.change.L = &p.mu
	return p
}

func (p *memoryPipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.data) == 0 && !p.ended && !p.broken {
		p.change.Wait()
	}
	switch {
	case p.broken:
		return 0, net.ErrClosed
	case len(p.data) == 0:
		return 0, io.EOF
	}
	n := copy(b, p.data)
	p.data = p.data[n:]
	return n, nil
}

func (p *memoryPipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.broken {
		return 0, io.ErrClosedPipe
	}
	p.data = append(p.data, b...)
	p.change.Broadcast()
	return len(b), nil
}

func (p *memoryPipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.change.Broadcast()
}

func (p *memoryPipe) breakOff() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
	p.change.Broadcast()
}
