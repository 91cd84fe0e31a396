package thrift

import "github.com/beltran/gohive/hiveserver"

// The generated readers cost more than all the rest of following a call: an interface call, a context and an allocation for
// every value. These read the fields that messages have in fact, and leave any message with another to the generated ones.

// plainCall reads the arguments of a watched call, without a password; nil when it has to be left to the generated reader.
func plainCall(m Method, body []byte) any {
	f := &fields{b: body}
	if key, _ := f.next(); key != fieldStruct|1 {
		return nil
	}
	var req any
	switch m {
	case OpenSession:
		req = f.openSession()
	case CloseSession:
		r := new(hiveserver.TCloseSessionReq)
		f.only(fieldStruct|1, func() { r.SessionHandle = f.session() })
		req = r
	case ExecuteStatement:
		req = f.executeStatement()
	case GetOperationStatus:
		req = f.getOperationStatus()
	case CancelOperation:
		r := new(hiveserver.TCancelOperationReq)
		f.only(fieldStruct|1, func() { r.OperationHandle = f.operation() })
		req = r
	case CloseOperation:
		r := new(hiveserver.TCloseOperationReq)
		f.only(fieldStruct|1, func() { r.OperationHandle = f.operation() })
		req = r
	default:
		return nil
	}
	return f.whole(req)
}

// plainReply reads the result of a watched call; nil when it has to be left to the generated reader.
func plainReply(m Method, body []byte) any {
	f := &fields{b: body}
	if key, _ := f.next(); key != fieldStruct {
		return nil
	}
	var resp any
	switch m {
	case OpenSession:
		resp = f.openedSession()
	case CloseSession:
		r := new(hiveserver.TCloseSessionResp)
		f.only(fieldStruct|1, func() { r.Status = f.status() })
		resp = r
	case ExecuteStatement:
		resp = f.executedStatement()
	case GetOperationStatus:
		resp = f.operationStatus()
	case CancelOperation:
		r := new(hiveserver.TCancelOperationResp)
		f.only(fieldStruct|1, func() { r.Status = f.status() })
		resp = r
	case CloseOperation:
		r := new(hiveserver.TCloseOperationResp)
		f.only(fieldStruct|1, func() { r.Status = f.status() })
		resp = r
	default:
		return nil
	}
	return f.whole(resp)
}

// whole is v if nothing was odd and its struct was the only field of one that ends the bytes.
func (f *fields) whole(v any) any {
	if _, more := f.next(); more || f.odd || len(f.b) > 0 {
		return nil
	}
	return v
}

// only reads a struct of the one field.
func (f *fields) only(want field, read func()) {
	seen := false
	for key, more := f.next(); more; key, more = f.next() {
		if key != want {
			f.unknown()
			return
		}
		read()
		seen = true
	}
	if !seen {
		f.odd = true
	}
}

func (f *fields) openSession() *hiveserver.TOpenSessionReq {
	r := hiveserver.NewTOpenSessionReq()
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldI32 | 1:
			r.ClientProtocol = hiveserver.TProtocolVersion(f.i32())
		case fieldString | 2:
			r.Username = new(f.text())
		case fieldString | 3:
			f.raw() // the password
		case fieldMap | 4:
			r.Configuration = f.texts()
		default:
			f.unknown()
		}
	}
	f.need(seen, 1<<1)
	return r
}

func (f *fields) openedSession() *hiveserver.TOpenSessionResp {
	r := hiveserver.NewTOpenSessionResp()
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldStruct | 1:
			r.Status = f.status()
		case fieldI32 | 2:
			r.ServerProtocolVersion = hiveserver.TProtocolVersion(f.i32())
		case fieldStruct | 3:
			r.SessionHandle = f.session()
		case fieldMap | 4:
			r.Configuration = f.texts()
		default:
			f.unknown()
		}
	}
	f.need(seen, 1<<1|1<<2)
	return r
}

