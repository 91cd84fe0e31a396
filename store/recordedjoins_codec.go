package store

import (
	"encoding/binary"
	"strings"
)

// int64 is a zigzag varint: small numbers, of either sign, take a byte.
func (f *form) int64(n *int64) {
	if !f.reading {
		f.out = binary.AppendVarint(f.out, *n)
		return
	}
	u := f.uvarint()
	*n = int64(u>>1) ^ -int64(u&1) // #nosec G115 -- zigzag
}

func (f *form) int(n *int) {
	wide := int64(*n)
	if f.int64(&wide); f.reading {
		*n = int(wide)
	}
}

// bools takes up to eight in a byte.
func (f *form) bools(list ...*bool) {
	if f.reading {
		b := f.byte()
		for i, v := range list {
			*v = b>>i&1 == 1
		}
		return
	}
	var b byte
	for i, v := range list {
		if *v {
			b |= 1 << i
		}
	}
	f.out = append(f.out, b)
}

// optional is a number that may be unknown.
func (f *form) optional(n **int64) {
	if !f.reading {
		if *n == nil {
			f.out = append(f.out, 0)
			return
		}
		f.out = append(f.out, 1)
		f.int64(*n)
		return
	}
	if f.byte() == 0 {
		*n = nil
		return
	}
	*n = &f.numbers.take(1)[0]
	f.int64(*n)
}

func (f *form) word(s *string) { word(f, s) }

// word is a text: its number, or 0 with the length and the bytes of one that has none yet.
func word[T ~string](f *form, s *T) {
	if f.reading {
		*s = T(f.readWord())
		return
	}
	w := asJSONReads(string(*s))
	if n, ok := f.number[w]; ok {
		f.out = binary.AppendUvarint(f.out, uint64(n)+1) // #nosec G115 -- from 0
		return
	}
	f.number[w] = len(f.number)
	f.out = append(binary.AppendUvarint(append(f.out, 0), uint64(len(w))), w...)
}

func (f *form) readWord() string {
	if n := f.uvarint(); n > 0 {
		if n > uint64(len(f.words)) {
			f.fail()
			return ""
		}
		return f.words[n-1]
	}
	n := f.size(f.uvarint())
	w := f.in[:n]
	f.in, f.words = f.in[n:], append(f.words, w)
	return w
}

// asJSONReads is the text as it comes back from jsonb, which takes neither NUL nor invalid UTF-8.
func asJSONReads(s string) string {
	return strings.Map(func(r rune) rune {
		if r == 0 {
			return '\uFFFD'
		}
		return r
	}, s)
}

// list is a list that may be nil: 0, or its length and one, and its elements.
func list[T any](f *form, l *[]T, from *slab[T], each func(*form, *T)) {
	switch {
	case f.reading:
		*l = nil
		if n := f.uvarint(); n > 0 {
			*l = from.take(f.size(n - 1))
		}
	case *l == nil:
		f.out = append(f.out, 0)
	default:
		f.out = binary.AppendUvarint(f.out, uint64(len(*l))+1)
	}
	for i := range *l {
		each(f, &(*l)[i])
	}
}

// listOrNil is a list that JSON leaves out where it is empty.
func listOrNil[T any](f *form, l *[]T, from *slab[T], each func(*form, *T)) {
	if !f.reading && len(*l) == 0 {
		f.out = append(f.out, 0)
		return
	}
	list(f, l, from, each)
}

func (f *form) uvarint() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := f.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	f.fail()
	return 0
}

func (f *form) byte() byte {
	if f.in == "" {
		f.fail()
		return 0
	}
	b := f.in[0]
	f.in = f.in[1:]
	return b
}

// size is a length of what takes a byte each at least.
func (f *form) size(n uint64) int {
	if n > uint64(len(f.in)) {
		f.fail()
		return 0
	}
	return int(n) // #nosec G115 -- a length
}

func (f *form) fail() { f.in, f.err = "", errForm }

// slab gives short slices that are cut from longer ones, so that a join takes few allocations. What is cut from one lives and dies together.
type slab[T any] struct {
	piece int
	free  []T
}

func (s *slab[T]) take(n int) []T {
	if s.free == nil || n > len(s.free) {
		s.free = make([]T, max(n, s.piece))
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}
