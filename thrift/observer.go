package thrift

// Observer is told what passes on one connection, in the order it passes, before the bytes are forwarded. Its methods are
// called under the Conn's lock: they must not block and must not call the Conn.
type Observer interface {
	// Login is called once the way of authentication is known: before the first call, and before HiveServer2 has judged it. On
	// HTTP each request may authenticate anew, so it is called again whenever the login differs from the one told last.
	Login(Login)
	// Call is called when a call is complete. What it returns comes back with the reply.
	Call(Call) (token any)
	// Reply is called for the reply to the call that returned token.
	Reply(token any, r Reply)
	// Blind is called at most once: nothing more will be observed on the connection.
	Blind(BlindReason)
	// DecodeFailed is called when a watched message could not be decoded although its frame was sound.
	DecodeFailed(Side, Method, error)
}

// Login is what the negotiation, or an HTTP request's head, told. There is no place for a password, a token or a cookie in it.
type Login struct {
	// Transport is how the connection speaks.
	Transport Transport
	// Mechanism is SASL's name of it (PLAIN, GSSAPI, DIGEST-MD5); empty for NOSASL. On HTTP it is BASIC, NEGOTIATE or BEARER from
	// the Authorization header; a request with HiveServer2's cookie alone keeps what the connection had, and is COOKIE where it
	// had nothing or the cookie names another user. It is empty for a request without any of them.
	Mechanism string
	// User is PLAIN's authentication name; empty for other mechanisms. On HTTP it is Basic's user, or the one HiveServer2 wrote into
	// its cookie.
	User string
	// DoAs is the user an HTTP request asks to act as, its doAs parameter; empty without one.
	DoAs string
	// ForwardedFor is the X-Forwarded-For header of an HTTP request as it was sent, at most 1 KiB; several are joined with ", ".
	ForwardedFor string
}

// Call is one call of a client.
type Call struct {
	Method Method
	SeqID  int32
	// Oneway calls have no reply.
	Oneway bool
	// Request is a *hiveserver.T…Req for watched methods, nil for others and where decoding failed. A password in it is gone. It must
	// not be used after Observer.Call has returned, but for OpenSession's.
	Request any
	// Truncated: the message was longer than the copy. Request holds the fields before the cut, with ExecuteStatement's
	// statement cut at a character.
	Truncated bool
}

// Reply is HiveServer2's answer to a Call.
type Reply struct {
	Method Method
	SeqID  int32
	// Exception: a TApplicationException instead of a result; Message is its text for watched methods.
	Exception bool
	Message   string
	// Result is a *hiveserver.T…Resp for watched methods, nil for others, for exceptions and where decoding failed. OpenSession's
	// may come without its Configuration, all of HiveServer2's settings. It must not be used after Observer.Reply has returned.
	Result any
	// Truncated: the reply was longer than the copy; Result holds the fields before the cut.
	Truncated bool
	// HTTPStatus is the status of the HTTP response, 0 on a binary connection.
	HTTPStatus int
	// Rejected: the response held no Thrift message and its status (3xx, 4xx) says that the call was not run: a missing login,
	// for one, after which the client sends the call again. Without Rejected a response that held no message (5xx) has no Result
	// and leaves open whether the call was run.
	Rejected bool
	// Operation is the operation that a catalogue call (GetTables and its like, which are not decoded) began; zero for other
	// methods, for failures and on a binary connection.
	Operation GUID
}
