package thrift

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sawLogin    = `login "PLAIN" "bi"`
	sawOpen     = `call OpenSession 1 oneway=false truncated=false *hiveserver.TOpenSessionReq`
	sawOpened   = `reply OpenSession 1 to 1 exception=false "" truncated=false *hiveserver.TOpenSessionResp`
	sawExecute  = `call ExecuteStatement 2 oneway=false truncated=false *hiveserver.TExecuteStatementReq`
	sawExecuted = `reply ExecuteStatement 2 to 2 exception=false "" truncated=false *hiveserver.TExecuteStatementResp`
	sawFetch    = `call FetchResults 3 oneway=false truncated=false <nil>`
	sawFetched  = `reply FetchResults 3 to 3 exception=false "" truncated=false <nil>`
)

func opening(calls ...[]byte) segment { return fromClient(append([][]byte{plainLogin()}, calls...)...) }

var complete = fromServer(sasl(saslComplete, ""))

// TestConversations plays conversations under every read size, with and without skipping, and compares what is observed.
func TestConversations(t *testing.T) {
	long := fetched(3, 2000, 100)
	for name, tc := range map[string]struct {
		segments []segment
		want     []string
	}{
		"sasl": {
			[]segment{
				opening(), complete, fromClient(frames(openSession(1))), fromServer(frames(opened(1))),
				fromClient(frames(execute(2, "select 1"))), fromServer(frames(executed(2))),
				fromClient(frames(fetch(3))), fromServer(frames(fetched(3, 10, 10))),
			},
			[]string{sawLogin, sawOpen, sawOpened, sawExecute, sawExecuted, sawFetch, sawFetched},
		},
		"response with status COMPLETE, as Java sends it": {
			[]segment{
				fromClient(sasl(saslStart, "PLAIN"), sasl(saslComplete, "bi\x00bi\x00x")), complete,
				fromClient(frames(openSession(1))), fromServer(frames(opened(1))),
			},
			[]string{sawLogin, sawOpen, sawOpened},
		},
		"login and first call in one segment": {
			[]segment{opening(frames(openSession(1))), fromServer(sasl(saslComplete, ""), frames(opened(1)))},
			[]string{sawLogin, sawOpen, sawOpened},
		},
		"nosasl": {
			[]segment{
				fromClient(openSession(1)), fromServer(opened(1)), fromClient(execute(2, "select 1")), fromServer(executed(2)),
				fromClient(fetch(3)), fromServer(long),
			},
			[]string{`login "" ""`, sawOpen, sawOpened, sawExecute, sawExecuted, sawFetch, sawFetched},
		},
		"two messages in a frame": {
			[]segment{
				opening(), complete, fromClient(frames(slices.Concat(openSession(1), execute(2, "select 1"), fetch(3)))),
				fromServer(frames(slices.Concat(opened(1), executed(2), fetched(3, 1, 1)))),
			},
			[]string{sawLogin, sawOpen, sawExecute, sawFetch, sawOpened, sawExecuted, sawFetched},
		},
		"a message over several frames": {
			[]segment{
				opening(), complete, fromClient(frames(split(openSession(1), 3)...)), fromServer(frames(split(opened(1), 7)...)),
			},
			[]string{sawLogin, sawOpen, sawOpened},
		},
		"empty frames": {
			[]segment{opening(), complete, fromClient(frames(nil, openSession(1), nil)), fromServer(frames(nil, opened(1)))},
			[]string{sawLogin, sawOpen, sawOpened},
		},
		"a long result in a frame, another call after it": {
			[]segment{
				opening(), complete, fromClient(frames(fetch(3))), fromServer(frames(long)),
				fromClient(frames(openSession(1))), fromServer(frames(opened(1))),
			},
			[]string{sawLogin, sawFetch, sawFetched, sawOpen, sawOpened},
		},
		"a long result over several long frames": {
			[]segment{
				opening(), complete, fromClient(frames(fetch(3))), fromServer(frames(split(long, len(long)/3)...)),
				fromClient(frames(openSession(1))), fromServer(frames(opened(1))),
			},
			[]string{sawLogin, sawFetch, sawFetched, sawOpen, sawOpened},
		},
		"pipelined calls": {
			[]segment{
				opening(), complete, fromClient(frames(openSession(1), execute(2, "select 1"), fetch(3))),
				fromServer(frames(opened(1))), fromServer(frames(executed(2), fetched(3, 1, 1))),
			},
			[]string{sawLogin, sawOpen, sawExecute, sawFetch, sawOpened, sawExecuted, sawFetched},
		},
		"a call that HiveServer2 does not know": {
			[]segment{
				opening(), complete, fromClient(frames(closeImpala(5))), fromServer(frames(exception("CloseImpalaOperation", 5))),
				fromClient(frames(closeOperation(6))), fromServer(frames(closedOperation(6))),
			},
			[]string{
				sawLogin, `call unknown 5 oneway=false truncated=false <nil>`, `reply unknown 5 to 5 exception=true "" truncated=false <nil>`,
				`call CloseOperation 6 oneway=false truncated=false *hiveserver.TCloseOperationReq`,
				`reply CloseOperation 6 to 6 exception=false "" truncated=false *hiveserver.TCloseOperationResp`,
			},
		},
		"an exception for a watched call": {
			[]segment{opening(), complete, fromClient(frames(openSession(1))), fromServer(frames(exception("OpenSession", 1)))},
			[]string{sawLogin, sawOpen, `reply OpenSession 1 to 1 exception=true "Invalid method name: 'OpenSession'" truncated=false <nil>`},
		},
		"a oneway call has no reply": {
			[]segment{
				opening(), complete, fromClient(frames(message("Ping", athrift.ONEWAY, 9, &hiveserver.TCLIServiceGetInfoArgs{}), openSession(1))),
				fromServer(frames(opened(1))),
			},
			[]string{sawLogin, `call unknown 9 oneway=true truncated=false <nil>`, sawOpen, sawOpened},
		},
		"refused login": {
			[]segment{opening(frames(openSession(1))), fromServer(sasl(saslBad, "Error validating the login"))},
			[]string{sawLogin, sawOpen},
		},
		"gssapi without protection": {
			[]segment{
				fromClient(sasl(saslStart, "GSSAPI"), sasl(saslOK, "token")), fromServer(sasl(saslOK, "challenge")),
				fromClient(sasl(saslOK, "")), fromServer(sasl(saslOK, "wrapped offer")), fromClient(sasl(saslComplete, "wrapped choice")),
				complete, fromClient(frames(openSession(1))), fromServer(frames(opened(1))),
			},
			[]string{`login "GSSAPI" ""`, sawOpen, sawOpened},
		},
		"gssapi, sealed": {
			[]segment{
				fromClient(sasl(saslStart, "GSSAPI"), sasl(saslOK, "token")), complete,
				fromClient(frames([]byte("\x05\x04\x02\xff0123456789"))), fromServer(frames([]byte("\x05\x04\x03\xff0123456789"))),
			},
			[]string{`login "GSSAPI" ""`, `blind sealed`},
		},
		"digest, sealed": {
			[]segment{
				fromClient(sasl(saslStart, "DIGEST-MD5")), fromServer(sasl(saslOK, `realm="default",qop="auth,auth-int",nonce="n"`)),
				fromClient(sasl(saslOK, `username="dG9rZW4=",realm="default",nonce="n",qop=auth-int,response=00`)), complete,
				fromClient(frames(slices.Concat(openSession(1), []byte("0123456789\x00\x01\x00\x00\x00\x00")))),
			},
			[]string{`login "DIGEST-MD5" ""`, `blind sealed`},
		},
		"digest": {
			[]segment{
				fromClient(sasl(saslStart, "DIGEST-MD5")), fromServer(sasl(saslOK, `realm="default",qop="auth",nonce="n"`)),
				fromClient(sasl(saslOK, `username="dG9rZW4=",qop=auth,response=00`)), complete,
				fromClient(frames(openSession(1))), fromServer(frames(opened(1))),
			},
			[]string{`login "DIGEST-MD5" ""`, sawOpen, sawOpened},
		},
		"tls": {[]segment{fromClient([]byte("\x16\x03\x01\x02\x00rest"))}, []string{"blind tls"}},
		"noise": {
			[]segment{fromClient([]byte("\x00\x00\x00\x05hello")), fromServer([]byte("anything"))},
			[]string{"blind unknown_protocol"},
		},
		"a server that speaks first": {[]segment{fromServer([]byte("220 mail"))}, []string{"blind unknown_protocol"}},
		"nosasl client at a sasl server": {
			[]segment{fromClient(openSession(1)), fromServer(sasl(saslError, "Invalid status -128"))},
			[]string{`login "" ""`, sawOpen, "blind malformed"},
		},
		"an absurd negotiation length is HiveServer2's to refuse": {
			[]segment{fromClient([]byte{saslStart, 0x7f, 0xff, 0xff, 0xff}), fromServer(sasl(saslError, "Invalid payload header length"))},
			[]string{"blind malformed"},
		},
		"a reply that nobody waits for": {
			[]segment{opening(), complete, fromServer(frames(opened(1)))}, []string{sawLogin, "blind out_of_sync"},
		},
		"a reply with another sequence id": {
			[]segment{opening(frames(openSession(1))), complete, fromServer(frames(opened(7)))},
			[]string{sawLogin, sawOpen, "blind out_of_sync"},
		},
		"a reply with another unknown name": {
			[]segment{opening(frames(closeImpala(5))), complete, fromServer(frames(exception("CloseOtherOperation", 5)))},
			[]string{sawLogin, `call unknown 5 oneway=false truncated=false <nil>`, "blind out_of_sync"},
		},
		"a body that cannot be walked costs its own frame": {
			[]segment{
				opening(), complete, fromClient(frames(slices.Concat(execute(2, "x")[:30], []byte{99, 0, 1, 2, 3}))),
				fromServer(frames(executed(2))), fromClient(frames(openSession(1))), fromServer(frames(opened(1))),
			},
			[]string{
				sawLogin, "undecoded client ExecuteStatement", `call ExecuteStatement 2 oneway=false truncated=false <nil>`,
				sawExecuted, sawOpen, sawOpened,
			},
		},
	} {
		for _, size := range readSizes {
			for _, skip := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/skip=%t", name, size, skip), func(t *testing.T) {
					var seen recorder
					c := NewConn(Limits{}, &seen)
					if err := play(t, c, size, skip, tc.segments...); err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(seen.events, tc.want) {
						t.Errorf("observed\n%s\nwanted\n%s", strings.Join(seen.events, "\n"), strings.Join(tc.want, "\n"))
					}
				})
			}
		}
	}
}

