package intercept_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/intercept"
)

// request and response are a head, its lines joined by CRLF, and a body.
func request(body []byte, head ...string) []byte {
	return append([]byte(strings.Join(head, "\r\n")+"\r\n\r\n"), body...)
}

var response = request

func length(b []byte) string { return fmt.Sprintf("Content-Length: %d", len(b)) }

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// chunked is a body in chunks of at most n bytes, with an extension and a trailer.
func chunked(b []byte, n int) []byte {
	var out bytes.Buffer
	for part := range slices.Chunk(b, n) {
		fmt.Fprintf(&out, "%x;ext=\"a;b\"\r\n%s\r\n", len(part), part)
	}
	out.WriteString("000\r\nX-Trailer: yes\r\n\r\n")
	return out.Bytes()
}

const post = "POST /cliservice HTTP/1.1"

// httpConversations are what clients and HiveServer2 say over HTTP, by what proxies make of it.
func httpConversations() map[string][]line {
	call, reply := executeCall(1, "select 1"), executeReply(1)
	packed := zipped(reply)
	token := strings.Repeat("YIIG", 2000) // SPNEGO tokens exceed the header buffers of many proxies
	ok := answers(response(reply, "HTTP/1.1 200 OK", length(reply)))
	return map[string][]line{
		"empty Cookie header": {
			says(request(call, post, "Host: h", "Cookie: ", length(call))), ok,
			says(request(call, post, "Host: h", "Cookie:", "cookie: a=b", length(call))), ok,
		},
		"cookies": {
			says(request(call, post, "Host: h", "Authorization: Basic Ymk6czNjcmV0", length(call))),
			answers(response(reply, "HTTP/1.1 200 OK",
				"Set-Cookie: hive.server2.auth=\"cu=bi&rn=123&s=AbC/+=\";$Version=1; Path=/; HttpOnly", "Set-Cookie: other=1", "set-cookie: third=; Max-Age=0", length(reply))),
			says(request(call, post, "Host: h", `Cookie: hive.server2.auth="cu=bi&rn=123&s=AbC/+="; other=1; third=`, length(call))), ok,
			// A client that was told to drop a cookie sends it all the same.
			says(request(call, post, "Host: h", "Cookie: third=; $Path=/", length(call))), ok,
		},
		"401 negotiation": {
			says(request(call, post, "Host: h", "Content-Type: application/x-thrift", length(call))),
			answers(response(nil, "HTTP/1.1 401 Unauthorized", "WWW-Authenticate: Negotiate", `WWW-Authenticate: Basic realm="hive"`, "Set-Cookie: hive.server2.auth=; Max-Age=0", "Content-Length: 0")),
			says(request(call, post, "Host: h", "Authorization: Negotiate "+token, length(call))),
			answers(response(reply, "HTTP/1.1 200 OK", "WWW-Authenticate: Negotiate "+token, "Set-Cookie: hive.server2.auth=x", length(reply))),
			says(request(call, post, "Host: h", "Authorization: Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "X-Custom: ü", length(call))), ok,
		},
		"X-XSRF-HEADER": {
			says(request(call, post, "Host: h", "X-XSRF-HEADER: true", length(call))), ok,
			says(request(call, post, "Host: h", length(call))),
			answers(response([]byte("Missing Required Header"), "HTTP/1.1 400 Missing Required Header for Vulnerability Protection", "Content-Length: 23")),
			says(request(call, post, "Host: h", "x-xsrf-header:", length(call))), ok,
		},
		"Expect: 100-continue": {
			says(request(nil, post, "Host: h", "Expect: 100-continue", length(call))), answers(response(nil, "HTTP/1.1 100 Continue")), says(call), ok,
			says(request(nil, post, "Host: h", "Expect: 100-continue", length(call))),
			answers(response(nil, "HTTP/1.1 401 Unauthorized", "WWW-Authenticate: Negotiate", "Content-Length: 0")),
		},
		"chunked": {
			says(request(chunked(call, 10), post, "Host: h", "Transfer-Encoding: chunked", "Trailer: X-Trailer")),
			answers(response(chunked(reply, 7), "HTTP/1.1 200 OK", "Transfer-Encoding: chunked")),
			says(request(chunked(call, 1<<20), post, "Host: h", "transfer-encoding:chunked")), ok,
		},
		"gzip": {
			says(request(call, post, "Host: h", "Accept-Encoding: gzip, deflate", length(call))),
			answers(response(packed, "HTTP/1.1 200 OK", "Content-Encoding: gzip", "Vary: Accept-Encoding", length(packed))),
			says(request(call, post, "Host: h", "Accept-Encoding: gzip", length(call))),
			answers(response(chunked(packed, 11), "HTTP/1.1 200 OK", "Content-Encoding: gzip", "Transfer-Encoding: chunked")),
		},
		"order, case and repetition of headers": {
			says(request(call, post, "hOST: h", "Z: 1", "a:2", "Z:   3  ", "A:", "User-Agent: Java/THttpClient/HC", "Accept: application/x-thrift", length(call))),
			answers(response(reply, "HTTP/1.1 200 Alles gut", "b: 1", "B: 2", "Server: Jetty(9.4)", "Date: yesterday", "connection: Keep-Alive", length(reply))),
		},
		"pipelined": {
			says(request(call, post, "Host: h", length(call)), request(call, post, "Host: h", length(call))),
			answers(response(reply, "HTTP/1.1 200 OK", length(reply)), response(reply, "HTTP/1.1 200 OK", length(reply))),
		},
		"HTTP/1.0 and other methods": {
			says(request(nil, "GET /cliservice?doAs=bi&x=%20 HTTP/1.1", "Host: h")), answers(response(nil, "HTTP/1.1 204 No Content")),
			says(request(nil, "OPTIONS * HTTP/1.1", "Host: h")), answers(response(nil, "HTTP/1.1 304 Not Modified", "Content-Length: 700")),
			says(request(nil, "HEAD / HTTP/1.1", "Host: h")), answers(response(nil, "HTTP/1.1 200 OK", "Content-Length: 700")),
			says(request(call, "POST http://hive:10001/gateway/hive HTTP/1.0", "Connection: keep-alive", length(call))),
			answers(response(reply, "HTTP/1.0 200 OK", "Connection: keep-alive", length(reply))),
		},
		"error pages": {
			says(request(call, post, "Host: h", length(call))), answers(response([]byte("<html>down</html>"), "HTTP/1.1 503 Service Unavailable", "Retry-After: 1", "Content-Length: 17")),
			says(request(call, post, "Host: h", length(call))), answers(response([]byte("until the end"), "HTTP/1.1 500 Server Error", "Connection: close")),
		},
		"no Thrift inside": {
			says(request([]byte("not a call"), post, "Host: h", "Content-Length: 10")), answers(response([]byte("{}"), "HTTP/1.1 200 OK", "Content-Length: 2")),
			says(request(nil, post, "Host: h", "Content-Length: 0")), answers(response([]byte{0x82, 0x21}, "HTTP/1.1 200 OK", "Content-Length: 2", "Content-Encoding: gzip")),
		},
	}
}

// TestFailureHTTPHeadersAndBodiesChanged: everything said over HTTP arrives as it was said, when it was said, in whatever pieces.
func TestFailureHTTPHeadersAndBodiesChanged(t *testing.T) {
	for name, lines := range httpConversations() {
		t.Run(name, func(t *testing.T) {
			for i := range 3 {
				cut, tr := i == 1, transport{secure: i == 2}
				hive := newTape(t)
				p := tr.proxy(t, hive.addr, intercept.Config{})
				client, server := hive.connect(t, p)
				said := lines
				if cut && len(slices.Concat(texts(lines)...)) < 8000 {
					said = bytewise(lines)
				}
				pass(t, client, server, said...)
				end(t, client, server)
				if n := hive.accepted.Load(); n != 1 {
					t.Errorf("%d connections to HiveServer2", n)
				}
			}
		})
	}
}

func texts(lines []line) (all [][]byte) {
	for _, l := range lines {
		all = append(all, l.data)
	}
	return all
}

// TestFailurePOSTReplayed: a POST that may have run is never sent again, however its connection ends: the client sees the end.
func TestFailurePOSTReplayed(t *testing.T) {
	call := executeCall(1, "insert into t values (1)")
	whole := request(call, post, "Host: h", "Cookie: hive.server2.auth=x", length(call))
	for name, tt := range map[string]struct {
		read  int // bytes that HiveServer2 reads before it ends the connection
		reset bool
		part  string // of a reply
	}{
		"closed after the POST": {read: len(whole)},
		"reset after the POST":  {read: len(whole), reset: true},
		"closed in the POST":    {read: 30},
		"reset in the POST":     {read: 30, reset: true},
		"closed in the reply":   {read: len(whole), part: "HTTP/1.1 200 OK\r\nContent-Le"},
		"100 and closed":        {read: len(whole), part: "HTTP/1.1 100 Continue\r\n\r\n"},
	} {
		for i := range 4 {
			used, secure := i%2 == 1, i >= 2 // used: the connection had a call before, the usual reason to try again
			t.Run(fmt.Sprintf("%s/used=%t/TLS=%t", name, used, secure), func(t *testing.T) {
				hive := newTape(t)
				p := transport{secure: secure}.proxy(t, hive.addr, intercept.Config{})
				client, server := hive.connect(t, p)
				if used {
					ok := executeReply(1)
					pass(t, client, server, says(whole), answers(response(ok, "HTTP/1.1 200 OK", length(ok))))
				}
				if _, err := client.Write(whole); err != nil {
					t.Fatal(err)
				}
				pass(t, client, server, answers([]byte(tt.part)))
				if _, err := io.ReadFull(server, make([]byte, tt.read)); err != nil {
					t.Fatal(err)
				}
				if tt.reset {
					if err := socket(server).SetLinger(0); err != nil {
						t.Fatal(err)
					}
				}
				_ = server.Close()
				if extra := gone(t, client); len(extra) > 0 {
					t.Errorf("the client got %q", extra)
				}
				_ = client.Close()
				eventually(t, "the end", func() bool { return p.server.Stats().Open == 0 })
				if n := hive.accepted.Load(); n != 1 {
					t.Errorf("%d connections to HiveServer2", n)
				}
			})
		}
	}
}
