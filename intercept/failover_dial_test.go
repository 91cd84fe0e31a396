package intercept

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
)

// setOf is servers at these addresses, named by them.
func setOf(t *testing.T, addresses ...string) *upstream.Set {
	t.Helper()
	var all []upstream.Server
	for _, a := range addresses {
		all = append(all, upstream.Server{ID: a, Binary: a, HTTP: a})
	}
	set, err := upstream.NewStatic(all, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	return set
}

// closedPort is an address that refuses connections.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	return ln.Addr().String()
}

func open(set *upstream.Set) map[string]int64 {
	all := map[string]int64{}
	for _, s := range set.Snapshot() {
		all[s.ID] = s.Open
	}
	return all
}

// TestLeastConnections: each of three servers gets its share, a session names its server, and one that a client left is next.
func TestLeastConnections(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		var addresses []string
		hives := map[string]*hs2test.Server{}
		for range 3 {
			hive, err := hs2test.Start(hs2test.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(hive.Close)
			addresses, hives[hive.Addr()] = append(addresses, hive.Addr()), hive
		}
		set := setOf(t, addresses...)
		r := w.rig(t, Config{Servers: set})
		clients := map[string]*hs2test.Client{} // the latest by server
		for range 9 {
			c := r.dial()
			if _, err := c.Open(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			live := r.server.Sessions()
			clients[live[len(live)-1].Session.Server] = c
		}
		for _, a := range addresses {
			if n, sessions, _ := hives[a].Open(); n != 3 || sessions != 3 || open(set)[a] != 3 {
				t.Errorf("%s: %d connections, %d sessions, %d counted", a, n, sessions, open(set)[a])
			}
		}
		_ = clients[addresses[1]].Conn.Close()
		eventually(t, "the end of one", func() bool { return open(set)[addresses[1]] == 2 })
		r.dial()
		if got := open(set)[addresses[1]]; got != 3 {
			t.Errorf("%d connections on the server with the fewest", got)
		}
	})
}

// TestFailover: while the first server refuses, cannot be found or does not answer, the next one gets the client, its first bytes
// included; the failures are counted and nobody is told.
func TestFailover(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		for name, broken := range map[string]func(*testing.T) string{"refused": closedPort, "black hole": blackHole} {
			t.Run(name, func(t *testing.T) {
				hive, err := hs2test.Start(hs2test.Config{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(hive.Close)
				bad := broken(t)
				set := setOf(t, bad, hive.Addr())
				r := w.rig(t, Config{Servers: set, DialTimeout: 50 * time.Millisecond})
				// Whatever turn it is: one of two connects begins with the broken one, unless it is known to be.
				for range 2 {
					c := r.dial()
					if _, err := c.Open(t.Context(), nil); err != nil {
						t.Fatal(err)
					}
				}
				for _, s := range r.server.Sessions() {
					if s.Session.Server != hive.Addr() || s.Connection.Server != hive.Addr() {
						t.Errorf("session %+v on %+v", s.Session, s.Connection)
					}
				}
				if got := open(set); got[bad] != 0 || got[hive.Addr()] != 2 {
					t.Errorf("open: %v", got)
				}
				if stats := r.server.Stats(); stats.FailedDials == 0 || stats.Dials != stats.FailedDials+2 {
					t.Errorf("dials: %+v", stats)
				}
				if got := r.log.failures(t); len(got) > 0 {
					t.Errorf("failures %q", got)
				}
			})
		}
	})
}

// TestAllDown: the client is closed, before it spoke where that is all the same, and one line says so.
func TestAllDown(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		for _, cfg := range []Config{{Servers: setOf(t, closedPort(t), closedPort(t))}, {Address: closedPort(t)}} {
			r := w.rig(t, cfg)
			client := dialTo(t, r.addr)
			if cfg.Servers != nil {
				writes(t, client, hs2test.Plain("bi", "x"))
			}
			if got := ends(t, client); len(got) > 0 {
				t.Errorf("%q came", got)
			}
			r.failed("HiveServer2 connect")
			if stats := r.server.Stats(); stats.BytesFromClients != 0 || stats.FailedDials == 0 {
				t.Errorf("stats %+v", stats)
			}
		}
	})
}

