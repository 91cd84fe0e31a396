package thrift

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// script turns fuzzed bytes into what two sides send in turn: each chunk is a byte for the side and the length's high bits, a
// byte of length, and that many bytes.
func script(data []byte) []segment {
	var segments []segment
	for len(data) > 2 {
		side := Client
		if data[0]&1 == 1 {
			side = HiveServer2
		}
		size := min(int(data[0]>>1)<<8|int(data[1]), len(data)-2)
		segments = append(segments, segment{side, data[2 : 2+size]})
		data = data[2+size:]
	}
	return segments
}

// unscript is its inverse, for seeds.
func unscript(segments ...segment) []byte {
	var data []byte
	for _, s := range segments {
		for part := range slices.Chunk(s.bytes, 1<<15-1) {
			data = append(data, byte(len(part)>>8<<1)|byte(s.side-1), byte(len(part)))
			data = append(data, part...)
		}
	}
	return data
}

func seeds() [][]byte {
	return [][]byte{
		unscript(opening(), complete, fromClient(frames(openSession(1))), fromServer(frames(opened(1))), fromClient(frames(execute(2, "select 1"))), fromServer(frames(executed(2)))),
		unscript(opening(frames(openSession(1), getInfo(2))), fromServer(sasl(saslComplete, ""), frames(opened(1)), frames(gotInfo(2)))),
		unscript(fromClient(openSession(1), fetch(3)), fromServer(opened(1), fetched(3, 20, 5))),
		unscript(opening(), complete, fromClient(frames(fetch(3))), fromServer(frames(split(fetched(3, 100, 20), 900)...)), fromClient(frames(closeImpala(4))), fromServer(frames(exception("CloseImpalaOperation", 4)))),
		unscript(opening(), complete, fromClient(frames(fetchOf(3, 1))), fromServer(frames(split(lines(3, summary...), 90)...))),
		unscript(opening(), complete, fromClient([]byte{0x7f, 0xff, 0xff, 0xff})),
		unscript(fromClient(sasl(saslStart, "GSSAPI"), sasl(saslOK, "t")), complete, fromClient(frames([]byte("\x05\x04wrapped")))),
		unscript(fromClient(sasl(saslStart, "DIGEST-MD5"), sasl(saslOK, `qop="auth-conf"`)), complete, fromClient(frames(openSession(1)))),
		unscript(opening(), fromServer(sasl(saslBad, "no"))),
	}
}

// FuzzRelay: whatever two sides send, all of it is let through unless a length is refused, nothing panics, and what is observed
// does not depend on how the reads cut it, nor on skipping what is of no interest.
func FuzzRelay(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed)
	}
	limits := Limits{MaxCallBytes: 1 << 20, MaxReplyBytes: 1 << 20, CopyBytes: 200, WalkBytes: 500, PendingCalls: 4}
	f.Fuzz(func(t *testing.T, data []byte) {
		segments := script(data)
		var want []string
		for i, size := range []int{64 << 10, 1460, 1} {
			for _, skip := range []bool{false, true} {
				var seen recorder
				c := NewConn(limits, &seen)
				err := play(t, c, size, skip, segments...)
				var oversize *OversizeError
				if err != nil && !errors.As(err, &oversize) {
					t.Fatal(err)
				}
				seen.say("refused %v, blind %s, refused login %t", err, c.Blind(), c.Refused())
				if i == 0 && !skip {
					want = seen.events
				} else if !slices.Equal(seen.events, want) {
					t.Fatalf("reads of %d, skip %t: observed %q, with long reads %q", size, skip, seen.events, want)
				}
			}
		}
	})
}

