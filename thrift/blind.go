package thrift

// BlindReason says why a connection is relayed without being observed.
type BlindReason uint8

// Reasons, NotBlind first. Each is a counter.
const (
	NotBlind BlindReason = iota
	// BlindTLS: the client began a TLS handshake that is passed through.
	BlindTLS
	// BlindHTTP: HTTP that is not followed: HTTP/2, CONNECT, a 101 response, a transfer coding beside chunked, a head over 64 KiB.
	BlindHTTP
	// BlindUnknownProtocol: the first byte is neither a SASL START nor a Thrift message.
	BlindUnknownProtocol
	// BlindSealed: SASL wraps the payloads (auth-int, auth-conf).
	BlindSealed
	// BlindMalformed: bytes that the protocol does not allow at their place.
	BlindMalformed
	// BlindOutOfSync: a reply that answers no waiting call, or a reply where a call belongs.
	BlindOutOfSync
	// BlindPipeline: more calls wait for a reply than are remembered.
	BlindPipeline
	// BlindPanic: the observation panicked.
	BlindPanic
	blindCount
)

var blindNames = [blindCount]string{
	NotBlind:             "not blind",
	BlindTLS:             "tls",
	BlindHTTP:            "http",
	BlindUnknownProtocol: "unknown_protocol",
	BlindSealed:          "sealed",
	BlindMalformed:       "malformed",
	BlindOutOfSync:       "out_of_sync",
	BlindPipeline:        "pipeline",
	BlindPanic:           "panic",
}

// String is the reason as counters are labelled.
func (r BlindReason) String() string {
	if r < blindCount {
		return blindNames[r]
	}
	return "unknown"
}

// BlindReasons lists every reason a connection can be blind for.
func BlindReasons() []BlindReason {
	reasons := make([]BlindReason, 0, blindCount-1)
	for r := BlindTLS; r < blindCount; r++ {
		reasons = append(reasons, r)
	}
	return reasons
}
