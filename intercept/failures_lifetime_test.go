package intercept_test

import (
	"io"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// TestFailureServerRestartNotNoticed: idle clients and clients with a call outstanding learn at once that the server is gone, and
// when it is back on its address the next connection works.
func TestFailureServerRestartNotNoticed(t *testing.T) {
	forEachTransport(t, func(t *testing.T, tr transport) {
		hive := tr.fake(t, nil)
		entered := make(chan struct{}, 1)
		hive.Override("GetInfo", func(x *hs2test.Exchange) error {
			entered <- struct{}{}
			<-x.Done()
			return errStopped
		})
		p := newProxy(t, hive.Addr(), intercept.Config{})
		// The tape's client half speaks; the fake answers.
		idle, busy := dial(t, p.addr), dial(t, p.addr)
		for _, conn := range []net.Conn{idle, busy} {
			converse(t, conn, tr)
		}
		if _, err := busy.Write(tr.call(message("GetInfo", 1, 2, aSession())).data); err != nil {
			t.Fatal(err)
		}
		<-entered
		addr := hive.Addr()
		hive.Close()
		gone(t, idle)
		gone(t, busy)
		again, err := hs2test.StartAt(addr, tr.hive)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(again.Close)
		if _, err := tr.dial(t, p.addr).Open(t.Context(), nil); err != nil {
			t.Errorf("after the restart: %v", err)
		}
		if n := again.Accepted(); n != 1 {
			t.Errorf("%d connections to the server that came back: something of the old ones was sent again", n)
		}
	})
}

// converse logs in and has one call answered.
func converse(t *testing.T, conn net.Conn, tr transport) {
	t.Helper()
	for _, l := range tr.login {
		if !l.byServer {
			if _, err := conn.Write(l.data); err != nil {
				t.Fatal(err)
			}
		} else if _, err := io.ReadFull(conn, make([]byte, len(l.data))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Write(tr.call(openCall(1)).data); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
}

// TestFailureSilenceCut: a call stays silent for 301 s, then for 1,800 s, the times at which proxies and firewalls cut. The clock is
// shortened: one run of the half-close timer, set to a millisecond instead of its second, stands for ten seconds. Every other
// duration of the configuration, those of later versions too, is a second; that passes as well.
func TestFailureSilenceCut(t *testing.T) {
	cfg := intercept.Config{}
	fields := reflect.ValueOf(&cfg).Elem()
	for i := range fields.NumField() {
		if d, ok := fields.Field(i).Addr().Interface().(*time.Duration); ok {
			*d = time.Second
		}
	}
	cfg.HalfClose, cfg.KeepAlive = time.Millisecond, time.Millisecond
	hive := newTape(t)
	p := newProxy(t, hive.addr, cfg)
	type silent struct {
		transport
		client, server net.Conn
	}
	var all []silent
	for _, tr := range transports() {
		client, server := hive.connect(t, p)
		pass(t, client, server, append(tr.query(), tr.call(executeCall(4, "slow")))...)
		all = append(all, silent{tr, client, server})
	}
	start, runs := time.Now(), 0
	for _, silence := range []int{31, 180} {
		for ; runs < silence || silence == 180 && time.Since(start) < 1200*time.Millisecond; runs++ {
			halfClose(t, hive, p)
		}
		for _, s := range all {
			pass(t, s.client, s.server, s.reply(executeReply(4)), s.call(fetchCall(5)), s.reply(fetchReply(5, "x")), s.call(executeCall(4, "slow")))
		}
	}
}

// halfClose lasts one half-close timer: the client closes its side, the server never does, and the proxy ends both.
func halfClose(t *testing.T, hive *tape, p *proxied) {
	t.Helper()
	client, server := hive.connect(t, p)
	defer func() { _, _ = client.Close(), server.Close() }()
	pass(t, client, server, transports()[0].login...)
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	gone(t, client)
}

// TestFailureClientGoneServerWorksOn: the server learns at once that the client has gone, also while a call is outstanding: of a
// reset by the end of the connection, of a close by the end of what the client sends, as without the proxy.
func TestFailureClientGoneServerWorksOn(t *testing.T) {
	for _, how := range []string{"close", "reset", "killed with unread bytes"} {
		t.Run(how, func(t *testing.T) {
			forEachWire(t, func(t *testing.T, tr transport) {
				hive := newTape(t)
				p := tr.proxy(t, hive.addr, intercept.Config{})
				client, server := hive.connect(t, p)
				pass(t, client, server, append(tr.query(), tr.call(executeCall(4, "slow")))...)
				switch how {
				case "reset":
					if err := socket(client).SetLinger(0); err != nil {
						t.Fatal(err)
					}
				case "killed with unread bytes":
					if _, err := server.Write(tr.reply(fetchReply(9, "x")).data[:50]); err != nil {
						t.Fatal(err)
					}
					if _, err := client.Read(make([]byte, 1)); err != nil {
						t.Fatal(err)
					}
				}
				if err := socket(client).Close(); err != nil {
					t.Fatal(err)
				}
				if extra := gone(t, server); len(extra) > 0 {
					t.Errorf("%q sent for a client that has gone", extra)
				}
				// Whoever only closed its side still waits for the reply; writing it tells. TLS leaves no byte of a record unread.
				if how == "close" || tr.secure && how != "reset" {
					for range 2 {
						_, _ = server.Write(tr.reply(executeReply(4)).data)
					}
					_ = server.Close()
				}
				eventually(t, "the end", func() bool { return p.server.Stats().Open == 0 })
			})
		})
	}
}

// TestFailureHalfCloseLosesTheReply: a client that only stops sending gets the reply that is outstanding, and all of it.
func TestFailureHalfCloseLosesTheReply(t *testing.T) {
	forEachWire(t, func(t *testing.T, tr transport) {
		hive := newTape(t)
		p := tr.proxy(t, hive.addr, intercept.Config{HalfClose: time.Millisecond})
		client, server := hive.connect(t, p)
		pass(t, client, server, append(tr.query(), tr.call(fetchCall(4)))...)
		if err := client.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if extra, err := io.ReadAll(server); err != nil || len(extra) > 0 {
			t.Fatalf("%q, %v", extra, err)
		}
		for range 5 { // more than one timer would have run out
			halfClose(t, hive, p)
		}
		reply := tr.reply(filled(fetchReply(4, "#MARK#"), 1<<20))
		half := len(reply.data) / 2
		pass(t, client, server, answers(reply.data[:half]))
		for range 5 {
			halfClose(t, hive, p)
		}
		pass(t, client, server, answers(reply.data[half:]))
		_ = server.Close()
		if extra, err := io.ReadAll(client); err != nil || len(extra) > 0 {
			t.Errorf("%q, %v", extra, err)
		}
		eventually(t, "the end", func() bool { return p.server.Stats().Open == 0 })
	})
}
