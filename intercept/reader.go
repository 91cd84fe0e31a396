package intercept

import (
	"net"
	"sync"
)

// bufferSize is what one read may bring, in bytes: enough for nearly every message that is no large fetch, whose beginning is
// all that is read of it.
const bufferSize = 32 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// reader reads from a connection into a pooled buffer. Where the system allows, it takes a buffer only when bytes are there, so
// that an idle connection holds none.
type reader interface {
	// read returns the next bytes, valid until release; io.EOF at the end.
	read() ([]byte, error)
	// release gives the buffer of the last read back.
	release()
}

// pooled is the buffer of a read.
type pooled struct {
	secret bool // wipe what was read
	buffer *[bufferSize]byte
	n      int
}

func (p *pooled) take() { p.buffer = buffers.Get().(*[bufferSize]byte) }

func (p *pooled) release() {
	if p.buffer == nil {
		return
	}
	if p.secret {
		clear(p.buffer[:max(p.n, 0)])
	}
	buffers.Put(p.buffer)
	p.buffer = nil
}

// plainReader works for every net.Conn; it holds its buffer while it waits.
type plainReader struct {
	pooled
	conn net.Conn
}

func newPlainReader(conn net.Conn, secret bool) *plainReader {
	return &plainReader{pooled{secret: secret}, conn}
}

func (r *plainReader) read() ([]byte, error) {
	r.take()
	var err error
	r.n, err = r.conn.Read(r.buffer[:])
	if r.n > 0 {
		return r.buffer[:r.n], nil // an error comes again with the next read
	}
	r.release()
	return nil, err
}