// TestHostName: a name is looked up away from the loops, which serve others meanwhile; of its addresses the next is tried when one
// does not answer.
func TestHostName(t *testing.T) {
	hive := newScript(t)
	_, port, _ := net.SplitHostPort(hive.addr)
	set := setOf(t, net.JoinHostPort("hive.test", port))
	asked, answer := make(chan struct{}), make(chan struct{})
	r := looped.rig(t, Config{Servers: set}, func(s *Server) {
		s.resolver = upstream.NewResolver(upstream.ResolverOptions{Lookup: func(context.Context, string) ([]netip.Addr, error) {
			close(asked)
			<-answer
			return []netip.Addr{netip.MustParseAddr("127.0.0.9"), netip.MustParseAddr("127.0.0.1")}, nil
		}})
	})
	first := dialTo(t, r.addr)
	writes(t, first, hs2test.Plain("bi", "x"))
	<-asked
	if err := set.Replace([]upstream.Server{{ID: "other", Binary: hive.addr}}); err != nil {
		t.Fatal(err)
	}
	second, server := dialTo(t, r.addr), (*net.TCPConn)(nil)
	writes(t, second, hs2test.Plain("bi", "y"))
	server = hive.next(t)
	receives(t, server, hs2test.Plain("bi", "y"))
	close(answer)
	late := hive.next(t)
	receives(t, late, hs2test.Plain("bi", "x"))
	says(t, late, first, complete)

	forWays(t, func(t *testing.T, w way) {
		r := w.rig(t, Config{Address: net.JoinHostPort("localhost", port)})
		client, server := hive.connect(t, r.addr)
		logIn(t, client, server)
	})
}

// TestServersReplaced: connections stay where they are, new ones go to the new servers.
func TestServersReplaced(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		before, after := newScript(t), newScript(t)
		set := setOf(t, before.addr)
		r := w.rig(t, Config{Servers: set})
		first, server := before.connect(t, r.addr)
		logIn(t, first, server)
		if err := set.Replace([]upstream.Server{{ID: after.addr, Binary: after.addr, HTTP: after.addr}}); err != nil {
			t.Fatal(err)
		}
		second, next := after.connect(t, r.addr)
		logIn(t, second, next)
		says(t, first, server, fetchCall())
		says(t, server, first, rowsReply(10))
		if got := open(set); got[before.addr] != 1 || got[after.addr] != 1 {
			t.Errorf("open: %v", got)
		}
		_, _ = first.Close(), second.Close()
		_, _ = server.Close(), next.Close()
		r.failed()
		if got := open(set); got[before.addr] != 0 || got[after.addr] != 0 {
			t.Errorf("open: %v", got)
		}
	})
}

// TestEagerAndLazy: HiveServer2 is connected to before the client speaks where nothing depends on its words, else with its first byte.
func TestEagerAndLazy(t *testing.T) {
	ca := newAuthority(t)
	forWays(t, func(t *testing.T, w way) {
		hive := newScript(t)
		eager := w.rig(t, Config{Address: hive.addr})
		hive.connect(t, eager.addr)
		for _, cfg := range []Config{
			{Address: hive.addr, ClientTLS: ca.serving(t, "proxy", false)},
			{Servers: setOf(t, hive.addr, closedPort(t))},
		} {
			r := w.rig(t, cfg)
			client := dialTo(t, r.addr)
			eventually(t, "the client", func() bool { return r.server.Stats().Accepted == 1 })
			if r.server.Stats().Dials > 0 {
				t.Error("connected before the client spoke")
			}
			writes(t, client, hs2test.Plain("bi", "x"))
			receives(t, hive.next(t), hs2test.Plain("bi", "x"))
		}
	})
}
