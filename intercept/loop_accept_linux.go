package intercept

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// acceptMost is how many clients one wake-up takes in, so that those who are there already wait no longer.
const acceptMost = 8

// open begins to accept from a listening socket.
func (l *loop) open(fd int, accepted func()) {
	d := &door{fd: fd, accepted: accepted}
	l.doors = append(l.doors, d)
	if err := l.add(fd, unix.EPOLLIN|unix.EPOLLEXCLUSIVE, 0); err != nil {
		l.server.log.Error().Err(os.NewSyscallError("epoll_ctl", err)).Msg("an event loop accepts no connections")
	}
}

// shut ends that.
func (l *loop) shut(fd int) {
	l.doors = slices.DeleteFunc(l.doors, func(d *door) bool { return d.fd == fd })
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, fd, nil)
}

func (l *loop) door(fd int) *door {
	for _, d := range l.doors {
		if d.fd == fd {
			return d
		}
	}
	return nil
}

func (l *loop) accept(fd int) {
	d := l.door(fd)
	if d == nil {
		return // shut by an earlier event of this turn
	}
	for range acceptMost {
		client, addr, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
			d.tried = 0
			d.accepted()
			l.place(client, peerOf(addr))
		case errors.Is(err, unix.EAGAIN):
			return
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
		default:
			l.rest(d, err)
			return
		}
	}
}

// rest leaves a door alone until connections may have ended.
func (l *loop) rest(d *door, err error) {
	d.tried = l.server.acceptFailed(os.NewSyscallError("accept4", err), d.tried)
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, d.fd, nil)
	time.AfterFunc(d.tried, func() {
		l.post(func() {
			if slices.Contains(l.doors, d) {
				_ = l.add(d.fd, unix.EPOLLIN|unix.EPOLLEXCLUSIVE, 0)
			}
		})
	})
}

// place gives a client to this loop, or to one that has far fewer.
func (l *loop) place(client int, peer netip.AddrPort) {
	s := l.server
	c := &loopConn{}
	if s.cfg.SendProxyHeader > 0 {
		if local, err := unix.Getsockname(client); err == nil {
			c.reached = peerOf(local)
		}
	}
	if !s.begin(&c.relay, peer, peer.String()) {
		_ = unix.Close(client)
		return
	}
	to := l
	for _, other := range s.loops.running() {
		if n := other.conns.Load(); n+n/4+4 < to.conns.Load() {
			to = other
		}
	}
	to.conns.Add(1)
	if to == l {
		l.begin(c, client)
		return
	}
	to.post(func() { to.begin(c, client) })
}

// peerOf is an address as accept gives it.
func peerOf(addr unix.Sockaddr) netip.AddrPort {
	switch a := addr.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)) //nolint:gosec // a port
	case *unix.SockaddrInet6:
		ip := netip.AddrFrom16(a.Addr).Unmap()
		if a.ZoneId != 0 && ip.Is6() {
			ip = ip.WithZone(zone(int(a.ZoneId)))
		}
		return netip.AddrPortFrom(ip, uint16(a.Port)) //nolint:gosec // a port
	default:
		return netip.AddrPort{}
	}
}

func zone(index int) string {
	if i, err := net.InterfaceByIndex(index); err == nil {
		return i.Name
	}
	return ""
}
