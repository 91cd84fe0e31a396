package fakehs2

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	athrift "github.com/apache/thrift/lib/go/thrift"
)

const (
	// maxCall is hive.server2.thrift.max.message.size, in bytes.
	maxCall = 100 << 20
	// Status bytes of Thrift's SASL negotiation.
	saslStart    = 1
	saslComplete = 5
	// maxSASL is more than any negotiation message of ours, in bytes.
	maxSASL = 64 << 10
)

// connection is one client's connection: one goroutine, one call at a time.
type connection struct {
	server *Server
	conn   net.Conn
	reader *bufio.Reader
	opened map[guid]struct{}

	frame    []byte // the call being answered
	in       *athrift.TMemoryBuffer
	out      *athrift.TMemoryBuffer
	protocol struct{ in, out athrift.TProtocol }
	head     []byte // of a result batch, with this call's numbers
}

func newConnection(s *Server, conn net.Conn) *connection {
	c := &connection{
		server: s, conn: conn, reader: bufio.NewReader(conn), opened: map[guid]struct{}{},
		in: &athrift.TMemoryBuffer{Buffer: &bytes.Buffer{}}, out: &athrift.TMemoryBuffer{Buffer: &bytes.Buffer{}},
	}
	c.protocol.in = athrift.NewTBinaryProtocolConf(c.in, &athrift.TConfiguration{MaxMessageSize: maxCall})
	c.protocol.out = athrift.NewTBinaryProtocolConf(c.out, &athrift.TConfiguration{})
	return c
}

// connectionKey is the connection's in the context of its calls.
type connectionKey struct{}

// login takes everybody, as HiveServer2's NONE does.
func (c *connection) login() error {
	status, mechanism, err := c.negotiation()
	if err != nil {
		return err
	}
	if status != saslStart || string(mechanism) != "PLAIN" {
		return fmt.Errorf("negotiation starts with status %d and mechanism %q", status, mechanism)
	}
	if _, _, err = c.negotiation(); err != nil {
		return err
	}
	_, err = c.conn.Write([]byte{saslComplete, 0, 0, 0, 0})
	return err
}

func (c *connection) negotiation() (status byte, payload []byte, err error) {
	var head [5]byte
	if _, err = io.ReadFull(c.reader, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxSASL {
		return 0, nil, fmt.Errorf("negotiation message of %d bytes", size)
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(c.reader, payload)
	return head[0], payload, err
}

// calls answers calls until the connection ends.
func (c *connection) calls() {
	ctx := context.WithValue(context.Background(), connectionKey{}, c)
	for {
		if err := c.read(); err != nil {
			return
		}
		if err := c.answer(ctx); err != nil {
			return
		}
	}
}

// read reads one frame into c.in.
func (c *connection) read() error {
	var head [4]byte
	if _, err := io.ReadFull(c.reader, head[:]); err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint32(head[:]))
	if size > maxCall {
		return fmt.Errorf("call of %d bytes", size)
	}
	if cap(c.frame) < size {
		c.frame = make([]byte, size)
	}
	c.frame = c.frame[:size]
	if _, err := io.ReadFull(c.reader, c.frame); err != nil {
		return err
	}
	c.in.Reset()
	_, err := c.in.Write(c.frame)
	return err
}

func (c *connection) answer(ctx context.Context) error {
	name, kind, seq, err := c.protocol.in.ReadMessageBegin(ctx)
	if err != nil {
		return err
	}
	if kind != athrift.CALL {
		return errors.New("a message that is no call")
	}
	if name == "FetchResults" {
		return c.fetch(ctx, seq)
	}
	c.out.Reset()
	if _, err := c.out.Write([]byte{0, 0, 0, 0}); err != nil { // the frame's length
		return err
	}
	if own, ok := c.server.own[name]; ok && known[name] {
		if _, err := own.Process(ctx, seq, c.protocol.in, c.protocol.out); err != nil {
			return err
		}
	} else if err := c.refuse(ctx, name, seq); err != nil {
		return err
	}
	return c.send(c.out.Bytes())
}

// refuse is what HiveServer2 sends for a method it does not have.
func (c *connection) refuse(ctx context.Context, name string, seq int32) error {
	x := athrift.NewTApplicationException(athrift.UNKNOWN_METHOD, "Invalid method name: '"+name+"'")
	if err := c.protocol.out.WriteMessageBegin(ctx, name, athrift.EXCEPTION, seq); err != nil {
		return err
	}
	return x.Write(ctx, c.protocol.out)
}

// send writes a message behind four bytes for its length.
func (c *connection) send(message []byte) error {
	binary.BigEndian.PutUint32(message, uint32(len(message)-4)) //nolint:gosec // small replies
	_, err := c.conn.Write(message)
	return err
}
