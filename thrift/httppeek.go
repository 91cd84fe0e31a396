package thrift

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

// PeekHTTP looks at the first bytes of a request, head and body as far as they have come, without keeping anything. Bodies with
// Content-Encoding gzip or deflate are inflated as far as it takes.
func PeekHTTP(b []byte) (HTTPRequest, PeekState) {
	return HTTPRequest{}, PeekDone
}
