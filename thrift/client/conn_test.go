package client

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"
)

// dialed connects to the configuration and closes behind the test.
func dialed(t *testing.T, c Config) *Conn {
	t.Helper()
	conn, err := Dial(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestRun(t *testing.T) {
	rows := int64(42)
	finished := state(hiveserver.TOperationState_FINISHED_STATE)
	finished.NumModifiedRows = &rows
	f := &fakeServer{
		columns: described("a", hiveserver.TTypeId_STRING_TYPE, "b", hiveserver.TTypeId_STRING_TYPE),
		states: []*hiveserver.TGetOperationStatusResp{
			state(hiveserver.TOperationState_INITIALIZED_STATE), state(hiveserver.TOperationState_PENDING_STATE), state(hiveserver.TOperationState_RUNNING_STATE), finished,
		},
		batches: []*hiveserver.TRowSet{stringColumns([]string{"1", "2"}, []string{"x", "y"}), stringColumns([]string{"3"}, []string{"z"})},
		logs:    []*hiveserver.TRowSet{stringColumns([]string{"line 1", "line 2"}), stringColumns([]string{"line 3"})},
	}
	c := dialed(t, f.start(t))
	session, err := c.OpenSession(t.Context(), map[string]string{"use:database": "d"})
	if err != nil {
		t.Fatal(err)
	}
	overlay := map[string]string{"hive.explain.user": "false"}
	result, err := c.Run(t.Context(), session, "explain select 1", overlay, true)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(result.Columns, []string{"a", "b"}) || !equalRows(result.Rows, [][]string{{"1", "x"}, {"2", "y"}, {"3", "z"}}) {
		t.Errorf("columns %q, rows %q", result.Columns, flat(result.Rows))
	}
	if !slices.Equal(result.Log, []string{"line 1", "line 2", "line 3"}) {
		t.Errorf("log %q", result.Log)
	}
	if result.ModifiedRows == nil || *result.ModifiedRows != 42 {
		t.Errorf("modified rows %v, want 42", result.ModifiedRows)
	}
	f.mu.Lock()
	if !f.last.RunAsync || !maps.Equal(f.last.ConfOverlay, overlay) || f.last.Statement != "explain select 1" || string(f.last.SessionHandle.SessionId.Secret) != string(session.Secret[:]) {
		t.Errorf("the request was %v", f.last)
	}
	if f.auth.GetConfiguration()["use:database"] != "d" {
		t.Errorf("OpenSession was %v", f.auth)
	}
	f.mu.Unlock()
	if f.count("CloseOperation") != 1 || f.count("CancelOperation") != 0 || f.count("GetOperationStatus") != 4 {
		t.Errorf("calls %q", f.calls)
	}
	if err := c.CloseSession(t.Context(), session); err != nil || f.count("CloseSession") != 1 {
		t.Errorf("close session: %v, calls %q", err, f.calls)
	}
}

func TestRunWithoutResultSet(t *testing.T) {
	f := &fakeServer{}
	c := dialed(t, f.start(t))
	result, err := c.Run(t.Context(), Handle{}, "create table t (a int)", nil, false)
	if err != nil || result.Columns != nil || result.Rows != nil || result.Log != nil || result.ModifiedRows != nil {
		t.Errorf("result %+v, error %v; want nothing", result, err)
	}
	if f.count("FetchResults") != 0 || f.count("FetchLog") != 0 || f.count("CloseOperation") != 1 {
		t.Errorf("calls %q", f.calls)
	}
}

// Each way in which HiveServer2 says no is an Error with its code, names the server, and closes the operation it opened.
func TestRunRefused(t *testing.T) {
	failed := state(hiveserver.TOperationState_ERROR_STATE)
	failed.SqlState, failed.ErrorCode, failed.ErrorMessage = new(string), new(int32), new(string)
	*failed.SqlState, *failed.ErrorCode, *failed.ErrorMessage = "08S01", 2, "vertex failed"
	tests := []struct {
		name   string
		server *fakeServer
		want   Error
		closed int
	}{
		{
			"refused at once",
			&fakeServer{execute: func(*hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error) {
				return &hiveserver.TExecuteStatementResp{Status: failure(10001, "42S02", "no such table")}, nil
			}},
			Error{10001, "42S02", "no such table"},
			0,
		},
		{"failed", &fakeServer{states: []*hiveserver.TGetOperationStatusResp{state(hiveserver.TOperationState_RUNNING_STATE), failed}}, Error{2, "08S01", "vertex failed"}, 1},
		{"canceled", &fakeServer{states: []*hiveserver.TGetOperationStatusResp{state(hiveserver.TOperationState_CANCELED_STATE)}}, Error{Message: "the operation ended in state CANCELED"}, 1},
		{"timed out", &fakeServer{states: []*hiveserver.TGetOperationStatusResp{state(hiveserver.TOperationState_TIMEDOUT_STATE)}}, Error{Message: "the operation ended in state TIMEDOUT"}, 1},
		{
			"handle expired",
			&fakeServer{states: []*hiveserver.TGetOperationStatusResp{{Status: &hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_INVALID_HANDLE_STATUS}}}},
			Error{Message: "INVALID_HANDLE_STATUS"},
			1,
		},
		{"close refused", &fakeServer{closed: failure(1, "HY000", "stuck")}, Error{1, "HY000", "stuck"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			config := tt.server.start(t)
			c := dialed(t, config)
			_, err := c.Run(t.Context(), Handle{}, "select 1", nil, false)
			var got *Error
			if !errors.As(err, &got) || *got != tt.want {
				t.Errorf("error %v, want %+v", err, tt.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "HiveServer2 "+config.Address+": run statement: ") {
				t.Errorf("error %q does not name the server", err)
			}
			if n := tt.server.count("CloseOperation"); n != tt.closed {
				t.Errorf("closed %d operations, want %d", n, tt.closed)
			}
			if !c.Alive() {
				t.Error("a refusal ended the connection")
			}
		})
	}
}

func TestRunLog(t *testing.T) {
	t.Run("of a failed statement", func(t *testing.T) {
		f := &fakeServer{
			states: []*hiveserver.TGetOperationStatusResp{state(hiveserver.TOperationState_ERROR_STATE)},
			logs:   []*hiveserver.TRowSet{stringColumns([]string{"why"})},
		}
		result, err := dialed(t, f.start(t)).Run(t.Context(), Handle{}, "select 1", nil, true)
		if err == nil || !slices.Equal(result.Log, []string{"why"}) {
			t.Errorf("log %q, error %v", result.Log, err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		f := &fakeServer{logStatus: failure(0, "", "no log"), columns: described("a", hiveserver.TTypeId_STRING_TYPE), batches: []*hiveserver.TRowSet{stringColumns([]string{"1"})}}
		result, err := dialed(t, f.start(t)).Run(t.Context(), Handle{}, "select 1", nil, true)
		if err != nil || result.Log != nil || len(result.Rows) != 1 {
			t.Errorf("result %+v, error %v; want the row and no log", result, err)
		}
	})
}

func TestRunIsBounded(t *testing.T) {
	f := &fakeServer{columns: described("a", hiveserver.TTypeId_STRING_TYPE), endless: stringColumns(make([]string, fetchSize))}
	_, err := dialed(t, f.start(t)).Run(t.Context(), Handle{}, "select 1", nil, false)
	if err == nil || !strings.Contains(err.Error(), "more than 200000 rows") || f.count("CloseOperation") != 1 {
		t.Errorf("error %v; want the bound, and the operation closed", err)
	}
}

func TestRunCancelled(t *testing.T) {
	f := &fakeServer{states: []*hiveserver.TGetOperationStatusResp{state(hiveserver.TOperationState_RUNNING_STATE)}, seen: make(chan string, 1000)}
	c := dialed(t, f.start(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("asked to stop")
	go func() {
		for call := range f.seen {
			if call == "GetOperationStatus" {
				cancel(why)
				return
			}
		}
	}()
	_, err := c.Run(ctx, Handle{}, "select 1", nil, true)
	if !errors.Is(err, why) {
		t.Errorf("error %v, want the reason of the context", err)
	}
	if f.count("CancelOperation") != 1 || f.count("CloseOperation") != 1 {
		t.Errorf("calls %q; want one cancel and one close", f.calls)
	}
	f.mu.Lock()
	f.states = nil
	f.mu.Unlock()
	if _, err := c.Run(t.Context(), Handle{}, "select 1", nil, false); err != nil {
		t.Errorf("the connection does not work behind a cancel: %v", err)
	}
}

// The context ends while HiveServer2 compiles, before the operation's handle is known: the reply is awaited for a moment,
// so that nothing stays behind.
func TestRunCancelledBeforeTheHandle(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fakeServer{}
	f.execute = func(*hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error) {
		cancel()
		return f.started(), nil
	}
	c := dialed(t, f.start(t))
	if _, err := c.Run(ctx, Handle{}, "select 1", nil, false); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if f.count("CancelOperation") != 1 || f.count("CloseOperation") != 1 || f.count("GetOperationStatus") != 0 {
		t.Errorf("calls %q; want one cancel and one close", f.calls)
	}
	if !c.Alive() {
		t.Error("the connection ended, though HiveServer2 answered in time")
	}
}

func TestContextEndedBefore(t *testing.T) {
	f := &fakeServer{}
	c := dialed(t, f.start(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Run(ctx, Handle{}, "select 1", nil, false); !errors.Is(err, context.Canceled) {
		t.Errorf("run: %v", err)
	}
	if _, err := c.OpenSession(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("open session: %v", err)
	}
	if err := c.CloseSession(ctx, Handle{}); !errors.Is(err, context.Canceled) {
		t.Errorf("close session: %v", err)
	}
	if _, _, err := c.OperationStatus(ctx, [16]byte{}, [16]byte{}); !errors.Is(err, context.Canceled) {
		t.Errorf("operation status: %v", err)
	}
	if len(f.calls) != 0 || !c.Alive() {
		t.Errorf("calls %q, alive %v; want none and alive", f.calls, c.Alive())
	}
}

// A server that does not answer is left by closing the socket: when the context ends, when the call's time is over, and
// when the connection is closed by somebody else.
func TestHungServer(t *testing.T) {
	silent := func(t *testing.T) (Config, <-chan struct{}) {
		asked := make(chan struct{}, 1)
		c := listen(t, func(conn net.Conn) {
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				asked <- struct{}{}
			}
			_, _ = io.Copy(io.Discard, conn)
		})
		c.Auth = "NOSASL"
		return c, asked
	}
	t.Run("context", func(t *testing.T) {
		config, asked := silent(t)
		c := dialed(t, config)
		c.grace = 10 * time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		if _, err := c.Run(ctx, Handle{}, "select 1", nil, false); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the context's", err)
		}
		if c.Alive() {
			t.Error("the connection is still alive")
		}
		if _, err := c.Run(t.Context(), Handle{}, "select 1", nil, false); !errors.Is(err, errClosed) {
			t.Errorf("behind it: %v, want %v", err, errClosed)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		config, _ := silent(t)
		config.CallTimeout = 10 * time.Millisecond
		c := dialed(t, config)
		_, err := c.Run(t.Context(), Handle{}, "select 1", nil, false)
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() || c.Alive() {
			t.Errorf("error %v, alive %v; want a timeout and the end", err, c.Alive())
		}
	})
	t.Run("close", func(t *testing.T) {
		config, asked := silent(t)
		c := dialed(t, config)
		closed := make(chan error, 1)
		go func() { <-asked; closed <- c.Close() }()
		if _, err := c.Run(t.Context(), Handle{}, "select 1", nil, false); !errors.Is(err, net.ErrClosed) {
			t.Errorf("error %v, want a closed connection", err)
		}
		if err := <-closed; err != nil {
			t.Errorf("close: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("close again: %v", err)
		}
	})
	t.Run("waiting for the turn", func(t *testing.T) {
		config, asked := silent(t)
		c := dialed(t, config)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = c.Run(t.Context(), Handle{}, "select 1", nil, false)
		}()
		<-asked
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Run(ctx, Handle{}, "select 2", nil, false); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the context's", err)
		}
		_ = c.Close()
		<-done
	})
}

func TestServerVanishes(t *testing.T) {
	config := listen(t, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) })
	config.Auth = "NOSASL"
	c := dialed(t, config)
	_, err := c.Run(t.Context(), Handle{}, "select 1", nil, false)
	var refusal *Error
	if err == nil || errors.As(err, &refusal) || c.Alive() {
		t.Errorf("error %v, alive %v; want a transport error and the end", err, c.Alive())
	}
}

// A call the server does not know leaves the connection in order.
func TestApplicationException(t *testing.T) {
	f := &fakeServer{execute: func(*hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error) {
		return nil, errors.New("internal")
	}}
	c := dialed(t, f.start(t))
	_, err := c.Run(t.Context(), Handle{}, "select 1", nil, false)
	var refusal *Error
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Message, "internal") {
		t.Errorf("error %v, want the server's", err)
	}
}

func TestOperationStatus(t *testing.T) {
	rows := int64(3)
	finished := state(hiveserver.TOperationState_FINISHED_STATE)
	finished.NumModifiedRows = &rows
	f := &fakeServer{states: []*hiveserver.TGetOperationStatusResp{state(hiveserver.TOperationState_RUNNING_STATE), finished, {Status: failure(0, "", "gone")}}}
	c := dialed(t, f.start(t))
	if got, state, err := c.OperationStatus(t.Context(), [16]byte{1}, [16]byte{2}); got != nil || state != "RUNNING" || err != nil {
		t.Errorf("%v, %s, %v", got, state, err)
	}
	if got, state, err := c.OperationStatus(t.Context(), [16]byte{1}, [16]byte{2}); got == nil || *got != 3 || state != "FINISHED" || err != nil {
		t.Errorf("%v, %s, %v", got, state, err)
	}
	if _, _, err := c.OperationStatus(t.Context(), [16]byte{1}, [16]byte{2}); err == nil {
		t.Error("a handle that is gone: want an error")
	}
}

func TestConcurrentRuns(t *testing.T) {
	f := &fakeServer{}
	c := dialed(t, f.start(t))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				if _, err := c.Run(t.Context(), Handle{}, "select 1", nil, true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if f.count("ExecuteStatement") != 40 || f.count("CloseOperation") != 40 {
		t.Errorf("%d statements, %d closed; want 40 and 40", f.count("ExecuteStatement"), f.count("CloseOperation"))
	}
}
