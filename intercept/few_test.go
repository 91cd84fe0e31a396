package intercept

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A few is a set: it holds what was added and not removed, whatever the order.
func TestFewIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f few[*int]
		want := map[*int]bool{}
		var all []*int
		t.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) {
				member := new(int)
				f.add(member)
				want[member] = true
				all = append(all, member)
			},
			"remove": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("nothing was added")
				}
				member := rapid.SampledFrom(all).Draw(t, "member")
				f.remove(member)
				delete(want, member)
			},
			"": func(t *rapid.T) {
				if len(f) != len(want) {
					t.Fatalf("%d members, want %d", len(f), len(want))
				}
				for _, member := range f {
					if !want[member] {
						t.Fatal("a member that was removed")
					}
				}
				if member, ok := f.any(); ok != (len(want) > 0) || ok && !want[member] {
					t.Fatalf("any says %t with %d members", ok, len(want))
				}
				if slices.Contains(f[len(f):cap(f)], nil) != (cap(f) > len(f)) {
					t.Fatal("a removed member is held on to")
				}
			},
		})
	})
}
