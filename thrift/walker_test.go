package thrift

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	athrift "github.com/apache/thrift/lib/go/thrift"
)

func i32(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func TestWalkerBounds(t *testing.T) {
	const limit = 300
	field := func(kind byte, rest ...[]byte) []byte {
		return slices.Concat([]byte{kind, 0, 1}, slices.Concat(rest...), []byte{athrift.STOP})
	}
	nested := func(depth int) []byte {
		return slices.Concat(bytes.Repeat([]byte{athrift.STRUCT, 0, 1}, depth), bytes.Repeat([]byte{athrift.STOP}, depth+1))
	}
	length := new(lengthError)
	for name, tc := range map[string]struct {
		body []byte
		want error
	}{
		"empty":                   {[]byte{athrift.STOP}, nil},
		"string to the limit":     {field(athrift.STRING, i32(limit-8), make([]byte, limit-8)), nil},
		"string over the limit":   {field(athrift.STRING, i32(limit-6)), length},
		"negative string":         {field(athrift.STRING, i32(-1)), length},
		"list to the limit":       {field(athrift.LIST, []byte{athrift.I32}, i32(72), make([]byte, 288)), nil},
		"list over the limit":     {field(athrift.LIST, []byte{athrift.I32}, i32(74)), length},
		"negative set":            {field(athrift.SET, []byte{athrift.STRING}, i32(-7)), length},
		"map over the limit":      {field(athrift.MAP, []byte{athrift.I64, athrift.STRING}, i32(25)), length},
		"map of fixed sizes":      {field(athrift.MAP, []byte{athrift.I16, athrift.I64}, i32(3), make([]byte, 30)), nil},
		"empty map without types": {field(athrift.MAP, []byte{0, 0}, i32(0)), nil},
		"list of no type":         {field(athrift.LIST, []byte{1}, i32(1)), errType},
		"map with keys of none":   {field(athrift.MAP, []byte{7, athrift.I64}, i32(1)), errType},
		"field of no type":        {field(9), errType},
		"structs to the depth":    {nested(maxDepth - 1), nil},
		"structs over the depth":  {bytes.Repeat([]byte{athrift.STRUCT, 0, 1}, 64), errDepth},
	} {
		t.Run(name, func(t *testing.T) {
			var w walker
			w.start(limit)
			n, done, err := w.feed(tc.body)
			var length *lengthError
			if errors.As(tc.want, &length) {
				if !errors.As(err, &length) {
					t.Errorf("error %v", err)
				}
				return
			}
			if !errors.Is(err, tc.want) || done != (tc.want == nil) || done && n != len(tc.body) {
				t.Errorf("%d of %d bytes, done %t, error %v", n, len(tc.body), done, err)
			}
		})
	}
}