func split(b []byte, size int) [][]byte { return slices.Collect(slices.Chunk(b, size)) }

func TestRefusedLogin(t *testing.T) {
	var seen recorder
	c := NewConn(Limits{}, &seen)
	if err := play(t, c, 1, false, opening(), fromServer(sasl(saslBad, "no"))); err != nil {
		t.Fatal(err)
	}
	if !c.Refused() || c.Blind() != NotBlind {
		t.Errorf("refused %t, blind %s", c.Refused(), c.Blind())
	}
	if got := c.Stream(Client).Skip(); got != math.MaxInt64 {
		t.Errorf("skip %d after a refused login", got)
	}
}

// TestOversize: absurd lengths are refused on both sides, what came before them passes, and nothing is allocated for them.
func TestOversize(t *testing.T) {
	length := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	bare := openSession(1)[:23+1+2] // up to the request's first field
	for name, tc := range map[string]struct {
		before []segment
		last   segment
		pass   int
		side   Side
		length int64
	}{
		"call of 2 GB":               {[]segment{opening(), complete}, fromClient(frames(getInfo(1)), length(math.MaxInt32)), 4 + len(getInfo(1)), Client, math.MaxInt32},
		"call of negative length":    {[]segment{opening(), complete}, fromClient(length(1<<32 - 5)), 0, Client, -5},
		"call just over the limit":   {[]segment{opening(), complete}, fromClient(length(DefaultMaxCallBytes + 1)), 0, Client, DefaultMaxCallBytes + 1},
		"reply of 2 GB":              {[]segment{opening(), complete}, fromServer(length(math.MaxInt32)), 0, HiveServer2, math.MaxInt32},
		"reply of negative length":   {[]segment{opening(), complete}, fromServer(length(1 << 31)), 0, HiveServer2, math.MinInt32},
		"bare string of 2 GB":        {nil, fromClient(bare, []byte{athrift.STRING, 0, 2}, length(math.MaxInt32)), len(bare) + 7, Client, math.MaxInt32},
		"bare string below zero":     {nil, fromClient(bare, []byte{athrift.STRING, 0, 2}, length(1<<32-1)), len(bare) + 7, Client, -1},
		"bare list of 2 G structs":   {nil, fromClient(bare, []byte{athrift.LIST, 0, 2, athrift.STRUCT}, length(math.MaxInt32)), len(bare) + 8, Client, math.MaxInt32},
		"bare map of negative count": {nil, fromClient(bare, []byte{athrift.MAP, 0, 2, athrift.STRING, athrift.STRING}, length(1<<32-9)), len(bare) + 9, Client, -9},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewConn(Limits{}, &recorder{})
			if err := play(t, c, 1460, false, tc.before...); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			n, err := c.Stream(tc.last.side).Feed(tc.last.bytes)
			runtime.ReadMemStats(&after)
			var oversize *OversizeError
			if !errors.As(err, &oversize) {
				t.Fatalf("error %v", err)
			}
			if oversize.Side != tc.side || oversize.Length != tc.length || n != tc.pass {
				t.Errorf("%d bytes pass, %v", n, oversize)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
				t.Errorf("%d bytes allocated", grown)
			}
		})
	}
}

