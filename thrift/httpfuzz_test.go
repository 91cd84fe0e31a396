package thrift

import (
	"slices"
	"testing"
)

// httpSeeds are conversations over HTTP: recorded ones, and others of every kind.
func httpSeeds(tb testing.TB) [][]byte {
	bi := basic("bi", "s3cret")
	all := [][]byte{
		unscript(fromClient(chunked("POST / HTTP/1.1", openSession(1), 7, bi)), fromServer(chunked("HTTP/1.1 200 OK", opened(1), 11))),
		unscript(fromClient(post(compressed(codingGzip, openSession(1)), "Content-Encoding: gzip")), fromServer(answer(200, compressed(codingDeflate, opened(1)), "Content-Encoding: deflate"))),
		unscript(fromClient(post(openSession(1))), fromServer(answer(401, []byte("who?"))), fromClient(post(openSession(1), bi)), fromServer(answer(200, opened(1)))),
		unscript(fromClient(post(fetch(1), bi), post(getTables(2), bi), headed("HEAD / HTTP/1.1", nil, nil)), fromServer(answer(200, fetched(1, 40, 20)), answer(200, gotTables(2)), answer(405, nil)[:30])),
		unscript(fromClient(headed("POST / HTTP/1.1", []string{"Expect: 100-continue", isChunked}, nil)), fromServer([]byte("HTTP/1.1 100 Continue\r\n\r\n")), fromClient([]byte("1\r\n\x80\r\n0\r\n\r\n")), fromServer(headed("HTTP/1.0 200 OK", nil, opened(1)))),
		unscript(fromClient(headed("POST / HTTP/1.1", []string{"Expect: 100-continue", "Content-Length: 5"}, nil)), fromServer(answer(417, nil)), fromClient(post(execute(1, "select 1")))),
		unscript(fromClient(post(openSession(1))[:90]), fromServer(answer(503, nil)), fromClient(post(openSession(1))[90:])),
		unscript(fromClient(post(execute(2, "select 1")[:60])), fromServer(answer(200, nil))),
	}
	for _, connections := range recorded(tb) {
		for _, segments := range connections {
			all = append(all, unscript(segments...))
		}
	}
	return all
}

// FuzzHTTP: whatever two sides send in HTTP's name, all of it is let through, nothing panics, what is kept is bounded, and what is
// observed does not depend on how the reads cut it, nor on skipping what is of no interest.
func FuzzHTTP(f *testing.F) {
	for _, seed := range httpSeeds(f) {
		f.Add(seed)
	}
	limits := Limits{MaxCallBytes: 1 << 20, MaxReplyBytes: 1 << 20, CopyBytes: 200, WalkBytes: 500, PendingCalls: 4}
	f.Fuzz(func(t *testing.T, data []byte) {
		segments := script(data)
		var want []string
		for i, size := range []int{64 << 10, 1460, 1} {
			for _, skip := range []bool{false, true} {
				var seen httpRecorder
				c := NewConn(limits, &seen)
				c.startHTTP()
				for _, s := range segments {
					if err := feed(c.Stream(s.side), s.bytes, size, skip); err != nil {
						t.Fatal(err)
					}
					checkKept(t, c)
				}
				c.Stream(Client).End()
				c.Stream(HiveServer2).End()
				seen.say("blind %s, refused login %t, %d wait", c.Blind(), c.Refused(), c.Waiting())
				if i == 0 && !skip {
					want = seen.events
				} else if !slices.Equal(seen.events, want) {
					t.Fatalf("reads of %d, skip %t: observed %q, with long reads %q", size, skip, seen.events, want)
				}
				c.Release()
			}
		}
	})
}

// checkKept: no more is kept of the bytes than the limits allow.
func checkKept(t *testing.T, c *Conn) {
	t.Helper()
	for _, side := range []Side{Client, HiveServer2} {
		s := c.Stream(side)
		if s.copy.active() && len(*s.copy.buffer) > max(c.limits.CopyBytes, codedHead) {
			t.Fatalf("%s: a copy of %d bytes", side, len(*s.copy.buffer))
		}
		if p := s.http.partial; p.active() && len(*p.buffer) > maxHead {
			t.Fatalf("%s: %d bytes of a head", side, len(*p.buffer))
		}
	}
	if n := len(c.http.asked.ring); n > c.limits.PendingCalls {
		t.Fatalf("room for %d exchanges", n)
	}
}

// FuzzPeekHTTP: an answer that needs no more bytes stays the same with more, and names the call that is observed.
func FuzzPeekHTTP(f *testing.F) {
	bi := basic("bi", "s3cret")
	for _, b := range [][]byte{
		post(execute(1, "select 1"), bi), post(fetch(1), "Cookie: hive.server2.auth=cu=bi&rn=1&s=c2ln"), post(openSession(1)),
		chunked("POST / HTTP/1.1", getTables(1), 9), post(compressed(codingGzip, fetch(1)), "Content-Encoding: gzip"),
		post(compressed(codingDeflate, fetch(1)), "Content-Encoding: deflate"), post(compressed(codingOther, fetch(1)), "Content-Encoding: deflate"),
		headed("GET / HTTP/1.1", nil, nil), headed("POST / HTTP/1.1", []string{"Expect: 100-continue", "Content-Length: 5"}, nil),
	} {
		f.Add(b, uint16(len(b)/2))
	}
	for _, connections := range recorded(f) {
		for _, s := range connections[0] {
			if s.side == Client {
				f.Add(s.bytes, uint16(len(s.bytes)-20))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		whole, state := PeekHTTP(data)
		before, beforeState := PeekHTTP(data[:min(int(cut), len(data))])
		switch {
		case beforeState == PeekMalformed && state != PeekMalformed:
			t.Fatalf("malformed after %d bytes only", cut)
		case beforeState == PeekDone && !before.ExpectContinue && (state != PeekDone || before != whole):
			t.Fatalf("%+v after %d bytes, then %+v (%d)", before, cut, whole, state)
		}
		var seen httpRecorder
		c := NewConn(Limits{}, &seen)
		c.startHTTP()
		if _, err := c.Stream(Client).Feed(data[:min(len(data), maxPeek)]); err != nil {
			t.Fatal(err)
		}
		// A later request's call is not the one peeked at.
		if len(seen.calls) == 0 || c.Blind() != NotBlind || !c.http.asked.ring[0].called || whole.ExpectContinue {
			return
		}
		if first := seen.calls[0].Method; whole.Call != first {
			t.Fatalf("peeked %s, observed %s", whole.Call, first)
		}
	})
}
