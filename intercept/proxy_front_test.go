package intercept

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/intercept/proxyheader"
)

// from is where the clients of these tests say they come from.
var (
	from    = netip.MustParseAddrPort("192.0.2.7:4711")
	toFront = netip.MustParseAddrPort("198.51.100.1:10000")
)

func headerOf(version int) []byte {
	return proxyheader.Append(nil, version, from, toFront)
}

// TestProxyHeaderIn: a header of either version, whole with the first bytes behind it or one byte at a time, is taken off, and its
// client is the session's.
func TestProxyHeaderIn(t *testing.T) {
	fromClient, fromServer := conversation()
	forWays(t, func(t *testing.T, w way) {
		for _, version := range []int{1, 2} {
			for _, split := range []bool{false, true} {
				t.Run(fmt.Sprintf("v%d split %v", version, split), func(t *testing.T) {
					hive := newScript(t)
					r := w.rig(t, Config{Address: hive.addr, ReadProxyHeader: true, Trusted: loopback(t)})
					client := dialTo(t, r.addr)
					sent := slices.Concat(headerOf(version), fromClient)
					if split {
						for i := range headerOf(version) {
							writes(t, client, sent[i:i+1])
						}
						writes(t, client, fromClient)
					} else {
						writes(t, client, sent)
					}
					server := hive.next(t)
					receives(t, server, fromClient)
					says(t, server, client, fromServer)
					r.events(1)
					if live := r.server.Sessions(); len(live) != 1 || live[0].Session.ClientAddr != from.String() || live[0].Connection.ClientAddr != from.String() {
						t.Errorf("sessions %+v", live)
					}
					_ = client.Close()
					ends(t, server)
					_ = server.Close()
					r.failed()
				})
			}
		}
	})
}

// TestProxyHeaderMissing: a trusted peer must send one; of anybody else it is bytes like others.
func TestProxyHeaderMissing(t *testing.T) {
	elsewhere, err := proxyheader.ParsePrefixes([]string{"198.51.100.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	forWays(t, func(t *testing.T, w way) {
		for _, sent := range [][]byte{hs2test.Plain("bi", "x"), []byte("PROXY nonsense\r\n"), append(slices.Clone(headerOf(2)[:12]), 0x31, 0x11, 0, 0)} {
			hive := newScript(t)
			r := w.rig(t, Config{Address: hive.addr, ReadProxyHeader: true, Trusted: loopback(t)})
			client := dialTo(t, r.addr)
			writes(t, client, sent)
			ends(t, client)
			r.failed("client login")
			if len(hive.conns) > 0 {
				t.Errorf("HiveServer2 was connected to after %q", sent)
			}
		}
		hive := newScript(t)
		r := w.rig(t, Config{Address: hive.addr, ReadProxyHeader: true, Trusted: elsewhere})
		client, server := hive.connect(t, r.addr)
		says(t, client, server, headerOf(1))
		if got := r.server.Connections(); len(got) != 1 || got[0].ClientAddr != client.LocalAddr().String() {
			t.Errorf("connections %+v", got)
		}
	})
}

// TestProxyHeaderOut: HiveServer2 gets the header first, with the client and the address it connected to as the proxy knows them, then
// the client's bytes.
func TestProxyHeaderOut(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		for _, version := range []int{1, 2} {
			for _, in := range []bool{false, true} {
				t.Run(fmt.Sprintf("v%d in %v", version, in), func(t *testing.T) {
					hive := newScript(t)
					cfg := Config{Address: hive.addr, SendProxyHeader: version}
					if in {
						cfg.ReadProxyHeader, cfg.Trusted = true, loopback(t)
					}
					r := w.rig(t, cfg)
					client := dialTo(t, r.addr)
					source, reached := client.LocalAddr().(*net.TCPAddr).AddrPort(), netip.MustParseAddrPort(r.addr)
					if in {
						source, reached = from, toFront
						writes(t, client, headerOf(3-version))
					}
					login := hs2test.Plain("bi", "x")
					writes(t, client, login)
					server := hive.next(t)
					want := proxyheader.Append(nil, version, source, reached)
					receives(t, server, slices.Concat(want, login))
					if got := r.server.Stats().BytesFromClients; got > int64(len(login)) {
						t.Errorf("%d bytes counted, the header among them", got)
					}
				})
			}
		}
	})
}

