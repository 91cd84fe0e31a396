package intercept_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
)

// TestRouteVerbatim: everything said over HTTP arrives as it was said, in whatever pieces, where requests have a choice.
func TestRouteVerbatim(t *testing.T) {
	for name, lines := range httpConversations() {
		if name == "pipelined" {
			continue // TestRoutePipelined
		}
		t.Run(name, func(t *testing.T) {
			for _, cut := range []bool{false, true} {
				hive := newTape(t)
				f := newFleet(t, hive.addr, hive.addr)
				client := dial(t, f.addr)
				setDeadline(t, client)
				var from net.Conn = client
				if cut && len(slices.Concat(texts(lines)...)) < 8000 {
					from = slowly{client}
				}
				sent := make(chan error, 1)
				go func() {
					_, err := from.Write(lines[0].data)
					sent <- err
				}()
				server := (&taped{tapes: []*tape{hive}}).at(t, 0)
				hears(t, server, lines[0].data)
				if err := <-sent; err != nil {
					t.Fatal(err)
				}
				var to net.Conn = server
				if from != client {
					to = slowly{server}
				}
				pass(t, from, to, lines[1:]...)
				end(t, client, server)
				if n := hive.accepted.Load(); n != 1 {
					t.Errorf("%d connections to HiveServer2", n)
				}
				eventually(t, "the end", func() bool { return f.server.Stats().Open == 0 && f.open("a")+f.open("b") == 0 })
			}
		})
	}
}

// TestRouteInterleaved: calls of several sessions on one connection go to their servers, in pieces too, and chunked or compressed.
func TestRouteInterleaved(t *testing.T) {
	f := newTaped(t, 3)
	for i, name := range []byte("abcbacca") {
		call := sessionCall(int32(i), name)
		packed := zipped(call)
		said := [][]byte{
			posted(call),
			request(chunked(call, 5), post, "Host: h", "Transfer-Encoding: chunked"),
			request(packed, post, "Host: h", "Content-Encoding: gzip", length(packed)),
		}[i%3]
		end := f.ends[name-'a']
		sent := make(chan error, 1)
		go func() {
			_, err := slowly{f.client}.Write(said)
			sent <- err
		}()
		hears(t, end, said)
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		reply := infoReply(int32(i))
		pass(t, f.client, end, answers(response(chunked(reply, 7), "HTTP/1.1 200 OK", "Transfer-Encoding: chunked")))
	}
	f.observed(t)
}

// TestRoutePipelined: a request waits until the one before is answered, however early it was sent, so that replies keep their order.
func TestRoutePipelined(t *testing.T) {
	f := newTaped(t, 2)
	const rounds = 50
	first, second := posted(sessionCall(1, 'a')), posted(sessionCall(2, 'b'))
	replies := [][]byte{answered(infoReply(1)), answered(infoReply(2))}
	failed := make(chan error, 2)
	for i, call := range [][]byte{first, second} {
		go func() {
			for range rounds {
				if _, err := io.ReadFull(f.ends[i], make([]byte, len(call))); err != nil {
					failed <- err
					return
				}
				// The first answers slowly: the second would overtake it.
				if _, err := (slowly{f.ends[i]}).Write(replies[i][:len(replies[i])*(1-i)]); err != nil {
					failed <- err
					return
				}
				if _, err := f.ends[i].Write(replies[i][len(replies[i])*(1-i):]); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range rounds {
		if _, err := f.client.Write(slices.Concat(first, second)); err != nil {
			t.Fatal(err)
		}
		hears(t, f.client, slices.Concat(replies...))
	}
	for range 2 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	f.observed(t)
}

// TestRouteCookie: a request without a handle to see goes to the server that set its cookie, on another connection too.
func TestRouteCookie(t *testing.T) {
	f := newTaped(t, 2)
	cookie := `hive.server2.auth="cu=bi&rn=1&s=AbC="`
	call := posted(sessionCall(1, 'a'))
	pass(t, f.client, f.ends[0], says(call), answers(response(nil, "HTTP/1.1 200 OK", "Set-Cookie: "+cookie+"; Path=/", "Content-Length: 0")))
	// The other connection's last request went to b.
	other := dial(t, f.addr)
	setDeadline(t, other)
	call = posted(sessionCall(1, 'b'))
	if _, err := other.Write(call); err != nil {
		t.Fatal(err)
	}
	end := f.at(t, 1)
	hears(t, end, call)
	pass(t, other, end, answers(answered(infoReply(1))))

	call = sessionCall(2, 'x')
	head := request(nil, post, "Host: h", "Expect: 100-continue", "Cookie: "+cookie, length(call))
	if _, err := other.Write(head); err != nil {
		t.Fatal(err)
	}
	end = f.at(t, 0)
	hears(t, end, head)
	pass(t, other, end,
		answers(response(nil, "HTTP/1.1 100 Continue")), says(call), answers(answered(infoReply(2))),
		// An Expect that is refused: the next request may come in place of the body.
		says(head), answers(response(nil, "HTTP/1.1 401 Unauthorized", "Content-Length: 0")),
		says(posted(sessionCall(3, 'a'))), answers(answered(infoReply(3))))
	f.observed(t)
}

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
