package movement

import (
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func (c *Cost) broadcast(j *advisor.Join) Option {
	o := Option{Way: Broadcast, Bytes: -1, Memory: c.Hashed}
	if c.Nodes > 0 {
		o.Bytes = times(c.Small, copies(c.Nodes, c.Readers))
	}
	switch {
	case !j.MayStream(c.Streamed):
		o.Why = "the join type lets no side be copied to every node"
	case c.Ceiling > 0 && o.Memory > c.Ceiling:
		o.Why = "a node would hash " + advisor.Bytes(o.Memory) + ", the ceiling is " + advisor.Bytes(c.Ceiling)
	default:
		o.Allowed = true
	}
	return o
}

// redistribute is always possible with a key: what does not fit memory is sorted.
func (c *Cost) redistribute(j *advisor.Join) Option {
	o := Option{Way: Redistribute, Bytes: add(c.Small, c.Large), Memory: c.share(c.Hashed), Allowed: keyed(j)}
	if !o.Allowed {
		o.Why = "the join has no key to distribute by"
	}
	return o
}

// share is a node's part of what is spread over all of them.
func (c *Cost) share(bytes int64) int64 {
	if c.Nodes < 1 {
		return -1
	}
	return bytes / c.Nodes
}

// singleSided leaves the largest of the inputs that lie by the key where it is.
func (c *Cost) singleSided(j *advisor.Join) Option {
	o := Option{Way: SingleSided, Bytes: -1, Memory: -1}
	kept := -1
	placed := false
	for pos := range j.Inputs {
		if placement(&j.Inputs[pos]) == nil {
			continue
		}
		placed = true
		if j.MayStream(pos) && (kept < 0 || j.Inputs[pos].DataSize > j.Inputs[kept].DataSize) {
			kept = pos
		}
	}
	switch {
	case kept >= 0:
		o.Allowed, o.Bytes = true, others(j, kept)
		o.Memory = c.share(o.Bytes)
	case placed:
		o.Why = "the join type does not let the side that lies by the key stay"
	default:
		o.Why = "no input is bucketed by the key"
	}
	return o
}

// coLocated needs all inputs bucketed by the same keys in the same order, by one hash function, in counts that divide each other.
func (c *Cost) coLocated(j *advisor.Join) Option {
	o := Option{Way: CoLocated, Bytes: -1, Memory: -1}
	first := &j.Inputs[0]
	order := placement(first)
	for pos := range j.Inputs {
		in := &j.Inputs[pos]
		got := placement(in)
		switch a, b := first.Layout.Buckets, in.Layout.Buckets; {
		case got == nil:
			o.Why = j.InputName(pos) + " is not bucketed by the key"
		case !slices.Equal(got, order):
			o.Why = "the inputs are bucketed by different keys"
		case a%b != 0 && b%a != 0:
			o.Why = "the numbers of buckets do not divide each other"
		case first.Layout.BucketingVersion != in.Layout.BucketingVersion:
			o.Why = "the inputs are bucketed by different versions of the hash function"
		default:
			continue
		}
		return o
	}
	o.Allowed, o.Bytes, o.Memory = true, 0, 0
	return o
}

// placement tells by which of the join's keys an input is bucketed: their places, in the order of the bucket columns. nil when it is not
// bucketed, or by a column that is no key: then rows with equal keys lie apart.
func placement(in *advisor.Input) []int {
	if in.Layout.Buckets < 1 || len(in.Layout.BucketColumns) == 0 {
		return nil
	}
	order := make([]int, 0, len(in.Layout.BucketColumns))
	for _, column := range in.Layout.BucketColumns {
		at := slices.IndexFunc(in.Keys, func(k advisor.Key) bool {
			return k.Column != "" && strings.EqualFold(k.Column, column) || k.Expr == column
		})
		if at < 0 {
			return nil
		}
		order = append(order, at)
	}
	return order
}

func keyed(j *advisor.Join) bool {
	return slices.ContainsFunc(j.Inputs, func(in advisor.Input) bool { return len(in.Keys) > 0 })
}
