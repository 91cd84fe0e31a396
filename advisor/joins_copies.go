package advisor

import (
	"slices"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// pairCopies finds the map joins that are one join to the planner: after its decision Hive removes a union by giving each
// member its own copy of what follows (GenTezWork). The streamed input of every copy is then the whole union.
func (f *flow) pairCopies(s *explain.Stage) {
	members := map[string][]*explain.Vertex{}
	for _, e := range s.Edges {
		if e.Type != explain.EdgeContains {
			continue
		}
		for _, v := range s.Vertices {
			if v.Name == e.From {
				members[e.To] = append(members[e.To], v)
			}
		}
	}
	for _, e := range s.Edges { // in the order of the text
		if vertices := members[e.To]; e.Type == explain.EdgeContains && len(vertices) > 1 {
			f.pairMembers(vertices)
			delete(members, e.To)
		}
	}
}

func (f *flow) pairMembers(vertices []*explain.Vertex) {
	for first := range vertices[0].Operators() {
		if first.Kind != kindMapJoin || first.Parent == nil {
			continue
		}
		copies := []*explain.Operator{first}
		for _, v := range vertices[1:] {
			for o := range v.Operators() {
				if o.Kind == kindMapJoin && o.Parent != nil && f.sameJoin(first, o) {
					copies = append(copies, o)
					break
				}
			}
		}
		if len(copies) == len(vertices) {
			f.joinMembers(copies)
		}
	}
}

// sameJoin tells whether two map joins have the same keys, conditions, estimate and hashed inputs.
func (f *flow) sameJoin(a, b *explain.Operator) bool {
	if a.Stats == nil || b.Stats == nil || *a.Stats != *b.Stats {
		return false
	}
	for _, group := range [...]string{"keys", "condition map", "input vertices"} {
		if !slices.EqualFunc(a.Group(group), b.Group(group), func(x, y explain.Attr) bool { return x.Name == y.Name && x.Value == y.Value }) {
			return false
		}
	}
	return true
}

// joinMembers gives each copy the members' operators as its streamed input, its own first.
func (f *flow) joinMembers(copies []*explain.Operator) {
	for i, o := range copies {
		f.copied[o] = true
		if f.copied[o.Parent] {
			continue // a copy prints the estimate of the whole union
		}
		sides := f.sides[o]
		pos := slices.IndexFunc(sides, func(s side) bool { return len(s.feeds) == 1 && s.feeds[0] == o.Parent })
		if pos < 0 {
			continue
		}
		feeds := []*explain.Operator{o.Parent}
		for k, other := range copies {
			if k != i {
				feeds = append(feeds, other.Parent)
			}
		}
		sides[pos].feeds = feeds
	}
}

// wholeUnion tells whether the members' operators are copies, each printing the estimate of the whole union: somewhere
// above them the members' own estimates add up to it.
func (f *flow) wholeUnion(ops []*explain.Operator) bool {
	for range maxTrace {
		if !f.sameEstimate(ops) {
			return false
		}
		if isJoin(ops[0]) {
			return f.copied[ops[0]]
		}
		above := make([]*explain.Operator, len(ops))
		sum := int64(0)
		for i, o := range ops {
			if above[i] = f.producer(o); above[i] == nil {
				return false
			}
			sum = addCount(sum, f.rows(above[i]))
		}
		if sum == f.rows(ops[0]) || flagged(ops[0], "mode", "hash") {
			return true // what a Group By begins, its shuffle follows: both stood after the union
		}
		ops = above
	}
	return false
}

// flagged tells whether an operator prints an attribute with a value.
func flagged(o *explain.Operator, name, value string) bool {
	v, ok := o.Attr(name)
	return ok && v == value
}
