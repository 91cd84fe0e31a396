package thrift

// Transport is how a connection carries Thrift's messages.
type Transport uint8

// The transports of HiveServer2 (hive.server2.transport.mode).
const (
	Binary Transport = iota // SASL frames, or bare messages
	HTTP                    // a message in the body of each request and response
)

// String names the transport as hive.server2.transport.mode does.
func (t Transport) String() string {
	if t == HTTP {
		return "http"
	}
	return "binary"
}

// GUID is the public half of a THandleIdentifier: it names a session or an operation, and is no secret.
type GUID [16]byte
