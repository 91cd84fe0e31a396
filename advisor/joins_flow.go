package advisor

import (
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

const (
	kindReduceSink = "Reduce Output Operator"
	kindHashSink   = "HashTable Sink Operator"
	kindDummyStore = "Dummy Store"
	kindTableScan  = "TableScan"
	kindSelect     = "Select Operator"
	kindGroupBy    = "Group By Operator"
	kindUnion      = "Union"
	kindPTF        = "PTF Operator"
)

// side is one input position of a join.
type side struct {
	// feeds are the operators that bring the rows: the reduce sinks of other vertices (one for each member of a union),
	// or the operator of the join's own vertex.
	feeds []*explain.Operator
	// from is the vertex or union that brings the rows.
	from string
	edge explain.EdgeType
	// small: another vertex brings the rows to a map join, or a Dummy Store to a sort-merge join.
	small bool
	// guessed: the text does not print that this input has this position.
	guessed bool
}

// feed is what a vertex receives over one edge.
type feed struct {
	ops  []*explain.Operator
	from string
	edge explain.EdgeType
}

// flow follows the rows of a plan from the scans to the joins, across vertices.
type flow struct {
	plan  *explain.Plan
	joins []*explain.Operator
	sides map[*explain.Operator][]side
	// above holds what feeds an operator that is the root of its vertex.
	above map[*explain.Operator][]*explain.Operator

	// copied: Hive has copied the join into the members of a union after its decision.
	copied map[*explain.Operator]bool

	columns map[*explain.Operator][]column
	busy    map[*explain.Operator]bool
	// wanted are the types of the outputs that are being placed, by name.
	wanted map[string]string
	// tries counts the steps of a search, which is bounded.
	tries int
}

func newFlow(p *explain.Plan) *flow {
	f := &flow{
		plan:    p,
		sides:   map[*explain.Operator][]side{},
		above:   map[*explain.Operator][]*explain.Operator{},
		copied:  map[*explain.Operator]bool{},
		columns: map[*explain.Operator][]column{},
		busy:    map[*explain.Operator]bool{},
	}
	local := f.localSinks()
	stages := p.Stages
	if p.Form == explain.FormUser {
		stages = executionOrder(stages)
	}
	for _, s := range stages {
		if p.Form == explain.FormUser {
			f.userStage(s)
			continue
		}
		feeds := stageFeeds(s)
		for _, v := range s.Vertices {
			f.connect(v, feeds[v.Name], local[s])
		}
	}
	f.repeatJoins()
	for _, o := range f.joins {
		f.settle(o)
	}
	for _, s := range p.Stages {
		f.pairCopies(s)
	}
	clear(f.columns) // read before every input had its place
	return f
}

// producers are the operators whose rows an operator reads.
func (f *flow) producers(o *explain.Operator) []*explain.Operator {
	if sides, ok := f.sides[o]; ok {
		var all []*explain.Operator
		for _, s := range sides {
			all = append(all, s.feeds...)
		}
		return all
	}
	if o.Inputs != nil {
		return o.Inputs
	}
	if o.Kind == kindLateralJoin {
		if stay, function := lateralBranches(o); stay != nil {
			return []*explain.Operator{stay, function}
		}
	}
	if o.Parent != nil {
		if sink := f.inserted(o); sink != nil {
			return f.producers(sink)
		}
		return []*explain.Operator{o.Parent}
	}
	return f.above[o]
}

// inserted returns the first of two reduce sinks where Hive has put a second one behind it after choosing the joins, to
// part two edges between the same vertices (ParallelEdgeFixer): a projection without statistics stands between them.
func (f *flow) inserted(o *explain.Operator) *explain.Operator {
	if !isReduceSink(o) || o.Parent.Kind != kindSelect || o.Parent.Stats != nil || o.Parent.Parent != nil {
		return nil
	}
	if from := f.above[o.Parent]; len(from) == 1 && isReduceSink(from[0]) && from[0].Stats != nil {
		return from[0]
	}
	return nil
}

// producer is the one operator whose rows an operator reads; nil when there is none or there are several of them.
func (f *flow) producer(o *explain.Operator) *explain.Operator {
	if p := f.producers(o); len(p) > 0 {
		return p[0]
	}
	return nil
}

var noStats = &explain.Statistics{Rows: -1, DataSize: -1, Width: -1, ActualRows: -1}

func stats(o *explain.Operator) *explain.Statistics {
	if o.Stats == nil {
		return noStats
	}
	return o.Stats
}
