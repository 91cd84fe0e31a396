package intercept

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// lastID is the time in the last id, in 1/4096 of a millisecond.
var lastID atomic.Int64

// newID makes a UUID of version 7 (RFC 9562) that sorts behind those made before: 60 bits of time, which never stands still, and
// 62 of chance, from the runtime's ChaCha8. The library's own asks the system for entropy and takes three allocations each time.
func newID() string {
	now := time.Now()
	ms := now.UnixMilli()
	at := ms<<12 | (now.UnixNano()-ms*1e6)<<12/1e6
	for {
		last := lastID.Load()
		at = max(at, last+1)
		if lastID.CompareAndSwap(last, at) {
			break
		}
	}
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(at>>12<<16|0x7000|at&0xfff)) //nolint:gosec // later than 1970
	binary.BigEndian.PutUint64(id[8:], 1<<63|rand.Uint64()>>2)            //nolint:gosec // an id is unique, not a secret
	return formatGUID(id)
}
