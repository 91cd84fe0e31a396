package thrift

import (
	"encoding/binary"
	"errors"

	athrift "github.com/apache/thrift/lib/go/thrift"
)

// maxDepth is how deep structs and containers may nest; Thrift's own default recursion limit is 64.
const maxDepth = 64

var (
	errDepth = errors.New("nested deeper than 64 levels")
	errType  = errors.New("unknown Thrift type")
)

// lengthError is a length inside a message that is negative or leaves the message's limit.
type lengthError struct{ length int64 }

func (e *lengthError) Error() string { return "length inside a message out of bounds" }

// level is a struct or container that is not finished. Structs have kind STRUCT; lists, sets and maps count elements.
type level struct {
	kind      athrift.TType
	key, elem athrift.TType
	left      int64 // elements to come; a map's key and value count one each
}

// walker finds the end of a struct in TBinaryProtocol under any splitting. It looks at types and lengths only; values are
// skipped, and runs of fixed-size values are skipped at once.
type walker struct {
	stack []level
	// skip is how many bytes come before the next type or length.
	skip int64
	size int64 // bytes of the struct seen
	// limit of size, in bytes.
	limit int64
	// A length is being read: the bytes of a value's start after its type, or of a field's start after its type.
	value   athrift.TType // 0: none
	pad     uint8         // bytes before the length (a field's id)
	need    uint8
	have    uint8
	scratch [8]byte
}

// start begins a struct.
func (w *walker) start(limit int64) {
	w.stack = append(w.stack[:0], level{kind: athrift.STRUCT})
	w.skip, w.size, w.limit, w.value, w.have = 0, 0, limit, 0, 0
}

// startValue begins a value of any type.
func (w *walker) startValue(t athrift.TType, limit int64) error {
	w.stack = w.stack[:0]
	w.skip, w.size, w.limit, w.value, w.have = 0, 0, limit, 0, 0
	return w.begin(t, 0)
}

// feed takes what belongs to the struct from p; done when it has ended.
func (w *walker) feed(p []byte) (n int, done bool, err error) {
	for {
		if w.skip > 0 {
			k := int(min(w.skip, int64(len(p)-n)))
			n += k
			w.skip -= int64(k)
			if w.skip > 0 {
				break
			}
		}
		if w.value != 0 {
			b, k := w.gather(p[n:])
			n += k
			if b == nil {
				break
			}
			value := w.value
			w.value = 0
			if err := w.open(value, b[w.pad:], w.size+int64(n)); err != nil {
				w.size += int64(n)
				return n, false, err
			}
			continue
		}
		if len(w.stack) == 0 {
			w.size += int64(n)
			return n, true, nil
		}
		top := &w.stack[len(w.stack)-1]
		if top.kind != athrift.STRUCT {
			if top.elem == athrift.STRING && top.kind != athrift.MAP {
				n += w.strings(top, p[n:], w.size+int64(n))
			}
			err = w.element(top)
		} else {
			if n == len(p) {
				break
			}
			n++
			err = w.field(athrift.TType(p[n-1]))
		}
		if err != nil {
			w.size += int64(n)
			return n, false, err
		}
	}
	w.size += int64(n)
	if w.size > w.limit {
		return n, false, &lengthError{w.size}
	}
	return n, false, nil
}

// advance accounts for n bytes that feed did not see; at most skip.
func (w *walker) advance(n int64) {
	w.skip -= n
	w.size += n
}

// gather completes the bytes of a value's start, in place when p holds them all.
func (w *walker) gather(p []byte) ([]byte, int) {
	if w.have == 0 && len(p) >= int(w.need) {
		return p[:w.need], int(w.need)
	}
	k := copy(w.scratch[w.have:w.need], p)
	w.have += uint8(k) //nolint:gosec // at most 8
	if w.have < w.need {
		return nil, k
	}
	w.have = 0
	return w.scratch[:w.need], k
}

