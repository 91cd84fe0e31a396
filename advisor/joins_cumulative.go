package advisor

import (
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// inputCumulative is the row count by which Hive chooses the big table: the sum of the estimates from the scans up to
// the input's reduce sink (ConvertJoinMapJoin.computeCumulativeCardinality). Where the join has removed the sink, it
// counts as its input does. −1: some operator has no estimate, a Dummy Store for instance; Hive converts no join then.
func (f *flow) inputCumulative(s side) int64 {
	memo := map[*explain.Operator]int64{}
	feed := s.feeds[0]
	if len(s.feeds) > 1 {
		return f.unionCumulative(s.feeds, memo)
	}
	if isReduceSink(feed) {
		return f.cumulative(feed, memo)
	}
	if feed.Kind == kindDummyStore { // comes with the decision; the shuffle it replaced had its input's rows
		feed = f.producer(feed)
	}
	if feed == nil {
		return -1
	}
	return addCount(f.cumulative(feed, memo), f.rows(feed))
}

// cumulative sums the estimates of an operator and all below it; of a join's inputs the largest counts. Operators that
// Hive adds after its choice of joins are left out. −1: unknown.
func (f *flow) cumulative(o *explain.Operator, memo map[*explain.Operator]int64) int64 {
	if n, ok := memo[o]; ok {
		return n
	}
	memo[o] = -1 // a cycle ends here
	total := f.cumulativeInputs(o, memo)
	if o.Kind != "Top N Key Operator" {
		total = addCount(total, f.rows(o))
	}
	memo[o] = total
	return total
}

func (f *flow) cumulativeInputs(o *explain.Operator, memo map[*explain.Operator]int64) int64 {
	total := int64(0)
	if !isJoin(o) {
		if from := f.producers(o); len(from) > 1 && isReduceSink(from[0]) {
			return f.unionCumulative(from, memo)
		}
		for _, p := range f.producers(o) {
			total = addCount(total, f.cumulative(p, memo))
		}
		return total
	}
	for _, s := range f.sides[o] {
		n := int64(-1)
		switch {
		case len(s.feeds) > 1:
			n = f.unionCumulative(s.feeds, memo)
		case len(s.feeds) == 1:
			n = f.cumulative(s.feeds[0], memo)
		}
		if n == -1 {
			return -1
		}
		total = max(total, n)
	}
	return total
}

// rows is an operator's row estimate; that of its input for a shuffle that prints none (user-level plans), the members'
// sum for a union that prints none.
func (f *flow) rows(o *explain.Operator) int64 {
	if st := f.estimate(o); st != nil {
		return st.Rows
	}
	if o.Kind != kindUnion {
		return -1
	}
	total := int64(0)
	for _, p := range f.producers(o) {
		total = addCount(total, f.rows(p))
	}
	return total
}

// unionCumulative is the count of a union that is followed by the members' copies of the same operators, up to the
// reduce sinks given. Each copy prints the estimate of the whole union and counts once; where the copies begin, the
// members' own estimates add up to it.
func (f *flow) unionCumulative(copies []*explain.Operator, memo map[*explain.Operator]int64) int64 {
	total, union := int64(0), int64(0)
	for range maxTrace {
		if !f.sameEstimate(copies) {
			break
		}
		union = f.rows(copies[0])
		total = addCount(total, union)
		members := int64(0)
		above := make([]*explain.Operator, len(copies))
		for i, o := range copies {
			if above[i] = f.producer(o); above[i] == nil {
				return -1
			}
			members = addCount(members, f.rows(above[i]))
		}
		copies = above
		if members == union {
			break
		}
	}
	total = addCount(total, union) // the union itself
	for _, o := range copies {
		total = addCount(total, f.cumulative(o, memo))
	}
	return total
}