// TestFrameLimitPasses: the longest frames allowed pass, by feeding and by skipping, and nothing of their size is kept.
func TestFrameLimitPasses(t *testing.T) {
	c := NewConn(Limits{}, &recorder{})
	if err := play(t, c, 1460, false, opening(), complete, fromClient(frames(fetch(1)))); err != nil {
		t.Fatal(err)
	}
	begin := fetched(1, 1, 1)[:40]
	s := c.Stream(HiveServer2)
	if err := feed(s, slices.Concat(binary.BigEndian.AppendUint32(nil, 150<<20), begin), 1460, false); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Skip(), int64(150<<20-len(begin)); got != want {
		t.Fatalf("skip %d, wanted %d", got, want)
	}
	s.Advance(s.Skip())
	if err := play(t, c, 1460, false, fromClient(frames(getInfo(2))), fromServer(frames(gotInfo(2)))); err != nil {
		t.Fatal(err)
	}
	if c.Blind() != NotBlind || c.Waiting() != 0 {
		t.Errorf("blind %s, %d calls wait", c.Blind(), c.Waiting())
	}
}

// TestLongStatement: a statement beyond the copy keeps its session and a prefix that ends at a character.
func TestLongStatement(t *testing.T) {
	sql := "select '" + strings.Repeat("größe ", 400<<10) + "'"
	for _, skip := range []bool{false, true} {
		for _, limits := range []Limits{{}, {CopyBytes: 1001}, {CopyBytes: 1002}, {CopyBytes: 1003}} {
			var seen recorder
			c := NewConn(limits, &seen)
			err := play(t, c, 64<<10, skip, opening(), complete, fromClient(frames(execute(2, sql))), fromServer(frames(executed(2))))
			if err != nil {
				t.Fatal(err)
			}
			got := seen.calls[0]
			req, isExecute := got.Request.(*hiveserver.TExecuteStatementReq)
			if !isExecute || !got.Truncated || !bytes.Equal(req.SessionHandle.SessionId.GUID, guid('S').GUID) {
				t.Fatalf("call %+v", got)
			}
			want := c.limits.CopyBytes
			if n := len(req.Statement); n < want-100 || n > want || !strings.HasPrefix(sql, req.Statement) || strings.ToValidUTF8(req.Statement, "") != req.Statement {
				t.Errorf("prefix of %d bytes with copies of %d, ends %q", n, want, req.Statement[max(0, n-10):])
			}
			if len(seen.reply) != 1 || seen.reply[0].Result == nil {
				t.Errorf("replies %+v", seen.reply)
			}
		}
	}
}

