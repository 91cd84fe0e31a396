package load

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Types of TBinaryProtocol.
const (
	typeStop   = 0
	typeBool   = 2
	typeByte   = 3
	typeDouble = 4
	typeI16    = 6
	typeI32    = 8
	typeI64    = 10
	typeString = 11
	typeStruct = 12
	typeMap    = 13
	typeSet    = 14
	typeList   = 15
)

// maxDepth is deeper than any reply of TCLIService.
const maxDepth = 32

var (
	errShort = errors.New("reply ends inside a value")
	errDepth = errors.New("reply is nested too deeply")
)

// walker reads a message from its first byte to its last. The first error stays; what is read behind it is zero.
type walker struct {
	left []byte
	err  error
}

func (w *walker) take(n int) []byte {
	if w.err != nil || n < 0 || n > len(w.left) {
		w.fail(errShort)
		return nil
	}
	b := w.left[:n]
	w.left = w.left[n:]
	return b
}

func (w *walker) fail(err error) {
	if w.err == nil {
		w.err = err
		w.left = nil
	}
}

func (w *walker) byte() byte {
	if b := w.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (w *walker) i16() int16 {
	if b := w.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b)) //nolint:gosec // the same bits
	}
	return 0
}

func (w *walker) i32() int32 {
	if b := w.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b)) //nolint:gosec // the same bits
	}
	return 0
}

func (w *walker) i64() int64 {
	if b := w.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b)) //nolint:gosec // the same bits
	}
	return 0
}

func (w *walker) binary() []byte { return w.take(int(w.i32())) }

// structure walks a struct. visit reads a field's value and says so, or leaves it to be skipped.
func (w *walker) structure(visit func(id int16, kind byte) bool) {
	for w.err == nil {
		kind := w.byte()
		if kind == typeStop {
			return
		}
		if id := w.i16(); !visit(id, kind) {
			w.skip(kind, 0)
		}
	}
}

// list returns the type and number of a list's elements.
func (w *walker) list() (kind byte, n int) {
	kind = w.byte()
	if n = int(w.i32()); n < 0 || n > len(w.left) { // no element is shorter than a byte
		w.fail(errShort)
		return 0, 0
	}
	return kind, n
}

func (w *walker) elements(kind byte, n, depth int) {
	if size := fixed(kind); size > 0 {
		w.take(n * size)
		return
	}
	for range n {
		if w.err != nil {
			return
		}
		w.skip(kind, depth)
	}
}

// fixed is the size of a type that has one, in bytes.
func fixed(kind byte) int {
	switch kind {
	case typeBool, typeByte:
		return 1
	case typeI16:
		return 2
	case typeI32:
		return 4
	case typeI64, typeDouble:
		return 8
	}
	return 0
}

func (w *walker) skip(kind byte, depth int) {
	if depth > maxDepth {
		w.fail(errDepth)
		return
	}
	switch kind {
	case typeString:
		w.binary()
	case typeStruct:
		for w.err == nil {
			field := w.byte()
			if field == typeStop {
				return
			}
			w.i16()
			w.skip(field, depth+1)
		}
	case typeList, typeSet:
		of, n := w.list()
		w.elements(of, n, depth+1)
	case typeMap:
		key, value := w.byte(), w.byte()
		n := int(w.i32())
		if n < 0 || n > len(w.left) {
			w.fail(errShort)
			return
		}
		for range n {
			w.skip(key, depth+1)
			w.skip(value, depth+1)
		}
	default:
		size := fixed(kind)
		if size == 0 {
			w.fail(fmt.Errorf("reply holds a value of type %d", kind))
			return
		}
		w.take(size)
	}
}
