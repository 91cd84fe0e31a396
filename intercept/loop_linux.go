package intercept

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// loops are the event loops of a Server. Each is one goroutine that waits in epoll for many connections and moves their bytes
// itself: a message costs one wake-up, no stack of its own and no scheduling, and large frames go from socket to socket through
// a pipe (splice). A connection stays with its loop, so nothing in it needs a lock.
type loops struct {
	mu  sync.Mutex
	all atomic.Pointer[[]*loop]

	// readMost bounds what one read brings, in bytes, so that tests cut messages anywhere; 0: what a buffer holds.
	readMost int
}

// loop is one of them.
type loop struct {
	server   *Server
	traffic  *traffic
	epoll    int
	wake     int // an eventfd
	events   [128]unix.EpollEvent
	arrivals []arrival

	ends     []*loopEnd // by descriptor
	last     int32      // generation of the latest end
	doors    []*door
	ready    []*loopConn // have more to do than one turn allows
	opening  deadlines
	dialing  deadlines
	halfOpen deadlines
	buffers  []*[bufferSize]byte
	pipes    []*pipe

	// conns is how many connections there are, or are about to be; others read it to choose a loop.
	conns   atomic.Int64
	stopped bool
	yielded time.Time // to the runtime

	mu     sync.Mutex
	posted []func()
	freed  bool // wake is closed, and its number may be another file's
}

// door is a listening socket, of which every loop has one: the system wakes one loop for each client.
type door struct {
	fd       int
	accepted func()
	tried    time.Duration // waited after the last failure to accept
}

// start makes the loops when the first listener comes.
func (ls *loops) start(s *Server) ([]*loop, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if all := ls.running(); all != nil {
		return all, nil
	}
	all := make([]*loop, s.cfg.Loops)
	for i := range all {
		l, err := newLoop(s, i)
		if err != nil {
			for _, made := range all[:i] {
				made.free()
			}
			return nil, err
		}
		all[i] = l
	}
	for _, l := range all {
		s.work.Go(l.run)
	}
	ls.all.Store(&all)
	return all, nil
}

// running are the loops there are.
func (ls *loops) running() []*loop {
	if all := ls.all.Load(); all != nil {
		return *all
	}
	return nil
}

// stop ends the loops. No listener and no relay is left.
func (ls *loops) stop() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.running() {
		l.post(func() { l.stopped = true })
	}
	ls.all.Store(nil)
}

// newLoop makes the nth.
func newLoop(s *Server, n int) (*loop, error) {
	l := &loop{server: s, traffic: s.counters.traffic.of(int64(n))}
	l.opening.after, l.dialing.after, l.halfOpen.after = s.cfg.LoginTimeout, s.cfg.DialTimeout, s.cfg.HalfClose
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("event loop: %w", os.NewSyscallError("epoll_create1", err))
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
		err = l.add(l.wake, unix.EPOLLIN, 0)
	}
	if err != nil {
		_ = unix.Close(l.epoll)
		return nil, fmt.Errorf("event loop: %w", os.NewSyscallError("eventfd", err))
	}
	return l, nil
}

func (l *loop) add(fd int, events uint32, generation int32) error {
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd), Pad: generation}) //nolint:gosec // a descriptor
}

