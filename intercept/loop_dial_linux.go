package intercept

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// attempt is the way of a connection to a HiveServer2: one address of one server after the other, until one answers.
type attempt struct {
	transport upstream.Transport
	servers   []*upstream.Server
	addresses []netip.AddrPort // of the server at hand, still to be tried
	to        netip.AddrPort   // being tried
	err       error            // of the latest
}

// dial begins to connect. The client's first bytes wait.
func (c *loopConn) dial(t upstream.Transport) {
	c.deadline.stop() // the login's time does not include ours
	c.stage = stageDialing
	c.attempt = &attempt{transport: t, servers: c.loop.server.candidates(t), err: errNoServer}
	c.nextServer()
}

// nextServer tries the next server, or gives up.
func (c *loopConn) nextServer() {
	a := c.attempt
	if len(a.servers) == 0 {
		c.fail(&failure{thrift.HiveServer2, phaseConnect, a.err})
		return
	}
	c.server, a.servers = a.servers[0], a.servers[1:]
	c.server.Opened()
	c.via(c.server)
	address := addressOf(c.server, a.transport)
	if found, ok := c.loop.server.resolver.Cached(address); ok {
		c.resolved(found, nil)
		return
	}
	s := c.loop.server
	s.work.Go(func() {
		found, err := s.resolver.Resolve(s.ctx, address)
		c.loop.post(func() { c.resolved(found, err) })
	})
}

// resolved goes on with the addresses of a server.
func (c *loopConn) resolved(found []netip.AddrPort, err error) {
	if c.stage != stageDialing {
		return
	}
	if err != nil {
		c.serverFailed(err)
		return
	}
	c.attempt.addresses = found
	c.nextAddress()
}

// nextAddress begins to connect to an address; connected goes on when the system has an answer.
func (c *loopConn) nextAddress() {
	a := c.attempt
	for len(a.addresses) > 0 {
		a.to, a.addresses = a.addresses[0], a.addresses[1:]
		if err := c.connect(a.to); err != nil {
			a.err = err
			continue
		}
		c.loop.dialing.add(c)
		return
	}
	c.serverFailed(a.err)
}

// connect makes a socket that is connecting.
func (c *loopConn) connect(to netip.AddrPort) error {
	family, addr := sockaddr(to)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	c.upstream.fd = fd
	c.upstream.readable, c.upstream.writable, c.upstream.hungUp = false, false, false // what an address before has left
	if err := tune(fd, c.loop.server.cfg.probes()); err != nil {
		c.loop.forget(&c.upstream, true)
		return err
	}
	if err := unix.Connect(fd, addr); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		c.loop.forget(&c.upstream, true)
		return dialError(to, err)
	}
	if err := c.loop.register(&c.upstream, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|unix.EPOLLET); err != nil {
		c.loop.forget(&c.upstream, true)
		return err
	}
	c.upstream.asksWrite = true
	return nil
}

// connected goes on when the system has said how connecting went.
func (c *loopConn) connected() {
	code, err := unix.GetsockoptInt(c.upstream.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err == nil && !c.upstream.writable {
		return // the first news can be of something else
	}
	c.deadline.stop()
	if err != nil {
		c.tryNext(dialError(c.attempt.to, err))
		return
	}
	if header := c.proxyHeader(); header != nil {
		if n, err := unix.Write(c.upstream.fd, header); n < len(header) {
			c.tryNext(dialError(c.attempt.to, errors.Join(err, errors.New("PROXY header not taken"))))
			return
		}
	}
	c.loop.server.dialed(c.server, nil)
	c.attempt = nil
	c.stage = stageRelaying
	if c.wire.LoggingIn() {
		c.loop.opening.add(c)
	}
	if c.client.held() && !c.client.shown() {
		return
	}
	c.flow()
}

// timedOut: the system had no answer in time.
func (c *loopConn) timedOut() {
	c.tryNext(dialError(c.attempt.to, os.ErrDeadlineExceeded))
}

func (c *loopConn) tryNext(err error) {
	c.attempt.err = err
	c.loop.forget(&c.upstream, true)
	c.nextAddress()
}

// serverFailed gives up on a server.
func (c *loopConn) serverFailed(err error) {
	c.attempt.err = err
	c.loop.server.dialed(c.server, err)
	c.server.Closed()
	c.server = nil
	if errors.Is(err, context.Canceled) {
		c.attempt.servers = nil
	}
	c.nextServer()
}

// dialError is worded as package net words it.
func dialError(to netip.AddrPort, err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		err = os.NewSyscallError("connect", errno)
	}
	return &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to), Err: err}
}

func sockaddr(to netip.AddrPort) (family int, addr unix.Sockaddr) {
	ip := to.Addr().Unmap()
	if ip.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: ip.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(to.Port()), Addr: ip.As16(), ZoneId: zoneID(ip.Zone())}
}

func zoneID(zone string) uint32 {
	if zone == "" {
		return 0
	}
	if i, err := net.InterfaceByName(zone); err == nil {
		return uint32(i.Index) //nolint:gosec // an index
	}
	n, _ := strconv.ParseUint(zone, 10, 32)
	return uint32(n)
}
