package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"time"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive"
	"github.com/beltran/gohive/hiveserver"
)

// Session is a session of our own on a connection of its own, over gohive. It is safe for concurrent use, one statement
// at a time. A transport error ends it for good.
type Session struct {
	config Config
	link   link
	hive   *gohive.Connection
	grace  time.Duration // Grace, shorter in tests
	turn   chan struct{} // holds one value while nobody uses the session
	broken bool          // guarded by turn: closed, or a transport error was seen
}

// Open connects, logs in and opens a session with the given Hive settings, such as "hive.execution.engine": "tez". Keys
// are sent as they are, as gohive does: HiveServer2 reads them like those of a JDBC URL ("set:hiveconf:key",
// "use:database").
func Open(ctx context.Context, c Config, hiveConf map[string]string) (*Session, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("connect to HiveServer2: %w", err)
	}
	c = c.withDefaults()
	s := &Session{config: c, grace: Grace, turn: make(chan struct{}, 1)}
	if err := s.connect(ctx, hiveConf); err != nil {
		return nil, s.wrap(fmt.Sprintf("open session as %q", c.User), err)
	}
	s.turn <- struct{}{}
	return s, nil
}

// connect opens the session. gohive takes a refused OpenSession for an open session, so the session is used once.
func (s *Session) connect(ctx context.Context, hiveConf map[string]string) (err error) {
	if s.link, err = login(ctx, s.config); err != nil {
		return err
	}
	if s.hive, err = s.open(ctx, hiveConf); err != nil {
		_ = s.link.Close()
		return err
	}
	if err = s.compileFirst(ctx); err == nil {
		return nil
	}
	_ = s.link.Close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// gohive keeps the reason for itself: ask again on a connection that tells it.
	if reason := refusedSession(ctx, s.config, hiveConf); reason != nil {
		return reason
	}
	return err
}

// compileFirst makes HiveServer2 compile before it answers ExecuteStatement, which is its default: gohive reads no rows of
// a statement whose first reply does not announce them.
func (s *Session) compileFirst(ctx context.Context) error {
	setting, err := s.query(ctx, "SET "+AsyncCompile)
	if err != nil {
		return err
	}
	if len(setting.Rows) == 0 || len(setting.Rows[0]) == 0 || setting.Rows[0][0] == nil || *setting.Rows[0][0] != AsyncCompile+"=true" {
		return nil
	}
	_, err = s.query(ctx, "SET "+AsyncCompile+"=false")
	return err
}

// open runs gohive.Connect over the link, which stays ours: gohive leaves it open when it fails. The login is over, so
// gohive is told that there is none.
func (s *Session) open(ctx context.Context, hiveConf map[string]string) (connection *gohive.Connection, err error) {
	host, port, _ := net.SplitHostPort(s.config.Address)
	number, _ := strconv.Atoi(port) // Validate has read both
	g := gohive.NewConnectConfiguration()
	g.Username, g.Password = s.config.User, s.config.Password
	g.HiveConfiguration = maps.Clone(hiveConf)
	g.FetchSize = fetchSize
	g.DialContext = func(context.Context, string, string) (net.Conn, error) { return &wire{link: s.link}, nil }
	end := s.link.begin(ctx, s.config.CallTimeout, 0)
	defer end()
	defer recovered(&err)
	if connection, err = gohive.Connect(host, number, "NOSASL", g); err != nil {
		return nil, contextError(ctx, s.link.explain(err))
	}
	return connection, nil
}

// refusedSession opens a session in the same way over a Conn and returns HiveServer2's refusal, nil when there is none.
func refusedSession(ctx context.Context, c Config, hiveConf map[string]string) error {
	conn, err := Dial(ctx, c)
	if err == nil {
		defer func() { _ = conn.Close() }()
		var handle Handle
		if handle, err = conn.openSession(ctx, hiveConf); err == nil {
			_ = conn.CloseSession(ctx, handle)
		}
	}
	if refusal := (*Error)(nil); errors.As(err, &refusal) {
		return refusal
	}
	return nil
}

// recovered turns a panic inside gohive into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("gohive panicked: %v", p)
	}
}

func (s *Session) wrap(doing string, err error) error {
	return fmt.Errorf("HiveServer2 %s: %s: %w", s.config.Address, doing, err)
}

