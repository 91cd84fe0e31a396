package store

import (
	"math"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func inputs(sizes ...int64) []advisor.Input {
	out := make([]advisor.Input, len(sizes))
	for i, n := range sizes {
		out[i] = advisor.Input{Position: i, Rows: n, DataSize: n}
	}
	return out
}

func TestBytesMoved(t *testing.T) {
	const unknown = -1
	for _, c := range []struct {
		name string
		join advisor.Join
		want int64
	}{
		{"a merge join shuffles all", advisor.Join{Strategy: advisor.MergeJoin, BigTable: -1, Inputs: inputs(100, 20, 3)}, 123},
		{"so does a dynamic one", advisor.Join{Strategy: advisor.DPHJ, BigTable: 0, Inputs: inputs(100, 20)}, 120},
		{"a broadcast sends the small sides", advisor.Join{Strategy: advisor.MapJoin, BigTable: 1, Inputs: inputs(10, 2000, 3)}, 13},
		{"by bucket too", advisor.Join{Strategy: advisor.BucketMapJoin, BigTable: 0, Inputs: inputs(100, 20)}, 20},
		{"SMB moves nothing", advisor.Join{Strategy: advisor.SMB, BigTable: 0, Inputs: inputs(100, 20)}, 0},
		{"a size is unknown", advisor.Join{Strategy: advisor.MergeJoin, BigTable: -1, Inputs: inputs(100, -1)}, unknown},
		{"the unknown side is not moved", advisor.Join{Strategy: advisor.MapJoin, BigTable: 1, Inputs: inputs(7, -1)}, 7},
		{"more than fits", advisor.Join{Strategy: advisor.MergeJoin, BigTable: -1, Inputs: inputs(math.MaxInt64, math.MaxInt64)}, math.MaxInt64},
	} {
		got := bytesMoved(c.join)
		if (got == nil) != (c.want == unknown) || got != nil && *got != c.want {
			t.Errorf("%s: %v, want %d", c.name, got, c.want)
		}
	}
}

func TestSmallBytes(t *testing.T) {
	for _, c := range []struct {
		name  string
		big   int
		sizes []int64
		want  int64
	}{
		{"all but the streamed", 1, []int64{5, 1000, 7}, 12},
		{"all but the largest when none is streamed", -1, []int64{5, 1000, 7}, 12},
		{"a negative size counts as nothing", 0, []int64{5, -3}, 0},
		{"more than fits", 0, []int64{1, math.MaxInt64, math.MaxInt64}, math.MaxInt64},
	} {
		v := advisor.JoinVerdict{Join: advisor.Join{BigTable: c.big, Inputs: inputs(c.sizes...)}, Decision: advisor.Decision{OnlineDataSizes: c.sizes}}
		if got := smallBytes(v); got == nil || *got != c.want {
			t.Errorf("%s: %v, want %d", c.name, got, c.want)
		}
	}
	if got := smallBytes(advisor.JoinVerdict{}); got != nil {
		t.Errorf("without sizes: %d", *got)
	}
}

func TestMarginsThatAreNoFactorAreLeftOut(t *testing.T) {
	for _, factor := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		v := advisor.JoinVerdict{Decision: advisor.Decision{Margin: &advisor.Margin{Factor: factor, Next: advisor.MapJoin}}}
		row, err := newJoinRow(0, v, false, nil)
		if err != nil || row.verdict.Decision.Margin != nil {
			t.Errorf("%v: %+v, %v", factor, row.verdict.Decision.Margin, err)
		}
		if v.Decision.Margin == nil {
			t.Error("the caller's verdict was changed")
		}
	}
}
