package antijoin

import (
	"iter"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// vertices yields the vertices of all stages; none without a plan.
func vertices(p *explain.Plan) iter.Seq[*explain.Vertex] {
	return func(yield func(*explain.Vertex) bool) {
		if p == nil {
			return
		}
		for _, s := range p.Stages {
			for _, v := range s.Vertices {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// joined is a join of the plan that looks up the tables of a side.
type joined struct {
	verdict *advisor.JoinVerdict
	typ     advisor.JoinType
	// right is the input that is looked up, left the other one.
	left, right int
	// operator is the join in the plan's text; nil where it cannot be told which one it is.
	operator *explain.Operator
}

// match is the one join that looks up the tables, by an anti join or an outer one that pads them; nil where there is none
// or where several might be meant.
func match(q *advisor.Query, tables []string) *joined {
	var found []joined
	for i := range q.Verdicts {
		v := &q.Verdicts[i]
		for _, c := range v.Join.Conditions {
			j := joined{verdict: v, typ: c.Type, left: c.Left, right: c.Right}
			switch c.Type {
			case advisor.Anti, advisor.LeftOuter:
			case advisor.RightOuter:
				j.left, j.right = c.Right, c.Left
			default:
				continue
			}
			if j.right >= 0 && j.right < len(v.Join.Inputs) && j.left >= 0 && j.left < len(v.Join.Inputs) && same(v.Join.Inputs[j.right].Tables, tables) {
				j.operator = operatorOf(q, i)
				found = append(found, j)
			}
		}
	}
	if len(found) != 1 {
		return nil
	}
	return &found[0]
}

// same tells that two lists name the same tables.
func same(a, b []string) bool {
	return len(a) > 0 && within(a, b) && within(b, a)
}

func within(a, b []string) bool {
	for _, x := range a {
		ok := false
		for _, y := range b {
			ok = ok || x == y
		}
		if !ok {
			return false
		}
	}
	return true
}

// operatorOf finds the join of a verdict in the plan: the joins of a vertex stand there in the verdicts' order.
func operatorOf(q *advisor.Query, at int) *explain.Operator {
	vertex := q.Verdicts[at].Join.Vertex
	place, total := 0, 0
	for i := range q.Verdicts {
		if q.Verdicts[i].Join.Vertex == vertex {
			if i < at {
				place++
			}
			total++
		}
	}
	var joins []*explain.Operator
	for v := range vertices(q.Plan) {
		if v.Name != vertex {
			continue
		}
		for o := range v.Operators() {
			if strings.HasSuffix(o.Kind, "Join Operator") && len(o.Group("condition map")) > 0 {
				joins = append(joins, o)
			}
		}
	}
	if len(joins) != total {
		return nil
	}
	return joins[place]
}

// nullFilter is the predicate of the filter behind a join that wants something NULL; empty where there is none in the same
// vertex before anything but projections.
func nullFilter(join *explain.Operator) string {
	if join == nil {
		return ""
	}
	for _, o := range join.Children {
		switch o.Kind {
		case "Filter Operator":
			if p, ok := o.Attr("predicate"); ok && strings.Contains(p, " is null") {
				return p
			}
			if p := nullFilter(o); p != "" {
				return p
			}
		case "Select Operator":
			if p := nullFilter(o); p != "" {
				return p
			}
		}
	}
	return ""
}

// deduplicated are the rows that go into the Group By that takes the keys of an input together; ok is false where the input
// has none, or where it is not clear which one it is.
func deduplicated(q *advisor.Query, vertex string, keys int) (rows int64, ok bool) {
	for range 4 { // a vertex for the second part of the Group By, and no further than a few
		var group *explain.Operator
		for v := range vertices(q.Plan) {
			if v.Name != vertex {
				continue
			}
			for o := range v.Operators() {
				if o.Kind != "Group By Operator" {
					continue
				}
				list, _ := o.Attr("keys")
				if _, aggregates := o.Attr("aggregations"); aggregates || len(explain.Exprs(list)) != keys {
					continue
				}
				if group != nil {
					return 0, false
				}
				group = o
			}
		}
		if group == nil {
			return 0, false
		}
		if mode, _ := group.Attr("mode"); mode == "hash" {
			if group.Parent == nil || group.Parent.Stats == nil {
				return 0, false
			}
			return group.Parent.Stats.Rows, group.Parent.Stats.Rows >= 0
		}
		if vertex = producer(q.Plan, vertex); vertex == "" {
			return 0, false
		}
	}
	return 0, false
}

// producer is the one vertex that a vertex reads from; empty for none or several.
func producer(p *explain.Plan, vertex string) string {
	from := ""
	for _, s := range p.Stages {
		for _, e := range s.Edges {
			if e.To == vertex {
				if from != "" {
					return ""
				}
				from = e.From
			}
		}
	}
	return from
}

// countsNulls tells of the row count and the count of keys that NOT IN compares with each other to find NULLs.
func countsNulls(p *explain.Plan) bool {
	for v := range vertices(p) {
		for o := range v.Operators() {
			if list, _ := o.Attr("aggregations"); strings.HasPrefix(list, "count(), count(") {
				return true
			}
		}
	}
	return false
}
