package explain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// referTo notes an input that is printed elsewhere, before or after. What is named can be an operator or a vertex.
func (u *userReader) referTo(o *Operator, what string) {
	id := what
	if _, got, _, ok := splitUserOperator(what); ok {
		id = got
	} else if name, _, ok := splitVertexName(what); ok {
		id = name
	}
	u.pending = append(u.pending, reference{consumer: o, id: id, at: len(o.Inputs)})
	o.Inputs = append(o.Inputs, nil)
}

// link resolves the references and the parents inside each vertex, and finds the vertices' roots.
func (u *userReader) link() {
	for _, r := range u.pending {
		in := u.byID[r.id]
		if in == nil || in == r.consumer {
			continue
		}
		r.consumer.Inputs[r.at] = in
		in.Children = append(in.Children, r.consumer)
	}
	seen := map[*Operator]bool{}
	var visit func(o *Operator)
	visit = func(o *Operator) {
		if seen[o] {
			return
		}
		seen[o] = true
		inputs := o.Inputs[:0]
		for _, in := range o.Inputs {
			if in != nil {
				inputs = append(inputs, in)
			}
		}
		o.Inputs = inputs
		for _, in := range inputs {
			if in.Vertex == o.Vertex && o.Parent == nil {
				o.Parent = in
			}
			visit(in)
		}
		if o.Vertex != nil && o.Parent == nil && o.Kind != "Union" {
			o.Vertex.Roots = append(o.Vertex.Roots, o)
		}
	}
	for _, o := range u.sinks {
		visit(o)
	}
	// Children lead to other vertices only in Inputs: inside a vertex they are the tree below its roots.
	for o := range seen {
		children := o.Children[:0]
		for _, c := range o.Children {
			if c.Vertex == o.Vertex {
				children = append(children, c)
			}
		}
		// Those that read the same operator are printed last one first, where the other forms follow their numbers.
		slices.SortStableFunc(children, func(a, b *Operator) int { return cmp.Compare(a.number(), b.number()) })
		o.Children = children
	}
}

// number is that of an operator's identifier, 0 without one.
func (o *Operator) number() int {
	n, err := strconv.Atoi(o.ID[strings.LastIndexByte(o.ID, '_')+1:])
	if err != nil {
		return 0
	}
	return n
}

// placeEdges adds the edges printed above the stages that no "<-" line has told.
func (u *userReader) placeEdges(edges []Edge) {
	for _, e := range edges {
		for _, name := range [...]string{e.To, e.From} {
			if v := u.vertices[name]; v != nil {
				v.Stage.addEdge(e)
				break
			}
		}
	}
}

func (s *Stage) addEdge(e Edge) {
	for _, old := range s.Edges {
		if old == e {
			return
		}
	}
	s.Edges = append(s.Edges, e)
}

// engine tells Spark from Tez by the edges; Hive prints no other engine's plan at user level.
func (u *userReader) engine() Engine {
	if u.spark {
		return EngineSpark
	}
	engine := EngineNone
	for _, s := range u.plan.Stages {
		if len(s.Vertices) > 0 {
			engine = EngineTez
		}
		for _, e := range s.Edges {
			if isSparkEdge(e.Type) {
				return EngineSpark
			}
		}
	}
	return engine
}

// isSparkEdge tells Spark's shuffles: GROUP, SORT, PARTITION-LEVEL SORT and their combinations.
func isSparkEdge(t EdgeType) bool {
	s, _, _ := strings.Cut(string(t), ",")
	return s == "GROUP" || strings.HasSuffix(s, "SORT")
}
