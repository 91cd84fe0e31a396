package movement

import (
	"math"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

const (
	gb = int64(1_000_000_000)
	tb = 1000 * gb
)

func input(table string, size int64) advisor.Input {
	ndv := int64(1_000_000)
	return advisor.Input{
		Tables: []string{"d." + table}, Rows: size / 100, DataSize: size, CumulativeRows: size / 100,
		Keys: []advisor.Key{{Expr: "k", Type: "bigint", Table: "d." + table, Column: "k", NDV: &ndv}},
	}
}

func bucketed(in advisor.Input, buckets int, column string) advisor.Input {
	in.Layout = advisor.Layout{Buckets: buckets, BucketColumns: []string{column}, SortColumns: []string{column}, BucketingVersion: 2}
	return in
}

func joined(kind advisor.JoinType, strategy advisor.Strategy, inputs ...advisor.Input) advisor.JoinVerdict {
	j := advisor.Join{Vertex: "Reducer 2", Strategy: strategy, BigTable: -1, Inputs: inputs}
	for pos := range inputs {
		j.Inputs[pos].Position = pos
		if pos > 0 {
			j.Conditions = append(j.Conditions, advisor.Condition{Type: kind, Left: 0, Right: pos})
		}
	}
	return advisor.JoinVerdict{Join: j}
}

// The figures of the seed document: 20 nodes, a small side of 2 or 200 GB, a large one of 4 TB.
func TestSeedFigures(t *testing.T) {
	for name, test := range map[string]struct {
		small                                   int64
		broadcast, redistribute, memory, shared int64
		cheapest                                Way
	}{
		"2 GB":   {small: 2 * gb, broadcast: 40 * gb, redistribute: 4*tb + 2*gb, memory: 2 * gb, shared: gb / 10, cheapest: Broadcast},
		"200 GB": {small: 200 * gb, broadcast: 4 * tb, redistribute: 4*tb + 200*gb, memory: 200 * gb, shared: 10 * gb, cheapest: Redistribute},
	} {
		t.Run(name, func(t *testing.T) {
			v := joined(advisor.Inner, advisor.MergeJoin, input("facts", 4*tb), input("dim", test.small))
			c := Of(v, 20, 32*gb)
			b, r := c.Option(Broadcast), c.Option(Redistribute)
			if b.Bytes != test.broadcast || b.Memory != test.memory {
				t.Errorf("broadcast %+v, want %d bytes and %d in memory", b, test.broadcast, test.memory)
			}
			if r.Bytes != test.redistribute || r.Memory != test.shared || !r.Allowed {
				t.Errorf("redistribution %+v, want %d bytes and %d in memory", r, test.redistribute, test.shared)
			}
			if c.Cheapest != test.cheapest {
				t.Errorf("cheapest %s, want %s", c.Cheapest, test.cheapest)
			}
			if want := 1 + float64(4*tb)/float64(test.small); c.BreakEven != want {
				t.Errorf("break-even %v, want %v", c.BreakEven, want)
			}
		})
	}
}

func TestCeilingForbidsABroadcastThatMovesLess(t *testing.T) {
	v := joined(advisor.Inner, advisor.MapJoin, input("facts", 4*tb), input("dim", 200*gb))
	free, limited := Of(v, 10, 0), Of(v, 10, 32*gb)
	if free.Cheapest != Broadcast || free.Ratio != 1 {
		t.Errorf("2 TB against 4.2 TB: %+v", free)
	}
	if limited.Cheapest != Redistribute || !strings.Contains(limited.Option(Broadcast).Why, "200 GB") {
		t.Errorf("200 GB on a node of 32: %+v", limited)
	}
}

func TestWhatLiesByTheKeyStays(t *testing.T) {
	for name, test := range map[string]struct {
		kind         advisor.JoinType
		left, right  advisor.Input
		single, none bool
		singleBytes  int64
	}{
		"neither":               {kind: advisor.Inner, left: input("a", 4*tb), right: input("b", 50*gb)},
		"the large side":        {kind: advisor.Inner, left: bucketed(input("a", 4*tb), 64, "k"), right: input("b", 50*gb), single: true, singleBytes: 50 * gb},
		"the small side":        {kind: advisor.Inner, left: input("a", 4*tb), right: bucketed(input("b", 50*gb), 64, "k"), single: true, singleBytes: 4 * tb},
		"by another column":     {kind: advisor.Inner, left: bucketed(input("a", 4*tb), 64, "day"), right: input("b", 50*gb)},
		"the side to be copied": {kind: advisor.LeftOuter, left: input("a", 4*tb), right: bucketed(input("b", 50*gb), 64, "k")},
		"both":                  {kind: advisor.Inner, left: bucketed(input("a", 4*tb), 64, "k"), right: bucketed(input("b", 50*gb), 16, "k"), single: true, singleBytes: 50 * gb, none: true},
		"in 6 and 4 buckets":    {kind: advisor.Inner, left: bucketed(input("a", 4*tb), 6, "k"), right: bucketed(input("b", 50*gb), 4, "k"), single: true, singleBytes: 50 * gb},
		"full outer, both":      {kind: advisor.FullOuter, left: bucketed(input("a", 4*tb), 4, "k"), right: bucketed(input("b", 50*gb), 4, "k"), none: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := Of(joined(test.kind, advisor.MergeJoin, test.left, test.right), 200, 0)
			single, none := c.Option(SingleSided), c.Option(CoLocated)
			if single.Allowed != test.single || test.single && single.Bytes != test.singleBytes {
				t.Errorf("single-sided %+v", single)
			}
			if none.Allowed != test.none || test.none && (none.Bytes != 0 || c.Cheapest != CoLocated) {
				t.Errorf("co-located %+v, cheapest %s", none, c.Cheapest)
			}
			if !none.Allowed && none.Why == "" || !single.Allowed && single.Why == "" {
				t.Errorf("no reason: %+v %+v", single, none)
			}
		})
	}
}

