package intercept_test

import (
	"bufio"
	"fmt"
	"net/http"
	"testing"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// TestRouteKeptConnectionEnds: a server closes a connection that it was not asked anything on. The client's stays, and the next
// request for this server finds a new one.
func TestRouteKeptConnectionEnds(t *testing.T) {
	f := newTaped(t, 2)
	for i, name := range []byte("ab") { // b is where the last request went
		if err := f.ends[i].Close(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the end of the connection", func() bool { return f.open(string(name)) == 1 })
	}
	for i, name := range []byte("ba") {
		call := posted(sessionCall(1, name))
		if _, err := f.client.Write(call); err != nil {
			t.Fatal(err)
		}
		f.ends[i] = f.at(t, 1-i)
		hears(t, f.ends[i], call)
		pass(t, f.client, f.ends[i], answers(answered(infoReply(1))))
	}
	for _, end := range f.ends {
		_ = end.CloseWrite()
	}
	if err := f.client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for _, conn := range append(f.ends, f.client) {
		if extra := gone(t, conn); len(extra) > 0 {
			t.Errorf("%q at the end", extra)
		}
	}
}

// TestRouteNothingSentTwice: a call whose server ends the connection is not sent again, to whatever server; the client sees the end.
func TestRouteNothingSentTwice(t *testing.T) {
	for name, tt := range map[string]struct {
		read  int // bytes of the call
		reset bool
		part  string // of a reply
	}{
		"closed after the call": {read: 1 << 20},
		"reset after the call":  {read: 1 << 20, reset: true},
		"reset in the call":     {read: 30, reset: true},
		"closed in the reply":   {read: 1 << 20, part: "HTTP/1.1 200 OK\r\nContent-Le"},
		"100 and closed":        {read: 1 << 20, part: "HTTP/1.1 100 Continue\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTaped(t, 2)
			accepted := f.tapes[0].accepted.Load() + f.tapes[1].accepted.Load()
			call := posted(sessionCall(1, 'a'))
			if _, err := f.client.Write(call); err != nil {
				t.Fatal(err)
			}
			hears(t, f.ends[0], call[:min(len(call), tt.read)])
			pass(t, f.client, f.ends[0], answers([]byte(tt.part)))
			if tt.reset {
				if err := f.ends[0].SetLinger(0); err != nil {
					t.Fatal(err)
				}
			}
			_ = f.ends[0].Close()
			if extra := gone(t, f.client); len(extra) > 0 {
				t.Errorf("the client got %q", extra)
			}
			_ = f.client.Close()
			if extra := gone(t, f.ends[1]); len(extra) > 0 {
				t.Errorf("the other server got %q", extra)
			}
			eventually(t, "the end", func() bool { return f.server.Stats().Open == 2 }) // the two that opened the sessions
			if n := f.tapes[0].accepted.Load() + f.tapes[1].accepted.Load() - accepted; n != 0 {
				t.Errorf("%d further connections", n)
			}
		})
	}
}

// TestRouteClientGone: a client that leaves takes its connections to all servers with it, in the middle of a call, too.
func TestRouteClientGone(t *testing.T) {
	for _, asked := range []string{"", "a", "half of a"} {
		t.Run(fmt.Sprintf("asked %q", asked), func(t *testing.T) {
			f := newTaped(t, 2)
			call := posted(sessionCall(1, 'a'))
			switch asked {
			case "a":
				pass(t, f.client, f.ends[0], says(call))
			case "half of a":
				pass(t, f.client, f.ends[0], says(call[:len(call)-1]))
			}
			_ = f.client.Close()
			for i, end := range f.ends {
				if extra := gone(t, end); len(extra) > 0 {
					t.Errorf("server %d got %q", i, extra)
				}
				_ = end.Close()
			}
			eventually(t, "the end", func() bool { return f.server.Stats().Open == 2 && f.open("a") == 1 && f.open("b") == 1 })
		})
	}
}

// TestRouteHalfClose: a client that closes its side still gets the reply it waits for.
func TestRouteHalfClose(t *testing.T) {
	f := newTaped(t, 2)
	call, reply := posted(sessionCall(1, 'a')), answered(infoReply(1))
	pass(t, f.client, f.ends[0], says(call))
	if err := f.client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for _, end := range f.ends {
		if extra := gone(t, end); len(extra) > 0 {
			t.Errorf("%q at the end", extra)
		}
	}
	if _, err := f.ends[0].Write(reply); err != nil {
		t.Fatal(err)
	}
	if got := gone(t, f.client); string(got) != string(reply) {
		t.Errorf("the client got %q", got)
	}
}

// TestRouteCloseIsTold: where client or server has said that the connection ends, its end reaches the client.
func TestRouteCloseIsTold(t *testing.T) {
	for name, tt := range map[string]struct{ asked, answered string }{
		"by the client": {"Connection: close", "A: b"},
		"by the server": {"A: b", "connection: Close"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTaped(t, 2)
			call, reply := sessionCall(1, 'a'), infoReply(1)
			pass(t, f.client, f.ends[0],
				says(request(call, post, "Host: h", tt.asked, length(call))), answers(response(reply, "HTTP/1.1 200 OK", tt.answered, length(reply))))
			if err := f.ends[0].Close(); err != nil {
				t.Fatal(err)
			}
			if extra := gone(t, f.client); len(extra) > 0 {
				t.Errorf("the client got %q", extra)
			}
			_ = f.client.Close()
			gone(t, f.ends[1])
		})
	}
}

// TestRouteUnaskedIsDropped: a server that says something on a connection that nobody waits on, a time-out page for one, loses this
// connection, and the client never sees it.
func TestRouteUnaskedIsDropped(t *testing.T) {
	f := newTaped(t, 2)
	for _, end := range f.ends {
		if _, err := end.Write(response(nil, "HTTP/1.1 408 Request Timeout", "Content-Length: 0")); err != nil {
			t.Fatal(err)
		}
	}
	for _, end := range f.ends {
		gone(t, end)
	}
	call := posted(sessionCall(1, 'b'))
	if _, err := f.client.Write(call); err != nil {
		t.Fatal(err)
	}
	f.ends[1] = f.at(t, 1)
	hears(t, f.ends[1], call)
	pass(t, f.client, f.ends[1], answers(answered(infoReply(1))))
	f.observed(t)
}

// TestRouteUnknownSessionStays: a session that was opened out of our sight is where the connection's requests went; when that server
// cannot be reached any more, no other gets the call.
func TestRouteUnknownSessionStays(t *testing.T) {
	fakes, addresses := newFakes(t, 2, hs2test.Config{})
	f := newFleet(t, addresses...)
	client := dial(t, f.addr)
	setDeadline(t, client)
	call := posted(sessionCall(1, 'x'))
	if _, err := client.Write(call); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	current, other := fakes[0], fakes[1]
	if len(other.Calls()) > 0 {
		current, other = other, current
	}
	current.Close()
	eventually(t, "the end of the connection", func() bool { return f.open("a")+f.open("b") == 0 })
	if _, err := client.Write(call); err != nil {
		t.Fatal(err)
	}
	if extra := gone(t, client); len(extra) > 0 {
		t.Errorf("the client got %q", extra)
	}
	if calls := other.Calls(); len(calls) > 0 {
		t.Errorf("the other server got %q", calls)
	}
}
