package thrift

// Status bytes of Thrift's SASL negotiation (TSaslTransport.NegotiationStatus).
const (
	saslStart    = 1
	saslOK       = 2
	saslBad      = 3
	saslError    = 4
	saslComplete = 5
)

const (
	mechanismPlain  = "PLAIN"
	mechanismDigest = "DIGEST-MD5"
	// maxMechanism is the longest mechanism name of RFC 4422 (20 characters), with room.
	maxMechanism = 64
	// maxSASL is TSaslTransport's own bound of a negotiation payload, in bytes.
	maxSASL = 100 << 20
)

// negotiation reads one side's negotiation messages in pieces: status byte, 4-byte length, payload.
type negotiation struct {
	head   [5]byte
	have   uint8
	inside bool // a header is complete and its message not yet ended
	left   int64
	count  int // messages ended

	mechanism []byte // of START
	plain     plain
	digest    digest
}

func (n *negotiation) status() byte { return n.head[0] }

// header takes header bytes from p; complete once status and length are known, bad when no such message exists.
func (n *negotiation) header(p []byte) (k int, complete, bad bool) {
	k = copy(n.head[n.have:], p)
	n.have += uint8(k) //nolint:gosec // at most 5
	if n.have > 0 && (n.head[0] < saslStart || n.head[0] > saslComplete) {
		return k, false, true
	}
	if n.have < 5 {
		return k, false, false
	}
	n.have = 0
	n.left = signed(n.head[1:])
	if n.left < 0 || n.left > maxSASL {
		return k, true, true
	}
	n.inside = true
	return k, true, false
}

// feedSASL follows the negotiation and reports how much of p it took. It ends with the stream in another phase: framed, done,
// or blind. A length beyond TSaslTransport's bound turns the connection blind instead of being refused: HiveServer2 answers
// it with status ERROR, which the client shall see.
func (s *Stream) feedSASL(p []byte) (n int) {
	if s.sasl == nil {
		s.sasl = &negotiation{}
	}
	sasl := s.sasl
	for s.phase == phaseSASL && s.conn.blind == NotBlind {
		if !sasl.inside {
			if sasl.have == 0 && s.conn.loggedIn {
				s.startFrames()
				return n
			}
			if n == len(p) {
				return n
			}
			k, complete, bad := sasl.header(p[n:])
			n += k
			if bad || sasl.count == 0 && s.side == Client && sasl.head[0] != saslStart {
				s.conn.turnBlind(BlindMalformed)
				return n
			}
			if !complete {
				return n
			}
		}
		payload := p[n:]
		if int64(len(payload)) > sasl.left {
			payload = payload[:sasl.left]
		}
		n += len(payload)
		sasl.left -= int64(len(payload))
		if s.side == Client {
			s.clientSASL(payload)
		}
		if sasl.left > 0 {
			return n
		}
		sasl.inside = false
		sasl.count++
		s.endSASL()
	}
	return n
}

// clientSASL looks at payload bytes of the client: the mechanism, PLAIN's user, DIGEST-MD5's quality of protection.
func (s *Stream) clientSASL(b []byte) {
	sasl := s.sasl
	switch {
	case sasl.status() == saslStart:
		sasl.mechanism = append(sasl.mechanism, b[:min(len(b), maxMechanism-len(sasl.mechanism))]...)
	case sasl.status() == saslBad || sasl.status() == saslError:
	case s.conn.login.Mechanism == mechanismPlain:
		sasl.plain.feed(b)
	case s.conn.login.Mechanism == mechanismDigest:
		sasl.digest.feed(b)
	}
}

// endSASL acts on a complete negotiation message.
func (s *Stream) endSASL() {
	c, sasl := s.conn, s.sasl
	switch status := sasl.status(); {
	case status == saslBad || status == saslError:
		// The login is over; whatever follows is no framed message.
		c.refused = true
		c.client.phase, c.server.phase = phaseOver, phaseOver
	case s.side == HiveServer2:
		if status == saslComplete {
			c.completeLogin()
			s.startFrames()
		}
	case status == saslStart:
		c.login.Mechanism = string(sasl.mechanism)
		sasl.mechanism = nil
	case c.login.Mechanism == mechanismPlain:
		// PLAIN is one response. Clients pipeline their first call behind it, so the frames begin here, not at the server's COMPLETE.
		c.login.User = sasl.plain.name()
		sasl.plain = plain{}
		c.tellLogin()
		s.startFrames()
	case c.login.Mechanism == mechanismDigest:
		c.sealed = sasl.digest.sealed()
		sasl.digest = digest{}
	}
}

// completeLogin is called at the server's COMPLETE.
func (c *Conn) completeLogin() {
	c.loggedIn = true
	c.tellLogin()
	if c.sealed {
		c.turnBlind(BlindSealed)
	}
}

func (c *Conn) tellLogin() {
	if !c.told {
		c.told = true
		c.observer.Login(c.login)
	}
}

// Opening is what a client's first byte says of how the connection speaks.
type Opening uint8

// The openings.
const (
	OpeningUnknown Opening = iota
	OpeningSASL
	OpeningBare // NOSASL: a message without a frame
	OpeningTLS
	OpeningHTTP
)

// OpeningOf reads a client's first byte.
func OpeningOf(first byte) Opening {
	switch first {
	case saslStart:
		return OpeningSASL
	case version1 >> 24:
		return OpeningBare
	case 0x16: // TLS handshake record
		return OpeningTLS
	case 'C', 'D', 'G', 'H', 'O', 'P', 'T': // the first letters of HTTP's methods
		return OpeningHTTP
	default:
		return OpeningUnknown
	}
}

// firstByte decides how the connection speaks.
func (s *Stream) firstByte(b byte) {
	c := s.conn
	switch OpeningOf(b) {
	case OpeningSASL:
		c.client.phase, c.server.phase = phaseSASL, phaseSASL
	case OpeningBare:
		c.tellLogin()
		c.client.phase, c.server.phase = phaseBare, phaseBare
	case OpeningTLS:
		c.turnBlind(BlindTLS)
	case OpeningHTTP:
		c.startHTTP()
	default:
		c.turnBlind(BlindUnknownProtocol)
	}
}
