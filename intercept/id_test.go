package intercept

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestNewID: ids are UUIDs of version 7 with the time of their making, each behind the one before and unlike all others.
func TestNewID(t *testing.T) {
	const makers, each = 4, 2000
	before := time.Now().Truncate(time.Millisecond)
	made := make([][]string, makers)
	var work sync.WaitGroup
	for i := range made {
		work.Go(func() {
			for range each {
				made[i] = append(made[i], newID())
			}
		})
	}
	work.Wait()
	// A hurry may run ahead of the clock by a 4096th of a millisecond for each id.
	after := time.Now().Add(makers*each/4096*time.Millisecond + 2*time.Millisecond)
	seen := map[string]bool{}
	for _, ids := range made {
		last := ""
		for _, text := range ids {
			id, err := uuid.Parse(text)
			if err != nil || id.Version() != 7 || id.Variant() != uuid.RFC4122 || seen[text] || text <= last {
				t.Fatalf("%q behind %q: version %d, variant %s, seen %t, %v", text, last, id.Version(), id.Variant(), seen[text], err)
			}
			seconds, nanoseconds := id.Time().UnixTime()
			if at := time.Unix(seconds, nanoseconds); at.Before(before) || at.After(after) {
				t.Fatalf("%q is of %s, not between %s and %s", text, at, before, after)
			}
			seen[text], last = true, text
		}
	}
}
