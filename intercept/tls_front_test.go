package intercept

import (
	"context"
	"crypto/tls"
	"fmt"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/intercept/tlsfiles"
	"github.com/hs2proxy/hs2proxy/thrift"
)

// converse is a session with a statement, over binary or HTTP.
func converse(ctx context.Context, addr string, http bool) error {
	if !http {
		return talk(ctx, addr)
	}
	c, done, err := hs2test.DialHTTP(addr, "bi", "s3cret")
	if err != nil {
		return err
	}
	defer done()
	session, err := c.Open(ctx, nil)
	if err != nil {
		return err
	}
	_, err = c.Execute(ctx, session, "select a.x, b.y from a join b on a.id = b.id", false)
	return err
}

func forHost(cfg *tls.Config) func(string) *tls.Config {
	return func(host string) *tls.Config {
		cfg := cfg.Clone()
		cfg.ServerName = host
		return cfg
	}
}

// TestTLS: TLS ended here, begun here, or both, each side with and without certificates of the callers; all is observed.
func TestTLS(t *testing.T) {
	ca := newAuthority(t)
	forWays(t, func(t *testing.T, w way) {
		for _, tc := range []struct{ fromClient, toServer, mutual, http bool }{
			{true, false, false, false},
			{true, false, false, true},
			{false, true, false, false},
			{false, true, false, true},
			{true, true, true, false},
			{true, true, true, true},
		} {
			t.Run(fmt.Sprintf("%+v", tc), func(t *testing.T) {
				hive, err := hs2test.Start(hs2test.Config{HTTP: tc.http})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(hive.Close)
				cfg := Config{Address: hive.Addr()}
				if tc.toServer {
					cfg.Address = tunnel(t, ca.serving(t, "hive", tc.mutual), nil, hive.Addr())
					cfg.ServerTLS = forHost(ca.calling(t, tc.mutual))
				}
				if tc.fromClient {
					cfg.ClientTLS = ca.serving(t, "proxy", tc.mutual)
				}
				r := w.rig(t, cfg)
				addr := r.addr
				if tc.fromClient {
					addr = tunnel(t, nil, ca.calling(t, tc.mutual), r.addr)
				}
				if err := converse(t.Context(), addr, tc.http); err != nil {
					t.Fatal(err)
				}
				if got := r.events(2); got[0] != "opened" {
					t.Errorf("events %q", got)
				}
				r.failed()
				if blind := r.server.Stats().Blind; len(blind) > 0 {
					t.Errorf("blind: %v", blind)
				}
			})
		}
	})
}

// TestTLSWithoutCertificate: who has no certificate where one is asked for does not get in, on either side.
func TestTLSWithoutCertificate(t *testing.T) {
	ca := newAuthority(t)
	hive := newScript(t)
	r := looped.rig(t, Config{Address: hive.addr, ClientTLS: ca.serving(t, "proxy", true)})
	if err := converse(t.Context(), tunnel(t, nil, ca.calling(t, false), r.addr), false); err == nil {
		t.Error("a client without a certificate is let in")
	}
	r.failed("client login")
	if len(hive.conns) > 0 {
		t.Error("HiveServer2 was connected to")
	}

	other := newAuthority(t)
	r = looped.rig(t, Config{
		Address:   tunnel(t, other.serving(t, "hive", false), nil, hive.addr),
		ServerTLS: forHost(ca.calling(t, false)),
	})
	if err := converse(t.Context(), r.addr, false); err == nil {
		t.Error("a HiveServer2 of another authority is believed")
	}
	r.failed("HiveServer2 connect")
	if stats := r.server.Stats(); stats.FailedDials != 1 || stats.BytesFromClients != 0 {
		t.Errorf("stats %+v", stats)
	}
}

