package advisor

import (
	"slices"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// unprintedStores are the operators that end a vertex's trees without a sink. Hive 3 does not print the Dummy Store below which such a
// tree hands its rows to the sort-merge join of the same vertex; it stands where the tree breaks off.
func unprintedStores(v *explain.Vertex) []*explain.Operator {
	var ends []*explain.Operator
	for _, o := range v.Roots {
		for len(o.Children) == 1 && !isJoin(o) {
			o = o.Children[0]
		}
		if len(o.Children) == 0 && !isJoin(o) && !isReduceSink(o) && o.Kind != "File Output Operator" && o.Kind != "ListSink" {
			ends = append(ends, o)
		}
	}
	return ends
}

// partitionedHash tells a dynamically partitioned hash join whose flag is not printed, as in Hive 3: both sides are shuffled into its
// reducer, and only of such a join the streamed side comes over CUSTOM_SIMPLE_EDGE (GenTezUtils.determineEdgeType). The streamed
// side of a bucket map join in a reducer comes over SIMPLE_EDGE.
func (f *flow) partitionedHash(o *explain.Operator) bool {
	return o.Parent == nil && slices.ContainsFunc(f.sides[o], func(s side) bool { return !s.small && s.edge == "CUSTOM_SIMPLE_EDGE" })
}
