package intercept

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/intercept/proxyheader"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// stageOf is a point in a connection's life.
type stageOf struct {
	name string
	// lazy has the client speak before HiveServer2 is connected to; lost holds up the look-up of HiveServer2's name.
	lazy, lost bool
	// come brings a connection there; server is nil where there is none yet.
	come func(t *testing.T, client, server net.Conn)
	// open: an end now interrupts something.
	open bool
}

// bigFrame is the size of frames that are spliced, and of which only a part is sent.
const bigFrame = 64 << 20

func stages() []stageOf {
	loggedIn := func(after func(t *testing.T, client, server net.Conn)) func(*testing.T, net.Conn, net.Conn) {
		return func(t *testing.T, client, server net.Conn) {
			logIn(t, client, server)
			after(t, client, server)
		}
	}
	nothing := func(*testing.T, net.Conn, net.Conn) {}
	return []stageOf{
		{"opening", true, false, nothing, false},
		{"in a PROXY header", true, false, func(t *testing.T, client, _ net.Conn) { writes(t, client, []byte("PROXY TCP4 192")) }, true},
		{"dialing", false, true, nothing, false},
		{"dialing with bytes", false, true, func(t *testing.T, client, _ net.Conn) { writes(t, client, hs2test.Plain("bi", "x")) }, false},
		{"connected", false, false, nothing, false},
		{"in the login", false, false, func(t *testing.T, client, server net.Conn) { says(t, client, server, hs2test.Plain("bi", "x")[:8]) }, true},
		{"logged in", false, false, loggedIn(nothing), false},
		{"in a call", false, false, loggedIn(func(t *testing.T, client, server net.Conn) { says(t, client, server, fetchCall()) }), true},
		{"splicing a call", false, false, loggedIn(func(t *testing.T, client, server net.Conn) {
			call := longReply(bigFrame, 1<<20)
			call[7] = 1
			says(t, client, server, call)
		}), true},
		{"splicing a reply", false, false, loggedIn(func(t *testing.T, client, server net.Conn) {
			says(t, client, server, fetchCall())
			says(t, server, client, longReply(bigFrame, 1<<20))
		}), true},
	}
}

// reach brings a connection to the stage. found lets the look-up of HiveServer2's name go on.
func (s stageOf) reach(t *testing.T, w way, cfg Config, hive *script) (r *rig, client, server *net.TCPConn, found func()) {
	t.Helper()
	cfg.Address = hive.addr
	if s.lazy {
		cfg.ReadProxyHeader, cfg.Trusted = true, loopback(t)
	}
	if s.lost {
		cfg.Address = strings.Replace(hive.addr, "127.0.0.1", "hive.test", 1)
	}
	known := make(chan struct{})
	found = func() { close(known) }
	r = w.rig(t, cfg, func(server *Server) {
		if !s.lost {
			return
		}
		server.resolver = upstream.NewResolver(upstream.ResolverOptions{Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			select {
			case <-known:
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}})
		dial := server.dial
		server.dial = func(ctx context.Context, address string) (net.Conn, error) {
			addresses, err := server.resolver.Resolve(ctx, address)
			if err != nil {
				return nil, err
			}
			return dial(ctx, addresses[0].String())
		}
	})
	client = dialTo(t, r.addr)
	eventually(t, "the connection", func() bool { return r.server.Stats().Accepted == 1 })
	if !s.lazy && !s.lost {
		server = hive.next(t)
		eventually(t, "the proxy's part of it", func() bool { return r.server.Stats().Dials == 1 })
	}
	s.come(t, client, server)
	return r, client, server, found
}

func loopback(t *testing.T) proxyheader.Trusted {
	t.Helper()
	trusted, err := proxyheader.ParsePrefixes([]string{"127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	return trusted
}
