package load

import (
	"errors"
	"fmt"
)

const (
	version1    = 0x8001 // TBinaryProtocol's version, the upper half of a message's first word
	kindReply   = 2
	kindUnknown = -1 // a status or state that the reply does not have
)

// Values of TStatusCode and TOperationState.
const (
	statusSuccess = 0
	stateFinished = 2
)

// handle is a session's or an operation's: GUID and secret.
type handle struct{ guid, secret [16]byte }

// reply is what the load reads of a reply.
type reply struct {
	status  int32 // TStatusCode
	message string
	state   int32 // TOperationState
	handle  handle
	handled bool // it has a handle
	columns int  // of the schema
	offset  int64
	rows    int
}

// read walks a message and checks that it answers the call of that name and sequence id, with success.
func read(message []byte, name string, seq int32) (reply, error) {
	w := &walker{left: message}
	r := reply{status: kindUnknown, state: kindUnknown}
	first := uint32(w.i32()) //nolint:gosec // the same bits
	got := w.binary()
	id := w.i32()
	switch {
	case w.err != nil:
		return r, fmt.Errorf("reply to %s: %w", name, w.err)
	case first>>16 != version1:
		return r, fmt.Errorf("reply to %s begins with %08x", name, first)
	case string(got) != name:
		return r, fmt.Errorf("reply to %s is named %q", name, got)
	case id != seq:
		return r, fmt.Errorf("reply to %s number %d is number %d", name, seq, id)
	case first&0xff != kindReply:
		return r, fmt.Errorf("reply to %s is of type %d", name, first&0xff)
	}
	w.structure(func(id int16, kind byte) bool { // the result: success is field 0
		if id != 0 || kind != typeStruct {
			return false
		}
		w.success(name, &r)
		return true
	})
	if w.err == nil && len(w.left) > 0 {
		w.fail(fmt.Errorf("%d bytes behind its end", len(w.left)))
	}
	switch {
	case w.err != nil:
		return r, fmt.Errorf("reply to %s: %w", name, w.err)
	case r.status != statusSuccess:
		return r, fmt.Errorf("%s: status %d: %s", name, r.status, r.message)
	}
	return r, nil
}

// success walks the TCLIService response of a method; field 1 of each is its status.
func (w *walker) success(name string, r *reply) {
	w.structure(func(id int16, kind byte) bool {
		switch {
		case id == 1 && kind == typeStruct:
			w.readStatus(r)
		case name == "OpenSession" && id == 3 && kind == typeStruct, name == "ExecuteStatement" && id == 2 && kind == typeStruct:
			w.readHandle(r)
		case name == "GetOperationStatus" && id == 2 && kind == typeI32:
			r.state = w.i32()
		case name == "GetResultSetMetadata" && id == 2 && kind == typeStruct:
			w.readSchema(r)
		case name == "FetchResults" && id == 3 && kind == typeStruct:
			w.readRows(r)
		default:
			return false
		}
		return true
	})
}

func (w *walker) readStatus(r *reply) {
	w.structure(func(id int16, kind byte) bool {
		switch {
		case id == 1 && kind == typeI32:
			r.status = w.i32()
		case id == 5 && kind == typeString:
			r.message = string(w.binary())
		default:
			return false
		}
		return true
	})
}

// readHandle walks TSessionHandle or TOperationHandle; field 1 of both is a THandleIdentifier.
func (w *walker) readHandle(r *reply) {
	w.structure(func(id int16, kind byte) bool {
		if id != 1 || kind != typeStruct {
			return false
		}
		w.structure(func(id int16, kind byte) bool {
			if id != 1 && id != 2 || kind != typeString {
				return false
			}
			b := w.binary()
			if len(b) != 16 {
				w.fail(fmt.Errorf("a handle's part of %d bytes", len(b)))
				return true
			}
			if r.handled = true; id == 1 {
				r.handle.guid = [16]byte(b)
			} else {
				r.handle.secret = [16]byte(b)
			}
			return true
		})
		return true
	})
}

func (w *walker) readSchema(r *reply) {
	w.structure(func(id int16, kind byte) bool {
		if id != 1 || kind != typeList {
			return false
		}
		of, n := w.list()
		w.elements(of, n, 0)
		r.columns = n
		return true
	})
}

var errRagged = errors.New("columns of different lengths")

// readRows walks a TRowSet: startRowOffset, and the columns, whose lengths must agree.
func (w *walker) readRows(r *reply) {
	r.rows = kindUnknown
	w.structure(func(id int16, kind byte) bool {
		switch {
		case id == 1 && kind == typeI64:
			r.offset = w.i64()
		case id == 3 && kind == typeList:
			_, n := w.list()
			for range n {
				rows := w.column()
				if r.rows != kindUnknown && rows != r.rows {
					w.fail(errRagged)
				}
				r.rows = rows
			}
		default:
			return false
		}
		return true
	})
}

// column walks a TColumn, a union of structs whose field 1 is the list of values.
func (w *walker) column() (rows int) {
	rows = kindUnknown
	w.structure(func(_ int16, kind byte) bool {
		if kind != typeStruct {
			return false
		}
		w.structure(func(id int16, kind byte) bool {
			if id != 1 || kind != typeList {
				return false
			}
			of, n := w.list()
			w.elements(of, n, 0)
			rows = n
			return true
		})
		return true
	})
	return rows
}