func TestDifferentHashFunctionsAreNotCoLocated(t *testing.T) {
	a, b := bucketed(input("a", tb), 4, "k"), bucketed(input("b", gb), 4, "k")
	b.Layout.BucketingVersion = 1
	if c := Of(joined(advisor.Inner, advisor.MergeJoin, a, b), 4, 0); c.Option(CoLocated).Allowed {
		t.Error("bucketing versions 1 and 2 put a key into different buckets")
	}
}

func TestSidesThatMayBeCopied(t *testing.T) {
	for _, test := range []struct {
		kind     advisor.JoinType
		streamed int
		allowed  bool
	}{
		{advisor.Inner, 0, true},
		{advisor.LeftOuter, 0, true},
		{advisor.RightOuter, 1, true}, // the large side is padded with nulls: it has to be copied
		{advisor.FullOuter, 0, false},
		{advisor.LeftSemi, 0, true},
		{advisor.Anti, 0, true},
	} {
		c := Of(joined(test.kind, advisor.MergeJoin, input("a", tb), input("b", gb)), 20, 0)
		if c.Streamed != test.streamed || c.Option(Broadcast).Allowed != test.allowed {
			t.Errorf("%s: streamed %d, broadcast %+v", test.kind, c.Streamed, c.Option(Broadcast))
		}
	}
}

func TestThreeInputsAreCopiedTogether(t *testing.T) {
	c := Of(joined(advisor.Inner, advisor.MapJoin, input("a", gb), input("f", tb), input("b", 2*gb)), 10, 0)
	if c.Streamed != 1 || c.Small != 3*gb || c.Option(Broadcast).Bytes != 30*gb || c.PlannedBytes != 30*gb {
		t.Errorf("%+v", c)
	}
}

func TestPlannedWayAndRatio(t *testing.T) {
	for _, test := range []struct {
		strategy advisor.Strategy
		big      int
		way      Way
		bytes    int64
		ratio    float64
	}{
		{advisor.MapJoin, 0, Broadcast, 4000 * gb, 4000.0 / 1100},
		{advisor.MapJoin, 1, Broadcast, 40 * tb, 40000.0 / 1100},
		{advisor.MergeJoin, -1, Redistribute, 1100 * gb, 1},
		{advisor.DPHJ, 0, Redistribute, 1100 * gb, 1},
		{advisor.BucketMapJoin, 0, SingleSided, 100 * gb, 1},
		{advisor.SMB, 0, CoLocated, 0, 1},
		{advisor.Unknown, -1, "", -1, 0},
	} {
		v := joined(advisor.Inner, test.strategy, input("a", tb), input("b", 100*gb))
		v.Join.BigTable = test.big
		c := Of(v, 40, 0)
		if c.Planned != test.way || c.PlannedBytes != test.bytes || math.Abs(c.Ratio-test.ratio) > 1e-9 {
			t.Errorf("%s: %s %d bytes, ratio %v, want %s %d %v", test.strategy, c.Planned, c.PlannedBytes, c.Ratio, test.way, test.bytes, test.ratio)
		}
	}
}