// field begins a field of type t, or ends the struct.
func (w *walker) field(t athrift.TType) error {
	if t == athrift.STOP {
		w.stack = w.stack[:len(w.stack)-1]
		return nil
	}
	return w.begin(t, 2)
}

// strings passes over the elements of a list that p holds from first to last byte: most of a result is lists of strings. It
// stops before one that is not sound. at is the struct's size so far.
func (w *walker) strings(top *level, p []byte, at int64) (n int) {
	for top.left > 0 && len(p)-n >= 4 {
		length := signed(p[n:])
		if length < 0 || length > int64(len(p)-n-4) || length > w.limit-at-int64(n)-4 {
			break
		}
		n += 4 + int(length)
		top.left--
	}
	return n
}

// element begins the next element of a container, or ends it.
func (w *walker) element(top *level) error {
	if top.left == 0 {
		w.stack = w.stack[:len(w.stack)-1]
		return nil
	}
	t := top.elem
	if top.kind == athrift.MAP && top.left%2 == 0 {
		t = top.key
	}
	top.left--
	return w.begin(t, 0)
}

// begin sets up what comes before the next decision: a value's bytes, or its length.
func (w *walker) begin(t athrift.TType, pad uint8) error {
	if size := fixedSize(t); size > 0 {
		w.skip = int64(pad) + size
		return nil
	}
	w.pad = pad
	switch t {
	case athrift.STRUCT:
		w.skip = int64(pad)
		return w.push(level{kind: athrift.STRUCT})
	case athrift.STRING:
		w.need = pad + 4
	case athrift.LIST, athrift.SET:
		w.need = pad + 5
	case athrift.MAP:
		w.need = pad + 6
	default:
		return errType
	}
	w.value = t
	return nil
}

// open takes a value's start b: a string's length, or a container's types and count. at is the struct's size so far.
func (w *walker) open(t athrift.TType, b []byte, at int64) error {
	var l level
	l.kind = t
	switch t {
	case athrift.STRING:
		n := signed(b)
		if n < 0 || n > w.limit-at {
			return &lengthError{n}
		}
		w.skip = n
		return nil
	case athrift.MAP:
		l.key, l.elem, l.left = athrift.TType(b[0]), athrift.TType(b[1]), signed(b[2:])
	default:
		l.elem, l.left = athrift.TType(b[0]), signed(b[1:])
	}
	if l.left == 0 {
		return nil // writers put any type in front of no elements
	}
	per := minSize(l.elem)
	if t == athrift.MAP {
		per += minSize(l.key)
		if minSize(l.key) == 0 {
			return errType
		}
	}
	if minSize(l.elem) == 0 {
		return errType
	}
	if l.left < 0 || l.left*per > w.limit-at {
		return &lengthError{l.left}
	}
	if fixedSize(l.elem) > 0 && (t != athrift.MAP || fixedSize(l.key) > 0) {
		w.skip = l.left * per
		return nil
	}
	if t == athrift.MAP {
		l.left *= 2
	}
	return w.push(l)
}

func (w *walker) push(l level) error {
	if len(w.stack) == maxDepth {
		return errDepth
	}
	w.stack = append(w.stack, l)
	return nil
}

func signed(b []byte) int64 {
	return int64(int32(binary.BigEndian.Uint32(b))) //nolint:gosec // the wire's signed number
}

// fixedSize is the size of a value of t in bytes, 0 when it varies.
func fixedSize(t athrift.TType) int64 {
	switch t {
	case athrift.BOOL, athrift.BYTE:
		return 1
	case athrift.I16:
		return 2
	case athrift.I32:
		return 4
	case athrift.DOUBLE, athrift.I64:
		return 8
	case athrift.UUID:
		return 16
	default:
		return 0
	}
}

// minSize is the least size of a value of t in bytes, 0 for what is no type.
func minSize(t athrift.TType) int64 {
	switch t {
	case athrift.STRING:
		return 4
	case athrift.STRUCT:
		return 1
	case athrift.LIST, athrift.SET:
		return 5
	case athrift.MAP:
		return 6
	default:
		return fixedSize(t)
	}
}
