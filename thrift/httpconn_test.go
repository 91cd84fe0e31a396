package thrift

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/beltran/gohive/hiveserver"
)

// TestHTTPSkip: of a large reply that is not watched all but the beginning can be spliced, of a known length and in chunks; of
// a statement what is beyond the copy.
func TestHTTPSkip(t *testing.T) {
	c := NewConn(Limits{}, silent{})
	if err := play(t, c, 1460, false, fromClient(post(fetch(1), basic("bi", "x")))); err != nil {
		t.Fatal(err)
	}
	s := c.Stream(HiveServer2)
	begin := fetched(1, 1, 1)[:40]
	head := headed("HTTP/1.1 200 OK", []string{fmt.Sprintf("Content-Length: %d", 5<<30)}, begin)
	if err := feed(s, head, 1460, false); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Skip(), int64(5<<30-len(begin)); got != want {
		t.Fatalf("skip %d, wanted %d", got, want)
	}
	s.Advance(s.Skip() - 1)
	if !s.Inside() || s.Skip() != 1 {
		t.Errorf("before the last byte: inside %t, skip %d", s.Inside(), s.Skip())
	}
	s.Advance(1)
	if s.Inside() || s.Skip() != 0 {
		t.Errorf("at the end: inside %t, skip %d", s.Inside(), s.Skip())
	}

	if err := play(t, c, 1460, false, fromClient(post(fetch(2))), fromServer(headed("HTTP/1.1 200 OK", []string{isChunked}, fmt.Appendf(nil, "%x\r\n%s", 1<<30, fetched(2, 1, 1)[:40])))); err != nil {
		t.Fatal(err)
	}
	if got := s.Skip(); got != 1<<30-40 {
		t.Fatalf("skip %d of a chunk", got)
	}
	s.Advance(1<<30 - 40)
	if err := play(t, c, 1460, false, fromServer([]byte("\r\n0\r\n\r\n"))); err != nil {
		t.Fatal(err)
	}

	statement := post(execute(3, strings.Repeat("x", 4<<20)))
	if err := feed(c.Stream(Client), statement[:2<<20], 64<<10, false); err != nil {
		t.Fatal(err)
	}
	if got := c.Stream(Client).Skip(); got < 1<<20 || got >= int64(len(statement)-2<<20) {
		t.Errorf("skip %d of a long statement", got)
	}
	if err := feed(c.Stream(Client), statement[2<<20:], 64<<10, true); err != nil {
		t.Fatal(err)
	}
	if c.Waiting() != 1 || c.Blind() != NotBlind {
		t.Errorf("%d wait, blind %s", c.Waiting(), c.Blind())
	}
}

// TestHTTPInside: at which bytes of a conversation an end would be in the middle of something, and what waits.
func TestHTTPInside(t *testing.T) {
	request, response := post(openSession(1), basic("bi", "x")), chunked("HTTP/1.1 200 OK", opened(1), 50)
	c := NewConn(Limits{}, silent{})
	for _, s := range []segment{fromClient(request), fromServer(response)} {
		for at := range s.bytes {
			if got := c.Stream(s.side).Inside(); got != (at > 0) {
				t.Fatalf("%s, byte %d: inside %t", s.side, at, got)
			}
			if err := feed(c.Stream(s.side), s.bytes[at:at+1], 1, false); err != nil {
				t.Fatal(err)
			}
			if s.side == Client && c.Waiting() != 0 && at < bytes.Index(request, []byte("\r\n\r\n")) || s.side == HiveServer2 && at < 40 && c.Waiting() != 1 {
				t.Fatalf("%s, byte %d: %d wait", s.side, at, c.Waiting())
			}
		}
	}
	if c.Stream(Client).Inside() || c.Stream(HiveServer2).Inside() || c.Waiting() != 0 {
		t.Error("something is left")
	}
}

// TestHTTPEnd: a compressed response without a length is read when the connection ends.
func TestHTTPEnd(t *testing.T) {
	var seen httpRecorder
	c := NewConn(Limits{}, &seen)
	err := play(t, c, 7, false, fromClient(post(openSession(1), basic("bi", "x"))),
		fromServer(headed("HTTP/1.1 200 OK", []string{"Content-Encoding: gzip"}, compressed(codingGzip, opened(1)))))
	if err != nil {
		t.Fatal(err)
	}
	if len(seen.reply) != 0 || c.Waiting() != 1 {
		t.Errorf("before the end: %q, %d wait", seen.events, c.Waiting())
	}
	c.Stream(Client).End()
	c.Stream(HiveServer2).End()
	if want := []string{httpLogin, sawOpen, sawOpened, status200}; !slices.Equal(seen.events, want) || c.Waiting() != 0 {
		t.Errorf("%q, %d wait", seen.events, c.Waiting())
	}
}

func TestHTTPRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		statuses []int
		want     bool
	}{
		"accepted":                 {[]int{200}, false},
		"refused":                  {[]int{401}, true},
		"forbidden":                {[]int{200, 403}, true},
		"asked for a login":        {[]int{401, 200}, false},
		"refused after a success":  {[]int{200, 401, 401}, true},
		"an error tells nothing":   {[]int{401, 500}, true},
		"nor is an error refusing": {[]int{200, 500, 302}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewConn(Limits{}, silent{})
			for i, status := range tc.statuses {
				body := gotInfo(int32(i))
				if status != 200 {
					body = nil
				}
				if err := play(t, c, 1460, false, fromClient(post(getInfo(int32(i)))), fromServer(answer(status, body))); err != nil {
					t.Fatal(err)
				}
			}
			if c.Refused() != tc.want || c.Blind() != NotBlind {
				t.Errorf("refused %t, blind %s", c.Refused(), c.Blind())
			}
		})
	}
}

// TestHTTPLongStatement: a statement beyond the copy keeps its session and a prefix, compressed or not; no more is inflated than
// would be copied.
func TestHTTPLongStatement(t *testing.T) {
	sql := "select '" + strings.Repeat("größe ", 400<<10) + "'"
	for name, request := range map[string][]byte{
		"plain": post(execute(2, sql)), "gzip": post(compressed(codingGzip, execute(2, sql)), "Content-Encoding: gzip"),
	} {
		for _, limits := range []Limits{{}, {CopyBytes: 1001}, {CopyBytes: 1002}, {CopyBytes: 1003}} {
			t.Run(fmt.Sprint(name, limits.CopyBytes), func(t *testing.T) {
				var seen httpRecorder
				c := NewConn(limits, &seen)
				if err := play(t, c, 64<<10, true, fromClient(request), fromServer(answer(200, executed(2)))); err != nil {
					t.Fatal(err)
				}
				if len(seen.calls) != 1 {
					t.Fatalf("saw %q", seen.events)
				}
				got := seen.calls[0]
				req, isExecute := got.Request.(*hiveserver.TExecuteStatementReq)
				if !isExecute || !got.Truncated || !bytes.Equal(req.SessionHandle.SessionId.GUID, guid('S').GUID) {
					t.Fatalf("call %+v", got)
				}
				if n, most := len(req.Statement), c.limits.CopyBytes; n > most || !strings.HasPrefix(sql, req.Statement) || limits.CopyBytes == 0 && n < most-100 {
					t.Errorf("prefix of %d bytes with copies of %d", n, most)
				}
			})
		}
	}
}

// TestHTTPSecrets: no password, token or cookie reaches the observer or stays in the connection or the buffers it gives back.
func TestHTTPSecrets(t *testing.T) {
	var seen httpRecorder
	c := NewConn(Limits{}, &seen)
	cookie := "hive.server2.auth=cu=bi&rn=1&s=Sm0Signature"
	for i, header := range []string{basic("bi", "s3cret"), "Authorization: Bearer t0ken.t0ken", "Cookie: " + cookie} {
		seq := int32(i)
		err := play(t, c, 5, false, fromClient(post(openSession(seq), header)), fromServer(answer(200, opened(seq), "Set-Cookie: "+cookie)))
		if err != nil {
			t.Fatal(err)
		}
		buffer := *copies.Get().(*[]byte)
		text := fmt.Sprintf("%+v %+v %+v %+v %s", seen.logins, seen.calls, c, c.http, buffer[:cap(buffer)])
		for _, secret := range []string{"s3cret", "czNjcmV0", "t0ken", "Sm0Signature"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is kept", secret)
			}
		}
	}
	if got := seen.logins; len(got) != 3 || got[0].User != "bi" || got[1].Mechanism != "BEARER" || got[2].User != "bi" || got[0].Transport != HTTP {
		t.Errorf("logins %+v", got)
	}
}

func TestHTTPPipelineBound(t *testing.T) {
	c := NewConn(Limits{PendingCalls: 3}, silent{})
	if err := play(t, c, 1460, false, fromClient(bytes.Repeat(headed("GET / HTTP/1.1", nil, nil), 3))); err != nil {
		t.Fatal(err)
	}
	if c.Waiting() != 3 || c.Blind() != NotBlind {
		t.Errorf("%d wait, blind %s", c.Waiting(), c.Blind())
	}
	if err := play(t, c, 1460, false, fromClient(headed("GET / HTTP/1.1", nil, nil))); err != nil {
		t.Fatal(err)
	}
	if c.Blind() != BlindPipeline {
		t.Errorf("blind %s", c.Blind())
	}
}

// TestHTTPUnlimited: lengths over the limits of a binary connection are HiveServer2's to refuse, and nothing is allocated for them.
func TestHTTPUnlimited(t *testing.T) {
	c := NewConn(Limits{}, silent{})
	big := headed("POST / HTTP/1.1", []string{fmt.Sprintf("Content-Length: %d", int64(math.MaxInt64/100))}, execute(1, "select 1")[:40])
	if err := play(t, c, 1460, false, fromClient(big)); err != nil {
		t.Fatal(err)
	}
	if c.Blind() != NotBlind || len(*c.client.copy.buffer) > 40 {
		t.Errorf("blind %s, a copy of %d bytes", c.Blind(), len(*c.client.copy.buffer))
	}
}
