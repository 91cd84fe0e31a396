package intercept

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/hs2proxy/hs2proxy/thrift"
)

// Bounds of one direction's turn, so that a long result does not hold up the other connections of its loop.
const (
	turnReads   = 16
	turnSplices = 32
)

// buffersKept is how many buffers a loop keeps: those of connections whose peer is slow go when they are written.
const buffersKept = 64

func (e *loopEnd) held() bool    { return e.end > e.start }
func (e *loopEnd) bytes() []byte { return e.buffer[e.start:e.end] }

// loaded reports whether bytes from here are still to reach the other end.
func (e *loopEnd) loaded() bool { return e.held() || e.pipe != nil && e.pipe.held > 0 }

// take drops the first n bytes of the buffer, and the buffer with the last.
func (e *loopEnd) take(n int) {
	e.start += n
	if e.start < e.end {
		return
	}
	if e == &e.conn.client {
		clear(e.buffer[:e.end]) // there may be a password in it
	}
	if l := e.conn.loop; len(l.buffers) < buffersKept {
		l.buffers = append(l.buffers, e.buffer)
	}
	e.buffer, e.start, e.end = nil, 0, 0
}

// drop gives back what a direction holds.
func (e *loopEnd) drop() {
	if e.buffer != nil {
		e.start = e.end
		e.take(0)
	}
	if e.pipe != nil {
		e.pipe.close() // with bytes in it, perhaps
		e.pipe = nil
	}
}

// move relays this end's bytes to the other end, as far as both can now.
func (e *loopEnd) move() {
	c, to := e.conn, e.other()
	reads, splices := turnReads, turnSplices
	for c.stage == stageRelaying && !e.over {
		switch {
		case e.held():
			if !to.writable || !e.write() {
				return
			}
		case e.refused != nil:
			c.fail(&failure{e.side(), phaseLength, e.refused})
			return
		case e.pipe != nil && e.pipe.held > 0:
			if !to.writable || !e.drain() {
				return
			}
		case !e.readable:
			return
		case reads == 0 || splices == 0:
			c.again()
			return
		case e.coming > 0:
			splices--
			if !e.suck() {
				return
			}
		default:
			reads--
			if !e.fill() {
				return
			}
			if e.held() && !e.shown() {
				return
			}
		}
	}
}

// fill reads into the buffer what is there; false when the direction, or the connection, has ended.
func (e *loopEnd) fill() bool { return e.received(e.receive()) }

// receive is fill's call to the system; asked is how many bytes there was room for.
func (e *loopEnd) receive() (asked, n int, err error) {
	l := e.conn.loop
	if e.buffer == nil {
		if kept := len(l.buffers); kept > 0 {
			e.buffer, l.buffers = l.buffers[kept-1], l.buffers[:kept-1]
		} else {
			e.buffer = new([bufferSize]byte)
		}
	}
	room := e.buffer[e.end:]
	if most := l.server.loops.readMost; most > 0 {
		room = room[:min(len(room), most)]
	}
	n, err = rawReceive(e.fd, room)
	e.end += max(n, 0)
	return len(room), n, err
}

// received is what fill makes of the call's result.
func (e *loopEnd) received(asked, n int, err error) bool {
	switch {
	case n > 0:
		// Fewer bytes than asked for: there are no more, and the system will tell of new ones; but not of an end it told of.
		e.readable = n == asked || e.hungUp
		return true
	case err == nil && asked == 0: // a PROXY header as long as a buffer is none
		err = io.ErrShortBuffer
	case err == nil:
		err = io.EOF
	case errors.Is(err, unix.EINTR):
		return true
	case errors.Is(err, unix.EAGAIN):
		e.readable = false
		if !e.held() {
			e.take(0)
		}
		return true
	default:
		err = os.NewSyscallError("recv", err)
	}
	if !e.held() {
		e.take(0)
	}
	e.ended(err)
	return false
}

