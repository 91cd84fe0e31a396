package advisor

import (
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// inputCumulative is the row count by which Hive chooses the big table: the sum of the estimates from the scans up to
// the input's reduce sink (ConvertJoinMapJoin.computeCumulativeCardinality). Where the join has removed the sink, it
// counts as its input does. −1: the plan's text has no estimate of some operator.
func (f *flow) inputCumulative(s side) int64 {
	memo := map[*explain.Operator]int64{}
	feed := s.feeds[0]
	switch {
	case len(s.feeds) > 1 && isReduceSink(feed):
		return f.unionCumulative(s.feeds, memo)
	case len(s.feeds) > 1:
		return addCount(f.unionCumulative(s.feeds, memo), f.unionEstimate(s.feeds).Rows)
	case isReduceSink(feed):
		return f.cumulative(feed, memo)
	case feed.Kind == kindDummyStore: // comes with the decision; the shuffle it replaced had its input's rows
		feed = f.producer(feed)
	}
	if feed == nil {
		return -1
	}
	return addCount(f.cumulative(feed, memo), f.rows(feed))
}

// uncounted tells whether the planner finds an operator without an estimate on its way from the input to the scans: the Dummy
// Store that takes the place of a shuffle below a sort-merge-bucket join has none (computeCumulativeCardinality then returns null).
func (f *flow) uncounted(s side) bool {
	for _, feed := range s.feeds {
		for _, o := range f.below(feed) {
			if isJoin(o) && f.strategy(o) == SMB {
				return true
			}
		}
	}
	return false
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

// rows is an operator's row estimate; −1 when it has none.
func (f *flow) rows(o *explain.Operator) int64 {
	if st := f.estimate(o); st != nil {
		return st.Rows
	}
	return -1
}

// unionCumulative is the count of a union and of what follows it up to the members' operators given. A copy that prints
// the estimate of the whole union counts once.
func (f *flow) unionCumulative(ops []*explain.Operator, memo map[*explain.Operator]int64) int64 {
	total := int64(0)
	for f.wholeUnion(ops) {
		if isJoin(ops[0]) {
			return addCount(total, f.cumulative(ops[0], memo))
		}
		total = addCount(total, f.rows(ops[0]))
		above := make([]*explain.Operator, len(ops))
		for i, o := range ops {
			above[i] = f.producer(o)
		}
		ops = above
	}
	for _, o := range ops {
		total = addCount(total, addCount(f.rows(o), f.cumulative(o, memo))) // the union's rows, and its members
	}
	return total
}
