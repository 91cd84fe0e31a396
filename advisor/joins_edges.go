package advisor

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// stageFeeds tells for each vertex of a stage what it receives, ordered by the vertices' numbers.
func stageFeeds(s *explain.Stage) map[string][]feed {
	feeds := map[string][]feed{}
	for _, v := range s.Vertices {
		sinks := sinksOf(v)
		edges := edgesFrom(s, v.Name)
		served := make([]bool, len(edges))
		for i, e := range assign(s, sinks, edges) {
			if e >= 0 {
				feeds[edges[e].To] = addFeed(feeds[edges[e].To], v, edges[e], sinks[i])
				served[e] = true
			}
		}
		for e := range edges {
			if !served[e] && len(sinks) > 0 { // more edges than sinks: one sink writes to several
				sink := bestSink(s, sinks, edges[e])
				feeds[edges[e].To] = addFeed(feeds[edges[e].To], v, edges[e], sink)
			}
		}
	}
	for _, list := range feeds {
		slices.SortStableFunc(list, func(a, b feed) int { return byVertexNumber(a.from, b.from) })
	}
	return feeds
}

// addFeed adds what a sink of a vertex writes to an edge. A union's members bring one input together.
func addFeed(list []feed, v *explain.Vertex, e explain.Edge, sink *explain.Operator) []feed {
	member := e.From != v.Name
	for k := range list {
		if list[k].from != e.From {
			continue
		}
		if member {
			list[k].ops = append(list[k].ops, sink)
			return list
		}
		if sameSink(list[k].ops[0], sink) {
			return list
		}
	}
	return append(list, feed{ops: []*explain.Operator{sink}, from: e.From, edge: e.Type})
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

func sinksOf(v *explain.Vertex) []*explain.Operator {
	var sinks []*explain.Operator
	lateral := hasLateral(v)
	for o := range v.Operators() {
		if lateral && printedTwice(o) != nil {
			continue
		}
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