// FuzzFrames: frame lengths and payload sizes under any splitting.
func FuzzFrames(f *testing.F) {
	f.Add(frames([]byte("one"), nil, []byte("three")), uint8(1))
	f.Add([]byte{0x80, 0, 0, 0}, uint8(3))
	f.Add([]byte{0, 0, 4, 1, 9}, uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		read := func(step int) (sizes []int64, ok bool) {
			var fr frame
			rest := data
			for len(rest) > 0 {
				p := rest[:min(step, len(rest))]
				if fr.open() {
					n := min(fr.left, int64(len(p)))
					fr.left -= n
					rest = rest[n:]
					continue
				}
				n, complete, ok := fr.header(p, 1024)
				if n == 0 {
					t.Fatal("no progress")
				}
				if !ok {
					return append(sizes, fr.size), false
				}
				if complete {
					sizes = append(sizes, fr.size)
				}
				rest = rest[n:]
			}
			return sizes, true
		}
		want, wantOK := read(len(data) + 1)
		got, gotOK := read(int(size)%7 + 1)
		if !slices.Equal(got, want) || gotOK != wantOK {
			t.Fatalf("%v %t, in one read %v %t", got, gotOK, want, wantOK)
		}
		for i, n := range want {
			if (n < 0 || n > 1024) != (i == len(want)-1 && !wantOK) {
				t.Fatalf("frame %d of %d bytes, accepted: %t", i, n, wantOK)
			}
		}
	})
}

// FuzzSASL: negotiations of any kind; the user is found however the response is cut, and the password never.
func FuzzSASL(f *testing.F) {
	f.Add("PLAIN", "\x00bi\x00secret", byte(saslOK), byte(saslComplete), uint8(3))
	f.Add("PLAIN", "no nul", byte(saslComplete), byte(saslBad), uint8(1))
	f.Add("DIGEST-MD5", `username="x",qop=auth-int`, byte(saslOK), byte(saslComplete), uint8(2))
	f.Add("GSSAPI", "token", byte(9), byte(0), uint8(1))
	f.Fuzz(func(t *testing.T, mechanism, response string, status, answer byte, size uint8) {
		var seen recorder
		c := NewConn(Limits{}, &seen)
		err := play(t, c, int(size)+1, size%2 == 0,
			fromClient(sasl(saslStart, mechanism), sasl(status, response)), fromServer(sasl(answer, "text")))
		if err != nil {
			t.Fatal(err)
		}
		if mechanism != mechanismPlain || (status != saslOK && status != saslComplete) {
			return
		}
		want := ""
		if parts := bytes.SplitN([]byte(response), []byte{0}, 3); len(parts) == 3 {
			want = string(parts[1][:min(len(parts[1]), maxUser)])
		}
		if len(seen.logins) != 1 || seen.logins[0].User != want {
			t.Fatalf("logins %q, wanted user %q", seen.logins, want)
		}
	})
}

// FuzzWalker: a struct ends at the same byte however the reads cut it, and where Thrift's own reader says.
func FuzzWalker(f *testing.F) {
	for _, m := range [][]byte{openSession(1), opened(1), execute(1, "x"), fetched(1, 3, 3), exception("x", 1)} {
		_, n := headerOf(m)
		f.Add(m[n:])
	}
	f.Add(bytes.Repeat([]byte{athrift.STRUCT, 0, 1}, 70))
	f.Add([]byte{athrift.MAP, 0, 1, athrift.STRING, athrift.LIST, 0, 0, 0, 1, 0, 0, 0, 1, 'k', athrift.BOOL, 0, 0, 0, 2, 1, 0, 0})
	f.Add([]byte{athrift.LIST, 0, 1, 99, 0, 0, 0, 0, athrift.UUID, 0, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		walk := func(step int) string {
			var w walker
			w.start(1 << 20)
			for at := 0; ; {
				n, done, err := w.feed(data[at:min(at+step, len(data))])
				at += n
				if done || err != nil || at == len(data) {
					if done && w.size != int64(at) {
						t.Fatalf("size %d at %d", w.size, at)
					}
					return fmt.Sprint(at, done, err)
				}
			}
		}
		want := walk(len(data) + 1)
		for _, step := range []int{1, 2, 5, 1460} {
			if got := walk(step); got != want {
				t.Fatalf("reads of %d: %s, in one read: %s", step, got, want)
			}
		}
		var w walker
		w.start(1 << 20)
		n, done, _ := w.feed(data)
		buffer := bytes.NewBuffer(slices.Clone(data))
		in := athrift.NewTBinaryProtocolConf(&athrift.TMemoryBuffer{Buffer: buffer}, &athrift.TConfiguration{MaxMessageSize: 1 << 20})
		err := athrift.Skip(context.Background(), in, athrift.STRUCT, maxDepth+1)
		if done != (err == nil) || done && buffer.Len() != len(data)-n {
			t.Fatalf("walked %d, done %t; Thrift: %v, %d left of %d", n, done, err, buffer.Len(), len(data))
		}
	})
}

