package intercept

import "slices"

// few is a set that nearly always has one member at most: cheaper than a map, and kept for the next member when it is empty.
type few[T comparable] []T

func (f *few[T]) add(member T) { *f = append(*f, member) }

// remove takes a member out, if it is in; the others change their order.
func (f *few[T]) remove(member T) {
	all := *f
	i := slices.Index(all, member)
	if i < 0 {
		return
	}
	last := len(all) - 1
	all[i] = all[last]
	var none T
	all[last] = none
	*f = all[:last]
}

// any is a member; false when there is none.
func (f few[T]) any() (member T, ok bool) {
	if len(f) == 0 {
		return member, false
	}
	return f[len(f)-1], true
}
