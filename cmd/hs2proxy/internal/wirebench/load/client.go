package load

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/wirebench/fakehs2"
)

// maxReply is more than any reply of the scenarios, in bytes.
const maxReply = 256 << 20

// login is SASL PLAIN, START and response in one segment, as clients write it.
var login = func() (b []byte) {
	for _, m := range []struct {
		status  byte
		payload string
	}{{1, "PLAIN"}, {2, "\x00bench\x00x"}} {
		b = append(b, m.status)
		b = binary.BigEndian.AppendUint32(b, uint32(len(m.payload)))
		b = append(b, m.payload...)
	}
	return b
}()

// client is one connection, logged in, with at most one session and one operation. It is not safe for concurrent use.
type client struct {
	conn    net.Conn
	reader  *bufio.Reader
	seq     int32
	out     []byte
	in      []byte
	read    int64 // bytes of replies
	session handle
	running handle
}

// dial connects and logs in; the connection lives as long as ctx at most. wrap, where not nil, stands between the connection and what reads it.
func dial(ctx context.Context, addr string, wrap func(net.Conn) io.Reader) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if until, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(until); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	from := io.Reader(conn)
	if wrap != nil {
		from = wrap(conn)
	}
	c := &client{conn: conn, reader: bufio.NewReader(from)}
	if err := c.logIn(); err != nil {
		return nil, errors.Join(fmt.Errorf("log in: %w", err), conn.Close())
	}
	return c, nil
}

func (c *client) logIn() error {
	if _, err := c.conn.Write(login); err != nil {
		return err
	}
	var answer [5]byte
	if _, err := io.ReadFull(c.reader, answer[:]); err != nil {
		return err
	}
	if answer != [5]byte{5} {
		return fmt.Errorf("answered by % x", answer)
	}
	return nil
}

func (c *client) close() { _ = c.conn.Close() }

// call sends a request and checks its reply.
func (c *client) call(r *request, h *handle, word uint32) (reply, error) {
	c.seq++
	c.out = r.append(c.out[:0], c.seq, h, word)
	if _, err := c.conn.Write(c.out); err != nil {
		return reply{}, fmt.Errorf("send %s: %w", r.name, err)
	}
	var head [4]byte
	if _, err := io.ReadFull(c.reader, head[:]); err != nil {
		return reply{}, fmt.Errorf("receive reply to %s: %w", r.name, err)
	}
	size := int(binary.BigEndian.Uint32(head[:]))
	if size > maxReply {
		return reply{}, fmt.Errorf("reply to %s of %d bytes", r.name, size)
	}
	if cap(c.in) < size {
		c.in = make([]byte, size)
	}
	c.in = c.in[:size]
	if _, err := io.ReadFull(c.reader, c.in); err != nil {
		return reply{}, fmt.Errorf("receive reply to %s: %w", r.name, err)
	}
	c.read += int64(len(head) + size)
	return read(c.in, r.name, c.seq)
}

func (c *client) open() error {
	r, err := c.call(openSession, nil, 0)
	if err == nil && !r.handled {
		err = errors.New("OpenSession: no handle")
	}
	c.session = r.handle
	return err
}

func (c *client) ping() error {
	_, err := c.call(getInfo, &c.session, 0)
	return err
}

func (c *client) execute(statement *request, word uint32) error {
	r, err := c.call(statement, &c.session, word)
	if err == nil && !r.handled {
		err = errors.New("ExecuteStatement: no handle")
	}
	c.running = r.handle
	return err
}

// fetch gets the next rows and checks their number and where they begin.
func (c *client) fetch(next *request, offset, want int) error {
	r, err := c.call(next, &c.running, 0)
	if err == nil && (r.rows != want || r.offset != int64(offset)) {
		err = fmt.Errorf("FetchResults: %d rows from %d, want %d from %d", r.rows, r.offset, want, offset)
	}
	return err
}

func (c *client) end() error {
	_, err := c.call(closeOperation, &c.running, 0)
	return err
}

// query is the small result that the cycle reads.
var (
	queryResult  = fakehs2.Result{Rows: 100, Width: 100, Batch: 1000}
	queryExecute = execute(queryResult.Ask())
	queryFetch   = fetch(queryResult.Batch)
)

// cycle is one short query from OpenSession to CloseSession.
func (c *client) cycle(word uint32) error {
	if err := c.open(); err != nil {
		return err
	}
	if err := c.execute(queryExecute, word); err != nil {
		return err
	}
	switch r, err := c.call(getStatus, &c.running, 0); {
	case err != nil:
		return err
	case r.state != stateFinished:
		return fmt.Errorf("GetOperationStatus: state %d", r.state)
	}
	switch r, err := c.call(getMetadata, &c.running, 0); {
	case err != nil:
		return err
	case r.columns != 2:
		return fmt.Errorf("GetResultSetMetadata: %d columns", r.columns)
	}
	if err := c.fetch(queryFetch, 0, queryResult.Rows); err != nil {
		return err
	}
	if err := c.end(); err != nil {
		return err
	}
	_, err := c.call(closeSession, &c.session, 0)
	return err
}
