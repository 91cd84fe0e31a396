package hs2test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// maxMessage is hive.server2.thrift.max.message.size, in bytes.
const maxMessage = 100 << 20

// connection is one client's connection.
type connection struct {
	server *Server
	conn   net.Conn
	user   string
	// opened are the sessions that end with the connection, by GUID.
	opened map[[16]byte]struct{}
}

// Override answers one call in place of the server.
type Override func(*Exchange) error

// Exchange is one call to answer. An error returned from the Override breaks the connection.
type Exchange struct {
	Method string
	SeqID  int32
	// User of the connection, empty without SASL.
	User string
	// Conn is nil over HTTP.
	Conn net.Conn

	ctx context.Context
	in  athrift.TProtocol
	out athrift.TProtocol
	own athrift.TProcessorFunction
}

// Done ends when the server or its connections do.
func (x *Exchange) Done() <-chan struct{} { return x.ctx.Done() }

// Read decodes the arguments, a *hiveserver.TCLIService…Args; without it they are skipped.
func (x *Exchange) Read(args athrift.TStruct) error {
	err := args.Read(x.ctx, x.in)
	x.in = nil
	return err
}

// Reply sends a result, a *hiveserver.TCLIService…Result.
func (x *Exchange) Reply(result athrift.TStruct) error {
	return x.send(x.Method, athrift.REPLY, x.SeqID, result)
}

// ReplyAs sends a result under another name or sequence id.
func (x *Exchange) ReplyAs(method string, seq int32, result athrift.TStruct) error {
	return x.send(method, athrift.REPLY, seq, result)
}

// Exception sends a TApplicationException.
func (x *Exchange) Exception(kind int32, text string) error {
	return x.send(x.Method, athrift.EXCEPTION, x.SeqID, athrift.NewTApplicationException(kind, text))
}

// Own lets the server answer after all.
func (x *Exchange) Own() error {
	_, err := x.own.Process(x.ctx, x.SeqID, x.in, x.out)
	x.in = nil
	return err
}

// Raw sends bytes as they are, frame lengths included.
func (x *Exchange) Raw(b []byte) error {
	_, err := x.Conn.Write(b)
	return err
}

func (x *Exchange) send(method string, kind athrift.TMessageType, seq int32, content athrift.TStruct) error {
	if x.in != nil {
		if err := x.in.Skip(x.ctx, athrift.STRUCT); err != nil {
			return err
		}
		x.in = nil
	}
	if err := x.out.WriteMessageBegin(x.ctx, method, kind, seq); err != nil {
		return err
	}
	if err := content.Write(x.ctx, x.out); err != nil {
		return err
	}
	return x.out.Flush(x.ctx)
}

// calls answers calls until the connection ends.
func (c *connection) calls(ctx context.Context) {
	strict := true
	conf := &athrift.TConfiguration{MaxMessageSize: maxMessage, MaxFrameSize: maxMessage, TBinaryStrictRead: &strict}
	var transport athrift.TTransport = athrift.NewStreamTransport(bufio.NewReader(c.conn), c.conn)
	if c.server.cfg.NoSASL {
		transport = athrift.NewTBufferedTransport(transport, 64<<10)
	} else {
		transport = athrift.NewTFramedTransportConf(transport, conf)
	}
	protocol := athrift.NewTBinaryProtocolConf(transport, conf)
	own := processors(&service{connection: c})
	for ctx.Err() == nil && c.call(ctx, own, protocol, protocol) == nil {
		continue
	}
}

var errNoCall = errors.New("a message that is no call")

// call answers the next call.
func (c *connection) call(ctx context.Context, own map[string]athrift.TProcessorFunction, in, out athrift.TProtocol) error {
	name, kind, seq, err := in.ReadMessageBegin(ctx)
	if err != nil {
		return err
	}
	if kind != athrift.CALL && kind != athrift.ONEWAY {
		return errNoCall
	}
	s := c.server
	s.mu.Lock()
	s.mu.calls = append(s.mu.calls, name)
	override := s.mu.overrides[name]
	s.mu.Unlock()
	x := &Exchange{Method: name, SeqID: seq, User: c.user, Conn: c.conn, ctx: ctx, in: in, out: out, own: own[name]}
	if override == nil {
		override = answer
	}
	if err := override(x); err != nil {
		return err
	}
	if x.in != nil { // neither read nor answered
		return in.Skip(ctx, athrift.STRUCT)
	}
	return nil
}

// answer is the server's own: an unknown method gets the exception that HiveServer2 sends.
func answer(x *Exchange) error {
	if x.own == nil {
		return x.Exception(athrift.UNKNOWN_METHOD, fmt.Sprintf("Invalid method name: '%s'", x.Method))
	}
	return x.Own()
}

// processors are the generated dispatchers of the calls that service implements.
func processors(s *service) map[string]athrift.TProcessorFunction {
	all := hiveserver.NewTCLIServiceProcessor(s).ProcessorMap()
	own := map[string]athrift.TProcessorFunction{}
	for _, name := range []string{
		"OpenSession", "CloseSession", "GetInfo", "ExecuteStatement", "GetOperationStatus",
		"CancelOperation", "CloseOperation", "GetResultSetMetadata", "FetchResults",
	} {
		own[name] = all[name]
	}
	return own
}