func headerOf(m []byte) (h header, n int) {
	h.reset()
	n, _, _ = h.feed(m)
	return h, n
}

// FuzzHeader: headers are read as Thrift's strict reader reads them, however they are cut.
func FuzzHeader(f *testing.F) {
	f.Add(openSession(1)[:40])
	f.Add(closeImpala(-1)[:40])
	f.Add(exception("x", 1<<30))
	f.Add([]byte{0x80, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Add([]byte{0, 0, 0, 4, 'p', 'i', 'n', 'g', 1, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var h header
		h.reset()
		n, done, err := h.feed(data)
		var bytewise header
		bytewise.reset()
		for i := range n {
			k, bdone, berr := bytewise.feed(data[i : i+1])
			if last := i == n-1; k != 1 || bdone != (last && done) || (berr != nil) != (last && err != nil) {
				t.Fatalf("byte %d of %d: %d %t %v; in one read %t %v", i, n, k, bdone, berr, done, err)
			}
		}
		if !done {
			return
		}
		strict := true
		in := athrift.NewTBinaryProtocolConf(&athrift.TMemoryBuffer{Buffer: bytes.NewBuffer(data)}, &athrift.TConfiguration{TBinaryStrictRead: &strict})
		name, kind, seq, err := in.ReadMessageBegin(context.Background())
		if err != nil || int(kind) != int(h.typ) || seq != h.seq || Method(max(0, slices.Index(methodNames[:], name))) != h.method || h.nameHash != bytewise.nameHash {
			t.Fatalf("%s %d %d: Thrift reads %q %d %d %v", h.method, h.typ, h.seq, name, kind, seq, err)
		}
	})
}

// FuzzDecode: no bytes make a decoder panic or believe a length; what is decoded holds no password.
func FuzzDecode(f *testing.F) {
	for _, m := range [][]byte{openSession(1), opened(1), execute(1, "select 1"), executed(1), closeOperation(1), closedOperation(1), exception("OpenSession", 1)} {
		h, n := headerOf(m)
		f.Add(m[n:], uint8(h.method), h.typ == typeCall, false)
		f.Add(m[n:len(m)-5], uint8(h.method), h.typ == typeCall, true)
	}
	f.Add([]byte{athrift.STRUCT, 0, 1, athrift.STRING, 0, 2, 0x7f, 0xff, 0xff, 0xff, 'x'}, uint8(ExecuteStatement), true, true)
	f.Fuzz(func(t *testing.T, body []byte, method uint8, isCall, truncated bool) {
		m := Method(method) % methodCount
		var content any
		var err error
		if isCall {
			content, err = decodeCall(m, body, truncated)
		} else {
			content, err = decodeReply(m, body, truncated)
		}
		checkPlain(t, m, isCall, body)
		if err != nil && content != nil {
			t.Fatalf("%v with an error: %v", content, err)
		}
		if !m.watched() && err == nil {
			t.Fatalf("%s decoded", m)
		}
		if req, ok := content.(*hiveserver.TOpenSessionReq); ok && req.Password != nil {
			t.Fatal("a password is kept")
		}
		if _, err := decodeException(body, truncated); err != nil && truncated {
			t.Fatal(err)
		}
	})
}
