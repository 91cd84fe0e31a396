package thrift

import (
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"net/http"
)

// PeekState says whether the first bytes of an HTTP request tell all they can.
type PeekState uint8

// The states.
const (
	// PeekMore: the bytes end before what is looked for; with more of them it may be found.
	PeekMore PeekState = iota
	// PeekDone: no further bytes change the answer.
	PeekDone
	// PeekMalformed: these bytes begin no HTTP request.
	PeekMalformed
)

// HandleKind tells what a handle in a call's arguments addresses.
type HandleKind uint8

// The kinds.
const (
	NoHandle HandleKind = iota
	SessionHandle
	OperationHandle
)

// HTTPRequest is what a router wants to know of a request before it chooses a HiveServer2.
type HTTPRequest struct {
	// Method of HTTP (POST, GET, …), empty where it is none that is known.
	Method string
	// HeadBytes is the length of the head with its empty line, in bytes; 0 while it is not complete.
	HeadBytes int
	// ContentLength of the body in bytes; -1 for a chunked one.
	ContentLength int64
	// ExpectContinue: the client may wait for a 100 response before it sends the body. Such a request is done with its head.
	ExpectContinue bool
	// CookieHash stands for the value of HiveServer2's cookie (hive.server2.auth): equal values have equal hashes within this
	// process. 0 without a cookie.
	CookieHash uint64
	// Call is the method in the body, MethodUnknown without one.
	Call Method
	// Handle is the kind of ID, which is the handle in the first field of the call's request.
	Handle HandleKind
	ID     GUID
}

// maxPeek bounds how far into a request PeekHTTP looks, in bytes: handles stand at the beginning of a call's arguments.
const maxPeek = maxHead + smallCall

var cookieSeed = maphash.MakeSeed()

// PeekHTTP looks at the first bytes of a request, head and body as far as they have come, without keeping anything. Bodies with
// Content-Encoding gzip or deflate are inflated as far as it takes.
func PeekHTTP(b []byte) (HTTPRequest, PeekState) {
	r := HTTPRequest{}
	cut := len(b) > maxPeek
	b = b[:min(len(b), maxPeek)]
	head := bytes.TrimLeft(b, "\r\n")
	n, done := new(headEnd).feed(head)
	if !done {
		if cut || len(head) > maxHead {
			return r, PeekMalformed
		}
		return r, PeekMore
	}
	h, why := parseRequest(head[:n])
	if why == BlindMalformed {
		return r, PeekMalformed
	}
	body := head[n:]
	r.Method, r.HeadBytes, r.ContentLength, r.ExpectContinue = string(h.method), len(b)-len(body), max(h.length, 0), h.expect
	if h.chunked {
		r.ContentLength = -1
	}
	if h.cookie != nil {
		r.CookieHash = cookieHash(h.cookie)
	}
	if r.Method != http.MethodPost || h.expect && len(body) == 0 {
		return r, PeekDone
	}
	body, whole := bodyOf(body, &h.framing)
	if h.chunked {
		defer clear(body)
	}
	if r.peekCall(body, h.coding) && !whole && !cut {
		return r, PeekMore
	}
	return r, PeekDone
}

// cookieHash is HTTPRequest.CookieHash of a cookie's value.
func cookieHash(cookie []byte) uint64 { return max(1, maphash.Bytes(cookieSeed, cookie)) }

// bodyOf is what there is of a body's content. whole: no more of it will come.
func bodyOf(b []byte, f *framing) (body []byte, whole bool) {
	if !f.chunked {
		length := max(f.length, 0)
		if int64(len(b)) < length {
			return b, false
		}
		return b[:length], true
	}
	var c chunks
	for {
		n, data, ended, err := c.feed(b)
		b = b[n:]
		switch {
		case ended || err != nil:
			return body, true
		case !data:
			if len(b) == 0 {
				return body, false
			}
			continue
		}
		n = int(min(c.size, int64(len(b))))
		body = append(body, b[:n]...)
		b = b[n:]
		if len(b) == 0 {
			return body, false
		}
	}
}

// peekCall reads the call in a body; more tells that the body ended before all was found.
func (r *HTTPRequest) peekCall(body []byte, how coding) (more bool) {
	cut := false
	if how != codingNone {
		if len(body) < 2 {
			return true // not enough to tell the forms of deflate apart
		}
		var plain bodyCopy
		plain.start()
		defer plain.release()
		err := inflate(&plain, body, how, smallCall)
		if len(*plain.buffer) == 0 && err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return false
		}
		body, cut = *plain.buffer, plain.truncated
	}
	var h header
	h.reset()
	n, done, err := h.feed(body)
	if !done {
		return err == nil && !cut
	}
	r.Call = h.method
	if h.method == OpenSession {
		return false
	}
	p := &part{b: body[n:]}
	r.Handle, r.ID = callHandle(p)
	return p.short && !cut
}