// TestTLSPassedThrough: without a certificate of ours TLS goes through unread.
func TestTLSPassedThrough(t *testing.T) {
	ca := newAuthority(t)
	forWays(t, func(t *testing.T, w way) {
		hive, err := hs2test.Start(hs2test.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(hive.Close)
		r := w.rig(t, Config{Address: tunnel(t, ca.serving(t, "hive", true), nil, hive.Addr())})
		if err := converse(t.Context(), tunnel(t, nil, ca.calling(t, true), r.addr), false); err != nil {
			t.Fatal(err)
		}
		r.failed()
		if blind := r.server.Stats().Blind; blind[thrift.BlindTLS] != 1 {
			t.Errorf("blind: %v", blind)
		}
	})
}

// TestTLSOrPlain: one port serves both; where TLS is required, nothing of a plain client is forwarded.
func TestTLSOrPlain(t *testing.T) {
	ca := newAuthority(t)
	forWays(t, func(t *testing.T, w way) {
		for _, required := range []bool{false, true} {
			hive, err := hs2test.Start(hs2test.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(hive.Close)
			r := w.rig(t, Config{Address: hive.Addr(), ClientTLS: ca.serving(t, "proxy", false), TLSRequired: required})
			if err := converse(t.Context(), r.addr, false); (err != nil) != required {
				t.Errorf("plain: %v, TLS required: %v", err, required)
			}
			if required {
				r.failed("client login")
				if hive.Accepted() != 0 || r.server.Stats().BytesFromClients != 0 {
					t.Errorf("HiveServer2 was connected to, %+v", r.server.Stats())
				}
			}
			if err := converse(t.Context(), tunnel(t, nil, ca.calling(t, false), r.addr), false); err != nil {
				t.Errorf("TLS: %v", err)
			}
			r.over()
		}
	})
}

// TestTLSHandshakes that never come to an end: garbage, silence in the middle, silence after it, an end in the middle.
func TestTLSHandshakes(t *testing.T) {
	ca := newAuthority(t)
	forWays(t, func(t *testing.T, w way) {
		for _, tc := range []struct {
			name string
			sent []byte
			end  bool
		}{
			{"garbage", []byte("\x16\x03\x01\x00\x05hello there"), false},
			{"stalled", []byte{0x16, 3, 1}, false},
			{"left", []byte{0x16, 3, 1}, true},
		} {
			t.Run(tc.name, func(t *testing.T) {
				hive := newScript(t)
				r := w.rig(t, Config{Address: hive.addr, ClientTLS: ca.serving(t, "proxy", false), LoginTimeout: 50 * time.Millisecond})
				client := dialTo(t, r.addr)
				writes(t, client, tc.sent)
				if tc.end {
					_ = client.CloseWrite()
				}
				ends(t, client)
				r.failed("client login")
				if len(hive.conns) > 0 {
					t.Error("HiveServer2 was connected to")
				}
			})
		}
		t.Run("silent after it", func(t *testing.T) {
			r := w.rig(t, Config{Address: newScript(t).addr, ClientTLS: ca.serving(t, "proxy", false), LoginTimeout: 200 * time.Millisecond})
			client := tls.Client(dialTo(t, r.addr), ca.calling(t, false))
			_ = client.Handshake() // in time or not
			ends(t, client)
			r.failed("client login")
		})
	})
}

// TestTLSReload: the next connection is shown the new certificate; those there go on.
func TestTLSReload(t *testing.T) {
	ca, dir := newAuthority(t), t.TempDir()
	hive := newScript(t)
	certFile, keyFile := ca.write(t, dir, "old")
	files, err := tlsfiles.Server(tlsfiles.ServerFiles{Cert: certFile, Key: keyFile})
	if err != nil {
		t.Fatal(err)
	}
	r := looped.rig(t, Config{Address: hive.addr, ClientTLS: files.Config()})
	shown := func() (conn *tls.Conn, name string) {
		conn = tls.Client(dialTo(t, r.addr), ca.calling(t, false))
		if err := conn.Handshake(); err != nil {
			t.Fatal(err)
		}
		return conn, conn.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	first, name := shown()
	if name != "old" {
		t.Errorf("shown %s", name)
	}
	writes(t, first, hs2test.Plain("bi", "x"))
	server := hive.next(t)
	receives(t, server, hs2test.Plain("bi", "x"))
	ca.write(t, dir, "new")
	if err := files.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, name := shown(); name != "new" {
		t.Errorf("shown %s after the reload", name)
	}
	says(t, server, first, complete)
}
