package hs2test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

// session is one open session.
type session struct {
	guid, secret [16]byte
}

// newGUID is a random handle, or the user's next one where the server is repeatable.
func (s *Server) newGUID(user string) (g [16]byte) {
	if !s.cfg.Repeatable {
		_, _ = rand.Read(g[:]) // never fails
		return g
	}
	s.mu.Lock()
	s.mu.handles[user]++
	n := s.mu.handles[user]
	s.mu.Unlock()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", user, n))
	return [16]byte(sum[:16])
}

// service implements the calls of TCLIService that the fake knows.
type service struct {
	hiveserver.TCLIService // nil: the other methods have no processor
	connection             *connection
}

func success() *hiveserver.TStatus {
	return &hiveserver.TStatus{StatusCode: hiveserver.TStatusCode_SUCCESS_STATUS}
}

// invalid is HiveServer2 4.0.1's answer to a handle it does not know: status ERROR with code 0.
func invalid(kind string, guid []byte) *hiveserver.TStatus {
	code, text := int32(0), fmt.Sprintf("Invalid %s: %s [%x]", kind, kind, guid)
	return &hiveserver.TStatus{
		StatusCode: hiveserver.TStatusCode_ERROR_STATUS, ErrorCode: &code, ErrorMessage: &text,
		InfoMessages: []string{"Server-side error; please check HS2 logs."},
	}
}

func (s *service) OpenSession(_ context.Context, req *hiveserver.TOpenSessionReq) (*hiveserver.TOpenSessionResp, error) {
	if req.ClientProtocol < hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V1 ||
		req.ClientProtocol > hiveserver.TProtocolVersion_HIVE_CLI_SERVICE_PROTOCOL_V11 {
		return nil, athrift.NewTProtocolExceptionWithType(athrift.INVALID_DATA, fmt.Errorf("unknown protocol version %d", req.ClientProtocol))
	}
	server, user := s.connection.server, s.connection.user
	opened := &session{guid: server.newGUID(user), secret: server.newGUID(user)}
	server.mu.Lock()
	defer server.mu.Unlock()
	server.mu.sessions[opened.guid] = opened
	s.connection.opened[opened.guid] = struct{}{}
	return &hiveserver.TOpenSessionResp{
		Status: success(), ServerProtocolVersion: req.ClientProtocol,
		SessionHandle: &hiveserver.TSessionHandle{SessionId: &hiveserver.THandleIdentifier{GUID: opened.guid[:], Secret: opened.secret[:]}},
		Configuration: map[string]string{"hive.server2.thrift.resultset.default.fetch.size": "1000"},
	}, nil
}

func (s *service) CloseSession(_ context.Context, req *hiveserver.TCloseSessionReq) (*hiveserver.TCloseSessionResp, error) {
	found, guid := s.session(req.SessionHandle)
	if found == nil {
		return &hiveserver.TCloseSessionResp{Status: invalid("SessionHandle", guid)}, nil
	}
	server := s.connection.server
	server.mu.Lock()
	defer server.mu.Unlock()
	server.closeSession(found.guid)
	return &hiveserver.TCloseSessionResp{Status: success()}, nil
}

// closeSession needs the lock.
func (s *Server) closeSession(guid [16]byte) {
	for id, op := range s.mu.operations {
		if op.session.guid == guid {
			op.finish(hiveserver.TOperationState_CLOSED_STATE)
			delete(s.mu.operations, id)
		}
	}
	delete(s.mu.sessions, guid)
}

func (s *service) GetInfo(context.Context, *hiveserver.TGetInfoReq) (*hiveserver.TGetInfoResp, error) {
	name := "Apache Hive"
	return &hiveserver.TGetInfoResp{Status: success(), InfoValue: &hiveserver.TGetInfoValue{StringValue: &name}}, nil
}

// ExecuteStatement runs SQL, waiting for its end unless the client does not want to. What the command processors take (SET
// and the like) is never asynchronous.
func (s *service) ExecuteStatement(ctx context.Context, req *hiveserver.TExecuteStatementReq) (*hiveserver.TExecuteStatementResp, error) {
	found, guid := s.session(req.SessionHandle)
	if found == nil {
		return &hiveserver.TExecuteStatementResp{Status: invalid("SessionHandle", guid)}, nil
	}
	server := s.connection.server
	outcome := server.cfg.Execute(req.Statement)
	async := req.RunAsync && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(req.Statement)), "set ")
	if outcome.Message != "" && (!outcome.Late || !async) {
		return &hiveserver.TExecuteStatementResp{Status: outcome.refusal()}, nil
	}
	op := newOperation(server.newGUID(s.connection.user), found, outcome)
	server.mu.Lock()
	server.mu.operations[op.guid] = op
	server.mu.Unlock()
	if !async {
		if err := op.wait(ctx); err != nil {
			return nil, athrift.ErrAbandonRequest
		}
	}
	return &hiveserver.TExecuteStatementResp{Status: success(), OperationHandle: op.handle()}, nil
}

