package advisor

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// executionOrder puts stages behind those they depend on, as the other text forms print them. User-level plans print the
// last one first.
func executionOrder(stages []*explain.Stage) []*explain.Stage {
	byID := make(map[string]*explain.Stage, len(stages))
	for _, s := range stages {
		byID[s.ID] = s
	}
	ordered := make([]*explain.Stage, 0, len(stages))
	seen := map[*explain.Stage]bool{nil: true}
	var visit func(s *explain.Stage)
	visit = func(s *explain.Stage) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, id := range s.DependsOn {
			visit(byID[id])
		}
		ordered = append(ordered, s)
	}
	for _, s := range stages {
		visit(s)
	}
	return ordered
}

// userStage reads the joins of a user-level stage: every operator already knows its inputs, and the conditions name
// them ("Conds:RS_6._col0=SEL_2._col0(Inner)").
func (f *flow) userStage(s *explain.Stage) {
	vertices := slices.Clone(s.Vertices)
	slices.SortStableFunc(vertices, func(a, b *explain.Vertex) int {
		if a.Kind != b.Kind && a.Kind == explain.VertexMap {
			return -1
		}
		if a.Kind != b.Kind && b.Kind == explain.VertexMap {
			return 1
		}
		return strings.Compare(a.Name, b.Name) // as the other text forms print them
	})
	for _, v := range vertices {
		for o := range v.Operators() {
			if !isJoin(o) {
				continue
			}
			f.joins = append(f.joins, o)
			inputs := userPositions(o)
			sides := make([]side, len(inputs))
			for i, in := range inputs {
				sides[i] = side{feeds: []*explain.Operator{in}, from: v.Name}
				if in.Vertex != v && in.Vertex != nil {
					sides[i].from = in.Vertex.Name
					sides[i].small = o.Kind == kindMapJoin
					sides[i].edge = edgeType(s, in.Vertex.Name, v.Name)
				}
				if in.Kind == kindDummyStore {
					sides[i].small = true
				}
			}
			f.sides[o] = sides
		}
	}
}

func edgeType(s *explain.Stage, from, to string) explain.EdgeType {
	for _, e := range s.Edges {
		if e.From == from && e.To == to {
			return e.Type
		}
	}
	return ""
}

// userCond is one condition of a user-level join: operator identifiers, key expressions and a type.
type userCond struct {
	left, right         *explain.Operator
	leftKeys, rightKeys string
	kind                JoinType
}

// userConds takes "RS_6._col0=SEL_2._col0(Inner),RS_6._col0=RS_9._col0(Left Outer)" apart.
func userConds(o *explain.Operator) []userCond {
	text, _ := o.Attr("Conds")
	var conds []userCond
	for text != "" {
		end, next := condEnd(text)
		part := text[:end]
		text = text[next:]
		open := strings.LastIndexByte(part, '(')
		if open < 0 {
			continue
		}
		c := userCond{kind: joinType(strings.TrimSuffix(part[open+1:], ")"))}
		c.left, c.leftKeys, c.right, c.rightKeys = splitEquality(o, part[:open])
		conds = append(conds, c)
	}
	return conds
}

// condEnd finds the end of the first condition, its type in brackets, and the start of the next.
func condEnd(text string) (end, next int) {
	for _, kind := range [...]string{"(Inner)", "(Left Outer)", "(Right Outer)", "(Full Outer)", "(Outer)", "(Left Semi)", "(Anti)", "(Unique)"} {
		if i := strings.Index(text, kind); i >= 0 && (end == 0 || i+len(kind) < end) {
			end = i + len(kind)
		}
	}
	if end == 0 {
		return len(text), len(text)
	}
	next = end
	if next < len(text) && text[next] == ',' {
		next++
	}
	return end, next
}

// splitEquality takes "RS_6._col0, _col1=RS_9._col0, _col1" apart at the identifiers of the join's inputs.
func splitEquality(o *explain.Operator, text string) (left *explain.Operator, leftKeys string, right *explain.Operator, rightKeys string) {
	at := len(text)
	for _, in := range o.Inputs {
		id := in.ID + "."
		if left == nil && in.ID != "" && strings.HasPrefix(text, id) {
			left = in
		}
		if i := strings.LastIndex(text, "="+id); in.ID != "" && i >= 0 && i < at {
			right, at = in, i
			rightKeys = text[i+1+len(id):]
		}
	}
	if left != nil && at >= len(left.ID)+1 {
		leftKeys = text[len(left.ID)+1 : at]
	}
	return left, leftKeys, right, rightKeys
}

// userPositions orders a join's inputs by position. The first condition's left input is position 0, and each condition
// adds its right one; a cross product names none, then the order of the vertices stands in.
func userPositions(o *explain.Operator) []*explain.Operator {
	var order []*explain.Operator
	for _, c := range userConds(o) {
		for _, in := range [...]*explain.Operator{c.left, c.right} {
			if in != nil && !slices.Contains(order, in) {
				order = append(order, in)
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(o.Inputs), func(in *explain.Operator) bool { return slices.Contains(order, in) })
	slices.SortStableFunc(rest, func(a, b *explain.Operator) int {
		if a.Vertex == nil || b.Vertex == nil {
			return 0
		}
		return byVertexNumber(a.Vertex.Name, b.Vertex.Name)
	})
	return append(order, rest...)
}

// userConditions gives the conditions of a user-level join their positions.
func userConditions(o *explain.Operator) []Condition {
	var list []Condition
	order := userPositions(o)
	for i, c := range userConds(o) {
		left, right := slices.Index(order, c.left), slices.Index(order, c.right)
		if left < 0 || right < 0 {
			left, right = 0, i+1
		}
		list = append(list, Condition{Type: c.kind, Left: left, Right: right})
	}
	return list
}

// userKeys are the key expressions of a position of a user-level join.
func userKeys(o, in *explain.Operator) []explain.Expr {
	for _, c := range userConds(o) {
		switch in {
		case c.left:
			return explain.Exprs(c.leftKeys)
		case c.right:
			return explain.Exprs(c.rightKeys)
		}
	}
	return nil
}
