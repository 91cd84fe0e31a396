//go:build unix

package intercept

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// newReader prefers to wait without a buffer.
func newReader(conn net.Conn, secret bool) reader {
	if c, ok := conn.(*net.TCPConn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			r := &waitingReader{pooled: pooled{secret: secret}, raw: raw}
			r.try = r.attempt
			return r
		}
	}
	return newPlainReader(conn, secret)
}

// waitingReader leaves the waiting to the runtime's poller and takes a buffer for each attempt only.
type waitingReader struct {
	pooled
	raw syscall.RawConn
	try func(fd uintptr) bool // attempt, bound once: no allocation per read
	err error
}

func (r *waitingReader) read() ([]byte, error) {
	if err := r.raw.Read(r.try); err != nil {
		return nil, err
	}
	switch {
	case r.err != nil:
		r.release()
		return nil, os.NewSyscallError("read", r.err)
	case r.n == 0:
		r.release()
		return nil, io.EOF
	}
	return r.buffer[:r.n], nil
}

// ended reports whether nothing more will come from a connection, without waiting and without taking what is there.
func ended(conn net.Conn) (is bool) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return true // closed
	}
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		is = n <= 0 && !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
		return true
	})
	return is || err != nil
}

// attempt reads without waiting; false when nothing is there yet.
func (r *waitingReader) attempt(fd uintptr) bool {
	r.take()
	for {
		r.n, r.err = syscall.Read(int(fd), r.buffer[:])
		switch {
		case errors.Is(r.err, syscall.EINTR):
			continue
		case errors.Is(r.err, syscall.EAGAIN):
			r.release()
			return false
		}
		return true
	}
}
