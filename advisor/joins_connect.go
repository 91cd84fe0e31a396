package advisor

import (
	"slices"
	"strconv"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// localSinks finds, for each MR stage, the hash tables its local work or an earlier local stage builds, in plan order.
func (f *flow) localSinks() map[*explain.Stage][]*explain.Operator {
	byID := map[string]*explain.Stage{}
	for _, s := range f.plan.Stages {
		byID[s.ID] = s
	}
	sinks := map[*explain.Stage][]*explain.Operator{}
	for _, s := range f.plan.Stages {
		for _, id := range append([]string{s.ID}, s.DependsOn...) {
			if from := byID[id]; from != nil {
				for _, v := range from.Vertices {
					if v.Kind == explain.VertexLocal {
						for o := range v.Operators() {
							if o.Kind == kindHashSink {
								sinks[s] = append(sinks[s], o)
							}
						}
					}
				}
			}
		}
	}
	return sinks
}

// connect gives the operators of a vertex what other vertices bring: map joins their named inputs, the roots the rest.
func (f *flow) connect(v *explain.Vertex, feeds []feed, local []*explain.Operator) {
	used := make([]bool, len(feeds))
	var stores, merging []*explain.Operator
	lateral := hasLateral(v)
	for o := range v.Operators() {
		switch {
		case o.Kind == kindDummyStore:
			stores = append(stores, o)
		case !isJoin(o):
		default:
			f.joins = append(f.joins, o)
			sides := make([]side, positions(o))
			f.sides[o] = sides
			if lateral && printedTwice(o) != nil {
				break // repeatJoins
			}
			if o.Kind == kindMapJoin {
				f.smallSides(o, sides, feeds, used)
				if local != nil {
					local = localSides(o, sides, local)
					break
				}
			}
			if o.Parent != nil {
				if o.Kind == kindMergeJoin {
					merging = append(merging, o)
				} else {
					f.ownSide(o, sides)
				}
			}
		}
	}
	if len(merging) > 0 && len(stores) == 0 {
		stores = unprintedStores(v)
	}
	for _, o := range merging {
		stores = f.mergeSides(o, stores)
	}
	f.connectRoots(v, feeds, used)
}

// smallSides places the vertices a map join names as its inputs ("input vertices: 0 Map 1").
func (f *flow) smallSides(o *explain.Operator, sides []side, feeds []feed, used []bool) {
	for _, a := range o.Group("input vertices") {
		pos, err := strconv.Atoi(a.Name)
		if err != nil || pos < 0 || pos >= len(sides) {
			continue
		}
		sides[pos] = side{from: a.Value, small: true}
		best := -1
		for i, fd := range feeds {
			if used[i] || fd.from != a.Value {
				continue
			}
			if best < 0 || keyed(o, pos, fd) && !keyed(o, pos, feeds[best]) {
				best = i
			}
		}
		if best >= 0 {
			used[best] = true
			sides[pos].feeds, sides[pos].edge = feeds[best].ops, feeds[best].edge
		}
	}
}

// localSides places the inputs of an MR map join: its parent streams, the sinks of the local work with the join's keys
// build the hash tables of the other positions. It returns the sinks left.
func localSides(o *explain.Operator, sides []side, sinks []*explain.Operator) []*explain.Operator {
	big, told := 0, false
	if v, ok := o.Attr("Position of Big Table"); ok {
		if n, err := strconv.Atoi(v); err == nil {
			big, told = n, true
		}
	}
	for pos := range sides {
		if pos == big && o.Parent != nil {
			sides[pos] = side{feeds: []*explain.Operator{o.Parent}, from: o.Vertex.Name, guessed: !told}
			continue
		}
		at := slices.IndexFunc(sinks, func(sink *explain.Operator) bool {
			return slices.EqualFunc(o.Group("keys"), sink.Group("keys"), func(a, b explain.Attr) bool {
				return a.Name == b.Name && a.Value == b.Value
			})
		})
		if at >= 0 {
			sides[pos] = side{feeds: []*explain.Operator{sinks[at]}, from: sinks[at].Vertex.Name, small: true, guessed: !told}
			sinks = slices.Concat(sinks[:at], sinks[at+1:])
		}
	}
	return sinks
}

// ownSide places the operator of the join's own vertex at the position no other vertex brings.
func (f *flow) ownSide(o *explain.Operator, sides []side) {
	pos := -1
	if v, ok := o.Attr("Position of Big Table"); ok {
		if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < len(sides) {
			pos = n
		}
	}
	for i := range sides {
		if pos < 0 && sides[i].feeds == nil && !sides[i].small {
			pos = i
		}
	}
	if pos >= 0 {
		sides[pos] = side{feeds: []*explain.Operator{o.Parent}, from: o.Vertex.Name}
	}
}

// mergeSides places the inputs of a sort-merge join inside one vertex: its parent streams, Dummy Stores bring the others
// in order. It returns the stores left.
func (f *flow) mergeSides(o *explain.Operator, stores []*explain.Operator) []*explain.Operator {
	sides := f.sides[o]
	big, told := mergeBig(o)
	for pos := range sides {
		if pos == big {
			sides[pos] = side{feeds: []*explain.Operator{o.Parent}, from: o.Vertex.Name, guessed: !told}
			continue
		}
		if len(stores) > 0 {
			sides[pos] = side{feeds: stores[:1], from: o.Vertex.Name, small: true, guessed: !told}
			stores = stores[1:]
		}
	}
	return stores
}

// mergeBig is the position of a sort-merge join's parent. Plain text does not print it. Hive numbers vertices in the order
// of the inputs and keeps the parent's for the join: a number left out below it was another input's.
func mergeBig(o *explain.Operator) (pos int, told bool) {
	if v, ok := o.Attr("Position of Big Table"); ok {
		if n, err := strconv.Atoi(v); err == nil {
			return n, true
		}
	}
	below, own := 0, vertexNumber(o.Vertex.Name)
	for _, v := range o.Vertex.Stage.Vertices {
		if n := vertexNumber(v.Name); n > 0 && n < own {
			below++
		}
	}
	if below < own-1 {
		pos = 1
	}
	return pos, false
}
