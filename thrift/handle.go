package thrift

import (
	"encoding/binary"

	athrift "github.com/apache/thrift/lib/go/thrift"
)

// part reads on in a message of which there may be only the first bytes.
type part struct {
	b    []byte
	walk walker
	// short: the bytes ended; odd: they are no Thrift.
	short, odd bool
}

// seek passes over the fields of a struct up to the one with this id and type, whose value comes next. It is false at the end
// of the struct, which has been passed, and at the end of the bytes.
func (p *part) seek(id uint16, t athrift.TType) bool {
	for len(p.b) > 0 {
		kind := athrift.TType(p.b[0])
		if kind == athrift.STOP {
			p.b = p.b[1:]
			return false
		}
		if len(p.b) < 3 {
			break
		}
		found := binary.BigEndian.Uint16(p.b[1:])
		p.b = p.b[3:]
		if found == id && kind == t {
			return true
		}
		if err := p.walk.startValue(kind, DefaultMaxCallBytes); err != nil {
			p.odd = true
			return false
		}
		n, done, err := p.walk.feed(p.b)
		p.b = p.b[n:]
		switch {
		case err != nil:
			p.odd = true
			return false
		case !done:
			p.short = true
			return false
		}
	}
	p.short = true
	return false
}

// guid reads the first field of a THandleIdentifier, and passes over the rest.
func (p *part) guid() (id GUID, ok bool) {
	if !p.seek(1, athrift.STRING) {
		return id, false
	}
	switch {
	case len(p.b) < 4:
		p.short = true
		return id, false
	case binary.BigEndian.Uint32(p.b) != uint32(len(id)):
		p.odd = true
		return id, false
	case len(p.b) < 4+len(id):
		p.short = true
		return id, false
	}
	copy(id[:], p.b[4:])
	p.b = p.b[4+len(id):]
	p.rest()
	return id, !p.odd && !p.short
}

// rest passes over the rest of a struct.
func (p *part) rest() {
	if p.seek(0, athrift.VOID) {
		p.odd = true // no field is of this type
	}
}

// callHandle finds the handle in a call's arguments: field 1 of the request in field 1. A TOperationHandle has fields behind
// its identifier, a TSessionHandle has none.
func callHandle(p *part) (kind HandleKind, id GUID) {
	for range 3 {
		if !p.seek(1, athrift.STRUCT) {
			return NoHandle, GUID{}
		}
	}
	id, ok := p.guid()
	switch {
	case !ok:
		return NoHandle, GUID{}
	case len(p.b) == 0:
		p.short = true
		return NoHandle, GUID{}
	case p.b[0] == athrift.STOP:
		return SessionHandle, id
	default:
		return OperationHandle, id
	}
}

// replyOperation is the operation in a result: field 2 of the struct in field 0. It is zero where there is none.
func replyOperation(body []byte) GUID {
	p := &part{b: body}
	if p.seek(0, athrift.STRUCT) && p.seek(2, athrift.STRUCT) && p.seek(1, athrift.STRUCT) {
		if id, ok := p.guid(); ok {
			return id
		}
	}
	return GUID{}
}
