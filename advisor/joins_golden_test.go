package advisor_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/jsonl/jsonltest"
)

// hivePlan is a line of golden/plans.jsonl.gz: an EXPLAIN output of Hive's own tests.
type hivePlan struct {
	File, Form, Query, Plan string
}

// shownJoin is a join operator as a reader of the plain text sees it, without the parser.
type shownJoin struct {
	kind, vertex  string
	mapSide       bool
	inVertex      bool // an operator of the same vertex feeds it
	bucket, dphj  bool
	inputVertices []string
	conditions    int
}

var (
	vertexHead = regexp.MustCompile(`^        ((?:Map|Reducer|Union) \d+) $`)
	edgeLine   = regexp.MustCompile(`^        ((?:Map|Reducer) \d+) <- (.*)$`)
	joinHead   = regexp.MustCompile(`^( +)(Map Join|Merge Join|Sorted Merge Bucket Map Join|Join) Operator$`)
	edgeItem   = regexp.MustCompile(`((?:Map|Reducer|Union) \d+) \(([A-Z_]+)\)`)
)

// readShown reads the joins of a Tez plan's text line by line, and the type of each edge by "from>to".
func readShown(text string) (joins []shownJoin, edges map[string]string) {
	edges = map[string]string{}
	vertex, tree := "", 0
	var open *shownJoin
	depth := 0
	group := ""
	for l := range strings.SplitSeq(text, "\n") {
		indent := len(l) - len(strings.TrimLeft(l, " "))
		t := strings.TrimSpace(l)
		if m := edgeLine.FindStringSubmatch(l); m != nil {
			for _, e := range edgeItem.FindAllStringSubmatch(m[2], -1) {
				edges[e[1]+">"+m[1]] = e[2]
			}
		}
		if m := vertexHead.FindStringSubmatch(l); m != nil {
			vertex, open = m[1], nil
		}
		if t == "Map Operator Tree:" || t == "Reduce Operator Tree:" {
			tree, open = indent, nil
		}
		if m := joinHead.FindStringSubmatch(l); m != nil {
			first := tree + 2
			if strings.HasPrefix(vertex, "Map") {
				first = tree + 4
			}
			joins = append(joins, shownJoin{kind: m[2], vertex: vertex, mapSide: strings.HasPrefix(vertex, "Map"), inVertex: indent > first})
			open, depth, group = &joins[len(joins)-1], indent, ""
			continue
		}
		if open == nil {
			continue
		}
		switch {
		case indent == depth+2 && !strings.Contains(t, ":"):
			open = nil // the join's consumer
		case indent == depth+2:
			group = t
			open.bucket = open.bucket || t == "BucketMapJoin: true"
			open.dphj = open.dphj || t == "DynamicPartitionHashJoin: true"
		case group == "condition map:":
			open.conditions++
		case group == "input vertices:":
			_, from, _ := strings.Cut(t, " ")
			open.inputVertices = append(open.inputVertices, from)
		}
	}
	return joins, edges
}

// strategyShown is the strategy that edges and flags spell.
func (s shownJoin) strategyShown(edges map[string]string) advisor.Strategy {
	switch s.kind {
	case "Sorted Merge Bucket Map Join":
		return advisor.SMB
	case "Merge Join":
		if s.mapSide || s.inVertex {
			return advisor.SMB
		}
		return advisor.MergeJoin
	case "Join":
		return advisor.MergeJoin
	}
	if s.dphj {
		return advisor.DPHJ
	}
	if s.bucket {
		return advisor.BucketMapJoin
	}
	for _, from := range s.inputVertices {
		if strings.HasPrefix(edges[from+">"+s.vertex], "CUSTOM") {
			return advisor.BucketMapJoin
		}
	}
	return advisor.MapJoin
}

// TestGoldenJoins finds as many joins in Hive's own plans as the text has join operators, each with the strategy its
// edges and flags spell and with all its inputs.
func TestGoldenJoins(t *testing.T) {
	y := &tally{t: t, all: map[string]int{}, equal: map[string]int{}}
	strategies := map[advisor.Strategy]int{}
	for _, g := range jsonltest.Shared[hivePlan](t, "golden/plans.jsonl.gz") {
		p, err := explain.Parse(g.Plan)
		if err != nil || p.Engine == explain.EngineSpark {
			continue // texts masked as a whole; Spark has other strategies
		}
		joins := advisor.Joins(p)
		where := fmt.Sprintf("%s %.50q", g.File, g.Query)
		for _, j := range joins {
			strategies[j.Strategy]++
			y.check("inputs", where, len(j.Inputs) >= 2, true)
			y.check("conditions", where, len(j.Conditions) >= len(j.Inputs)-1, true)
			if j.Strategy == advisor.MapJoin || j.Strategy == advisor.BucketMapJoin || j.Strategy == advisor.DPHJ {
				y.check("big table", where, j.BigTable >= 0 || p.Form == explain.FormUser, true)
			}
			if p.Engine == explain.EngineTez && p.Form != explain.FormFormatted {
				for _, in := range j.Inputs {
					y.check("input found "+string(p.Form), where+fmt.Sprint(j.Ordinal, in.Position, j.Vertex), in.Vertex != "", true)
				}
			}
		}
		if p.Form != explain.FormPlain && p.Form != explain.FormExtended {
			continue
		}
		shown, edges := readShown(g.Plan)
		y.check("joins", where, len(joins), len(shown))
		if len(joins) != len(shown) {
			continue
		}
		for i, s := range shown {
			at := where + fmt.Sprintf(" join %d", i)
			y.check("strategy", at, joins[i].Strategy, s.strategyShown(edges))
			y.check("condition count", at, len(joins[i].Conditions), s.conditions)
			if p.Engine == explain.EngineTez {
				y.check("vertex", at, joins[i].Vertex, s.vertex)
			}
		}
	}
	t.Log(strategies)
	y.log()
}
