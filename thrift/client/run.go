package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/beltran/gohive/hiveserver"
)

// fetchSize is the number of rows or log lines asked for in one call, as gohive and Hive's own driver do.
const fetchSize = 1000

// AsyncCompile is the setting that lets HiveServer2 answer ExecuteStatement before it compiles. With "true" in the overlay
// of Run the operation is known at once, so that a compilation that takes long, or waits for its turn, can be cancelled
// and closed too. A server may refuse the key in an overlay; without it everything works, but a compilation that goes on
// for longer than Grace behind the end of its context is left alone, and its operation stays until its session ends.
const AsyncCompile = "hive.server2.async.exec.async.compile"

// Run runs a statement in the given session, usually somebody else's, waits for its end and reads its rows. The overlay
// holds settings for this statement alone: the session's own stay as they are. withLog also reads the operation's log,
// for a statement that fails too: Result.Log is then filled beside the error. The operation is closed in HiveServer2 in
// every case, and cancelled first when ctx ended before it.
//
// A statement that HiveServer2 runs without its compiler (SET, RESET, DFS, ADD, LIST) must not be sent to a session that
// somebody else uses: the output of all of them goes through one file of the session, so the client would read our
// output in place of its own, or an error. Statements with a plan, EXPLAIN among them, do not touch that file.
func (c *Conn) Run(ctx context.Context, session Handle, sql string, overlay map[string]string, withLog bool) (Result, error) {
	unlock, err := c.lock(ctx)
	if err != nil {
		return Result{}, c.wrap("run statement", err)
	}
	defer unlock()
	result, err := c.run(ctx, session, sql, overlay, withLog)
	if err != nil {
		return Result{Log: result.Log}, c.wrap("run statement", err)
	}
	return result, nil
}

func (c *Conn) run(ctx context.Context, session Handle, sql string, overlay map[string]string, withLog bool) (result Result, err error) {
	started, err := call(ctx, c, c.config.CallTimeout, func(ctx context.Context) (*hiveserver.TExecuteStatementResp, error) {
		return c.client.ExecuteStatement(ctx, &hiveserver.TExecuteStatementReq{
			SessionHandle: session.session(),
			Statement:     sql,
			ConfOverlay:   overlay,
			RunAsync:      true,
		})
	})
	if err != nil {
		return Result{}, err
	}
	operation := started.GetOperationHandle()
	if operation.GetOperationId() == nil {
		return Result{}, errors.New("a reply without an operation handle")
	}
	finished := false
	defer func() { c.finish(operation, finished, &err) }()
	ended, err := c.wait(ctx, operation)
	if err != nil {
		return Result{}, err
	}
	finished = true
	if ended.GetOperationState() != hiveserver.TOperationState_FINISHED_STATE {
		err = stateError(ended)
	}
	result.ModifiedRows = ended.NumModifiedRows
	if err == nil && (operation.HasResultSet || ended.GetHasResultSet()) {
		err = c.rows(ctx, operation, &result)
	}
	if withLog {
		logErr := c.log(ctx, operation, &result)
		if err == nil {
			err = logErr
		}
	}
	return result, err
}

// wait asks for the state until the operation has ended.
func (c *Conn) wait(ctx context.Context, operation *hiveserver.TOperationHandle) (*hiveserver.TGetOperationStatusResp, error) {
	pause := pauses()
	for {
		r, err := c.status(ctx, operation)
		if err != nil {
			return nil, err
		}
		if !running(r.GetOperationState()) {
			return r, nil
		}
		if err := sleep(ctx, pause()); err != nil {
			return nil, err
		}
	}
}

// sleep waits for the duration or the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// finish closes the operation, cancelled first when it has not ended. It does not depend on the caller's context, but
// takes at most Grace for each of the two calls. Its own failure is reported where nothing else failed.
func (c *Conn) finish(operation *hiveserver.TOperationHandle, ended bool, err *error) {
	if !c.Alive() {
		return // the socket is closed already: nothing can be sent
	}
	ctx := context.Background()
	if !ended {
		_, cancelErr := call(ctx, c, c.grace, func(ctx context.Context) (*hiveserver.TCancelOperationResp, error) {
			return c.client.CancelOperation(ctx, &hiveserver.TCancelOperationReq{OperationHandle: operation})
		})
		// A refusal leaves the operation to CloseOperation, which cancels too.
		if refusal := (*Error)(nil); cancelErr != nil && !errors.As(cancelErr, &refusal) {
			return
		}
	}
	_, closeErr := call(ctx, c, c.grace, func(ctx context.Context) (*hiveserver.TCloseOperationResp, error) {
		return c.client.CloseOperation(ctx, &hiveserver.TCloseOperationReq{OperationHandle: operation})
	})
	if *err == nil && closeErr != nil {
		*err = fmt.Errorf("close operation: %w", closeErr)
	}
}

// rows reads the names of the columns and all rows.
func (c *Conn) rows(ctx context.Context, operation *hiveserver.TOperationHandle, result *Result) error {
	meta, err := call(ctx, c, c.config.CallTimeout, func(ctx context.Context) (*hiveserver.TGetResultSetMetadataResp, error) {
		return c.client.GetResultSetMetadata(ctx, &hiveserver.TGetResultSetMetadataReq{OperationHandle: operation})
	})
	if err != nil {
		return fmt.Errorf("read columns: %w", err)
	}
	for _, column := range meta.GetSchema().GetColumns() {
		result.Columns = append(result.Columns, column.GetColumnName())
	}
	limit := limits{}
	for {
		batch, err := c.fetch(ctx, operation, 0)
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		rows, err := decodeRows(ctx, batch)
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		if err := limit.add(rows); err != nil {
			return err
		}
		result.Rows = append(result.Rows, rows...)
	}
}

// log reads the operation's log to its end. A server without operation logs refuses that: the log is then empty.
func (c *Conn) log(ctx context.Context, operation *hiveserver.TOperationHandle, result *Result) error {
	for {
		batch, err := c.fetch(ctx, operation, 1)
		if refusal := (*Error)(nil); errors.As(err, &refusal) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		rows, err := decodeRows(ctx, batch)
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		if len(result.Log)+len(rows) > MaxLogLines {
			return fmt.Errorf("the log has more than %d lines", MaxLogLines)
		}
		for _, row := range rows {
			if len(row) > 0 && row[0] != nil {
				result.Log = append(result.Log, *row[0])
			}
		}
	}
}

// fetch reads one batch: kind 0 is rows, 1 the log.
func (c *Conn) fetch(ctx context.Context, operation *hiveserver.TOperationHandle, kind int16) (*hiveserver.TRowSet, error) {
	r, err := call(ctx, c, c.config.CallTimeout, func(ctx context.Context) (*hiveserver.TFetchResultsResp, error) {
		return c.client.FetchResults(ctx, &hiveserver.TFetchResultsReq{
			OperationHandle: operation,
			Orientation:     hiveserver.TFetchOrientation_FETCH_NEXT,
			MaxRows:         fetchSize,
			FetchType:       kind,
		})
	})
	if err != nil {
		return nil, err
	}
	return r.GetResults(), nil
}