// TestProxyHeaderAndTLS: the header comes before TLS on either side.
func TestProxyHeaderAndTLS(t *testing.T) {
	ca := newAuthority(t)
	forWays(t, func(t *testing.T, w way) {
		hive, err := hs2test.Start(hs2test.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(hive.Close)
		inner := w.rig(t, Config{ // ends TLS, behind a header
			Address: hive.Addr(), ReadProxyHeader: true, Trusted: loopback(t), ClientTLS: ca.serving(t, "inner", false),
		})
		outer := w.rig(t, Config{ // ends one and begins another, with a header of its own
			Address: inner.addr, SendProxyHeader: 2, ClientTLS: ca.serving(t, "outer", false), ServerTLS: forHost(ca.calling(t, false)),
		})
		c, err := hs2test.Dial(t.Context(), tunnel(t, nil, ca.calling(t, false), outer.addr), "bi", "x")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Conn.Close() }()
		if _, err := c.Open(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		a, b := inner.server.Sessions(), outer.server.Sessions()
		if len(a) != 1 || len(b) != 1 || a[0].Session.ClientAddr != b[0].Session.ClientAddr || a[0].Session.Server != hive.Addr() {
			t.Errorf("sessions %+v and %+v", a, b)
		}
	})
}

// httpCall sends a call that opens a session over HTTP, with X-Forwarded-For, on a connection of its own.
func httpCall(forwarded string) []byte {
	body := frameOf("OpenSession", 1, openRequest())[4:]
	head := fmt.Sprintf("POST /cliservice HTTP/1.1\r\nHost: hive\r\nContent-Type: application/x-thrift\r\nAuthorization: Basic Ymk6eA==\r\nContent-Length: %d\r\n", len(body))
	if forwarded != "" {
		head += "X-Forwarded-For: " + forwarded + "\r\n"
	}
	return append([]byte(head+"\r\n"), body...)
}

// TestForwardedFor: the header is believed of trusted peers only, for each request anew, and not of a client whom a trusted balancer
// names in a PROXY header.
func TestForwardedFor(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		for _, tc := range []struct {
			name        string
			trusted, in bool
			forwarded   []string
			want        []string // "": the connection's own
		}{
			{"untrusted", false, false, []string{"192.0.2.9"}, []string{""}},
			{"trusted", true, false, []string{"192.0.2.9"}, []string{"192.0.2.9"}},
			{"pooled", true, false, []string{"192.0.2.9", "192.0.2.10", ""}, []string{"192.0.2.9", "192.0.2.10", ""}},
			{"behind a PROXY header", true, true, []string{"192.0.2.9"}, []string{from.String()}},
		} {
			t.Run(tc.name, func(t *testing.T) {
				hive, err := hs2test.Start(hs2test.Config{HTTP: true})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(hive.Close)
				cfg := Config{Address: hive.Addr()}
				if tc.trusted {
					cfg.Trusted, cfg.ReadProxyHeader = loopback(t), tc.in
				}
				r := w.rig(t, cfg)
				client := dialTo(t, r.addr)
				if tc.in {
					writes(t, client, headerOf(1))
				}
				for i, forwarded := range tc.forwarded {
					writes(t, client, httpCall(forwarded))
					if got := statusOf(t, client); got != http.StatusOK {
						t.Fatalf("status %d", got)
					}
					want := tc.want[i]
					if want == "" {
						want = client.LocalAddr().String()
					}
					r.events(1)
					live := r.server.Sessions()
					if got := live[len(live)-1].Session.ClientAddr; got != want && !strings.HasPrefix(got, want+":") {
						t.Errorf("request %d: client %s, want %s", i, got, want)
					}
				}
			})
		}
	})
}
