package thrift

import "github.com/beltran/gohive/hiveserver"

// identifierParts holds an identifier with the 16 bytes that HiveServer2 writes into each of its fields.
type identifierParts struct {
	id           hiveserver.THandleIdentifier
	guid, secret [16]byte
}

type sessionParts struct {
	handle hiveserver.TSessionHandle
	id     identifierParts
}

type operationParts struct {
	handle   hiveserver.TOperationHandle
	id       identifierParts
	modified float64
}

type statusParts struct {
	status hiveserver.TStatus
	code   int32
}

func (f *fields) status(p *statusParts) *hiveserver.TStatus {
	p.status = hiveserver.TStatus{}
	s := &p.status
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldI32 | 1:
			s.StatusCode = hiveserver.TStatusCode(f.i32())
		case fieldString | 3:
			s.SqlState = new(f.text())
		case fieldI32 | 4:
			s.ErrorCode = set(&p.code, f.i32())
		case fieldString | 5:
			s.ErrorMessage = new(f.text())
		default: // a refusal's messages, for one
			f.unknown()
		}
	}
	f.need(seen, 1<<1)
	return s
}

func (f *fields) session(p *sessionParts) *hiveserver.TSessionHandle {
	p.handle = hiveserver.TSessionHandle{}
	h := &p.handle
	for key, more := f.next(); more; key, more = f.next() {
		if key != fieldStruct|1 {
			f.unknown()
			break
		}
		h.SessionId = f.identifier(&p.id)
	}
	if h.SessionId == nil {
		f.odd = true
	}
	return h
}

func (f *fields) operation(p *operationParts) *hiveserver.TOperationHandle {
	p.handle = hiveserver.TOperationHandle{}
	h := &p.handle
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldStruct | 1:
			h.OperationId = f.identifier(&p.id)
		case fieldI32 | 2:
			h.OperationType = hiveserver.TOperationType(f.i32())
		case fieldBool | 3:
			h.HasResultSet = f.boolean()
		case fieldDouble | 4:
			h.ModifiedRowCount = set(&p.modified, f.double())
		default:
			f.unknown()
		}
	}
	f.need(seen, 1<<1|1<<2|1<<3)
	return h
}

func (f *fields) identifier(p *identifierParts) *hiveserver.THandleIdentifier {
	p.id = hiveserver.THandleIdentifier{}
	id := &p.id
	var seen uint
	for key, more := f.next(); more; key, more = f.next() {
		seen |= 1 << (key & 15)
		switch key {
		case fieldString | 1:
			id.GUID = f.binary(&p.guid)
		case fieldString | 2:
			id.Secret = f.binary(&p.secret)
		default:
			f.unknown()
		}
	}
	f.need(seen, 1<<1|1<<2)
	return id
}