func (f *fields) executeStatement() *hiveserver.TExecuteStatementReq {
	r := new(hiveserver.TExecuteStatementReq)
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldStruct | 1:
			r.SessionHandle = f.session()
		case fieldString | 2:
			r.Statement = f.text()
		case fieldMap | 3:
			r.ConfOverlay = f.texts()
		case fieldBool | 4:
			r.RunAsync = f.boolean()
		case fieldI64 | 5:
			r.QueryTimeout = f.i64()
		default:
			f.unknown()
		}
	}
	f.need(seen, 1<<1|1<<2)
	return r
}

func (f *fields) executedStatement() *hiveserver.TExecuteStatementResp {
	r := new(hiveserver.TExecuteStatementResp)
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldStruct | 1:
			r.Status = f.status()
		case fieldStruct | 2:
			r.OperationHandle = f.operation()
		default:
			f.unknown()
		}
	}
	f.need(seen, 1<<1)
	return r
}

func (f *fields) getOperationStatus() *hiveserver.TGetOperationStatusReq {
	r := new(hiveserver.TGetOperationStatusReq)
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldStruct | 1:
			r.OperationHandle = f.operation()
		case fieldBool | 2:
			r.GetProgressUpdate = new(f.boolean())
		default:
			f.unknown()
		}
	}
	f.need(seen, 1<<1)
	return r
}

func (f *fields) operationStatus() *hiveserver.TGetOperationStatusResp {
	r := new(hiveserver.TGetOperationStatusResp)
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldStruct | 1:
			r.Status = f.status()
		case fieldI32 | 2:
			r.OperationState = new(hiveserver.TOperationState(f.i32()))
		case fieldString | 3:
			r.SqlState = new(f.text())
		case fieldI32 | 4:
			r.ErrorCode = new(f.i32())
		case fieldString | 5:
			r.ErrorMessage = new(f.text())
		case fieldString | 6:
			r.TaskStatus = new(f.text())
		case fieldI64 | 7:
			r.OperationStarted = new(f.i64())
		case fieldI64 | 8:
			r.OperationCompleted = new(f.i64())
		case fieldBool | 9:
			r.HasResultSet = new(f.boolean())
		case fieldI64 | 11:
			r.NumModifiedRows = new(f.i64())
		default: // progress, for one
			f.unknown()
		}
	}
	f.need(seen, 1<<1)
	return r
}

func (f *fields) status() *hiveserver.TStatus {
	s := new(hiveserver.TStatus)
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldI32 | 1:
			s.StatusCode = hiveserver.TStatusCode(f.i32())
		case fieldString | 3:
			s.SqlState = new(f.text())
		case fieldI32 | 4:
			s.ErrorCode = new(f.i32())
		case fieldString | 5:
			s.ErrorMessage = new(f.text())
		default: // a refusal's messages, for one
			f.unknown()
		}
	}
	f.need(seen, 1<<1)
	return s
}

func (f *fields) session() *hiveserver.TSessionHandle {
	h := new(hiveserver.TSessionHandle)
	for key, more := f.next(); more; key, more = f.next() {
		if key != fieldStruct|1 {
			f.unknown()
			break
		}
		h.SessionId = f.identifier()
	}
	if h.SessionId == nil {
		f.odd = true
	}
	return h
}

func (f *fields) operation() *hiveserver.TOperationHandle {
	h := new(hiveserver.TOperationHandle)
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldStruct | 1:
			h.OperationId = f.identifier()
		case fieldI32 | 2:
			h.OperationType = hiveserver.TOperationType(f.i32())
		case fieldBool | 3:
			h.HasResultSet = f.boolean()
		case fieldDouble | 4:
			h.ModifiedRowCount = new(f.double())
		default:
			f.unknown()
		}
	}
	f.need(seen, 1<<1|1<<2|1<<3)
	return h
}

func (f *fields) identifier() *hiveserver.THandleIdentifier {
	id := new(hiveserver.THandleIdentifier)
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldString | 1:
			id.GUID = f.binary()
		case fieldString | 2:
			id.Secret = f.binary()
		default:
			f.unknown()
		}
	}
	f.need(seen, 1<<1|1<<2)
	return id
}
