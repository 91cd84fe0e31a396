package client

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"
)

// opened opens a session and closes it behind the test.
func opened(t *testing.T, c Config) *Session {
	t.Helper()
	s, err := Open(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestQuery(t *testing.T) {
	rows := int64(5)
	finished := state(hiveserver.TOperationState_FINISHED_STATE)
	finished.NumModifiedRows = &rows
	f := &fakeServer{
		columns: described("t.s", hiveserver.TTypeId_STRING_TYPE, "b", hiveserver.TTypeId_BOOLEAN_TYPE, "y", hiveserver.TTypeId_TINYINT_TYPE, "h", hiveserver.TTypeId_SMALLINT_TYPE,
			"i", hiveserver.TTypeId_INT_TYPE, "l", hiveserver.TTypeId_BIGINT_TYPE, "d", hiveserver.TTypeId_DOUBLE_TYPE, "t.s", hiveserver.TTypeId_BINARY_TYPE),
		states: []*hiveserver.TGetOperationStatusResp{finished},
	}
	config := f.start(t)
	s := opened(t, config)
	f.mu.Lock()
	f.states = []*hiveserver.TGetOperationStatusResp{state(hiveserver.TOperationState_PENDING_STATE), state(hiveserver.TOperationState_RUNNING_STATE), finished}
	f.batches = []*hiveserver.TRowSet{{Rows: []*hiveserver.TRow{}, Columns: allTypes()}, {Rows: []*hiveserver.TRow{}, Columns: allTypes()}}
	f.mu.Unlock()
	result, err := s.Query(t.Context(), "select * from t")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(result.Columns, []string{"t.s", "b", "y", "h", "i", "l", "d", "t.s"}) || !equalRows(result.Rows, append(slices.Clone(allTexts), allTexts...)) {
		t.Errorf("columns %q, rows %q", result.Columns, flat(result.Rows))
	}
	if result.ModifiedRows == nil || *result.ModifiedRows != 5 {
		t.Errorf("modified rows %v", result.ModifiedRows)
	}
	if f.count("ExecuteStatement") != f.count("CloseOperation") || f.count("CancelOperation") != 0 {
		t.Errorf("calls %q", f.calls)
	}
	f.mu.Lock()
	if f.auth.GetUsername() != "u" || f.auth.GetPassword() != "anonymous" {
		t.Errorf("OpenSession was %v", f.auth)
	}
	f.mu.Unlock()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if f.count("CloseSession") != 1 {
		t.Errorf("closed %d sessions, want 1", f.count("CloseSession"))
	}
	if _, err := s.Query(t.Context(), "select 1"); !errors.Is(err, errClosed) {
		t.Errorf("behind the end: %v", err)
	}
}

func TestQueryWithoutRows(t *testing.T) {
	f := &fakeServer{}
	s := opened(t, f.start(t))
	result, err := s.Query(t.Context(), "create table t (a int)")
	if err != nil || result.Columns != nil || result.Rows != nil {
		t.Errorf("without a result set: %+v, %v", result, err)
	}
	f.columns = described("a", hiveserver.TTypeId_STRING_TYPE)
	has := true
	finished := state(hiveserver.TOperationState_FINISHED_STATE)
	finished.HasResultSet = &has
	f.states = []*hiveserver.TGetOperationStatusResp{finished}
	result, err = s.Query(t.Context(), "select 1 where 1=0")
	if err != nil || !slices.Equal(result.Columns, []string{"a"}) || result.Rows != nil {
		t.Errorf("with an empty result set: %+v, %v", result, err)
	}
}

// Where the server compiles asynchronously, gohive would read no rows: the session turns that off for itself.
func TestOpenCompilesFirst(t *testing.T) {
	for value, want := range map[string]int{"true": 2, "false": 1} {
		f := &fakeServer{columns: described("set", hiveserver.TTypeId_STRING_TYPE), batches: []*hiveserver.TRowSet{stringColumns([]string{AsyncCompile + "=" + value})}}
		opened(t, f.start(t))
		if n := f.count("ExecuteStatement"); n != want {
			t.Errorf("%s: %d statements, want %d", value, n, want)
		}
		f.mu.Lock()
		if last := f.last.GetStatement(); value == "true" && last != "SET "+AsyncCompile+"=false" {
			t.Errorf("%s: the last statement is %q", value, last)
		}
		f.mu.Unlock()
	}
}

// gohive does not look at the status of OpenSession's reply.
func TestOpenRefused(t *testing.T) {
	f := &fakeServer{openStatus: failure(10072, "42000", "no such database")}
	_, err := Open(t.Context(), f.start(t), map[string]string{"use:database": "x"})
	var refusal *Error
	if !errors.As(err, &refusal) || *refusal != (Error{10072, "42000", "no such database"}) {
		t.Errorf("error %v, want HiveServer2's refusal", err)
	}
}

func TestQueryRefused(t *testing.T) {
	f := &fakeServer{execute: func(*hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error) {
		return &hiveserver.TExecuteStatementResp{Status: failure(10001, "42S02", "no such table")}, nil
	}}
	config := f.start(t)
	s := opened(t, config)
	_, err := s.Query(t.Context(), "select 1")
	var refusal *Error
	// gohive loses the SQL state of a statement refused at once.
	if !errors.As(err, &refusal) || *refusal != (Error{Code: 10001, Message: "no such table"}) || !strings.HasPrefix(err.Error(), "HiveServer2 "+config.Address+": ") {
		t.Errorf("error %v", err)
	}

	f.mu.Lock()
	f.execute = nil
	failed := state(hiveserver.TOperationState_ERROR_STATE)
	task, message, sqlState, code := `[{"x":1}]`, "vertex failed", "08S01", int32(2)
	failed.TaskStatus, failed.ErrorMessage, failed.SqlState, failed.ErrorCode = &task, &message, &sqlState, &code
	f.states = []*hiveserver.TGetOperationStatusResp{failed}
	f.mu.Unlock()
	if _, err := s.Query(t.Context(), "select 1"); !errors.As(err, &refusal) || *refusal != (Error{2, "08S01", "vertex failed"}) {
		t.Errorf("error %v", err)
	}
	if f.count("CloseOperation") != f.count("ExecuteStatement")-1 {
		t.Errorf("calls %q; want every operation closed", f.calls)
	}
}

func TestQueryCancelled(t *testing.T) {
	f := &fakeServer{}
	s := opened(t, f.start(t))
	ctx, cancel := context.WithCancel(t.Context())
	f.mu.Lock()
	f.states = []*hiveserver.TGetOperationStatusResp{state(hiveserver.TOperationState_RUNNING_STATE)}
	f.execute = func(*hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error) {
		cancel()
		return f.started(), nil
	}
	f.mu.Unlock()
	if _, err := s.Query(ctx, "select 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if f.count("CancelOperation") != 1 || f.count("CloseOperation") != f.count("ExecuteStatement") {
		t.Errorf("calls %q; want one cancel, and every operation closed", f.calls)
	}
	f.mu.Lock()
	f.states, f.execute = nil, nil
	f.mu.Unlock()
	if _, err := s.Query(t.Context(), "select 1"); err != nil {
		t.Errorf("the session does not work behind a cancel: %v", err)
	}
}

func TestQueryOnAHungServer(t *testing.T) {
	f := &fakeServer{}
	s := opened(t, f.start(t))
	s.grace = 10 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	f.mu.Lock()
	f.execute = func(*hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error) {
		cancel()
		<-release
		return nil, io.ErrUnexpectedEOF
	}
	f.mu.Unlock()
	_, err := s.Query(ctx, "select 1")
	close(release)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if _, err := s.Query(t.Context(), "select 1"); !errors.Is(err, errClosed) {
		t.Errorf("behind it: %v, want %v", err, errClosed)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestQueryTimesOut(t *testing.T) {
	f := &fakeServer{}
	config := f.start(t)
	s := opened(t, config)
	s.config.CallTimeout = 10 * time.Millisecond
	release := make(chan struct{})
	f.mu.Lock()
	f.execute = func(*hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error) {
		<-release
		return nil, io.ErrUnexpectedEOF
	}
	f.mu.Unlock()
	// A deadline far away must not make Thrift read on behind the timeout.
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_, err := s.Query(ctx, "select 1")
	close(release)
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("error %v, want a timeout", err)
	}
}
