package explain

import (
	"strings"
)

// edge reads "<-Map 1 [SIMPLE_EDGE] vectorized" with the producer below, or "<-Select Operator [SEL_2]" of the same vertex.
func (u *userReader) edge(o *Operator, n *node) {
	text := strings.TrimSpace(n.text[len("<-"):])
	if what, ok := strings.CutPrefix(text, refer); ok {
		u.referTo(o, what)
		return
	}
	name, rest, ok := splitVertexName(text)
	if !ok {
		u.operator(n, o.Vertex, o)
		return
	}
	var stage *Stage
	if o.Vertex != nil {
		stage = o.Vertex.Stage
	}
	if stage == nil {
		stage = u.plan.Stages[len(u.plan.Stages)-1]
	}
	kind, mode, _ := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	v := u.vertex(stage, name+" "+strings.TrimSpace(mode))
	if o.Vertex != nil {
		stage.addEdge(Edge{From: name, To: o.Vertex.Name, Type: EdgeType(kind)})
	}
	if v.Kind == VertexUnion {
		u.union(o, v, n)
		return
	}
	feeding := feedingOperator(n.kids)
	for i := 0; i < len(n.kids); i++ {
		k := n.kids[i]
		switch {
		case strings.HasPrefix(k.text, refer):
			u.referTo(o, k.text[len(refer):])
		case strings.HasPrefix(k.text, "<-"): // beside Spark's local work, above the operators that take it
			local := &Operator{Kind: localWork, Vertex: v, Line: n.no}
			u.sinks = append(u.sinks, local)
			u.edge(local, k)
		case isOperatorText(k.text):
			consumer := o
			if i != feeding {
				consumer = nil // what else the vertex writes: files, pruning events
			}
			in := u.operator(k, v, consumer)
			i += u.inputsBeside(in, n.kids[i+1:])
		default:
			v.Attrs = append(v.Attrs, k.attr())
		}
	}
}

// feedingOperator is the index of the operator that writes to the edge it is printed below: the first reduce sink, or
// the first operator.
func feedingOperator(kids []*node) int {
	first := -1
	for i, k := range kids {
		if _, id, _, ok := splitUserOperator(k.text); ok {
			if strings.HasPrefix(id, "RS_") {
				return i
			}
			if first < 0 {
				first = i
			}
		}
	}
	return max(first, 0)
}

// newUnion makes the operator that stands for a union vertex. Join conditions name it by its vertex ("Union 18._col0").
func (u *userReader) newUnion(v *Vertex, n *node) *Operator {
	o := &Operator{Kind: "Union", ID: v.Name, Vertex: v, Line: n.no}
	u.byID[o.ID] = o
	v.Roots = append(v.Roots, o)
	return o
}

// union reads the members of a union vertex, which feeds o.
func (u *userReader) union(o *Operator, v *Vertex, n *node) {
	in := u.newUnion(v, n)
	o.Inputs = append(o.Inputs, in)
	in.Children = append(in.Children, o)
	for _, k := range n.kids {
		switch {
		case strings.HasPrefix(k.text, "<-"):
			u.edge(in, k)
		case strings.HasPrefix(k.text, refer):
			u.referTo(in, k.text[len(refer):])
		}
	}
}
