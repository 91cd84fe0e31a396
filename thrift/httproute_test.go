package thrift

import (
	"bytes"
	"slices"
	"testing"
)

// TestRequestByRequest: the client's stream stops behind each request, however they come, and knows where one begins.
func TestRequestByRequest(t *testing.T) {
	bi := basic("bi", "s3cret")
	requests := [][]byte{
		post(openSession(1), bi),
		headed("GET / HTTP/1.1", nil, nil),
		chunked("POST /cliservice HTTP/1.1", execute(2, "select 1"), 7, bi),
		post(compressed(codingGzip, fetch(3)), bi, "Content-Encoding: gzip"),
	}
	all := slices.Concat(requests...)
	for _, size := range []int{1, 2, 3, 7, 100, len(all)} {
		c := NewConn(Limits{}, &httpRecorder{})
		c.RequestByRequest()
		client, server := c.Stream(Client), c.Stream(HiveServer2)
		var starts []int
		for rest := all; len(rest) > 0; {
			at := len(all) - len(rest)
			if c.AtRequest(rest[0]) {
				starts = append(starts, at)
				if !c.Answered() {
					t.Fatalf("reads of %d: a request at %d before the answer", size, at)
				}
			}
			n, err := client.Feed(rest[:min(size, len(rest))])
			if err != nil || n == 0 {
				t.Fatalf("reads of %d: %d bytes taken at %d, %v", size, n, at, err)
			}
			rest = rest[n:]
			if len(rest) == 0 || c.AtRequest(rest[0]) && !client.Inside() {
				if c.Answered() {
					t.Fatalf("reads of %d: answered at %d", size, at)
				}
				for _, b := range slices.Concat([]byte("HTTP/1.1 100 Continue\r\n\r\n"), answer(200, []byte("ok"), "Set-Cookie: hive.server2.auth=x; Path=/")) {
					if _, err := server.Feed([]byte{b}); err != nil {
						t.Fatal(err)
					}
				}
				if !c.Answered() {
					t.Fatalf("reads of %d: not answered at %d", size, at)
				}
			}
		}
		want := []int{0, len(requests[0]), len(requests[0]) + len(requests[1]), len(all) - len(requests[3])}
		if !slices.Equal(starts, want) || c.Blind() != NotBlind {
			t.Errorf("reads of %d: requests at %v, not %v; %v", size, starts, want, c.Blind())
		}
		asked, _ := PeekHTTP(post(fetch(3), "Cookie: hive.server2.auth=x"))
		if a := c.Answer(); a.Status != 200 || a.Closing || a.CookieHash != asked.CookieHash {
			t.Errorf("answer %+v", a)
		}
	}
}

// TestAnswerClosing: either side may say that the connection ends.
func TestAnswerClosing(t *testing.T) {
	for name, tc := range map[string]struct {
		asked, answered []byte
		want            bool
	}{
		"neither":           {post(fetch(1)), answer(200, nil), false},
		"the client":        {post(fetch(1), "connection: foo, CLOSE"), answer(200, nil), true},
		"the server":        {post(fetch(1)), answer(200, nil, "Connection:close"), true},
		"HTTP/1.0":          {bytes.Replace(post(fetch(1)), []byte("/1.1"), []byte("/1.0"), 1), answer(200, nil), true},
		"HTTP/1.0, kept":    {bytes.Replace(post(fetch(1), "Connection: Keep-Alive"), []byte("/1.1"), []byte("/1.0"), 1), answer(200, nil), false},
		"HTTP/1.0 answered": {post(fetch(1)), bytes.Replace(answer(200, nil), []byte("/1.1"), []byte("/1.0"), 1), true},
	} {
		c := NewConn(Limits{}, &httpRecorder{})
		_, err := c.Stream(Client).Feed(tc.asked)
		if err == nil {
			_, err = c.Stream(HiveServer2).Feed(tc.answered)
		}
		if got := c.Answer().Closing; err != nil || got != tc.want {
			t.Errorf("%s: closing %t, %v", name, got, err)
		}
	}
}

// TestExpectRefused: after a refused Expect the next byte tells whether a request begins.
func TestExpectRefused(t *testing.T) {
	c := NewConn(Limits{}, &httpRecorder{})
	c.RequestByRequest()
	head := headed("POST /cliservice HTTP/1.1", []string{"Expect: 100-continue", "Content-Length: 5"}, nil)
	if n, err := c.Stream(Client).Feed(head); n != len(head) || err != nil || c.AtRequest('P') {
		t.Fatal(n, err)
	}
	if _, err := c.Stream(HiveServer2).Feed(answer(401, nil)); err != nil {
		t.Fatal(err)
	}
	if !c.Answered() || !c.AtRequest('P') || c.AtRequest(0x80) {
		t.Error("the refused request is still open, or forgotten")
	}
	next := post(fetch(1))
	if n, err := c.Stream(Client).Feed(next); n != len(next) || err != nil || c.Answered() || !c.AtRequest('P') {
		t.Error("the next request was not taken", n, err)
	}
}