func (s *service) GetOperationStatus(_ context.Context, req *hiveserver.TGetOperationStatusReq) (*hiveserver.TGetOperationStatusResp, error) {
	op, guid := s.operation(req.OperationHandle)
	if op == nil {
		return &hiveserver.TGetOperationStatusResp{Status: invalid("OperationHandle", guid)}, nil
	}
	state, task := op.state(), "[]"
	resp := &hiveserver.TGetOperationStatusResp{
		Status: success(), OperationState: &state, TaskStatus: &task, NumModifiedRows: op.outcome.ModifiedRows,
	}
	if state == hiveserver.TOperationState_ERROR_STATE {
		resp.ErrorCode, resp.SqlState, resp.ErrorMessage = &op.outcome.Code, &op.outcome.SQLState, &op.outcome.Message
	}
	return resp, nil
}

func (s *service) CancelOperation(_ context.Context, req *hiveserver.TCancelOperationReq) (*hiveserver.TCancelOperationResp, error) {
	op, guid := s.operation(req.OperationHandle)
	if op == nil {
		return &hiveserver.TCancelOperationResp{Status: invalid("OperationHandle", guid)}, nil
	}
	op.finish(hiveserver.TOperationState_CANCELED_STATE)
	return &hiveserver.TCancelOperationResp{Status: success()}, nil
}

func (s *service) CloseOperation(_ context.Context, req *hiveserver.TCloseOperationReq) (*hiveserver.TCloseOperationResp, error) {
	op, guid := s.operation(req.OperationHandle)
	if op == nil {
		return &hiveserver.TCloseOperationResp{Status: invalid("OperationHandle", guid)}, nil
	}
	op.finish(hiveserver.TOperationState_CLOSED_STATE)
	server := s.connection.server
	server.mu.Lock()
	defer server.mu.Unlock()
	delete(server.mu.operations, op.guid)
	return &hiveserver.TCloseOperationResp{Status: success()}, nil
}

func (s *service) GetResultSetMetadata(_ context.Context, req *hiveserver.TGetResultSetMetadataReq) (*hiveserver.TGetResultSetMetadataResp, error) {
	op, guid := s.operation(req.OperationHandle)
	if op == nil {
		return &hiveserver.TGetResultSetMetadataResp{Status: invalid("OperationHandle", guid)}, nil
	}
	return &hiveserver.TGetResultSetMetadataResp{Status: success(), Schema: op.schema()}, nil
}

func (s *service) FetchResults(_ context.Context, req *hiveserver.TFetchResultsReq) (*hiveserver.TFetchResultsResp, error) {
	op, guid := s.operation(req.OperationHandle)
	if op == nil {
		return &hiveserver.TFetchResultsResp{Status: invalid("OperationHandle", guid)}, nil
	}
	more := false // as HiveServer2 always says
	resp := &hiveserver.TFetchResultsResp{Status: success(), HasMoreRows: &more}
	switch state := op.state(); {
	case req.FetchType == fetchLog:
		resp.Results = op.logLines(req.Orientation == hiveserver.TFetchOrientation_FETCH_FIRST)
	case state != hiveserver.TOperationState_FINISHED_STATE:
		return &hiveserver.TFetchResultsResp{Status: unfinished(state)}, nil
	default:
		resp.Results = op.batch(int(req.MaxRows))
	}
	return resp, nil
}

// fetchLog is FetchResults' fetchType for the operation's log.
const fetchLog = 1

// unfinished is Operation.assertState's refusal of a fetch.
func unfinished(state hiveserver.TOperationState) *hiveserver.TStatus {
	found, _, _ := strings.Cut(state.String(), "_STATE")
	code, text := int32(0), "Expected states: [FINISHED], but found "+found
	return &hiveserver.TStatus{
		StatusCode: hiveserver.TStatusCode_ERROR_STATUS, ErrorCode: &code, ErrorMessage: &text,
		InfoMessages: []string{"*org.apache.hive.service.cli.HiveSQLException:" + text + ":28:27"},
	}
}

func (s *service) session(h *hiveserver.TSessionHandle) (*session, []byte) {
	if h == nil || h.SessionId == nil || len(h.SessionId.GUID) != 16 {
		return nil, nil
	}
	server := s.connection.server
	server.mu.Lock()
	defer server.mu.Unlock()
	return server.mu.sessions[[16]byte(h.SessionId.GUID)], h.SessionId.GUID
}

func (s *service) operation(h *hiveserver.TOperationHandle) (*operation, []byte) {
	if h == nil || h.OperationId == nil || len(h.OperationId.GUID) != 16 {
		return nil, nil
	}
	server := s.connection.server
	server.mu.Lock()
	defer server.mu.Unlock()
	return server.mu.operations[[16]byte(h.OperationId.GUID)], h.OperationId.GUID
}
