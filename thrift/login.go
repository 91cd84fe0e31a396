package thrift

import "encoding/binary"

// LoggingIn reports whether the login is still going on: nothing has come yet, or SASL's negotiation has no end. It is false where
// there is none to be seen: on NOSASL, HTTP and blind connections.
func (c *Conn) LoggingIn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.blind != NotBlind || c.refused || c.loggedIn:
		return false
	case c.client.phase == phaseFirst:
		return true
	default:
		return c.client.phase == phaseSASL || c.client.phase == phaseFramed
	}
}

// Refusal is how a server of the connection's protocol refuses a login: SASL's status BAD with the reason, or an HTTP response. It
// is nil where the protocol has no such message. It fits only in place of the server's own answer to the login.
func (c *Conn) Refusal(reason string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.blind != NotBlind:
		return nil
	case c.login.Transport == HTTP:
		return []byte("HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" + reason + "\r\n")
	case c.login.Mechanism != "":
		b := binary.BigEndian.AppendUint32([]byte{saslBad}, uint32(len(reason))) //nolint:gosec // a sentence
		return append(b, reason...)
	default:
		return nil
	}
}
