package advisor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// assign finds, for each reduce sink of a vertex, the edge it writes to (−1: none). Text plans do not print it: where a
// vertex has several sinks and edges, what the consumer does with the rows tells.
func assign(s *explain.Stage, sinks []*explain.Operator, edges []explain.Edge) []int {
	to := make([]int, len(sinks))
	if len(edges) == 0 {
		for i := range to {
			to[i] = -1
		}
		return to
	}
	if len(edges) == 1 {
		return to
	}
	vertices := map[string]*explain.Vertex{}
	for _, v := range s.Vertices {
		vertices[v.Name] = v
	}
	if assignNamed(sinks, edges, to) {
		return to
	}
	score := make([][]int, len(sinks))
	for i, o := range sinks {
		score[i] = make([]int, len(edges))
		for j, e := range edges {
			score[i][j] = affinity(o, e, vertices[e.To])
		}
	}
	assignBest(score, to)
	return to
}

// bestSink is the sink that fits an edge best.
func bestSink(s *explain.Stage, sinks []*explain.Operator, e explain.Edge) *explain.Operator {
	best, most := sinks[0], -1
	for _, v := range s.Vertices {
		if v.Name != e.To {
			continue
		}
		for _, o := range sinks {
			if n := affinity(o, e, v); n > most {
				best, most = o, n
			}
		}
	}
	return best
}

// assignNamed reads the consumers that FORMATTED names ("outputname:").
func assignNamed(sinks []*explain.Operator, edges []explain.Edge, to []int) bool {
	for i, o := range sinks {
		name, ok := o.Attr("outputname")
		if !ok {
			return false
		}
		to[i] = -1
		for j, e := range edges {
			if e.To == name {
				to[i] = j
			}
		}
	}
	return true
}

// mostSearched bounds the sinks whose assignment is searched for the best sum; more are paired greedily.
const mostSearched = 6

// assignBest pairs sinks with edges so that they fit best as a whole; among equals the order of sinks and edges decides.
// Edges are used once while there are enough of them.
func assignBest(score [][]int, to []int) {
	const none = -1
	for i := range to {
		to[i] = none
	}
	usedEdge := make([]bool, len(score[0]))
	if len(to) <= mostSearched && len(to) <= len(usedEdge) {
		best := none
		trial := make([]int, len(to))
		searchBest(score, trial, usedEdge, 0, 0, &best, to)
		return
	}
	for range score {
		bi, bj := none, none
		for i := range score {
			if to[i] != none {
				continue
			}
			for j := range score[i] {
				if !usedEdge[j] && (bi < 0 || score[i][j] > score[bi][bj]) {
					bi, bj = i, j
				}
			}
		}
		if bi < 0 {
			break
		}
		to[bi], usedEdge[bj] = bj, true
	}
	for i := range to { // more sinks than edges
		for j := range score[i] {
			if to[i] == none || score[i][j] > score[i][to[i]] && !singleUse(to, to[i], i) {
				to[i] = j
			}
		}
	}
}

// searchBest tries every assignment of the sinks from i on and keeps the one with the highest sum.
func searchBest(score [][]int, trial []int, used []bool, i, sum int, best *int, to []int) {
	if i == len(trial) {
		if sum > *best {
			*best = sum
			copy(to, trial)
		}
		return
	}
	for j := range used {
		if used[j] {
			continue
		}
		used[j], trial[i] = true, j
		searchBest(score, trial, used, i+1, sum+score[i][j], best, to)
		used[j] = false
	}
}

// singleUse tells whether sink i is the only one on its edge.
func singleUse(to []int, edge, i int) bool {
	for k, e := range to {
		if k != i && e == edge {
			return false
		}
	}
	return true
}

// affinity is how well a reduce sink's rows fit what the vertex at the end of an edge does with them.
func affinity(o *explain.Operator, e explain.Edge, v *explain.Vertex) int {
	if v == nil {
		return 0
	}
	fd := feed{ops: []*explain.Operator{o}}
	best, named := 0, false
	for j := range v.Operators() {
		if !isJoin(j) {
			continue
		}
		here := false // the join names the edge's vertex as an input
		inputs := map[int]string{}
		for _, a := range j.Group("input vertices") {
			if pos, err := strconv.Atoi(a.Name); err == nil {
				inputs[pos] = a.Value
				here = here || a.Value == e.From
			}
		}
		for pos := range positions(j) {
			if from, ok := inputs[pos]; ok && from == e.From || !ok && !here && j.Parent == nil {
				best = max(best, joinAffinity(j, pos, fd))
			}
		}
		named = named || here
	}
	if best > 0 || named {
		return best
	}
	if e.Type == "BROADCAST_EDGE" {
		// Runtime values for a semijoin filter: no keys, a Bloom filter among the values.
		keys, _ := o.Attr("key expressions")
		values, _ := o.Attr("value expressions")
		if keys == "" && strings.Contains(values, "(type: binary)") {
			return 12
		}
		return 0
	}
	for _, root := range v.Roots {
		best = max(best, rootAffinity(o, root))
	}
	return best
}

