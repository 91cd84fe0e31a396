package thrift

import "github.com/beltran/gohive/hiveserver"

// What the plain readers fill: each message is one allocation, its nested structs and the values behind its pointers included.

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
