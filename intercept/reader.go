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

// plainReader works for every net.Conn; it holds its buffer while it waits.
type plainReader struct {
	conn   net.Conn
	secret bool // wipe what was read
	n      int
	buffer *[bufferSize]byte
}

func (r *plainReader) read() ([]byte, error) {
	r.buffer = buffers.Get().(*[bufferSize]byte)
	var err error
	r.n, err = r.conn.Read(r.buffer[:])
	if r.n > 0 {
		return r.buffer[:r.n], nil // an error comes again with the next read
	}
	r.release()
	return nil, err
}

func (r *plainReader) release() {
	if r.buffer != nil {
		if r.secret {
			clear(r.buffer[:max(r.n, 0)])
		}
		buffers.Put(r.buffer)
		r.buffer = nil
	}
}
