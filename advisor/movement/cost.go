package movement

import (
	"math"
	"slices"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Way is how rows with equal keys get onto one node.
type Way string

// Ways.
const (
	// Broadcast copies the small inputs to every node: S × N bytes, and a hash table of all of S on each.
	Broadcast Way = "BROADCAST"
	// Redistribute sends every row of all inputs to the node of its key: S + L bytes, S / N in a node's memory.
	Redistribute Way = "REDISTRIBUTE"
	// SingleSided sends the rows of the others to where one input already lies by the key.
	SingleSided Way = "SINGLE_SIDED"
	// CoLocated moves nothing: all inputs lie by the key.
	CoLocated Way = "CO_LOCATED"
)

// Option is one way with what it costs. Bytes and Memory are −1 where they depend on an unknown number of nodes.
type Option struct {
	Way Way `json:"way"`
	// Bytes cross the network, all nodes together; Memory is what a node has to hold of the hashed side.
	Bytes  int64 `json:"bytes"`
	Memory int64 `json:"memory"`
	// Allowed: join type, layout and memory ceiling let it be done; Why says what does not.
	Allowed bool   `json:"allowed"`
	Why     string `json:"why,omitempty"`
}

// Cost is what moving the rows of one join takes. The zero Cost is that of a join whose sizes are not known: Known reports false.
type Cost struct {
	// Nodes is the number of nodes, 0 unknown; Ceiling is the most bytes a node may hash, 0 for no limit.
	Nodes   int64 `json:"nodes"`
	Ceiling int64 `json:"ceiling"`
	// Small and Large are S and L in bytes: the inputs that would be copied, and the one they would be copied to, at position Streamed.
	Small    int64 `json:"small"`
	Large    int64 `json:"large"`
	Streamed int   `json:"streamed"`
	// Readers is the most nodes that can read the streamed input, and so get a copy of the others; 0 where nothing bounds them.
	Readers int64 `json:"readers,omitempty"`
	// Hashed is the planner's size in bytes of a hash table of S; S where it made none.
	Hashed int64 `json:"hashed"`
	// Options are the four ways, in the order of the constants.
	Options []Option `json:"options"`
	// Planned is the way of the plan's strategy and what it moves, −1 unknown; empty where the plan shows none.
	Planned      Way   `json:"planned,omitempty"`
	PlannedBytes int64 `json:"planned_bytes"`
	// Cheapest is the allowed way that moves least. Ratio is the planned bytes over its bytes: 1 when they are equal, 0 unknown.
	Cheapest Way     `json:"cheapest,omitempty"`
	Ratio    float64 `json:"ratio"`
	// BreakEven is the number of nodes N* = 1 + L/S at which a broadcast moves as much as a redistribution; more nodes make it the
	// dearer one. 0 where S is empty.
	BreakEven float64 `json:"break_even"`
	// Growth is the same join on other clusters.
	Growth []Point `json:"growth"`
}

// Known tells whether the sizes of all inputs are known, so that there is anything to compare.
func (c *Cost) Known() bool { return len(c.Options) > 0 }

// Option returns one of the ways; nil in an unknown Cost.
func (c *Cost) Option(w Way) *Option {
	for i := range c.Options {
		if c.Options[i].Way == w {
			return &c.Options[i]
		}
	}
	return nil
}

// Of computes what moving the rows of a join takes on so many nodes (0: unknown), with at most ceiling bytes hashed on a node (0 or
// less: no limit). Sizes are the planner's estimates at the join, after filters and projections, as the planner counts them.
// Source: seed "broadcast or redistribute"; which sides may be copied is MapJoinProcessor.getBigTableCandidates.
func Of(v advisor.JoinVerdict, nodes, ceiling int64) Cost {
	j := &v.Join
	if !sized(j) {
		return Cost{}
	}
	c := Cost{Nodes: max(nodes, 0), Ceiling: max(ceiling, 0), PlannedBytes: -1}
	c.Streamed = streamed(j)
	c.Large = j.Inputs[c.Streamed].DataSize
	c.Small = others(j, c.Streamed)
	c.Hashed = hashed(&v, c.Streamed)
	c.Readers = readers(&j.Inputs[c.Streamed])
	if c.Small > 0 {
		c.BreakEven = 1 + float64(c.Large)/float64(c.Small)
	}
	c.Options = []Option{c.broadcast(j), c.redistribute(j), c.singleSided(j), c.coLocated(j)}
	c.plan(&v)
	c.choose()
	c.Growth = c.grow()
	return c
}

// sized: a join of two inputs and more, all with a size.
func sized(j *advisor.Join) bool {
	return len(j.Inputs) > 1 && !slices.ContainsFunc(j.Inputs, func(in advisor.Input) bool { return in.DataSize < 0 })
}

// streamed is the input that is best left in place: the largest of those that may be, the largest of all where none may.
func streamed(j *advisor.Join) int {
	best, free := 0, false
	for pos := range j.Inputs {
		may := j.MayStream(pos)
		if pos == 0 || may && !free || may == free && j.Inputs[pos].DataSize > j.Inputs[best].DataSize {
			best, free = pos, may
		}
	}
	return best
}

func others(j *advisor.Join, but int) int64 {
	var sum int64
	for pos := range j.Inputs {
		if pos != but {
			sum = add(sum, j.Inputs[pos].DataSize)
		}
	}
	return sum
}

// hashed is the size of the hash table over all inputs but one; their data size where the planner's estimate is not there.
func hashed(v *advisor.JoinVerdict, but int) int64 {
	sizes := v.Decision.OnlineDataSizes
	var sum int64
	for pos := range v.Join.Inputs {
		switch {
		case pos == but:
		case pos < len(sizes) && sizes[pos] > 0:
			sum = add(sum, sizes[pos])
		default:
			sum = add(sum, v.Join.Inputs[pos].DataSize)
		}
	}
	return sum
}

// plan reads the way of the plan's strategy.
func (c *Cost) plan(v *advisor.JoinVerdict) {
	j := &v.Join
	kept := c.Streamed
	if j.BigTable >= 0 && j.BigTable < len(j.Inputs) {
		kept = j.BigTable
	}
	c.Planned = wayOf(j.Strategy)
	switch j.Strategy {
	case advisor.MapJoin:
		if c.Nodes > 0 {
			c.PlannedBytes = times(others(j, kept), copies(c.Nodes, readers(&j.Inputs[kept])))
		}
	case advisor.BucketMapJoin:
		c.PlannedBytes = others(j, kept)
		c.possible(Option{Way: SingleSided, Bytes: c.PlannedBytes, Memory: c.share(c.PlannedBytes)})
	case advisor.SMB:
		c.PlannedBytes = 0
		c.possible(Option{Way: CoLocated})
	case advisor.DPHJ, advisor.MergeJoin:
		c.PlannedBytes = add(c.Small, c.Large)
	case advisor.Unknown:
	}
}

// wayOf is how a strategy brings the rows together; empty for none.
func wayOf(s advisor.Strategy) Way {
	switch s {
	case advisor.MapJoin:
		return Broadcast
	case advisor.BucketMapJoin:
		return SingleSided
	case advisor.SMB:
		return CoLocated
	case advisor.DPHJ, advisor.MergeJoin:
		return Redistribute
	case advisor.Unknown:
	}
	return ""
}

// possible replaces a way that the layout, as far as it is known, does not show: the planner has found it. It also joins buckets whose numbers
// do not divide each other.
func (c *Cost) possible(planned Option) {
	if o := c.Option(planned.Way); !o.Allowed {
		planned.Allowed = true
		*o = planned
	}
}

// choose finds the cheapest allowed way; of ways that move as much, the one that hashes less.
func (c *Cost) choose() {
	var best *Option
	for i := range c.Options {
		o := &c.Options[i]
		if !o.Allowed || o.Bytes < 0 {
			continue
		}
		if best == nil || o.Bytes < best.Bytes || o.Bytes == best.Bytes && o.Memory < best.Memory {
			best = o
		}
	}
	if best == nil {
		return
	}
	c.Cheapest = best.Way
	switch {
	case c.PlannedBytes < 0:
	case c.PlannedBytes <= best.Bytes:
		c.Ratio = 1
	default:
		c.Ratio = float64(c.PlannedBytes) / float64(max(best.Bytes, 1))
	}
}

// add and times stop at the largest number.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, by int64) int64 {
	if a > 0 && by > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * by
}
