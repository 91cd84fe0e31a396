package advisor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

const (
	kindReduceSink = "Reduce Output Operator"
	kindHashSink   = "HashTable Sink Operator"
	kindDummyStore = "Dummy Store"
	kindTableScan  = "TableScan"
	kindSelect     = "Select Operator"
	kindGroupBy    = "Group By Operator"
	kindUnion      = "Union"
)

// side is one input position of a join.
type side struct {
	// feeds are the operators that bring the rows: the reduce sinks of other vertices (one for each member of a union),
	// or the operator of the join's own vertex.
	feeds []*explain.Operator
	// from is the vertex or union that brings the rows.
	from string
	edge explain.EdgeType
	// small: another vertex brings the rows to a map join, or a Dummy Store to a sort-merge join.
	small bool
	// guessed: the text does not print that this input has this position.
	guessed bool
}

// feed is what a vertex receives over one edge.
type feed struct {
	ops  []*explain.Operator
	from string
	edge explain.EdgeType
}

// flow follows the rows of a plan from the scans to the joins, across vertices.
type flow struct {
	plan  *explain.Plan
	joins []*explain.Operator
	sides map[*explain.Operator][]side
	// above holds what feeds an operator that is the root of its vertex.
	above map[*explain.Operator][]*explain.Operator

	columns map[*explain.Operator][]column
	busy    map[*explain.Operator]bool
}

func newFlow(p *explain.Plan) *flow {
	f := &flow{
		plan:    p,
		sides:   map[*explain.Operator][]side{},
		above:   map[*explain.Operator][]*explain.Operator{},
		columns: map[*explain.Operator][]column{},
		busy:    map[*explain.Operator]bool{},
	}
	local := f.localSinks()
	for _, s := range p.Stages {
		if p.Form == explain.FormUser {
			f.userStage(s)
			continue
		}
		feeds := stageFeeds(s)
		for _, v := range s.Vertices {
			f.connect(v, feeds[v.Name], local[s])
		}
	}
	for _, o := range f.joins {
		f.settle(o)
	}
	clear(f.columns) // read before every input had its place
	return f
}

// producers are the operators whose rows an operator reads.
func (f *flow) producers(o *explain.Operator) []*explain.Operator {
	if sides, ok := f.sides[o]; ok {
		var all []*explain.Operator
		for _, s := range sides {
			all = append(all, s.feeds...)
		}
		return all
	}
	if o.Inputs != nil {
		return o.Inputs
	}
	if o.Parent != nil {
		if sink := f.inserted(o); sink != nil {
			return f.producers(sink)
		}
		return []*explain.Operator{o.Parent}
	}
	return f.above[o]
}

// inserted returns the first of two reduce sinks where Hive has put a second one behind it after choosing the joins, to
// part two edges between the same vertices (ParallelEdgeFixer): a projection without statistics stands between them.
func (f *flow) inserted(o *explain.Operator) *explain.Operator {
	if !isReduceSink(o) || o.Parent.Kind != kindSelect || o.Parent.Stats != nil || o.Parent.Parent != nil {
		return nil
	}
	if from := f.above[o.Parent]; len(from) == 1 && isReduceSink(from[0]) && from[0].Stats != nil {
		return from[0]
	}
	return nil
}

// producer is the one operator whose rows an operator reads; nil when there is none or there are several of them.
func (f *flow) producer(o *explain.Operator) *explain.Operator {
	if p := f.producers(o); len(p) > 0 {
		return p[0]
	}
	return nil
}

