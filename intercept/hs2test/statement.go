package hs2test

import (
	"context"
	"sync"

	"github.com/beltran/gohive/hiveserver"
)

// Outcome is what a statement does.
type Outcome struct {
	// Code, SQLState and Message refuse the statement when Message is not empty; with Late the refusal comes while it runs.
	Code     int32
	SQLState string
	Message  string
	Late     bool
	// Block keeps it running until it is cancelled, closed, or Server.Release is called.
	Block bool
	// Rows of the result, all alike: a bigint and a string of Width bytes; a FetchResults brings at most Batch of them.
	Rows, Width, Batch int
	// Cells are the result instead, where not nil: rows of as many strings each, in one batch.
	Cells [][]string
	// ModifiedRows is told by GetOperationStatus when not nil.
	ModifiedRows *int64
	// Log is the operation's log, a line each.
	Log []string
}

// operation is one statement.
type operation struct {
	guid    [16]byte
	session *session
	outcome Outcome
	ended   chan struct{} // closed with a final state
	fetched int

	mu struct {
		sync.Mutex
		state hiveserver.TOperationState
		told  int // lines of the log
	}
}

func newOperation(guid [16]byte, s *session, o Outcome) *operation {
	op := &operation{guid: guid, session: s, outcome: o, ended: make(chan struct{})}
	op.mu.state = hiveserver.TOperationState_RUNNING_STATE
	switch {
	case o.Block:
	case o.Message != "":
		op.finish(hiveserver.TOperationState_ERROR_STATE)
	default:
		op.finish(hiveserver.TOperationState_FINISHED_STATE)
	}
	return op
}

// finish sets the final state, unless there is one already.
func (op *operation) finish(state hiveserver.TOperationState) {
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.mu.state == hiveserver.TOperationState_RUNNING_STATE {
		op.mu.state = state
		close(op.ended)
	}
}

func (op *operation) state() hiveserver.TOperationState {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.mu.state
}

func (op *operation) wait(ctx context.Context) error {
	select {
	case <-op.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (op *operation) handle() *hiveserver.TOperationHandle {
	return &hiveserver.TOperationHandle{
		OperationId:   &hiveserver.THandleIdentifier{GUID: op.guid[:], Secret: op.guid[:]},
		OperationType: hiveserver.TOperationType_EXECUTE_STATEMENT,
		HasResultSet:  op.outcome.Rows+len(op.outcome.Cells) > 0,
	}
}

// refusal is the error of a statement as a status.
func (o Outcome) refusal() *hiveserver.TStatus {
	return &hiveserver.TStatus{
		StatusCode: hiveserver.TStatusCode_ERROR_STATUS, SqlState: &o.SQLState, ErrorCode: &o.Code, ErrorMessage: &o.Message,
		InfoMessages: []string{"*org.apache.hive.service.cli.HiveSQLException:" + o.Message + ":28:27"},
	}
}
