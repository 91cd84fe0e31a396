package thrift

// Observer is told what passes on one connection, in the order it passes, before the bytes are forwarded. Its methods are
// called under the Conn's lock: they must not block and must not call the Conn.
type Observer interface {
	// Login is called once the way of authentication is known: before the first call, and before HiveServer2 has judged it.
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

// Login is what the negotiation told. There is no place for a password in it.
type Login struct {
	// Mechanism is SASL's name of it (PLAIN, GSSAPI, DIGEST-MD5); empty for NOSASL.
	Mechanism string
	// User is PLAIN's authentication name; empty for other mechanisms.
	User string
}

// Call is one call of a client.
type Call struct {
	Method Method
	SeqID  int32
	// Oneway calls have no reply.
	Oneway bool
	// Request is a *hiveserver.T…Req for watched methods, nil for others and where decoding failed. A password in it is gone.
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
	// Result is a *hiveserver.T…Resp for watched methods, nil for others, for exceptions and where decoding failed.
	Result any
	// Truncated: the reply was longer than the copy; Result holds the fields before the cut.
	Truncated bool
}