// original is the reduce sink whose rows another one only passes on. Where a vertex feeds a join twice, Hive lets one
// edge take a detour through a reducer that adds nothing (SharedWorkOptimizer's concentrators); the join was chosen
// before. It returns o itself when it is no such sink.
func (f *flow) original(o *explain.Operator) *explain.Operator {
	for range maxTrace {
		p := f.producer(o)
		if !isReduceSink(o) || p == nil || p.Kind != kindSelect || p.Stats != nil || p.Vertex != o.Vertex {
			break
		}
		from := f.producers(p)
		if len(from) != 1 || !isReduceSink(from[0]) {
			break
		}
		o = from[0]
	}
	return o
}

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
	for o := range v.Operators() {
		switch {
		case o.Kind == kindDummyStore:
			stores = append(stores, o)
		case !isJoin(o):
		default:
			f.joins = append(f.joins, o)
			sides := make([]side, positions(o))
			f.sides[o] = sides
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
		order = placeByKeys(o, open, feeds)
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
func placeByKeys(o *explain.Operator, open []int, feeds []feed) []int {
	order := make([]int, len(open))
	used := make([]bool, len(feeds))
	if !matchKeys(o, open, feeds, order, used, 0) {
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
func matchKeys(o *explain.Operator, open []int, feeds []feed, order []int, used []bool, i int) bool {
	if i == len(open) {
		return true
	}
	for j, fd := range feeds {
		if used[j] || !keyed(o, open[i], fd) {
			continue
		}
		used[j], order[i] = true, j
		if matchKeys(o, open, feeds, order, used, i+1) {
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

// stageFeeds tells for each vertex of a stage what it receives, ordered by the vertices' numbers.
func stageFeeds(s *explain.Stage) map[string][]feed {
	feeds := map[string][]feed{}
	for _, v := range s.Vertices {
		sinks := sinksOf(v)
		edges := edgesFrom(s, v.Name)
		for i, o := range assign(s, sinks, edges) {
			if o < 0 {
				continue
			}
			e := edges[o]
			list := feeds[e.To]
			at := -1
			for k := range list {
				if list[k].from == e.From && (e.From != v.Name || sameSink(list[k].ops[0], sinks[i])) {
					at = k
				}
			}
			if at < 0 {
				list = append(list, feed{from: e.From, edge: e.Type})
				at = len(list) - 1
			}
			if e.From != v.Name || len(list[at].ops) == 0 { // a union's members bring one input together
				list[at].ops = append(list[at].ops, sinks[i])
			}
			feeds[e.To] = list
		}
	}
	for _, list := range feeds {
		slices.SortStableFunc(list, func(a, b feed) int { return byVertexNumber(a.from, b.from) })
	}
	return feeds
}

// sameSink tells a reduce sink that is printed once more: the tail after an MR union repeats below each member.
func sameSink(a, b *explain.Operator) bool {
	ta, oka := a.Attr("tag")
	tb, okb := b.Attr("tag")
	if oka && okb && ta != "-1" {
		return ta == tb
	}
	return a.Parent != nil && b.Parent != nil && a.Parent.Kind == kindUnion && b.Parent.Kind == kindUnion &&
		attrEqual(a, b, "key expressions") && attrEqual(a, b, "value expressions") && *stats(a) == *stats(b)
}

func attrEqual(a, b *explain.Operator, name string) bool {
	va, _ := a.Attr(name)
	vb, _ := b.Attr(name)
	return va == vb
}

var noStats = &explain.Statistics{Rows: -1, DataSize: -1, Width: -1, ActualRows: -1}

func stats(o *explain.Operator) *explain.Statistics {
	if o.Stats == nil {
		return noStats
	}
	return o.Stats
}

func sinksOf(v *explain.Vertex) []*explain.Operator {
	var sinks []*explain.Operator
	for o := range v.Operators() {
		if o.Kind == kindReduceSink || strings.HasSuffix(o.Kind, "HashTable Sink Operator") && v.Kind != explain.VertexLocal {
			sinks = append(sinks, o)
		}
	}
	return sinks
}

// edgesFrom lists the edges a vertex writes to; those of a union it is a member of are its own.
func edgesFrom(s *explain.Stage, name string) []explain.Edge {
	var edges []explain.Edge
	for _, e := range s.Edges {
		if e.From != name {
			continue
		}
		if e.Type != explain.EdgeContains {
			edges = append(edges, e)
			continue
		}
		for _, u := range s.Edges {
			if u.From == e.To && u.Type != explain.EdgeContains {
				edges = append(edges, u)
			}
		}
	}
	slices.SortStableFunc(edges, func(a, b explain.Edge) int { return byVertexNumber(a.To, b.To) })
	return edges
}
