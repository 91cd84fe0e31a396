package advisor

import (
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// connectRoots feeds the roots of a reduce vertex.
func (f *flow) connectRoots(v *explain.Vertex, feeds []feed, used []bool) {
	var rest []feed
	for i, fd := range feeds {
		if !used[i] && fd.edge != "BROADCAST_EDGE" && v.Kind != explain.VertexMap {
			rest = append(rest, fd)
		}
	}
	if len(rest) == 0 {
		return
	}
	if len(v.Roots) == 1 {
		o := v.Roots[0]
		if isJoin(o) {
			f.placeRoot(o, rest)
			return
		}
		for _, fd := range rest {
			f.above[o] = append(f.above[o], fd.ops...)
		}
		return
	}
	f.mergeRoots(v, rest)
}

// mergeRoots feeds a reducer with several trees, the sides of a sort-merge join. Inputs stand in the order of the join's
// positions; the trees that end in a Dummy Store are printed first, the streamed one last.
func (f *flow) mergeRoots(v *explain.Vertex, feeds []feed) {
	roots := v.Roots
	for _, o := range f.joins {
		if o.Vertex != v || o.Kind != kindMergeJoin || o.Parent == nil {
			continue
		}
		sides := f.sides[o]
		roots = nil
		for pos := range sides {
			if len(sides[pos].feeds) > 0 {
				roots = append(roots, rootOf(sides[pos].feeds[0]))
			}
		}
		break
	}
	for i, o := range roots {
		if i < len(feeds) {
			f.above[o] = append(f.above[o], feeds[i].ops...)
		}
	}
}

func rootOf(o *explain.Operator) *explain.Operator {
	for o.Parent != nil {
		o = o.Parent
	}
	return o
}

// placeRoot gives a join at the root of a reducer its inputs: by the reduce sinks' tags, which EXTENDED prints, by the
// key expressions, and where these leave a choice in the order of the vertices.
func (f *flow) placeRoot(o *explain.Operator, feeds []feed) {
	sides := f.sides[o]
	var open []int
	for pos := range sides {
		if sides[pos].feeds == nil {
			open = append(open, pos)
		}
	}
	order := placeByTag(open, feeds)
	guessed := order == nil && len(open) > 1
	if order == nil {
		f.tries = 0
		order = f.placeByKeys(o, open, feeds)
	}
	for i, pos := range open {
		if order[i] >= 0 {
			fd := feeds[order[i]]
			sides[pos] = side{feeds: fd.ops, from: fd.from, edge: fd.edge, small: sides[pos].small, guessed: guessed}
		}
	}
}

// placeByTag returns for each open position the feed with that tag; nil when the tags do not name every position.
func placeByTag(open []int, feeds []feed) []int {
	order := make([]int, len(open))
	for i, pos := range open {
		order[i] = -1
		for j, fd := range feeds {
			if tag, ok := fd.ops[0].Attr("tag"); ok && tag == strconv.Itoa(pos) {
				if order[i] >= 0 {
					return nil
				}
				order[i] = j
			}
		}
		if order[i] < 0 {
			return nil
		}
	}
	return order
}

// placeByKeys returns for each open position the first unused feed with the position's keys, then any unused one.
func (f *flow) placeByKeys(o *explain.Operator, open []int, feeds []feed) []int {
	order := make([]int, len(open))
	used := make([]bool, len(feeds))
	if !f.matchKeys(o, open, feeds, order, used, 0) {
		for i := range open {
			order[i] = -1
			if i < len(feeds) {
				order[i] = i
			}
		}
	}
	return order
}

// matchKeys searches, in the order of the feeds, an assignment in which every position finds its keys.
func (f *flow) matchKeys(o *explain.Operator, open []int, feeds []feed, order []int, used []bool, i int) bool {
	if i == len(open) {
		return true
	}
	for j, fd := range feeds {
		if f.tries++; used[j] || f.tries > mostTries || !keyed(o, open[i], fd) {
			continue
		}
		used[j], order[i] = true, j
		if f.matchKeys(o, open, feeds, order, used, i+1) {
			return true
		}
		used[j] = false
	}
	return false
}

// keyed tells whether a feed is shuffled by the keys a join has at a position.
func keyed(o *explain.Operator, pos int, fd feed) bool {
	var want []explain.Expr // FORMATTED prints no keys at all for a cross product
	if keys := o.Group("keys"); pos < len(keys) {
		want = explain.Exprs(keys[pos].Value)
	} else if len(keys) > 0 {
		return false
	}
	value, _ := fd.ops[0].Attr("key expressions")
	got := explain.Exprs(value)
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i].Type != got[i].Type {
			return false
		}
		// A reducer that hashes knows its keys only as the shuffle names them.
		if want[i].Text != got[i].Text && !strings.HasPrefix(want[i].Text, "KEY.") {
			return false
		}
	}
	return true
}
