package fakehs2

import (
	"context"
	"fmt"

	"github.com/beltran/gohive/hiveserver"
)

// known are the methods that service has; the others are answered as unknown. FetchResults is answered by connection.fetch.
var known = map[string]bool{
	"OpenSession": true, "CloseSession": true, "GetInfo": true, "ExecuteStatement": true, "GetOperationStatus": true,
	"GetResultSetMetadata": true, "CancelOperation": true, "CloseOperation": true,
}

// service answers the calls whose replies are small.
type service struct {
	hiveserver.TCLIService // nil: the other methods are never dispatched
	server                 *Server
}

func connectionOf(ctx context.Context) *connection { return ctx.Value(connectionKey{}).(*connection) }

func success() *hiveserver.TStatus {
	return &hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_SUCCESS_STATUS}
}

// invalid is HiveServer2 4.0.1's answer to a handle it does not know.
func invalid(kind string, id guid) *hiveserver.TStatus {
	return failure(fmt.Sprintf("Invalid %s: %s [%x]", kind, kind, id))
}

func failure(text string) *hiveserver.TStatus {
	code, state := int32(0), "HY000"
	return &hiveserver.TStatus{
		StatusCode: hiveserver.TStatusCode_ERROR_STATUS, ErrorCode: &code, SqlState: &state, ErrorMessage: &text,
	}
}

func identifier(id guid) *hiveserver.THandleIdentifier {
	return &hiveserver.THandleIdentifier{GUID: id[:], Secret: id[:]}
}

// guidOf is the identifier's GUID, zero where there is none of 16 bytes.
func guidOf(h *hiveserver.THandleIdentifier) (id guid) {
	if h != nil && len(h.GUID) == len(id) {
		id = guid(h.GUID)
	}
	return id
}

func (s *service) OpenSession(ctx context.Context, req *hiveserver.TOpenSessionReq) (*hiveserver.TOpenSessionResp, error) {
	id := s.server.newGUID()
	s.server.mu.Lock()
	s.server.mu.sessions[id] = &session{operations: map[guid]struct{}{}}
	s.server.mu.Unlock()
	connectionOf(ctx).opened[id] = struct{}{}
	return &hiveserver.TOpenSessionResp{
		Status: success(), ServerProtocolVersion: req.ClientProtocol,
		SessionHandle: &hiveserver.TSessionHandle{SessionId: identifier(id)},
		Configuration: map[string]string{"hive.server2.thrift.resultset.default.fetch.size": "1000"},
	}, nil
}

func (s *service) CloseSession(ctx context.Context, req *hiveserver.TCloseSessionReq) (*hiveserver.TCloseSessionResp, error) {
	id := guidOf(req.GetSessionHandle().GetSessionId())
	s.server.mu.Lock()
	closed := s.server.closeSession(id)
	s.server.mu.Unlock()
	if !closed {
		return &hiveserver.TCloseSessionResp{Status: invalid("SessionHandle", id)}, nil
	}
	delete(connectionOf(ctx).opened, id)
	return &hiveserver.TCloseSessionResp{Status: success()}, nil
}

func (s *service) GetInfo(_ context.Context, req *hiveserver.TGetInfoReq) (*hiveserver.TGetInfoResp, error) {
	id, name := guidOf(req.GetSessionHandle().GetSessionId()), "Apache Hive"
	s.server.mu.Lock()
	open := s.server.mu.sessions[id] != nil
	s.server.mu.Unlock()
	status := success()
	if !open {
		status = invalid("SessionHandle", id)
	}
	return &hiveserver.TGetInfoResp{Status: status, InfoValue: &hiveserver.TGetInfoValue{StringValue: &name}}, nil
}

func (s *service) ExecuteStatement(_ context.Context, req *hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error) {
	in := guidOf(req.GetSessionHandle().GetSessionId())
	op, refused := s.server.run(req.Statement)
	if refused != nil {
		return &hiveserver.TExecuteStatementResp{Status: refused}, nil
	}
	op.session = in
	id := s.server.newGUID()
	s.server.mu.Lock()
	open := s.server.mu.sessions[in]
	if open != nil {
		open.operations[id] = struct{}{}
		s.server.mu.operations[id] = op
	}
	s.server.mu.Unlock()
	if open == nil {
		return &hiveserver.TExecuteStatementResp{Status: invalid("SessionHandle", in)}, nil
	}
	return &hiveserver.TExecuteStatementResp{Status: success(), OperationHandle: &hiveserver.TOperationHandle{
		OperationId: identifier(id), OperationType: hiveserver.TOperationType_EXECUTE_STATEMENT, HasResultSet: true,
	}}, nil
}

// operation finds an operation, or says what HiveServer2 says of one it does not know.
func (s *Server) operation(h *hiveserver.TOperationHandle) (*operation, *hiveserver.TStatus) {
	id := guidOf(h.GetOperationId())
	s.mu.Lock()
	defer s.mu.Unlock()
	if op := s.mu.operations[id]; op != nil {
		return op, success()
	}
	return nil, invalid("OperationHandle", id)
}

func (s *service) GetOperationStatus(_ context.Context, req *hiveserver.TGetOperationStatusReq) (*hiveserver.TGetOperationStatusResp, error) {
	op, status := s.server.operation(req.OperationHandle)
	if op == nil {
		return &hiveserver.TGetOperationStatusResp{Status: status}, nil
	}
	state, tasks, result := hiveserver.TOperationState_FINISHED_STATE, "[]", true
	return &hiveserver.TGetOperationStatusResp{Status: status, OperationState: &state, TaskStatus: &tasks, HasResultSet: &result}, nil
}

func (s *service) GetResultSetMetadata(_ context.Context, req *hiveserver.TGetResultSetMetadataReq) (*hiveserver.TGetResultSetMetadataResp, error) {
	op, status := s.server.operation(req.OperationHandle)
	if op == nil {
		return &hiveserver.TGetResultSetMetadataResp{Status: status}, nil
	}
	return &hiveserver.TGetResultSetMetadataResp{Status: status, Schema: op.schema()}, nil
}

func (s *service) CancelOperation(_ context.Context, req *hiveserver.TCancelOperationReq) (*hiveserver.TCancelOperationResp, error) {
	_, status := s.server.operation(req.OperationHandle) // every statement has finished already
	return &hiveserver.TCancelOperationResp{Status: status}, nil
}

func (s *service) CloseOperation(_ context.Context, req *hiveserver.TCloseOperationReq) (*hiveserver.TCloseOperationResp, error) {
	op, status := s.server.operation(req.OperationHandle)
	if op != nil {
		id := guidOf(req.GetOperationHandle().GetOperationId())
		s.server.mu.Lock()
		defer s.server.mu.Unlock()
		delete(s.server.mu.operations, id)
		if in := s.server.mu.sessions[op.session]; in != nil {
			delete(in.operations, id)
		}
	}
	return &hiveserver.TCloseOperationResp{Status: status}, nil
}
