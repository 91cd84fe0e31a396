package hs2test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// Status bytes of Thrift's SASL negotiation.
const (
	saslStart    = 1
	saslOK       = 2
	saslBad      = 3
	saslError    = 4
	saslComplete = 5
	// maxSASL is TSaslTransport's bound of a payload, in bytes.
	maxSASL = 100 << 20
)

var statusNames = map[byte]string{saslStart: "START", saslOK: "OK", saslBad: "BAD", saslError: "ERROR", saslComplete: "COMPLETE"}

// login negotiates SASL PLAIN.
func (c *connection) login() error {
	status, mechanism, err := c.readSASL()
	if err != nil {
		return err
	}
	if status != saslStart { // TSaslServerTransport.handleSaslStartMessage
		return c.refuse(saslError, fmt.Sprintf("Expecting START status, received %s", statusNames[status]))
	}
	if string(mechanism) != "PLAIN" {
		return c.refuse(saslBad, fmt.Sprintf("Unsupported mechanism type %s", mechanism))
	}
	status, response, err := c.readSASL()
	if err != nil {
		return err
	}
	parts := bytes.Split(response, []byte{0})
	if status != saslOK && status != saslComplete || len(parts) != 3 {
		return c.refuse(saslBad, "Invalid response")
	}
	user, password := string(parts[1]), string(parts[2])
	if !c.server.accepts(user, password) {
		return c.refuse(saslBad, "Error validating the login")
	}
	c.user = user
	return c.writeSASL(saslComplete, nil)
}

// accepts reports whether the login is right.
func (s *Server) accepts(user, password string) bool {
	want, known := s.cfg.Passwords[user]
	return user != "" && password != "" && (s.cfg.Passwords == nil || known && want == password)
}

func (c *connection) readSASL() (status byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return 0, nil, fmt.Errorf("read negotiation: %w", err)
	}
	if statusNames[head[0]] == "" { // HiveServer2 4.0.1 closes without a word
		return 0, nil, errRefused
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxSASL {
		return 0, nil, c.refuse(saslError, fmt.Sprintf("Invalid payload header length: %d", int32(size))) //nolint:gosec // the wire's signed length
	}
	payload = make([]byte, size)
	if _, err := io.ReadFull(c.conn, payload); err != nil {
		return 0, nil, fmt.Errorf("read negotiation: %w", err)
	}
	return head[0], payload, nil
}

func (c *connection) refuse(status byte, text string) error {
	if err := c.writeSASL(status, []byte(text)); err != nil {
		return err
	}
	return errRefused
}

func (c *connection) writeSASL(status byte, payload []byte) error {
	message := binary.BigEndian.AppendUint32([]byte{status}, uint32(len(payload))) //nolint:gosec // short texts
	if _, err := c.conn.Write(append(message, payload...)); err != nil {
		return fmt.Errorf("write negotiation: %w", err)
	}
	return nil
}