// TestPasswords: neither PLAIN's nor OpenSession's password reaches the observer.
func TestPasswords(t *testing.T) {
	var seen recorder
	c := NewConn(Limits{}, &seen)
	if err := play(t, c, 5, false, opening(), complete, fromClient(frames(openSession(1)))); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v %+v %+v", seen.logins, seen.calls, c); strings.Contains(text, "s3cret") {
		t.Error("a password is kept")
	}
	req := seen.calls[0].Request.(*hiveserver.TOpenSessionReq)
	if req.Password != nil || *req.Username != "bi" {
		t.Errorf("request %+v", req)
	}
}

func TestPipelineBound(t *testing.T) {
	var seen recorder
	c := NewConn(Limits{PendingCalls: 3}, &seen)
	if err := play(t, c, 1460, false, opening(), complete, fromClient(frames(getInfo(1), getInfo(2), getInfo(3)))); err != nil {
		t.Fatal(err)
	}
	if c.Waiting() != 3 {
		t.Errorf("%d calls wait", c.Waiting())
	}
	if err := play(t, c, 1460, false, fromClient(frames(getInfo(4)))); err != nil {
		t.Fatal(err)
	}
	if c.Blind() != BlindPipeline {
		t.Errorf("blind %s", c.Blind())
	}
}