// post has the loop call f soon. Once the loop has ended there is nothing left that f could be about: a name that was being looked
// up for a connection since cut, a rest of a door since shut.
func (l *loop) post(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.freed {
		return
	}
	if l.posted = append(l.posted, f); len(l.posted) == 1 {
		_, _ = unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

// yieldEvery is half of what the runtime's monitor allows.
const yieldEvery = 5 * time.Millisecond

// run is the loop.
func (l *loop) run() {
	defer l.free()
	for !l.stopped {
		l.yield()
		n, err := unix.EpollWait(l.epoll, l.events[:], l.patience())
		if err != nil && !errors.Is(err, unix.EINTR) {
			panic(fmt.Sprintf("epoll_wait: %v", err)) // a bad descriptor or argument of ours
		}
		for events := range slices.Chunk(l.events[:max(n, 0)], batch) {
			l.take(events)
		}
		l.expire()
		l.goOn()
	}
}

// yield shows the runtime now and then that the goroutine can be scheduled, before it waits: its monitor takes the processor away
// from one that was not for ten milliseconds, if it finds it in a system call, and looks around much more often from then on.
func (l *loop) yield() {
	if now := time.Now(); now.Sub(l.yielded) > yieldEvery {
		l.yielded = now
		runtime.Gosched()
	}
}

func (l *loop) free() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.freed = true
	for _, p := range l.pipes {
		p.close()
	}
	_ = unix.Close(l.wake)
	_ = unix.Close(l.epoll)
}

// patience is how long to wait for events, in milliseconds.
func (l *loop) patience() int {
	if len(l.ready) > 0 {
		return 0
	}
	var first time.Time
	for _, d := range []*deadlines{&l.opening, &l.dialing, &l.halfOpen} {
		if d.first != nil && (first.IsZero() || d.first.deadline.at.Before(first)) {
			first = d.first.deadline.at
		}
	}
	if first.IsZero() {
		return -1
	}
	ms := time.Until(first).Milliseconds() + 1
	return int(min(max(ms, 0), math.MaxInt32))
}

// called runs what was posted.
func (l *loop) called() {
	var count [8]byte
	_, _ = unix.Read(l.wake, count[:])
	l.mu.Lock()
	posted := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, f := range posted {
		f()
	}
}

// goOn gives the connections that had more to do another turn.
func (l *loop) goOn() {
	ready := l.ready
	l.ready = nil
	for _, c := range ready {
		c.queued = false
		c.flow()
	}
}

// serveLooped accepts in the event loops; looped is false where ln is no TCP listener of the system's.
func (s *Server) serveLooped(ctx context.Context, ln net.Listener) (looped bool, err error) {
	tcp, accepted := socketOf(ln)
	if tcp == nil {
		return false, nil
	}
	all, err := s.loops.start(s)
	if err != nil {
		s.log.Warn().Err(err).Msg("connections are relayed without event loops")
		return false, nil
	}
	file, err := tcp.File()
	if err != nil {
		return true, fmt.Errorf("accept connections: %w", err)
	}
	defer func() { _ = file.Close() }()
	fd := int(file.Fd()) // Fd makes it blocking
	err = s.prepare(fd)
	_ = tcp.Close() // the runtime's poller would wake for each client too; the socket lives on in file
	if err != nil {
		return true, fmt.Errorf("accept connections: %w", err)
	}
	each(all, func(l *loop) { l.open(fd, accepted) })
	select {
	case <-ctx.Done():
	case <-s.draining:
	}
	each(all, func(l *loop) { l.shut(fd) })
	return true, nil
}

// SocketListener is a listener around a TCP listener, from whose socket the event loops may accept if they tell it.
type SocketListener interface {
	TCP() *net.TCPListener
	Accepted()
}

// socketOf is the TCP listener that ln is, nil for none, and what is to be called for each client.
func socketOf(ln net.Listener) (tcp *net.TCPListener, accepted func()) {
	switch l := ln.(type) {
	case SocketListener:
		return l.TCP(), l.Accepted
	case *net.TCPListener:
		return l, func() {}
	default:
		return nil, nil
	}
}

// prepare sets what accepted sockets inherit.
func (s *Server) prepare(fd int) error {
	if err := unix.SetNonblock(fd, true); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	return tune(fd, s.cfg.probes())
}

// tune turns Nagle's delay off, which would hold small messages back, and keep-alive probes on.
func tune(fd int, probes net.KeepAliveConfig) error {
	seconds := func(d time.Duration) int { return int(max(1, (d+time.Second-1)/time.Second)) }
	return os.NewSyscallError("setsockopt", errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, seconds(probes.Idle)),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, seconds(probes.Interval)),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, probes.Count),
	))
}

// each has every loop call f and waits for them.
func each(all []*loop, f func(*loop)) {
	var done sync.WaitGroup
	for _, l := range all {
		done.Add(1)
		l.post(func() {
			defer done.Done()
			f(l)
		})
	}
	done.Wait()
}
