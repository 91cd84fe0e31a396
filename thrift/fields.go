package thrift

import (
	"bytes"
	"encoding/binary"
	"math"

	athrift "github.com/apache/thrift/lib/go/thrift"
)

// field is a field's type and id as one word.
type field uint32

const (
	fieldBool   = field(athrift.BOOL) << 16
	fieldI32    = field(athrift.I32) << 16
	fieldI64    = field(athrift.I64) << 16
	fieldDouble = field(athrift.DOUBLE) << 16
	fieldString = field(athrift.STRING) << 16
	fieldStruct = field(athrift.STRUCT) << 16
	fieldMap    = field(athrift.MAP) << 16
)

// fields reads the fields of nested structs from bytes that are all there. It gives up on whatever it does not know: odd then
// stays true, and what was read counts for nothing.
type fields struct {
	b   []byte
	at  int // of the next byte; b stays, since the garbage collector wants to know of each pointer that changes
	odd bool
	// parts is where what is read goes.
	parts *parts
}

// left is how many bytes are to come.
func (f *fields) left() int { return len(f.b) - f.at }

// take cuts n bytes off; nil when there are not as many.
func (f *fields) take(n int) []byte {
	if n < 0 || n > f.left() {
		f.unknown()
		return nil
	}
	from := f.at
	f.at += n
	return f.b[from:f.at:f.at]
}

// next begins a field; more is false at the struct's end, and once the bytes are odd.
func (f *fields) next() (key field, more bool) {
	t := f.take(1)
	if t == nil || t[0] == athrift.STOP {
		return 0, false
	}
	id := f.take(2)
	if id == nil {
		return 0, false
	}
	return field(t[0])<<16 | field(binary.BigEndian.Uint16(id)), true
}

// unknown is what a struct does with a field it does not know.
func (f *fields) unknown() { f.odd, f.at = true, len(f.b) }

// need makes a struct odd in which not all the wanted fields were seen; both have a bit for each id.
func (f *fields) need(seen, want uint) {
	if seen&want != want {
		f.odd = true
	}
}

func (f *fields) boolean() bool {
	b := f.take(1)
	return b != nil && b[0] == 1
}

func (f *fields) i32() int32 {
	b := f.take(4)
	if b == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b)) //nolint:gosec // the wire's signed number
}

func (f *fields) i64() int64 {
	b := f.take(8)
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b)) //nolint:gosec // the wire's signed number
}

func (f *fields) double() float64 { return math.Float64frombits(uint64(f.i64())) } //nolint:gosec // the same bits

// raw is a string in place.
func (f *fields) raw() []byte { return f.take(int(f.i32())) }

func (f *fields) text() string { return string(f.raw()) }

// binary is a copy of a string's bytes, in room where they fit.
func (f *fields) binary(room *[16]byte) []byte {
	b := f.raw()
	if b == nil || len(b) > len(room) {
		return bytes.Clone(b)
	}
	n := copy(room[:], b)
	return room[:n:n]
}

// pairs begins a map of strings: how many there are.
func (f *fields) pairs() int {
	kinds := f.take(2)
	n := int(f.i32())
	if f.odd || n < 0 || n > f.left()/8 || n > 0 && (kinds[0] != athrift.STRING || kinds[1] != athrift.STRING) {
		f.unknown()
		return 0
	}
	return n
}

// texts reads a map of strings.
func (f *fields) texts() map[string]string {
	n := f.pairs()
	if f.odd {
		return nil
	}
	m := make(map[string]string, n)
	for range n {
		key := f.text()
		m[key] = f.text()
	}
	return m
}
