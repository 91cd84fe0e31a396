package thrift

import "github.com/beltran/gohive/hiveserver"

// The generated readers cost more than all the rest of following a call: an interface call, a context and an allocation for
// every value. These read the fields that messages have in fact, and leave any message with another to the generated ones.

// plainCall reads the arguments of a watched call into p, without a password; nil when it has to be left to the generated reader.
func (p *parts) plainCall(m Method, body []byte) any {
	f := &fields{b: body, parts: p}
	if key, _ := f.next(); key != fieldStruct|1 {
		return nil
	}
	var req any
	switch m {
	case OpenSession:
		req = f.openSession()
	case CloseSession:
		r := &p.closeSession
		f.only(fieldStruct|1, func() { r.req.SessionHandle = f.session(&r.session) })
		req = &r.req
	case ExecuteStatement:
		req = f.executeStatement()
	case GetOperationStatus:
		req = f.getOperationStatus()
	case CancelOperation:
		r := &p.cancelOperation
		f.only(fieldStruct|1, func() { r.req.OperationHandle = f.operation(&r.operation) })
		req = &r.req
	case CloseOperation:
		r := &p.closeOperation
		f.only(fieldStruct|1, func() { r.req.OperationHandle = f.operation(&r.operation) })
		req = &r.req
	default:
		return nil
	}
	return f.whole(req)
}

// plainReply reads the result of a watched call into p; nil when it has to be left to the generated reader.
func (p *parts) plainReply(m Method, body []byte) any {
	f := &fields{b: body, parts: p}
	if key, _ := f.next(); key != fieldStruct {
		return nil
	}
	var resp any
	switch m {
	case OpenSession:
		resp = f.openedSession()
	case CloseSession:
		r := &p.closedSession
		f.only(fieldStruct|1, func() { r.resp.Status = f.status(&r.status) })
		resp = &r.resp
	case ExecuteStatement:
		resp = f.executedStatement()
	case GetOperationStatus:
		resp = f.operationStatus()
	case CancelOperation:
		r := &p.canceledOperation
		f.only(fieldStruct|1, func() { r.resp.Status = f.status(&r.status) })
		resp = &r.resp
	case CloseOperation:
		r := &p.closedOperation
		f.only(fieldStruct|1, func() { r.resp.Status = f.status(&r.status) })
		resp = &r.resp
	default:
		return nil
	}
	return f.whole(resp)
}

// whole is v if nothing was odd and its struct was the only field of one that ends the bytes.
func (f *fields) whole(v any) any {
	if _, more := f.next(); more || f.odd || f.left() > 0 {
		return nil
	}
	return v
}

// set is the place of a value, with v in it.
func set[T any](place *T, v T) *T {
	*place = v
	return place
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
	p := &openSessionParts{req: *hiveserver.NewTOpenSessionReq()}
	r := &p.req
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldI32 | 1:
			r.ClientProtocol = hiveserver.TProtocolVersion(f.i32())
		case fieldString | 2:
			r.Username = set(&p.user, f.text())
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
	p := &f.parts.openedSession
	p.resp = *hiveserver.NewTOpenSessionResp()
	r := &p.resp
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldStruct | 1:
			r.Status = f.status(&p.status)
		case fieldI32 | 2:
			r.ServerProtocolVersion = hiveserver.TProtocolVersion(f.i32())
		case fieldStruct | 3:
			r.SessionHandle = f.session(&p.session)
		case fieldMap | 4:
			for range 2 * f.pairs() { // HiveServer2's settings, which nobody asks for here
				f.raw()
			}
		default:
			f.unknown()
		}
	}
	f.need(seen, 1<<1|1<<2)
	return r
}

func (f *fields) executeStatement() *hiveserver.TExecuteStatementReq {
	p := &f.parts.executeStatement
	r := &p.req
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldStruct | 1:
			r.SessionHandle = f.session(&p.session)
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
	p := &f.parts.executedStatement
	r := &p.resp
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldStruct | 1:
			r.Status = f.status(&p.status)
		case fieldStruct | 2:
			r.OperationHandle = f.operation(&p.operation)
		default:
			f.unknown()
		}
	}
	f.need(seen, 1<<1)
	return r
}

func (f *fields) getOperationStatus() *hiveserver.TGetOperationStatusReq {
	p := &f.parts.getOperationStatus
	r := &p.req
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldStruct | 1:
			r.OperationHandle = f.operation(&p.operation)
		case fieldBool | 2:
			r.GetProgressUpdate = set(&p.progress, f.boolean())
		default:
			f.unknown()
		}
	}
	f.need(seen, 1<<1)
	return r
}

func (f *fields) operationStatus() *hiveserver.TGetOperationStatusResp {
	p := &f.parts.operationStatus
	r := &p.resp
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldStruct | 1:
			r.Status = f.status(&p.status)
		case fieldI32 | 2:
			r.OperationState = set(&p.state, hiveserver.TOperationState(f.i32()))
		case fieldString | 3:
			r.SqlState = set(&p.sqlState, f.text())
		case fieldI32 | 4:
			r.ErrorCode = set(&p.code, f.i32())
		case fieldString | 5:
			r.ErrorMessage = set(&p.message, f.text())
		case fieldString | 6:
			r.TaskStatus = set(&p.tasks, f.text())
		case fieldI64 | 7:
			r.OperationStarted = set(&p.started, f.i64())
		case fieldI64 | 8:
			r.OperationCompleted = set(&p.completed, f.i64())
		case fieldBool | 9:
			r.HasResultSet = set(&p.hasResultSet, f.boolean())
		case fieldI64 | 11:
			r.NumModifiedRows = set(&p.modified, f.i64())
		default: // progress, for one
			f.unknown()
		}
	}
	f.need(seen, 1<<1)
	return r
}