func joinAffinity(j *explain.Operator, pos int, fd feed) int {
	score := 0
	if keyed(j, pos, fd) {
		score = 10
	}
	if tag, ok := fd.ops[0].Attr("tag"); ok && tag == strconv.Itoa(pos) {
		score += 3
	}
	if takes, known := takesValues(j, pos); known {
		if _, sends := fd.ops[0].Attr("value expressions"); sends == takes {
			score++
		}
	}
	if pos == 0 && handsOn(j, fd.ops[0]) {
		score++
	}
	return score
}

// handsOn tells whether a join hands on every value of the input at its first position: the outputs begin with that input's columns, and
// Hive sends no values that nobody reads.
func handsOn(j, sink *explain.Operator) bool {
	list, _ := sink.Attr("value expressions")
	values := explain.Exprs(list)
	outputs, wanted := outputNames(j), consumedTypes(j)
	for _, v := range values {
		if t := wanted[v.Text]; !slices.Contains(outputs, v.Text) || t != "" && t != v.Type {
			return false
		}
	}
	return len(values) > 0
}

// takesValues tells whether a two-way map join hands on columns of its second input, which is hashed; Hive sends no values that nobody
// reads. It is known where the first one is in the join's own vertex and names its columns: the outputs are numbered behind them.
func takesValues(j *explain.Operator, pos int) (takes, known bool) {
	if pos != 1 || j.Kind != kindMapJoin || positions(j) != 2 || j.Parent == nil {
		return false, false
	}
	streamed, outputs := outputNames(j.Parent), outputNames(j)
	if len(streamed) == 0 || len(outputs) == 0 {
		return false, false
	}
	width := 0
	for i, name := range streamed {
		width = max(width, columnIndex(name, i)+1)
	}
	for i, name := range outputs {
		takes = takes || columnIndex(name, i) >= width
	}
	return takes, true
}

// rootAffinity compares a reduce sink with the operator that starts a reducer: a Group By merges what one of the same
// keys and aggregations has begun, a sort hands on as many keys.
func rootAffinity(o, root *explain.Operator) int {
	score := 0
	if tag, ok := o.Attr("tag"); ok && tag == "-1" && !isJoin(root) {
		score++
	}
	keys, _ := o.Attr("key expressions")
	sink := explain.Exprs(keys)
	if root.Kind != kindGroupBy {
		if root.Kind == kindSelect {
			list, _ := root.Attr("expressions")
			values, _ := o.Attr("value expressions")
			wantKeys, wantValues := shuffledTypes(explain.Exprs(list))
			if wantKeys == types(sink) {
				score += 2
			}
			if wantValues == types(explain.Exprs(values)) {
				score += 2
			}
		}
		return score
	}
	list, _ := root.Attr("keys")
	want := explain.Exprs(list)
	same := len(want) <= len(sink)
	for i := range want {
		same = same && want[i].Type == sink[i].Type
	}
	if same {
		score += 3
		if len(want) == len(sink) {
			score += 2
		}
	}
	aggregations, _ := root.Attr("aggregations")
	if p := o.Parent; p != nil && p.Kind == kindGroupBy {
		begun, _ := p.Attr("aggregations")
		if sameFunctions(explain.Exprs(aggregations), explain.Exprs(begun)) {
			score += 5
		}
	}
	return score
}

// sameFunctions compares aggregations by function: "sum(VALUE._col0)" merges "sum(_col1)".
func sameFunctions(a, b []explain.Expr) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		fa, _, _ := strings.Cut(a[i].Text, "(")
		fb, _, _ := strings.Cut(b[i].Text, "(")
		if fa != fb {
			return false
		}
	}
	return true
}

// types is the list of the expressions' types.
func types(exprs []explain.Expr) string {
	var list strings.Builder
	for _, e := range exprs {
		list.WriteString(e.Type)
		list.WriteByte(';')
	}
	return list.String()
}

// shuffledTypes are the types of the keys and values that expressions take from a shuffle.
func shuffledTypes(exprs []explain.Expr) (keys, values string) {
	var k, v []explain.Expr
	for _, e := range exprs {
		switch {
		case strings.HasPrefix(e.Text, "KEY."):
			k = append(k, e)
		case strings.HasPrefix(e.Text, "VALUE."):
			v = append(v, e)
		}
	}
	return types(k), types(v)
}
