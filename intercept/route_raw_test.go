package intercept_test

import (
	"io"
	"net"
	"slices"
	"testing"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/upstream"
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

// TestRouteWithinTLS: the same within TLS on both sides.
func TestRouteWithinTLS(t *testing.T) {
	tr := transports()[2]
	tr.secure = true
	for _, name := range []string{"401 negotiation", "chunked", "error pages"} {
		t.Run(name, func(t *testing.T) {
			hive := newTape(t)
			set, err := upstream.NewStatic(servers(hive.addr, hive.addr), upstream.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = set.Close() })
			p := tr.proxy(t, "", intercept.Config{Servers: set})
			client, server := hive.connect(t, p)
			pass(t, client, server, httpConversations()[name]...)
			end(t, client, server)
			eventually(t, "the end", func() bool { return p.server.Stats().Open == 0 })
			if n := hive.accepted.Load(); n != 1 {
				t.Errorf("%d connections to HiveServer2", n)
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