func (s *Session) lock(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Session) unlock() { s.turn <- struct{}{} }

// Query runs any statement, waits for its end and reads its rows. When ctx ends first, the operation is cancelled. It is
// closed in HiveServer2 in every case.
func (s *Session) Query(ctx context.Context, sql string) (Result, error) {
	if err := s.lock(ctx); err != nil {
		return Result{}, s.wrap("run statement", err)
	}
	defer s.unlock()
	result, err := s.query(ctx, sql)
	if err != nil {
		return Result{}, s.wrap("run statement", err)
	}
	return result, nil
}

// Close closes the session and its connection. It waits for a statement in progress: end its context first. A second
// Close does nothing.
func (s *Session) Close() error {
	<-s.turn
	defer s.unlock()
	if s.broken {
		return nil
	}
	s.broken = true
	err := s.do(context.Background(), s.grace, func(context.Context) error { return s.hive.Close() })
	_ = s.link.Close()
	if err != nil {
		return s.wrap("close session", err)
	}
	return nil
}

// do runs one call of gohive's, with a deadline, its panics caught, and its error traced to the cause. gohive's calls
// take no heed of their context, and Thrift is better off without the deadline in it (see Conn's call).
func (s *Session) do(ctx context.Context, timeout time.Duration, f func(context.Context) error) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	end := s.link.begin(ctx, timeout, s.grace)
	defer end()
	defer func() {
		if s.link.broken() || outOfStep(err) {
			s.broken = true
			_ = s.link.Close()
			err = contextError(ctx, s.link.explain(err))
		}
	}()
	defer recovered(&err)
	return hiveError(f(context.WithoutCancel(ctx)))
}

// outOfStep reports whether err came from Thrift itself, so that the rest of a reply may still be on the way.
func outOfStep(err error) bool {
	var transport athrift.TTransportException
	var protocol athrift.TProtocolException
	var application athrift.TApplicationException
	return errors.As(err, &transport) || errors.As(err, &protocol) || errors.As(err, &application) && !answered(err)
}

func (s *Session) query(ctx context.Context, sql string) (result Result, err error) {
	if s.broken {
		return Result{}, errClosed
	}
	cursor := s.hive.Cursor()
	finished := false
	defer func() { s.finish(cursor, finished, &err) }()
	err = s.do(ctx, s.config.CallTimeout, func(ctx context.Context) error {
		cursor.Execute(ctx, sql, true)
		return cursor.Err
	})
	if err != nil {
		finished = true // refused: gohive holds no operation
		return Result{}, err
	}
	ended, err := s.wait(ctx, cursor)
	if err != nil {
		return Result{}, err
	}
	finished = true
	if ended.GetOperationState() != hiveserver.TOperationState_FINISHED_STATE {
		return Result{}, stateError(ended)
	}
	result.ModifiedRows = ended.NumModifiedRows
	err = s.rows(ctx, cursor, ended.GetHasResultSet(), &result)
	return result, err
}

// wait polls until the operation has ended. gohive's own waiting loses the error's code and state.
func (s *Session) wait(ctx context.Context, cursor *gohive.Cursor) (*hiveserver.TGetOperationStatusResp, error) {
	pause := pauses()
	for {
		var status *hiveserver.TGetOperationStatusResp
		err := s.do(ctx, s.config.CallTimeout, func(context.Context) error {
			status = cursor.Poll(false)
			return cursor.Err
		})
		if err != nil {
			return nil, err
		}
		if !running(status.GetOperationState()) {
			return status, nil
		}
		if err := sleep(ctx, pause()); err != nil {
			return nil, err
		}
	}
}

// finish cancels what has not ended and closes the cursor's operation, if it has one.
func (s *Session) finish(cursor *gohive.Cursor, ended bool, err *error) {
	if s.broken {
		return
	}
	ctx := context.Background()
	if !ended {
		// A refusal leaves the operation to Close, which cancels too.
		_ = s.do(ctx, s.grace, func(context.Context) error { cursor.Cancel(); return cursor.Err })
	}
	if s.broken {
		return
	}
	closeErr := s.do(ctx, s.grace, func(context.Context) error { cursor.Close(); return cursor.Err })
	if *err == nil && closeErr != nil {
		*err = fmt.Errorf("close operation: %w", closeErr)
	}
}
