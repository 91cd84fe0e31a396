package thrift

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	httpLogin    = `login "BASIC" "bi" "" ""`
	noCredential = `login "" "" "" ""`
	status200    = "status 200"
	sawOperation = "operation 4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"
	sawNothing   = `reply %s %d to %[2]d exception=false "" truncated=false <nil>`
)

func nothing(m Method, seq int32) string { return fmt.Sprintf(sawNothing, m, seq) }

// TestHTTP plays conversations over HTTP under every read size, with and without skipping.
func TestHTTP(t *testing.T) {
	bi := basic("bi", "s3cret")
	cookie := "hive.server2.auth=cu=%s&rn=-12&s=c2ln"
	long := fetched(3, 2000, 100)
	opens := []string{httpLogin, sawOpen, sawOpened, status200}
	for name, tc := range map[string]struct {
		segments []segment
		want     []string
	}{
		"calls": {
			[]segment{
				fromClient(post(openSession(1), bi)), fromServer(answer(200, opened(1), isThrift)),
				fromClient(post(execute(2, "select 1"), bi)), fromServer(answer(200, executed(2), isThrift)),
				fromClient(post(fetch(3), bi)), fromServer(answer(200, long, isThrift)),
			},
			append(slices.Clone(opens), sawExecute, sawExecuted, status200, sawFetch, sawFetched, status200),
		},
		"chunked, with extensions and trailers": {
			[]segment{
				fromClient(chunked("POST /cliservice HTTP/1.1", openSession(1), 7, bi)), fromServer(chunked("HTTP/1.1 200 OK", opened(1), 11)),
				fromClient(chunked("POST /cliservice HTTP/1.1", fetch(3), 1000, bi)), fromServer(chunked("HTTP/1.1 200 OK", long, 64<<10)),
			},
			append(slices.Clone(opens), sawFetch, sawFetched, status200),
		},
		"gzip": {
			[]segment{
				fromClient(post(compressed(codingGzip, openSession(1)), bi, "Content-Encoding: gzip")),
				fromServer(chunked("HTTP/1.1 200 OK", compressed(codingGzip, opened(1)), 9, isThrift, "content-encoding:GZIP")),
				fromClient(post(fetch(3), bi)), fromServer(answer(200, compressed(codingGzip, long), "Content-Encoding: gzip")),
			},
			append(slices.Clone(opens), sawFetch, sawFetched, status200),
		},
		"deflate, in both of its forms": {
			[]segment{
				fromClient(post(compressed(codingOther, openSession(1)), bi, "Content-Encoding: deflate")),
				fromServer(answer(200, compressed(codingDeflate, opened(1)), "Content-Encoding: deflate")),
			},
			opens,
		},
		"an encoding that is not read": {
			[]segment{
				fromClient(post(openSession(1), bi)), fromServer(answer(200, []byte("brotli"), "Content-Encoding: br")),
				fromClient(post(fetch(3), bi)), fromServer(answer(200, []byte("brotli"), "Content-Encoding: br")),
				fromClient(post([]byte("brotli"), bi, "Content-Encoding: br")), fromServer(answer(200, []byte("brotli"), "Content-Encoding: br")),
			},
			[]string{httpLogin, sawOpen, "undecoded HiveServer2 OpenSession", nothing(OpenSession, 1), status200, sawFetch, sawFetched, status200},
		},
		"an exception in a compressed reply that is not watched": {
			[]segment{fromClient(post(closeImpala(5), bi)), fromServer(answer(200, compressed(codingGzip, exception("CloseImpalaOperation", 5)), "Content-Encoding: gzip"))},
			[]string{httpLogin, `call unknown 5 oneway=false truncated=false <nil>`, `reply unknown 5 to 5 exception=true "" truncated=false <nil>`, status200},
		},
		"a catalogue call's operation": {
			[]segment{
				fromClient(post(getTables(4), bi)), fromServer(answer(200, gotTables(4), isThrift)),
				fromClient(post(getTables(5), bi)), fromServer(answer(200, compressed(codingGzip, gotTables(5)), "Content-Encoding: gzip")),
				fromClient(post(getTables(6), bi)), fromServer(answer(200, exception("GetTables", 6))),
			},
			[]string{
				httpLogin, "call GetTables 4 oneway=false truncated=false <nil>", nothing(GetTables, 4), status200, sawOperation,
				"call GetTables 5 oneway=false truncated=false <nil>", nothing(GetTables, 5), status200, sawOperation,
				"call GetTables 6 oneway=false truncated=false <nil>", `reply GetTables 6 to 6 exception=true "" truncated=false <nil>`, status200,
			},
		},
		"a login asked for, then the cookie": {
			[]segment{
				fromClient(post(openSession(1))), fromServer(answer(401, []byte("Authentication Error: no header"), "WWW-Authenticate: Negotiate")),
				fromClient(post(openSession(1), "authorization: negotiate dG9rZW4=")),
				fromServer(answer(200, opened(1), "Set-Cookie: "+fmt.Sprintf(cookie, "ann")+";Version=0;Max-Age=86400; HttpOnly")),
				fromClient(post(execute(2, "select 1"), "Cookie: a=b; "+fmt.Sprintf(cookie, "ann"))), fromServer(answer(200, executed(2))),
				fromClient(post(fetch(3), "Cookie: "+fmt.Sprintf(cookie, "bob"), "Cookie: a=b")), fromServer(answer(200, fetched(3, 1, 1))),
			},
			[]string{
				noCredential, sawOpen, nothing(OpenSession, 1), "rejected 401", `login "NEGOTIATE" "" "" ""`, sawOpen, `login "NEGOTIATE" "ann" "" ""`,
				sawOpened, status200, sawExecute, sawExecuted, status200, `login "COOKIE" "bob" "" ""`, sawFetch, sawFetched, status200,
			},
		},
		"logins": {
			[]segment{
				fromClient(post(getInfo(1), "Cookie: ")), fromServer(answer(200, gotInfo(1))),
				fromClient(post(getInfo(1), `Cookie: hive.server2.auth="opaque"`)), fromServer(answer(200, gotInfo(1))),
				fromClient(post(getInfo(1), "Authorization: bearer e30.e30.", "X-Forwarded-For: 10.0.0.1, 10.0.0.2", "x-forwarded-for: 10.0.0.3")), fromServer(answer(200, gotInfo(1))),
				fromClient(headed("POST /cliservice?a=b&doas=ann%20b HTTP/1.1", []string{"Authorization: Digest x", "Content-Length: 0"}, nil)), fromServer(answer(200, nil)),
				fromClient(post(getInfo(1), "Authorization: Basic bm90Y29sb24=")), fromServer(answer(200, gotInfo(1))),
			},
			[]string{
				noCredential, sawInfo, sawGotInfo, status200, `login "COOKIE" "" "" ""`, sawInfo, sawGotInfo, status200,
				`login "BEARER" "" "" "10.0.0.1, 10.0.0.2, 10.0.0.3"`, sawInfo, sawGotInfo, status200, `login "" "" "ann b" ""`,
				`login "BASIC" "" "" ""`, sawInfo, sawGotInfo, status200,
			},
		},
		"pipelined": {
			[]segment{
				fromClient(post(openSession(1), bi), post(execute(2, "select 1"), bi), headed("GET / HTTP/1.1", nil, nil), post(fetch(3), bi)),
				fromServer(answer(200, opened(1)), answer(503, []byte("busy")), answer(405, nil), answer(200, fetched(3, 10, 10))),
			},
			[]string{
				httpLogin, sawOpen, sawExecute, noCredential, httpLogin, sawFetch, sawOpened, status200,
				nothing(ExecuteStatement, 2), "status 503", sawFetched, status200,
			},
		},
		"requests without a message": {
			[]segment{
				fromClient(headed("GET /cliservice HTTP/1.1", []string{bi}, nil)), fromServer(answer(405, []byte("no GET here"))),
				fromClient(headed("HEAD /cliservice HTTP/1.1", []string{bi}, nil)), fromServer(headed("HTTP/1.1 401 No", []string{"Content-Length: 78"}, nil)),
				fromClient(headed("OPTIONS * HTTP/1.1", []string{bi}, nil)), fromServer(answer(403, nil)),
				fromClient([]byte("\r\n\r\n"), post([]byte("no Thrift"), bi)), fromServer(answer(500, []byte("<html>"))),
				fromClient(post(openSession(1), bi)), fromServer(answer(200, opened(1))),
			},
			opens,
		},
		"answers without a message": {
			[]segment{
				fromClient(post(fetch(3), bi)), fromServer(headed("HTTP/1.1 204 No", nil, nil)),
				fromClient(post(fetch(4), bi)), fromServer(headed("HTTP/1.1 304 No", []string{"Content-Length: 5"}, nil)),
				fromClient(post(fetch(5), bi)), fromServer(answer(302, []byte("moved"), "Location: /elsewhere")),
				fromClient(post(fetch(6), bi)), fromServer(answer(200, []byte("<html>sign in"), "Content-Type: text/html;charset=utf-8")),
				fromClient(post(fetch(7), bi)), fromServer(answer(200, []byte("not Thrift"))),
				fromClient(post(fetch(8), bi)), fromServer(answer(401, []byte("Authentication Error"), isThrift)),
				fromClient(post(fetch(9), bi)), fromServer(answer(200, fetched(9, 1, 1)[:20])),
			},
			[]string{
				httpLogin,
				fetchCall(3), nothing(FetchResults, 3), "status 204", fetchCall(4), nothing(FetchResults, 4), "rejected 304",
				fetchCall(5), nothing(FetchResults, 5), "rejected 302", fetchCall(6), nothing(FetchResults, 6), status200,
				fetchCall(7), nothing(FetchResults, 7), status200, fetchCall(8), nothing(FetchResults, 8), "rejected 401",
				fetchCall(9), nothing(FetchResults, 9), status200,
			},
		},
		"a body that ends within its message": {
			[]segment{
				fromClient(post(execute(2, "select 1")[:60], bi)), fromServer(answer(500, nil)),
				fromClient(post(openSession(1), bi)), fromServer(answer(200, opened(1)[:60])),
				fromClient(post(openSession(1), bi)), fromServer(answer(200, compressed(codingGzip, opened(1)[:60]), "Content-Encoding: gzip")),
				fromClient(post(openSession(1), bi)), fromServer(answer(200, compressed(codingGzip, opened(1))[:40], "Content-Encoding: gzip")),
			},
			[]string{
				httpLogin, "undecoded client ExecuteStatement", `call ExecuteStatement 2 oneway=false truncated=false <nil>`, nothing(ExecuteStatement, 2), "status 500",
				sawOpen, "undecoded HiveServer2 OpenSession", nothing(OpenSession, 1), status200,
				sawOpen, "undecoded HiveServer2 OpenSession", nothing(OpenSession, 1), status200,
				sawOpen, "undecoded HiveServer2 OpenSession", nothing(OpenSession, 1), status200,
			},
		},
		"a message that cannot be walked costs its own body": {
			[]segment{
				fromClient(post(slices.Concat(execute(2, "x")[:30], []byte{99, 0, 1, 2, 3}), bi)), fromServer(answer(200, executed(2))),
				fromClient(post(openSession(1), bi)), fromServer(answer(200, opened(1))),
			},
			[]string{
				httpLogin, "undecoded client ExecuteStatement", `call ExecuteStatement 2 oneway=false truncated=false <nil>`,
				sawExecuted, status200, sawOpen, sawOpened, status200,
			},
		},
		"expect, granted": {
			[]segment{
				fromClient(headed("POST / HTTP/1.1", []string{bi, "Expect: 100-continue", "Content-Length: " + strconv.Itoa(len(openSession(1)))}, nil)),
				fromServer([]byte("HTTP/1.1 100 Continue\r\n\r\n")), fromClient(openSession(1)), fromServer(answer(200, opened(1))),
			},
			opens,
		},
		"expect, refused: the body is left out": {
			[]segment{
				fromClient(headed("POST / HTTP/1.1", []string{"Expect: 100-continue", "Content-Length: 99"}, nil)), fromServer(answer(401, []byte("who?"))),
				fromClient(post(openSession(1), bi)), fromServer(answer(200, opened(1))),
			},
			append([]string{noCredential}, opens...),
		},
		"expect, refused: the body comes all the same": {
			[]segment{
				fromClient(headed("POST / HTTP/1.1", []string{"Expect: 100-continue", isChunked}, nil)), fromServer(answer(417, nil)),
				fromClient(fmt.Appendf(nil, "%x\r\n%s\r\n0\r\n\r\n", len(openSession(1)), openSession(1))),
				fromClient(post(openSession(1), bi)), fromServer(answer(200, opened(1))),
			},
			append([]string{noCredential, sawOpen, nothing(OpenSession, 1), "rejected 417"}, opens...),
		},
		"an answer before the call is known": {
			[]segment{
				fromClient(post(openSession(1))[:90]), fromServer(answer(401, []byte("who?"))), fromClient(post(openSession(1))[90:]),
				fromClient(post(openSession(1), bi)), fromServer(answer(200, opened(1))),
			},
			append([]string{noCredential, sawOpen, nothing(OpenSession, 1), "rejected 401"}, opens...),
		},
		"a response until the end of the connection": {
			[]segment{fromClient(post(openSession(1), bi)), fromServer(headed("HTTP/1.0 200 OK", nil, opened(1)), []byte("rest"))},
			opens,
		},
		"connect":                            {[]segment{fromClient([]byte("CONNECT hive:443 HTTP/1.1\r\n\r\n"))}, []string{"blind http"}},
		"http/2":                             {[]segment{fromClient([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))}, []string{"blind http"}},
		"upgrade":                            {[]segment{fromClient(headed("GET / HTTP/1.1", []string{"Upgrade: h2c"}, nil)), fromServer(headed("HTTP/1.1 101 Go", nil, nil))}, []string{noCredential, "blind http"}},
		"long head":                          {[]segment{fromClient([]byte("POST / HTTP/1.1\r\nX: "), bytes.Repeat([]byte{'x'}, maxHead), []byte("\r\n\r\n"))}, []string{"blind http"}},
		"gzip transfer":                      {[]segment{fromClient(headed("POST / HTTP/1.1", []string{"Transfer-Encoding: gzip, chunked"}, nil))}, []string{"blind http"}},
		"two lengths":                        {[]segment{fromClient(headed("POST / HTTP/1.1", []string{"Content-Length: 5", "Content-Length: 6"}, nil))}, []string{"blind malformed"}},
		"length of a chunked body":           {[]segment{fromClient(headed("POST / HTTP/1.1", []string{"Content-Length: 5", isChunked}, nil))}, []string{"blind malformed"}},
		"signed length":                      {[]segment{fromClient(headed("POST / HTTP/1.1", []string{"Content-Length: +5"}, nil))}, []string{"blind malformed"}},
		"folded line":                        {[]segment{fromClient(headed("POST / HTTP/1.1", []string{"A: b", " c"}, nil))}, []string{"blind malformed"}},
		"space behind a name":                {[]segment{fromClient(headed("POST / HTTP/1.1", []string{"Content-Length : 5"}, nil))}, []string{"blind malformed"}},
		"no chunk":                           {[]segment{fromClient(headed("POST / HTTP/1.1", []string{isChunked}, []byte("\x80\x01")))}, []string{noCredential, "blind malformed"}},
		"data longer than its chunk":         {[]segment{fromClient(headed("POST / HTTP/1.1", []string{isChunked}, []byte("1\r\nabc")))}, []string{noCredential, "blind malformed"}},
		"a request that is none":             {[]segment{fromClient([]byte("GARBAGE\n\n"))}, []string{"blind malformed"}},
		"a response that is none":            {[]segment{fromClient(post(fetch(3), bi)), fromServer([]byte("220 mail\r\n\r\n"))}, []string{httpLogin, sawFetch, "blind malformed"}},
		"a response that nobody waits for":   {[]segment{fromClient([]byte("POST /")), fromServer(answer(408, nil))}, []string{"blind out_of_sync"}},
		"a reply with another sequence id":   {[]segment{fromClient(post(openSession(1), bi)), fromServer(answer(200, opened(7)))}, []string{httpLogin, sawOpen, "blind out_of_sync"}},
		"a compressed reply to another call": {[]segment{fromClient(post(openSession(1), bi)), fromServer(answer(200, compressed(codingGzip, executed(1)), "Content-Encoding: gzip"))}, []string{httpLogin, sawOpen, "blind out_of_sync"}},
	} {
		for _, size := range readSizes {
			for _, skip := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/skip=%t", name, size, skip), func(t *testing.T) {
					var seen httpRecorder
					c := NewConn(Limits{}, &seen)
					if err := play(t, c, size, skip, tc.segments...); err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(seen.events, tc.want) {
						t.Errorf("observed\n%s\nwanted\n%s", strings.Join(seen.events, "\n"), strings.Join(tc.want, "\n"))
					}
					if c.Waiting() != 0 {
						t.Errorf("%d calls wait", c.Waiting())
					}
				})
			}
		}
	}
}

const (
	sawInfo    = `call GetInfo 1 oneway=false truncated=false <nil>`
	sawGotInfo = `reply GetInfo 1 to 1 exception=false "" truncated=false <nil>`
)

func fetchCall(seq int32) string {
	return fmt.Sprintf("call FetchResults %d oneway=false truncated=false <nil>", seq)
}
