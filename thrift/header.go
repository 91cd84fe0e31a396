package thrift

import (
	"encoding/binary"
	"errors"
)

// Message types of TBinaryProtocol.
const (
	typeCall      = 1
	typeReply     = 2
	typeException = 3
	typeOneway    = 4
)

const (
	versionMask = 0xffff0000
	version1    = 0x80010000
	// maxName bounds a method name; TCLIService's longest has 21 characters.
	maxName = 1024
	// keptName is how much of a name is kept: enough to know every method.
	keptName = 32
)

var errHeader = errors.New("not a strict TBinaryProtocol message header")

// header reads a message's begin in pieces: version and type, name length, name, sequence id.
type header struct {
	method Method
	typ    uint8
	seq    int32
	// nameHash tells unknown names apart (FNV-1a); it is 0 for the others.
	nameHash uint64

	at      uint8 // field being read
	have    uint8 // bytes of scratch
	scratch [4]byte
	nameLen int32
	nameHad int32
	name    [keptName]byte
}

// Fields of a header, in order.
const (
	atVersion = iota
	atNameLength
	atName
	atSeq
)

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func (h *header) reset() {
	h.at, h.have, h.nameHad, h.nameLen, h.nameHash = atVersion, 0, 0, 0, fnvOffset
}

// begun reports whether a part of a header has been read.
func (h *header) begun() bool { return h.at != atVersion || h.have > 0 }

// feed takes what belongs to the header from p.
func (h *header) feed(p []byte) (n int, done bool, err error) {
	if h.whole(p) {
		return 12 + int(h.nameLen), true, nil
	}
	for n < len(p) {
		if h.at == atName {
			n += h.feedName(p[n:])
			continue
		}
		k := copy(h.scratch[h.have:], p[n:])
		n += k
		h.have += uint8(k) //nolint:gosec // at most 4
		if h.have < 4 {
			return n, false, nil
		}
		h.have = 0
		word := binary.BigEndian.Uint32(h.scratch[:])
		switch h.at {
		case atVersion:
			h.typ = uint8(word) //nolint:gosec // the low byte is the type
			if word&versionMask != version1 || word&0xff00 != 0 || h.typ < typeCall || h.typ > typeOneway {
				return n, false, errHeader
			}
			h.at = atNameLength
		case atNameLength:
			if word == 0 || word > maxName {
				return n, false, errHeader
			}
			h.nameLen = int32(word)
			h.at = atName
		default:
			h.seq = int32(word) //nolint:gosec // the wire's signed number
			h.at = atVersion
			return n, true, nil
		}
	}
	return n, false, nil
}

// whole reads a header that p holds from its first byte to its last, as nearly all do, if its method is a known one.
func (h *header) whole(p []byte) bool {
	if len(p) < 12 || h.begun() {
		return false
	}
	version, length := binary.BigEndian.Uint32(p), binary.BigEndian.Uint32(p[4:])
	typ := uint8(version) //nolint:gosec // the low byte is the type
	if version&^0xff != version1 || typ < typeCall || typ > typeOneway || length > keptName || len(p) < 12+int(length) {
		return false
	}
	method := methodOf(p[8 : 8+length])
	if method == MethodUnknown {
		return false
	}
	h.typ, h.method, h.nameLen, h.nameHash = typ, method, int32(length), 0
	h.seq = int32(binary.BigEndian.Uint32(p[8+length:])) //nolint:gosec // the wire's signed number
	return true
}

func (h *header) feedName(p []byte) int {
	n := min(int(h.nameLen-h.nameHad), len(p))
	if h.nameHad < keptName {
		copy(h.name[h.nameHad:], p[:n])
	}
	for _, c := range p[:n] {
		h.nameHash = (h.nameHash ^ uint64(c)) * fnvPrime
	}
	h.nameHad += int32(n) //nolint:gosec // at most maxName
	if h.nameHad == h.nameLen {
		h.method = MethodUnknown
		if h.nameLen <= keptName {
			h.method = methodOf(h.name[:h.nameLen])
		}
		if h.method != MethodUnknown {
			h.nameHash = 0
		}
		h.at = atSeq
	}
	return n
}
