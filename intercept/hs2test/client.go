package hs2test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// Client is one connection to a HiveServer2 or to something in front of it, with the generated client on it.
type Client struct {
	*hiveserver.TCLIServiceClient
	// Conn is the connection itself, for tests that break it; nil over HTTP.
	Conn net.Conn
}

// Dial connects and logs in with SASL PLAIN, until ctx's deadline; with an empty user it speaks bare Thrift (NOSASL).
func Dial(ctx context.Context, addr, user, password string) (*Client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	conf := &athrift.TConfiguration{MaxMessageSize: 1 << 30, MaxFrameSize: 1 << 30}
	var transport athrift.TTransport = athrift.NewStreamTransport(bufio.NewReader(conn), conn)
	if user != "" {
		deadline, _ := ctx.Deadline()
		err := errors.Join(conn.SetDeadline(deadline), Login(conn, user, password), conn.SetDeadline(time.Time{}))
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		transport = athrift.NewTFramedTransportConf(transport, conf)
	} else {
		transport = athrift.NewTBufferedTransport(transport, 4096)
	}
	protocol := athrift.NewTBinaryProtocolConf(transport, conf)
	standard := athrift.NewTStandardClient(protocol, protocol)
	return &Client{TCLIServiceClient: hiveserver.NewTCLIServiceClient(standard), Conn: conn}, nil
}

// DialHTTP is a client over HTTP with Basic authentication on every call, on pooled connections that the returned function
// closes.
func DialHTTP(addr, user, password string) (*Client, func(), error) {
	pool := &http.Transport{}
	transport, err := athrift.NewTHttpClientWithOptions("http://"+addr+"/cliservice", athrift.THttpClientOptions{Client: &http.Client{Transport: pool}})
	if err != nil {
		return nil, nil, fmt.Errorf("dial: %w", err)
	}
	transport.(*athrift.THttpClient).SetHeader("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	protocol := athrift.NewTBinaryProtocolConf(transport, &athrift.TConfiguration{MaxMessageSize: 1 << 30, MaxFrameSize: 1 << 30})
	standard := athrift.NewTStandardClient(protocol, protocol)
	return &Client{TCLIServiceClient: hiveserver.NewTCLIServiceClient(standard)}, pool.CloseIdleConnections, nil
}

// Login negotiates SASL PLAIN, START and response in one segment.
func Login(conn net.Conn, user, password string) error {
	if _, err := conn.Write(Plain(user, password)); err != nil {
		return fmt.Errorf("write login: %w", err)
	}
	var head [5]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return fmt.Errorf("read login: %w", err)
	}
	text := make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(conn, text); err != nil {
		return fmt.Errorf("read login: %w", err)
	}
	if head[0] != saslComplete {
		return fmt.Errorf("login refused with status %d: %s", head[0], text)
	}
	return nil
}

// Plain is the bytes of a SASL PLAIN login.
func Plain(user, password string) []byte {
	var b []byte
	for _, m := range []struct {
		status  byte
		payload string
	}{{saslStart, "PLAIN"}, {saslOK, "\x00" + user + "\x00" + password}} {
		b = append(b, m.status)
		b = binary.BigEndian.AppendUint32(b, uint32(len(m.payload))) //nolint:gosec // short texts
		b = append(b, m.payload...)
	}
	return b
}

// Open opens a session.
func (c *Client) Open(ctx context.Context, configuration map[string]string) (*hiveserver.TSessionHandle, error) {
	resp, err := c.OpenSession(ctx, &hiveserver.TOpenSessionReq{
		ClientProtocol: hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V10, Configuration: configuration,
	})
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	return resp.SessionHandle, nil
}

// Execute sends a statement.
func (c *Client) Execute(ctx context.Context, session *hiveserver.TSessionHandle, sql string, async bool) (*hiveserver.TExecuteStatementResp, error) {
	return c.ExecuteStatement(ctx, &hiveserver.TExecuteStatementReq{SessionHandle: session, Statement: sql, RunAsync: async})
}

// Poll asks for the state of an operation.
func (c *Client) Poll(ctx context.Context, op *hiveserver.TOperationHandle) (*hiveserver.TGetOperationStatusResp, error) {
	return c.GetOperationStatus(ctx, &hiveserver.TGetOperationStatusReq{OperationHandle: op})
}

// Fetch reads the result to its end and returns the number of rows.
func (c *Client) Fetch(ctx context.Context, op *hiveserver.TOperationHandle) (rows int, err error) {
	for {
		resp, err := c.FetchResults(ctx, &hiveserver.TFetchResultsReq{OperationHandle: op, MaxRows: 1 << 30})
		if err != nil {
			return rows, fmt.Errorf("fetch: %w", err)
		}
		n := len(resp.GetResults().GetColumns()[0].GetI64Val().GetValues())
		if n == 0 {
			return rows, nil
		}
		rows += n
	}
}