func TestPendingKeepsOrder(t *testing.T) {
	var q pending[waiting]
	next := int32(0)
	for seq := range int32(100) {
		q.push(waiting{seq: seq}, 64)
		if seq%3 == 2 {
			for range 2 {
				if got := q.pop().seq; got != next {
					t.Fatalf("popped %d, wanted %d", got, next)
				}
				next++
			}
		}
	}
	for q.peek() != nil {
		if got := q.pop().seq; got != next {
			t.Fatalf("popped %d, wanted %d", got, next)
		}
		next++
	}
	if next != 100 {
		t.Errorf("%d calls came back", next)
	}
}

func TestTurnBlind(t *testing.T) {
	var seen recorder
	c := NewConn(Limits{}, &seen)
	if err := play(t, c, 1460, false, opening(), complete, fromClient(frames(openSession(1))[:20])); err != nil {
		t.Fatal(err)
	}
	c.TurnBlind(BlindPanic)
	if err := play(t, c, 1460, false, fromClient([]byte("anything")), fromServer([]byte{0x7f, 0xff, 0xff, 0xff})); err != nil {
		t.Fatal(err)
	}
	if c.Blind() != BlindPanic || !slices.Equal(seen.events, []string{sawLogin}) {
		t.Errorf("blind %s, saw %q", c.Blind(), seen.events)
	}
}

// TestInside: at which bytes of a conversation an end would be in the middle of something.
func TestInside(t *testing.T) {
	messages := frames(openSession(1), nil, getInfo(2))
	boundaries := map[int]bool{0: true, len(sasl(saslStart, "PLAIN")): true, len(plainLogin()): true}
	for _, n := range []int{len(frames(openSession(1))), len(frames(openSession(1))) + 4, len(messages)} {
		boundaries[len(plainLogin())+n] = true
	}
	whole := slices.Concat(plainLogin(), messages)
	c := NewConn(Limits{}, silent{})
	s := c.Stream(Client)
	for at := 0; ; at++ {
		if got := s.Inside(); got == boundaries[at] {
			t.Errorf("byte %d of %d: inside %t", at, len(whole), got)
		}
		if at == len(whole) {
			break
		}
		if err := feed(s, whole[at:at+1], 1, false); err != nil {
			t.Fatal(err)
		}
	}
	if c.TurnBlind(BlindPanic); s.Inside() || c.Stream(HiveServer2).Inside() {
		t.Error("a blind connection is inside a message")
	}
}
