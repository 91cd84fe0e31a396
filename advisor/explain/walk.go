package explain

import "iter"

// Operators yields the operators of a vertex: each tree from its root, an operator before those that consume it.
func (v *Vertex) Operators() iter.Seq[*Operator] {
	return func(yield func(*Operator) bool) {
		seen := map[*Operator]bool{} // user-level plans can lead to an operator twice
		for _, o := range v.Roots {
			if !o.walk(seen, yield) {
				return
			}
		}
	}
}

func (o *Operator) walk(seen map[*Operator]bool, yield func(*Operator) bool) bool {
	if seen[o] {
		return true
	}
	seen[o] = true
	if !yield(o) {
		return false
	}
	for _, c := range o.Children {
		if !c.walk(seen, yield) {
			return false
		}
	}
	return true
}
