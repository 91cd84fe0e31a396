package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// errClosed is the answer of a connection that was closed or has failed before.
var errClosed = errors.New("the connection is closed")

// Conn is an authenticated connection to HiveServer2 without a session of its own. It is safe for concurrent use, one
// statement at a time. A transport error ends it for good; see Alive.
type Conn struct {
	config Config
	link   link
	client *hiveserver.TCLIServiceClient
	grace  time.Duration // Grace, shorter in tests
	turn   chan struct{} // holds one value while nobody uses the connection
	end    sync.Once     // closes ended and the link
	ended  chan struct{}
}

// Dial connects and logs in. Over HTTP, where there is no login of its own, it makes one call that needs no session. Under
// KERBEROS it asks the KDC for a ticket first, so that a refusal there costs HiveServer2 nothing.
func Dial(ctx context.Context, c Config) (*Conn, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("connect to HiveServer2: %w", err)
	}
	c = c.withDefaults()
	l, err := login(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("HiveServer2 %s: connect as %q: %w", c.Address, c.User, err)
	}
	protocol := athrift.NewTBinaryProtocolConf(l, thriftConfig(c))
	conn := &Conn{
		config: c,
		link:   l,
		client: hiveserver.NewTCLIServiceClientProtocol(l, protocol, protocol),
		grace:  Grace,
		turn:   make(chan struct{}, 1),
		ended:  make(chan struct{}),
	}
	conn.turn <- struct{}{}
	return conn, nil
}

// Alive reports whether the connection can still be used, as far as is known without asking the server.
func (c *Conn) Alive() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// Close closes the connection, also under a call in progress, which then fails. Sessions stay open in HiveServer2.
// A second Close does nothing.
func (c *Conn) Close() error {
	if err := c.shut(); err != nil {
		return c.wrap("close", err)
	}
	return nil
}

func (c *Conn) shut() (err error) {
	c.end.Do(func() {
		close(c.ended)
		if err = c.link.Close(); errors.Is(err, net.ErrClosed) {
			err = nil
		}
	})
	return err
}

// wrap names the side and the call.
func (c *Conn) wrap(doing string, err error) error {
	return fmt.Errorf("HiveServer2 %s: %s: %w", c.config.Address, doing, err)
}

// lock waits for the connection's turn.
func (c *Conn) lock(ctx context.Context) (unlock func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case <-c.turn:
		return func() { c.turn <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// reply is what every reply of HiveServer2 has.
type reply interface{ GetStatus() *hiveserver.TStatus }

// call runs one Thrift call on a locked connection and checks the status of its reply. It does not begin when ctx has
// ended, and outlives it by at most Grace. A transport error ends the connection.
func call[R reply](ctx context.Context, c *Conn, timeout time.Duration, f func(context.Context) (R, error)) (R, error) {
	var none R
	switch {
	case !c.Alive():
		return none, errClosed
	case ctx.Err() != nil:
		return none, context.Cause(ctx)
	}
	end := c.link.begin(ctx, timeout, c.grace)
	defer end()
	// Without its deadline: Thrift would repeat a read that timed out until the deadline of its context is over.
	r, err := f(context.WithoutCancel(ctx))
	switch {
	case err == nil:
		return r, statusError(r.GetStatus())
	case answered(err):
		return none, &Error{Message: err.Error()}
	}
	_ = c.shut()
	return none, contextError(ctx, c.link.explain(err))
}

// answered reports whether HiveServer2 sent the error itself, as a TApplicationException about a call it does not know
// or could not read: the connection is then in order.
func answered(err error) bool {
	var application athrift.TApplicationException
	if !errors.As(err, &application) {
		return false
	}
	switch application.TypeId() {
	case athrift.WRONG_METHOD_NAME, athrift.BAD_SEQUENCE_ID, athrift.INVALID_MESSAGE_TYPE_EXCEPTION:
		return false // Thrift's own, about a reply that does not fit
	}
	return true
}

// contextError is the context's error where it ended and err does not say so itself, because then it is the reason for err.
func contextError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return cause
	}
	return err
}

// OpenSession opens a session with the given settings (Hive's OpenSession configuration: "set:hiveconf:key" entries,
// "use:database"). HiveServer2 ends it with this connection where hive.server2.close.session.on.disconnect is true.
func (c *Conn) OpenSession(ctx context.Context, hiveConf map[string]string) (Handle, error) {
	handle, err := c.openSession(ctx, hiveConf)
	if err != nil {
		return Handle{}, c.wrap("open session", err)
	}
	return handle, nil
}

func (c *Conn) openSession(ctx context.Context, hiveConf map[string]string) (Handle, error) {
	unlock, err := c.lock(ctx)
	if err != nil {
		return Handle{}, err
	}
	defer unlock()
	r, err := call(ctx, c, c.config.CallTimeout, func(ctx context.Context) (*hiveserver.TOpenSessionResp, error) {
		return c.client.OpenSession(ctx, &hiveserver.TOpenSessionReq{
			// The newest that every HiveServer2 since 1.2 and Spark's know; it has columnar results.
			ClientProtocol: hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V8,
			Username:       &c.config.User,
			Password:       &c.config.Password,
			Configuration:  hiveConf,
		})
	})
	if err != nil {
		return Handle{}, err
	}
	return handleOf(r.GetSessionHandle())
}

// CloseSession closes a session.
func (c *Conn) CloseSession(ctx context.Context, session Handle) error {
	unlock, err := c.lock(ctx)
	if err == nil {
		defer unlock()
		_, err = call(ctx, c, c.config.CallTimeout, func(ctx context.Context) (*hiveserver.TCloseSessionResp, error) {
			return c.client.CloseSession(ctx, &hiveserver.TCloseSessionReq{SessionHandle: session.session()})
		})
	}
	if err != nil {
		return c.wrap("close session", err)
	}
	return nil
}

// OperationStatus asks for the state of somebody's operation, in Hive's words without the suffix (RUNNING, FINISHED,
// …), and for the rows it modified, nil where HiveServer2 does not say. HiveServer2 may hold the answer back for
// hive.server2.long.polling.timeout while the operation runs.
func (c *Conn) OperationStatus(ctx context.Context, guid, secret [16]byte) (modifiedRows *int64, state string, err error) {
	unlock, err := c.lock(ctx)
	if err != nil {
		return nil, "", c.wrap("operation status", err)
	}
	defer unlock()
	r, err := c.status(ctx, &hiveserver.TOperationHandle{
		OperationId:   Handle{GUID: guid, Secret: secret}.identifier(),
		OperationType: hiveserver.TOperationType_EXECUTE_STATEMENT,
	})
	if err != nil {
		return nil, "", c.wrap("operation status", err)
	}
	return r.NumModifiedRows, stateName(r.GetOperationState()), nil
}

func (c *Conn) status(ctx context.Context, operation *hiveserver.TOperationHandle) (*hiveserver.TGetOperationStatusResp, error) {
	progress := false
	return call(ctx, c, c.config.CallTimeout, func(ctx context.Context) (*hiveserver.TGetOperationStatusResp, error) {
		return c.client.GetOperationStatus(ctx, &hiveserver.TGetOperationStatusReq{OperationHandle: operation, GetProgressUpdate: &progress})
	})
}
