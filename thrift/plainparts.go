package thrift

import (
	"sync"

	"github.com/beltran/gohive/hiveserver"
)

// parts is what the plain readers fill, nested structs and the values behind pointers included: one message at a time. They are used
// again for the next message, of whatever connection, but for OpenSession's call, which observers keep until its reply.
type parts struct {
	openedSession      openedSessionParts
	closeSession       closeSessionParts
	closedSession      closedSessionParts
	executeStatement   executeStatementParts
	executedStatement  executedStatementParts
	getOperationStatus getOperationStatusParts
	operationStatus    operationStatusParts
	cancelOperation    cancelOperationParts
	canceledOperation  canceledOperationParts
	closeOperation     closeOperationParts
	closedOperation    closedOperationParts
}

var partsPool = sync.Pool{New: func() any { return new(parts) }}

// giveBack forgets what was read: a statement's text, for one.
func (p *parts) giveBack() {
	*p = parts{}
	partsPool.Put(p)
}

type openSessionParts struct {
	req  hiveserver.TOpenSessionReq
	user string
}

type openedSessionParts struct {
	resp    hiveserver.TOpenSessionResp
	status  statusParts
	session sessionParts
}

type closeSessionParts struct {
	req     hiveserver.TCloseSessionReq
	session sessionParts
}

type closedSessionParts struct {
	resp   hiveserver.TCloseSessionResp
	status statusParts
}

type executeStatementParts struct {
	req     hiveserver.TExecuteStatementReq
	session sessionParts
}

type executedStatementParts struct {
	resp      hiveserver.TExecuteStatementResp
	status    statusParts
	operation operationParts
}

type getOperationStatusParts struct {
	req       hiveserver.TGetOperationStatusReq
	operation operationParts
	progress  bool
}

type operationStatusParts struct {
	resp                         hiveserver.TGetOperationStatusResp
	status                       statusParts
	state                        hiveserver.TOperationState
	code                         int32
	started, completed, modified int64
	hasResultSet                 bool
	sqlState, message, tasks     string
}

type cancelOperationParts struct {
	req       hiveserver.TCancelOperationReq
	operation operationParts
}

type canceledOperationParts struct {
	resp   hiveserver.TCancelOperationResp
	status statusParts
}

type closeOperationParts struct {
	req       hiveserver.TCloseOperationReq
	operation operationParts
}

type closedOperationParts struct {
	resp   hiveserver.TCloseOperationResp
	status statusParts
}
