package intercept

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// TestLoopPostAfterItsEnd: what comes too late for a loop (a name that was being looked up, a rest of a listener) does not write to the
// descriptor that has the loop's number by then.
func TestLoopPostAfterItsEnd(t *testing.T) {
	l, err := newLoop(&Server{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.free()
	other := -1
	for other != l.wake { // the lowest free number is taken
		if other, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
			t.Fatal(err)
		}
		fd := other
		t.Cleanup(func() { _ = unix.Close(fd) })
		if other > l.wake {
			t.Skip("the number was taken by something else")
		}
	}
	l.post(func() { t.Error("called") })
	if _, err := unix.Read(other, make([]byte, 8)); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("another's descriptor was written to: %v", err)
	}
}

// TestLoopNextAddress: a connection knows nothing of the address that refused it before.
func TestLoopNextAddress(t *testing.T) {
	hive := newScript(t)
	_, port, err := net.SplitHostPort(hive.addr)
	if err != nil {
		t.Fatal(err)
	}
	r := looped.rig(t, Config{Address: net.JoinHostPort("hive.test", port)}, func(s *Server) {
		s.resolver = upstream.NewResolver(upstream.ResolverOptions{Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.9"), netip.MustParseAddr("127.0.0.1")}, nil
		}})
	})
	client, server := hive.connect(t, r.addr)
	logIn(t, client, server)
	inLoops(r.server, func(c *loopConn) {
		if c.upstream.hungUp {
			t.Error("the end of the address before is taken for this one's")
		}
	})
}
