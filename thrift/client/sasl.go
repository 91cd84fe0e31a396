package client

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The status of a SASL message, as TSaslTransport.NegotiationStatus has it.
const (
	saslStart    = 1
	saslOK       = 2
	saslBad      = 3
	saslError    = 4
	saslComplete = 5
)

// maxLoginMessage bounds a SASL message of the login, in bytes: PLAIN's are a few hundred, a Kerberos ticket with a long
// list of groups some 60,000. The letters "HTTP" read as a length are 1.2 GB.
const maxLoginMessage = 256 << 10

// errNotSASL is the answer of something else than a SASL server.
var errNotSASL = errors.New("the reply to the login is not SASL: an HTTP or TLS port, or authentication NOSASL?")

// mechanism is the client's side of a SASL mechanism.
type mechanism interface {
	name() string
	// step answers a challenge of the server; the first is nil.
	step(challenge []byte) (response []byte, err error)
	// done reports whether the client has nothing more to say or to check.
	done() bool
}

// negotiate logs in as Thrift's TSaslClientTransport does. Behind it every message is a 4-byte length and a payload,
// wrapped by the mechanism only where a security layer was chosen, which ours never do.
func negotiate(conn io.ReadWriter, m mechanism) error {
	response, err := m.step(nil)
	if err != nil {
		return err
	}
	// Both in one write, and so in one segment.
	out := appendSASL(appendSASL(nil, saslStart, []byte(m.name())), saslOK, response)
	for {
		if _, err := conn.Write(out); err != nil {
			return err
		}
		status, payload, err := readSASL(conn)
		if err != nil {
			return err
		}
		switch status {
		case saslBad, saslError:
			return &Error{SQLState: "08004", Message: "login refused: " + string(payload)}
		case saslComplete:
			if !m.done() {
				return fmt.Errorf("HiveServer2 ended the %s login before it was complete", m.name())
			}
			return nil
		}
		if response, err = m.step(payload); err != nil {
			return err
		}
		out = appendSASL(nil, saslOK, response)
	}
}

// appendSASL appends a message: status, 4-byte length, payload.
func appendSASL(b []byte, status byte, payload []byte) []byte {
	b = append(b, status)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload))) //nolint:gosec // our own, and short
	return append(b, payload...)
}

func readSASL(conn io.Reader) (status byte, payload []byte, err error) {
	var header [5]byte
	if _, err := io.ReadFull(conn, header[:1]); err != nil {
		return 0, nil, err
	}
	if header[0] < saslOK || header[0] > saslComplete {
		return 0, nil, errNotSASL
	}
	if _, err := io.ReadFull(conn, header[1:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(header[1:])
	if length > maxLoginMessage {
		return 0, nil, fmt.Errorf("%w (a message of %d bytes)", errNotSASL, length)
	}
	payload = make([]byte, length)
	if _, err := io.ReadFull(conn, payload); err != nil {
		return 0, nil, err
	}
	return header[0], payload, nil
}

// plain is the mechanism PLAIN (RFC 4616).
type plain struct {
	user, password string
	sent           bool
}

func (p *plain) name() string { return "PLAIN" }

func (p *plain) step([]byte) ([]byte, error) {
	if p.sent {
		return nil, errors.New("HiveServer2 asks for more than a name and a password")
	}
	p.sent = true
	return []byte("\x00" + p.user + "\x00" + p.password), nil
}

func (p *plain) done() bool { return p.sent }
