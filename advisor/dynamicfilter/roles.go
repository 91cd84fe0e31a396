package dynamicfilter

import "github.com/hs2proxy/hs2proxy/advisor"

// Role is what one side of a join may do in a dynamic filter.
type Role struct {
	// Produces: its keys may remove rows of the other side. Consumes: it may lose rows to the other side's keys.
	Produces bool `json:"produces"`
	Consumes bool `json:"consumes"`
}

// Roles tells what the left and the right side of a join may do: only a side whose unmatched rows the join drops may be filtered. Inner and
// semi joins allow both directions; in a left outer join the left side produces and the right consumes, as in an anti join (a row of the
// right side whose key the left does not have changes nothing); a right outer join is reversed; FULL OUTER, UNIQUEJOIN and joins without
// keys allow none. Source: seed "MaxCompute dynamic filter" for the first four; Hive's SyntheticJoinPredicate for semi and anti joins.
func Roles(t advisor.JoinType) (left, right Role) {
	producer, consumer := Role{Produces: true}, Role{Consumes: true}
	switch t {
	case advisor.Inner, advisor.LeftSemi:
		both := Role{Produces: true, Consumes: true}
		return both, both
	case advisor.LeftOuter, advisor.Anti:
		return producer, consumer
	case advisor.RightOuter:
		return consumer, producer
	default:
		return Role{}, Role{}
	}
}

// pair is one direction: keys of one input filter another.
type pair struct{ producer, consumer int }

// pairs lists the directions a join of any number of inputs allows: those of its conditions, and what follows from one to the next.
func pairs(j *advisor.Join) []pair {
	n := len(j.Inputs)
	reach := make([][]bool, n)
	for i := range reach {
		reach[i] = make([]bool, n)
	}
	for _, c := range j.Conditions {
		if c.Left < 0 || c.Right < 0 || c.Left >= n || c.Right >= n {
			continue
		}
		left, right := Roles(c.Type)
		if left.Produces && right.Consumes {
			reach[c.Left][c.Right] = true
		}
		if right.Produces && left.Consumes {
			reach[c.Right][c.Left] = true
		}
	}
	for k := range n {
		for i := range n {
			for m := range n {
				reach[i][m] = reach[i][m] || reach[i][k] && reach[k][m]
			}
		}
	}
	var list []pair
	for i := range n {
		for m := range n {
			if i != m && reach[i][m] {
				list = append(list, pair{producer: i, consumer: m})
			}
		}
	}
	return list
}
