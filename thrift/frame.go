package thrift

import "encoding/binary"

// frame follows the 4-byte big-endian length and the payload it announces.
type frame struct {
	length [4]byte
	have   uint8 // bytes of length read
	size   int64 // of the current payload
	left   int64 // bytes of the payload still to come
}

// open reports whether payload bytes come next.
func (f *frame) open() bool { return f.left > 0 }

// header takes length bytes from p. It reports how many, and whether the length is complete; then size and left are set,
// unless the length is negative or over limit: ok is false, and size holds what was announced.
func (f *frame) header(p []byte, limit int64) (n int, complete, ok bool) {
	n = copy(f.length[f.have:], p)
	f.have += uint8(n) //nolint:gosec // at most 4
	if f.have < 4 {
		return n, false, true
	}
	f.have = 0
	f.size = int64(int32(binary.BigEndian.Uint32(f.length[:]))) //nolint:gosec // the wire's signed length
	if f.size < 0 || f.size > limit {
		return n, true, false
	}
	f.left = f.size
	return n, true, true
}