// shown shows the buffer to the observation; false when that ends the connection.
func (e *loopEnd) shown() bool {
	c := e.conn
	n, coming, refused := e.clock.observe(&c.relay, e.stream, e.bytes())
	if e == &c.upstream {
		c.judge()
	}
	if c.refuse() {
		return false
	}
	e.refused = refused
	e.coming = spliceable(coming)
	clear(e.buffer[e.start+n : e.end]) // what follows a refused length
	if e.end = e.start + n; n == 0 {
		e.take(0)
	}
	if c.deadline.in == &c.loop.opening && (c.loggedIn || !c.wire.LoggingIn()) {
		c.deadline.stop()
	}
	return true
}

// write writes the buffer to the other end; false when it cannot all be written now.
func (e *loopEnd) write() bool {
	c, to := e.conn, e.other()
	n, err := rawSend(to.fd, e.bytes(), e.coming > 0)
	if n <= 0 {
		return e.stalled("write", err)
	}
	all := n == e.end-e.start
	e.take(n)
	c.count(e.side(), int64(n))
	if !all {
		to.waitWritable()
		return false
	}
	e.moved()
	return true
}

// stalled deals with a write to the other end that took nothing; true when it can be tried again at once.
func (e *loopEnd) stalled(call string, err error) bool {
	switch {
	case errors.Is(err, unix.EINTR):
		return true
	case errors.Is(err, unix.EAGAIN):
		e.other().waitWritable()
	default:
		e.drop()
		e.unwritable(os.NewSyscallError(call, err))
	}
	return false
}

// waitWritable asks the system to tell when the end takes bytes again; most connections never need to.
func (e *loopEnd) waitWritable() {
	e.writable = false
	if e.asksWrite {
		return
	}
	e.asksWrite = true
	events := uint32(unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET)
	_ = unix.EpollCtl(e.conn.loop.epoll, unix.EPOLL_CTL_MOD, e.fd, &unix.EpollEvent{Events: events, Fd: int32(e.fd), Pad: e.generation}) //nolint:gosec // a descriptor
}

// moved is called when bytes have reached the other end.
func (e *loopEnd) moved() {
	c := e.conn
	if e != &c.upstream {
		return
	}
	if c.ended {
		c.boundUpstream()
	}
	if c.retired.Load() && c.idle() {
		c.finish()
	}
}

// ended deals with the end of the direction's bytes: a half-close goes on to the other side, which is then given the time to
// finish; anything else ends both.
func (e *loopEnd) ended(err error) {
	c, to := e.conn, e.other()
	if c.stage != stageRelaying {
		if e.held() { // else it was a look whether we are there
			c.note(&failure{e.side(), phaseLogin, err})
		}
		c.finish()
		return
	}
	if !errors.Is(err, io.EOF) {
		if c.missed(e.side()) {
			c.note(&failure{e.side(), phaseRead, err})
		}
		c.finish()
		return
	}
	c.finished(e.stream)
	if c.missed(e.side()) {
		c.note(&failure{e.side(), phaseCall, errClosedInCall})
	}
	e.over = true
	_ = unix.Shutdown(to.fd, unix.SHUT_WR)
	switch {
	case to.over:
		c.finish()
	case e == &c.client:
		c.ended = true
		c.boundUpstream()
	default:
		// HiveServer2 never closes only one side. Whatever the client still sends is read and dropped by the kernel's
		// refusal, as it would be without us; its own close is awaited so that it can read the last bytes in peace.
		c.loop.halfOpen.add(c)
	}
}

// unwritable deals with a side that takes no more bytes. What HiveServer2 said before it closed still goes to the client, which
// would see it without us: a refused login, for one.
func (e *loopEnd) unwritable(err error) {
	c := e.conn
	f := &failure{e.other().side(), phaseWrite, err}
	if e.side() == thrift.HiveServer2 {
		c.noteUnread(f, c.ended)
		c.finish()
		return
	}
	if c.interrupted() {
		c.note(f)
	}
	e.over = true
	if c.upstream.over {
		c.finish()
		return
	}
	c.loop.halfOpen.add(c)
}

// boundUpstream bounds what follows the client's end: nothing while a reply is awaited or on its way, to a slow reader too, and
// nothing on a blind connection. It may be called again with every reply.
func (c *loopConn) boundUpstream() {
	if c.idle() && !c.upstream.loaded() {
		c.loop.halfOpen.add(c)
	}
}