func TestBroadcastGrowsWithTheCluster(t *testing.T) {
	c := Of(joined(advisor.Inner, advisor.MapJoin, input("a", tb), input("b", 10*gb)), 0, 0)
	if c.BreakEven != 101 || c.BreakEvenNodes() != 102 {
		t.Errorf("break-even %v, from %d nodes", c.BreakEven, c.BreakEvenNodes())
	}
	if len(c.Growth) == 0 || c.Growth[0].Nodes != 4 || c.Growth[len(c.Growth)-1].Nodes != 1000 {
		t.Fatalf("growth %+v", c.Growth)
	}
	for _, p := range c.Growth {
		if p.Redistribute != 1010*gb || p.Broadcast != p.Nodes*10*gb || p.BroadcastMemory != 10*gb || p.RedistributeMemory != 10*gb/p.Nodes {
			t.Errorf("%+v", p)
		}
		if dearer := p.Broadcast > p.Redistribute; dearer != (p.Nodes >= c.BreakEvenNodes()) {
			t.Errorf("%d nodes against a break-even of %v", p.Nodes, c.BreakEven)
		}
	}
	if at := c.At(101); at.Broadcast != at.Redistribute {
		t.Errorf("at the break-even: %+v", at)
	}
	if c.Ratio != 0 || c.Option(Broadcast).Bytes != -1 || c.Option(Redistribute).Memory != -1 {
		t.Errorf("unknown nodes: %+v", c)
	}
}

func TestUnknownSizes(t *testing.T) {
	v := joined(advisor.Inner, advisor.MergeJoin, input("a", tb), input("b", -1))
	v.Join.Inputs[1].DataSize = -1
	if c := Of(v, 20, 0); c.Known() || Describe(c) != "" {
		t.Errorf("%+v", c)
	}
	if c := Of(advisor.JoinVerdict{}, 20, 0); c.Known() {
		t.Errorf("%+v", c)
	}
}

func TestHugeSizesDoNotOverflow(t *testing.T) {
	c := Of(joined(advisor.Inner, advisor.MapJoin, input("a", math.MaxInt64), input("b", math.MaxInt64)), 1000, 0)
	if c.Option(Broadcast).Bytes != math.MaxInt64 || c.Option(Redistribute).Bytes != math.MaxInt64 {
		t.Errorf("%+v", c.Options)
	}
}

func TestDescribe(t *testing.T) {
	v := joined(advisor.Inner, advisor.MapJoin, input("a", 4*tb), input("b", 2*gb))
	for nodes, want := range map[int64]string{
		20: "on 20 nodes: broadcast 40 GB (2 GB hashed on each), redistribution 4 TB (100 MB hashed on each); planned: broadcast, the cheapest; " +
			"a broadcast moves more from 2,002 nodes on",
		4000: "on 4,000 nodes: broadcast 8 TB (2 GB hashed on each), redistribution 4 TB (500 KB hashed on each); planned: broadcast, " +
			"2 times the redistribution; a broadcast moves more from 2,002 nodes on",
		0: "broadcast 2 GB to each node (2 GB hashed on each), redistribution 4 TB; planned: broadcast; a broadcast moves more from 2,002 nodes on",
	} {
		if got := Describe(Of(v, nodes, 0)); got != want {
			t.Errorf("%d nodes: %q, want %q", nodes, got, want)
		}
	}
	both := joined(advisor.Inner, advisor.SMB, bucketed(input("a", 4*tb), 4, "k"), bucketed(input("b", 2*gb), 4, "k"))
	if got := Describe(Of(both, 20, 0)); !strings.Contains(got, "single-sided move 2 GB") || !strings.Contains(got, "planned: nothing to move, the cheapest") {
		t.Error(got)
	}
	full := joined(advisor.FullOuter, advisor.MergeJoin, input("a", 4*tb), input("b", 2*gb))
	if got := Describe(Of(full, 20, 0)); !strings.Contains(got, "not allowed: the join type") || strings.Contains(got, "moves more") {
		t.Error(got)
	}
}
