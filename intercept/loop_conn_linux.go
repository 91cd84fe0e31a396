package intercept

import (
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// stage is how far a connection has come.
type stage uint8

const (
	stageOpening  stage = iota // the client's first bytes are awaited
	stageDialing               // HiveServer2 is being connected to
	stageRelaying              // bytes go both ways
	stageGone                  // ended, or handed to goroutines
)

// loopConn is a relay that an event loop carries. Only the loop touches it, but for close.
type loopConn struct {
	relay
	loop     *loop
	stage    stage
	queued   bool // in loop.ready
	ended    bool // the client has closed its side
	proxied  bool // a PROXY header is still to come
	client   loopEnd
	upstream loopEnd
	deadline deadline
	attempt  *attempt // while stageDialing
	server   *upstream.Server
}

// loopEnd is one of its two sockets, and the direction that begins there.
type loopEnd struct {
	conn       *loopConn
	stream     *thrift.Stream
	fd         int
	generation int32

	readable, writable bool // as far as is known; the system tells of changes only
	hungUp             bool // the peer has closed: read until the end
	asksWrite          bool // the system tells when writing is possible again
	over               bool // nothing more comes from here
	refused            error

	// buffer holds what was read and is not yet written to the other end, from start to end.
	buffer     *[bufferSize]byte
	start, end int
	// pipe holds what is being spliced; coming is how many of the next bytes will be.
	pipe   *pipe
	coming int64
	clock  clock
}

func (e *loopEnd) side() thrift.Side {
	if e == &e.conn.client {
		return thrift.Client
	}
	return thrift.HiveServer2
}

func (e *loopEnd) other() *loopEnd {
	if e == &e.conn.client {
		return &e.conn.upstream
	}
	return &e.conn.client
}

// begin takes a client in.
func (l *loop) begin(c *loopConn, fd int) {
	c.loop, c.traffic = l, l.traffic
	c.client = loopEnd{conn: c, fd: fd, stream: c.wire.Stream(thrift.Client), writable: true, clock: newClock(&c.relay)}
	c.upstream = loopEnd{conn: c, fd: -1, stream: c.wire.Stream(thrift.HiveServer2), writable: true, clock: newClock(&c.relay)}
	c.proxied = l.server.proxied(c.peer)
	if err := l.register(&c.client, unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLET); err != nil {
		c.note(&failure{thrift.Client, phaseConnect, err})
		c.finish()
		return
	}
	if !c.carry(c) {
		c.finish()
		return
	}
	c.client.readable = true // worth a try: clients speak at once
	if l.server.eager(c.peer) && l.server.cfg.ServerTLS == nil {
		c.dial(upstream.Binary)
		return
	}
	l.opening.add(c)
	c.flow()
}

// register has the system tell of changes of an end; edge-triggered, which costs one call for a connection's whole life.
func (l *loop) register(e *loopEnd, events uint32) error {
	l.last++
	if l.last <= 0 {
		l.last = 1
	}
	e.generation = l.last
	for e.fd >= len(l.ends) {
		l.ends = append(l.ends, make([]*loopEnd, max(64, len(l.ends)))...)
	}
	l.ends[e.fd] = e
	return os.NewSyscallError("epoll_ctl", l.add(e.fd, events, e.generation))
}

// forget closes an end's descriptor, or leaves it to another.
func (l *loop) forget(e *loopEnd, closing bool) {
	if e.fd < 0 {
		return
	}
	if e.fd < len(l.ends) {
		l.ends[e.fd] = nil
	}
	if closing {
		_ = unix.Close(e.fd)
	} else {
		_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, e.fd, nil)
	}
	e.fd = -1
}

// event is what the system tells of an end. It is true when there may be bytes to move now.
func (c *loopConn) event(e *loopEnd, events uint32) bool {
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		e.readable = true
	}
	if events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		e.hungUp = true
	}
	if events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		e.writable = true
	}
	if c.stage == stageDialing && e == &c.upstream {
		c.connected()
		return false
	}
	return true
}

// flow moves what can be moved now.
func (c *loopConn) flow() {
	switch c.stage {
	case stageOpening:
		c.open()
	case stageRelaying:
		c.client.move()
		if c.stage == stageRelaying {
			c.upstream.move()
		}
	case stageDialing, stageGone:
	}
}

// again gives the connection another turn, after others had theirs.
func (c *loopConn) again() {
	if !c.queued {
		c.queued = true
		c.loop.ready = append(c.loop.ready, c)
	}
}

// open looks at the client's first bytes.
func (c *loopConn) open() {
	for c.client.readable {
		if !c.client.fill() {
			return
		}
		if !c.client.held() {
			continue
		}
		if c.proxied {
			n, more, err := c.readProxyHeader(c.client.bytes())
			switch {
			case err != nil:
				c.fail(&failure{thrift.Client, phaseOf(err), err})
				return
			case more:
				continue
			}
			c.proxied = false
			c.client.take(n)
			if !c.client.held() {
				continue
			}
		}
		c.choose()
		return
	}
}

// choose decides by the first byte where the connection goes, and who carries it.
func (c *loopConn) choose() {
	s := c.loop.server
	o := thrift.OpeningOf(c.client.bytes()[0])
	if s.needsPump(o) {
		c.handOver()
		return
	}
	c.dial(transportOf(o))
}

// needsPump reports whether an event loop cannot carry such a connection.
func (s *Server) needsPump(o thrift.Opening) bool {
	return s.cfg.ServerTLS != nil || s.cfg.TLSRequired || o == thrift.OpeningTLS && s.cfg.ClientTLS != nil || o == thrift.OpeningHTTP && s.routed()
}

// handOver gives the connection to goroutines.
func (c *loopConn) handOver() {
	l := c.loop
	first := append([]byte(nil), c.client.bytes()...)
	fd := c.client.fd
	l.forget(&c.client, false)
	c.gone()
	file := os.NewFile(uintptr(fd), "client")
	client, err := net.FileConn(file)
	_ = file.Close()
	if err != nil {
		c.note(&failure{thrift.Client, phaseLogin, err})
		c.end()
		return
	}
	l.server.pump(&c.relay, client, first)
}

// gone gives back what the loop holds of a connection.
func (c *loopConn) gone() {
	l := c.loop
	c.stage = stageGone
	c.deadline.stop()
	for _, e := range []*loopEnd{&c.client, &c.upstream} {
		l.forget(e, true)
		e.drop()
	}
	l.conns.Add(-1)
}

// fail notes why the connection ends, if it is the first to know, and ends it.
func (c *loopConn) fail(f *failure) {
	c.note(f)
	c.finish()
}

// finish ends the connection.
func (c *loopConn) finish() {
	if c.stage == stageGone {
		return
	}
	c.gone()
	if c.server != nil {
		c.server.Closed()
	}
	c.end()
}

// close is carrier's, from any goroutine.
func (c *loopConn) close() { c.loop.post(c.finish) }

// refuse ends a connection whose login a limit refuses, with a word in the client's own protocol where it has one.
func (c *loopConn) refuse() bool {
	e, answer := c.limited()
	if e == nil {
		return false
	}
	_, _ = unix.Write(c.client.fd, answer)
	c.fail(&failure{thrift.Client, phaseLimit, e})
	return true
}
