package thrift

import (
	"strings"
	"testing"

	"github.com/beltran/gohive/hiveserver"
)

// TestPeekHTTP: what a router is told, and how many bytes of the request that takes.
func TestPeekHTTP(t *testing.T) {
	var session, operation GUID
	copy(session[:], guid('S').GUID)
	copy(operation[:], guid('O').GUID)
	bi := basic("bi", "s3cret")
	long := execute(1, strings.Repeat("x", 1<<20))
	for name, tc := range map[string]struct {
		bytes []byte
		want  HTTPRequest
	}{
		"open":              {post(openSession(1), bi), HTTPRequest{Method: "POST", Call: OpenSession}},
		"execute":           {post(execute(1, "select 1"), bi), HTTPRequest{Method: "POST", Call: ExecuteStatement, Handle: SessionHandle, ID: session}},
		"a long statement":  {post(long, bi), HTTPRequest{Method: "POST", Call: ExecuteStatement, Handle: SessionHandle, ID: session}},
		"catalogue":         {post(getTables(1), bi), HTTPRequest{Method: "POST", Call: GetTables, Handle: SessionHandle, ID: session}},
		"fetch":             {post(fetch(1), bi), HTTPRequest{Method: "POST", Call: FetchResults, Handle: OperationHandle, ID: operation}},
		"an unknown call":   {post(closeImpala(1), bi), HTTPRequest{Method: "POST", Handle: OperationHandle, ID: operation}},
		"gzip":              {post(compressed(codingGzip, fetch(1)), "Content-Encoding: gzip"), HTTPRequest{Method: "POST", Call: FetchResults, Handle: OperationHandle, ID: operation}},
		"chunked":           {chunked("POST / HTTP/1.1", fetch(1), 3), HTTPRequest{Method: "POST", ContentLength: -1, Call: FetchResults, Handle: OperationHandle, ID: operation}},
		"get":               {headed("GET /cliservice HTTP/1.1", []string{bi}, nil), HTTPRequest{Method: "GET"}},
		"expect":            {headed("POST / HTTP/1.1", []string{"Expect: 100-Continue", "Content-Length: 5"}, nil), HTTPRequest{Method: "POST", ContentLength: 5, ExpectContinue: true}},
		"no Thrift":         {post([]byte("no Thrift"), bi), HTTPRequest{Method: "POST"}},
		"no body":           {post(nil, bi), HTTPRequest{Method: "POST"}},
		"a call cut short":  {post(fetch(1)[:50], bi), HTTPRequest{Method: "POST", Call: FetchResults}},
		"a bomb":            {post(compressed(codingGzip, append(fetch(1)[:24], make([]byte, 1<<20)...)), "Content-Encoding: gzip"), HTTPRequest{Method: "POST", Call: FetchResults}},
		"http/2 is no call": {[]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), HTTPRequest{Method: "PRI"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, state := PeekHTTP(tc.bytes)
			if got.HeadBytes == 0 || !strings.HasSuffix(string(tc.bytes[:got.HeadBytes]), "\r\n\r\n") {
				t.Errorf("a head of %d bytes", got.HeadBytes)
			}
			if tc.want.ContentLength == 0 {
				tc.want.ContentLength = int64(len(tc.bytes) - got.HeadBytes)
				if tc.want.Method != "POST" {
					tc.want.ContentLength = 0
				}
			}
			tc.want.HeadBytes = got.HeadBytes
			if got != tc.want || state != PeekDone {
				t.Errorf("%+v (%d), wanted %+v", got, state, tc.want)
			}
			for n := range got.HeadBytes {
				if early, state := PeekHTTP(tc.bytes[:n]); state != PeekMore || early != (HTTPRequest{}) {
					t.Fatalf("after %d bytes %+v (%d)", n, early, state)
				}
			}
		})
	}
	if _, state := PeekHTTP(post(fetch(1))[:len(post(fetch(1)))-90]); state != PeekMore {
		t.Errorf("state %d within the handle", state)
	}
	for _, bad := range []string{"GARBAGE\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", strings.Repeat("x", maxPeek+1)} {
		if _, state := PeekHTTP([]byte(bad)); state != PeekMalformed {
			t.Errorf("%.20q: state %d", bad, state)
		}
	}
}

// TestPeekCookie: a cookie's hash tells equal values from others.
func TestPeekCookie(t *testing.T) {
	hash := func(headers ...string) uint64 {
		r, _ := PeekHTTP(post(fetch(1), headers...))
		return r.CookieHash
	}
	one := hash("Cookie: hive.server2.auth=cu=bi&rn=1&s=c2ln")
	if one == 0 || one != hash(`Cookie: a=b; hive.server2.auth="cu=bi&rn=1&s=c2ln";Version=0`) || one == hash("Cookie: hive.server2.auth=cu=bi&rn=2&s=c2ln") {
		t.Error("the hash does not stand for the value")
	}
	if hash("Cookie: ") != 0 || hash("Cookie: hive.server2.auth=") != 0 {
		t.Error("a hash without a cookie")
	}
}

// TestPeekRecorded: of every recorded request the same handle is peeked as is decoded.
func TestPeekRecorded(t *testing.T) {
	var checked int
	for name, connections := range recorded(t) {
		for _, segments := range connections {
			for _, s := range segments {
				if s.side != Client || !strings.HasPrefix(string(s.bytes), "POST") {
					continue
				}
				var seen httpRecorder
				c := NewConn(Limits{}, &seen)
				if err := play(t, c, 64<<10, false, s); err != nil {
					t.Fatal(err)
				}
				got, state := PeekHTTP(s.bytes)
				if len(seen.calls) == 0 {
					continue
				}
				kind, id := decodedHandle(seen.calls[0].Request)
				if kind == NoHandle && got.Call != OpenSession {
					continue // not decoded
				}
				checked++
				if state != PeekDone || got.Call != seen.calls[0].Method || got.Handle != kind || string(got.ID[:]) != string(id) && kind != NoHandle {
					t.Errorf("%s: %+v of %s", name, got, seen.calls[0].Method)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d requests checked", checked)
	}
}

func decodedHandle(request any) (HandleKind, []byte) {
	switch r := request.(type) {
	case interface {
		GetSessionHandle() *hiveserver.TSessionHandle
	}:
		return SessionHandle, r.GetSessionHandle().SessionId.GUID
	case interface {
		GetOperationHandle() *hiveserver.TOperationHandle
	}:
		return OperationHandle, r.GetOperationHandle().OperationId.GUID
	default:
		return NoHandle, nil
	}
}
