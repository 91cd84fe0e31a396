package advisor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// UniqueJoin is Hive's UNIQUEJOIN, which no strategy but the merge join runs.
const UniqueJoin JoinType = "UNIQUE"

// The operators that join, as plans name them.
const (
	kindMapJoin   = "Map Join Operator"
	kindMergeJoin = "Merge Join Operator"
	kindJoin      = "Join Operator"
	kindSMBJoin   = "Sorted Merge Bucket Map Join Operator"
)

// Joins returns the joins of a plan in plan order, with what its text alone tells of them and of their inputs. What it
// does not tell is −1, nil or empty: Enrich adds column statistics, sort columns and table sizes.
func Joins(p *explain.Plan) []Join {
	f := newFlow(p)
	joins := make([]Join, 0, len(f.joins))
	for i, o := range f.joins {
		j := f.join(o)
		j.Ordinal = i
		joins = append(joins, j)
	}
	return joins
}

func isJoin(o *explain.Operator) bool {
	switch o.Kind {
	case kindMapJoin, kindMergeJoin, kindJoin, kindSMBJoin:
		return true
	}
	return false
}

// join reads one join operator.
func (f *flow) join(o *explain.Operator) Join {
	j := Join{
		OperatorID: o.ID,
		Vertex:     o.Vertex.Name,
		Strategy:   f.strategy(o),
		Conditions: conditions(o),
		BigTable:   -1,
		OutputRows: -1, OutputBytes: -1,
	}
	if o.Stats != nil {
		j.OutputRows, j.OutputBytes = o.Stats.Rows, o.Stats.DataSize
	}
	_, j.Residual = o.Attr("residual filter predicates")
	j.Filters = len(o.Group("filter predicates")) > 0
	if v, ok := o.Attr("nullSafes"); ok {
		j.NullSafe = strings.Contains(v, "true")
	}
	sides := f.sides[o]
	if j.Strategy != MergeJoin && j.Strategy != Unknown {
		j.BigTable = f.bigTable(o)
	}
	keyed := false
	for pos := range sides {
		in := f.input(o, pos)
		keyed = keyed || len(in.Keys) > 0
		j.Inputs = append(j.Inputs, in)
	}
	if !keyed {
		for i := range j.Conditions {
			if j.Conditions[i].Type == Inner {
				j.Conditions[i].Type = Cross
			}
		}
	}
	return j
}

// strategy reads the strategy from the operator, its flags and the edges of its vertex.
func (f *flow) strategy(o *explain.Operator) Strategy {
	if f.plan.Engine == explain.EngineSpark {
		return Unknown
	}
	switch o.Kind {
	case kindSMBJoin:
		return SMB
	case kindMergeJoin:
		if o.Vertex.Kind == explain.VertexMap || f.merges(o) {
			return SMB
		}
		return MergeJoin
	case kindMapJoin:
		if flag(o, "DynamicPartitionHashJoin") {
			return DPHJ
		}
		if flag(o, "BucketMapJoin") {
			return BucketMapJoin
		}
		if f.partitionedHash(o) {
			return DPHJ
		}
		for _, s := range f.sides[o] {
			// A broadcast goes over BROADCAST_EDGE; buckets over CUSTOM_EDGE or, into a reducer, CUSTOM_SIMPLE_EDGE.
			if s.edge == "CUSTOM_EDGE" || s.edge == "CUSTOM_SIMPLE_EDGE" {
				return BucketMapJoin
			}
		}
		return MapJoin
	}
	return MergeJoin
}

// merges tells whether a Merge Join Operator reads an input inside its own vertex: then the others are Dummy Stores.
func (f *flow) merges(o *explain.Operator) bool {
	if o.Parent != nil {
		return true
	}
	return slices.ContainsFunc(o.Inputs, func(in *explain.Operator) bool { return in.Vertex == o.Vertex })
}

func flag(o *explain.Operator, name string) bool {
	v, _ := o.Attr(name)
	return v == "true"
}

// bigTable is the streamed position: printed by EXTENDED, otherwise the one that no other vertex brings.
func (f *flow) bigTable(o *explain.Operator) int {
	if v, ok := o.Attr("Position of Big Table"); ok {
		if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < len(f.sides[o]) {
			return n
		}
	}
	sides := f.sides[o]
	big := -1
	for pos := range sides {
		if sides[pos].small {
			continue
		}
		if big >= 0 {
			return -1
		}
		big = pos
	}
	return big
}

// conditions reads the condition map: "Left Outer Join 0 to 1", in older versions "Left Outer Join0 to 1".
func conditions(o *explain.Operator) []Condition {
	var list []Condition
	for _, a := range o.Group("condition map") {
		text := strings.TrimSpace(a.Name)
		if a.Value != "" {
			text += " " + a.Value
		}
		if c, ok := parseCondition(text); ok {
			list = append(list, c)
		}
	}
	if list == nil {
		list = userConditions(o)
	}
	return list
}

func parseCondition(text string) (Condition, bool) {
	i := strings.LastIndex(text, "Join")
	if i < 0 {
		return Condition{}, false
	}
	left, right, ok := strings.Cut(text[i+len("Join"):], " to ")
	if !ok {
		return Condition{}, false
	}
	c := Condition{Type: joinType(strings.TrimSpace(text[:i]))}
	var err1, err2 error
	c.Left, err1 = strconv.Atoi(strings.TrimSpace(left))
	c.Right, err2 = strconv.Atoi(strings.TrimSpace(right))
	return c, err1 == nil && err2 == nil && isPosition(c.Left) && isPosition(c.Right)
}

// mostInputs bounds the positions of a join; Hive's tags are bytes.
const mostInputs = 128

func isPosition(n int) bool { return n >= 0 && n < mostInputs }

// joinType reads the words before "Join". Hive up to 3 prints a full outer join as "Outer Join".
func joinType(words string) JoinType {
	switch words {
	case "Left Outer":
		return LeftOuter
	case "Right Outer":
		return RightOuter
	case "Full Outer", "Outer":
		return FullOuter
	case "Left Semi":
		return LeftSemi
	case "Anti", "Left Anti":
		return Anti
	case "Unique":
		return UniqueJoin
	}
	return Inner
}

// positions counts a join's inputs: by its keys, which name every position, or by its conditions.
func positions(o *explain.Operator) int {
	n := min(len(o.Group("keys")), mostInputs)
	for _, c := range conditions(o) {
		n = max(n, c.Left+1, c.Right+1)
	}
	return max(n, len(o.Inputs))
}

// vertexNumber orders vertices as Hive made them: "Reducer 2" before "Map 10".
func vertexNumber(name string) int {
	_, number, _ := strings.Cut(name, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}

func byVertexNumber(a, b string) int {
	return cmp.Or(cmp.Compare(vertexNumber(a), vertexNumber(b)), strings.Compare(a, b))
}
