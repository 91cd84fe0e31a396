package intercept

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is asked for a pipe, in bytes: what a splice moves at most. pipesKept is how many empty pipes a loop keeps.
const (
	pipeSize  = 1 << 20
	pipesKept = 16
)

// pipe is where bytes are on their way from socket to socket.
type pipe struct {
	out, in int
	held    int64
}

func newPipe() (*pipe, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	_, _ = unix.FcntlInt(uintptr(fds[1]), unix.F_SETPIPE_SZ, pipeSize) // less where the system does not allow it
	return &pipe{out: fds[0], in: fds[1]}, nil
}

func (p *pipe) close() {
	_ = unix.Close(p.in)
	_ = unix.Close(p.out)
}

// suck moves coming bytes that nobody looks at into a pipe; false when the direction, or the connection, has ended.
func (e *loopEnd) suck() bool {
	c := e.conn
	if e.pipe == nil && !e.takePipe() {
		e.coming = 0 // they are read and written, as others are
		return true
	}
	n, err := rawSplice(e.fd, e.pipe.in, int(min(e.coming, pipeSize)))
	switch {
	case n > 0:
		e.pipe.held = int64(n)
		e.coming -= int64(n)
		coming := c.advance(e.stream, int64(n))
		if e.coming == 0 {
			e.coming = spliceable(coming)
		}
		return true
	case errors.Is(err, unix.EINTR):
		return true
	case errors.Is(err, unix.EAGAIN):
		e.readable = false
		return true
	case err == nil:
		err = io.EOF
	default:
		err = os.NewSyscallError("splice", err)
	}
	e.givePipe()
	e.ended(err)
	return false
}

// drain moves what is in the pipe to the other end; false when it cannot all be moved now.
func (e *loopEnd) drain() bool {
	c, to := e.conn, e.other()
	n, err := rawSplice(e.pipe.out, to.fd, int(e.pipe.held))
	if n <= 0 {
		return e.stalled("splice", err)
	}
	e.pipe.held -= int64(n)
	c.count(e.side(), int64(n))
	if e.pipe.held == 0 && e.coming == 0 {
		e.givePipe()
		e.moved()
	}
	return true
}

func (e *loopEnd) takePipe() bool {
	l := e.conn.loop
	if n := len(l.pipes); n > 0 {
		e.pipe, l.pipes = l.pipes[n-1], l.pipes[:n-1]
		return true
	}
	var err error
	e.pipe, err = newPipe()
	return err == nil
}

// givePipe gives an empty pipe back.
func (e *loopEnd) givePipe() {
	l := e.conn.loop
	if len(l.pipes) < pipesKept {
		l.pipes = append(l.pipes, e.pipe)
	} else {
		e.pipe.close()
	}
	e.pipe = nil
}
