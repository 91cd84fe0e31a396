package advisor

import (
	"iter"
	"slices"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

const (
	kindLateralForward = "Lateral View Forward"
	kindLateralJoin    = "Lateral View Join Operator"
)

// longWay is how many operators above another are followed before it is asked whether they are a circle.
const longWay = 100

// upwards are an operator and those above it. A text that is no plan of Hive's can make them a circle, which is gone round once.
func upwards(o *explain.Operator) iter.Seq[*explain.Operator] {
	return func(yield func(*explain.Operator) bool) {
		var seen map[*explain.Operator]bool
		for steps := 0; o != nil && !seen[o] && yield(o); o = o.Parent {
			if steps++; steps < longWay {
				continue
			}
			if seen == nil {
				seen = map[*explain.Operator]bool{}
			}
			seen[o] = true
		}
	}
}

// lateralFork is the Lateral View Forward that a Lateral View Join closes; nil when the text does not show it.
func lateralFork(join *explain.Operator) *explain.Operator {
	open := 1
	for o := range upwards(join.Parent) {
		switch o.Kind {
		case kindLateralJoin:
			open++
		case kindLateralForward:
			if open--; open == 0 {
				return o
			}
		}
	}
	return nil
}

// lateralPair is a Lateral View Join as the text prints it twice, with all that follows: below the columns that stay, and below the rows
// of the function, its other parent. Shared work gives several views one function; their joins follow it in the order of the views.
func lateralPair(join *explain.Operator) (stay, function *explain.Operator) {
	fork := lateralFork(join)
	if fork == nil {
		return nil, nil
	}
	var stays, functions []*explain.Operator
	for _, branch := range fork.Children {
		last, called := lateralEnd(branch)
		for _, c := range last.Children {
			switch {
			case c.Kind != kindLateralJoin:
			case called:
				functions = append(functions, c)
			default:
				stays = append(stays, c)
			}
		}
	}
	at := max(slices.Index(stays, join), slices.Index(functions, join))
	if at < 0 || at >= len(stays) || at >= len(functions) {
		return nil, nil
	}
	return stays[at], functions[at]
}

// lateralEnd is the operator of a branch that its Lateral View Join reads; called tells the function's branch.
func lateralEnd(branch *explain.Operator) (last *explain.Operator, called bool) {
	for o := branch; ; o = o.Children[0] {
		called = called || o.Kind == "UDTF Operator"
		if len(o.Children) == 0 || o.Children[0].Kind == kindLateralJoin {
			return o, called
		}
	}
}

// printedTwice is the operator that stands for one printed once more, below the function of a lateral view; nil for any other.
func printedTwice(o *explain.Operator) *explain.Operator {
	var path []int // from the lateral join down to o
	for at := range upwards(o) {
		if at.Parent == nil {
			return nil
		}
		if at.Kind == kindLateralJoin {
			if stay, function := lateralPair(at); function == at {
				twin := descend(stay, path)
				if twin == nil {
					return nil
				}
				if other := printedTwice(twin); other != nil {
					return other
				}
				return twin
			}
		}
		path = append(path, slices.Index(at.Parent.Children, at))
	}
	return nil
}

// descend follows the places of children, the last one first.
func descend(o *explain.Operator, path []int) *explain.Operator {
	for _, place := range slices.Backward(path) {
		if o == nil || place < 0 || place >= len(o.Children) {
			return nil
		}
		o = o.Children[place]
	}
	return o
}

// lateralBranches are what a Lateral View Join joins: the columns that stay, and the rows of the function.
func lateralBranches(join *explain.Operator) (stay, function *explain.Operator) {
	a, b := lateralPair(join)
	if a == nil {
		return nil, nil
	}
	return a.Parent, b.Parent
}

// repeatJoins gives a join that is printed twice the same inputs.
func (f *flow) repeatJoins() {
	for _, o := range f.joins {
		if twin := printedTwice(o); twin != nil && isJoin(twin) {
			f.sides[o] = f.sides[twin]
		}
	}
}

// hasLateral reports whether a vertex has a lateral view.
func hasLateral(v *explain.Vertex) bool {
	for o := range v.Operators() {
		if o.Kind == kindLateralJoin {
			return true
		}
	}
	return false
}

// lateralOutputs are a lateral join's columns: first those that stay, then the function's, which no branch names.
func (f *flow) lateralOutputs(o *explain.Operator, names []string) []column {
	cols := f.computed(o, names, nil)
	stay, _ := lateralBranches(o)
	if stay == nil {
		return cols
	}
	for i, c := range f.outputs(stay) {
		if i < len(cols) {
			cols[i].typ, cols[i].table, cols[i].column = c.typ, c.table, c.column
		}
	}
	return cols
}
