package movement

import (
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// The planner counts what a filter drops: the line takes it off, and says so.
func TestDroppedRowsDoNotMove(t *testing.T) {
	v := joined(advisor.Inner, advisor.MergeJoin, input("facts", 4*tb), input("dim", 2*gb))
	for name, test := range map[string]struct {
		dropped         Dropped
		moved, large    int64
		cheapest        Way
		breakEven       float64
		words, wordless string
	}{
		"nothing": {moved: 4*tb + 2*gb, large: 4 * tb, cheapest: Broadcast, breakEven: 2001, words: "redistribution 4 TB", wordless: "filters should drop"},
		"most of the large side": {
			dropped: Dropped{0: 0.999}, moved: 4*gb + 2*gb, large: 4 * gb, cheapest: Redistribute, breakEven: 3,
			words: "without the rows that filters should drop before they move: 99.9 % of d.facts (4 TB by the planner)", wordless: "nobody knows",
		},
		"the small side":             {dropped: Dropped{1: 0.5}, moved: 4*tb + gb, large: 4 * tb, cheapest: Broadcast, breakEven: 4001, words: "50 % of d.dim (2 GB by the planner)"},
		"an input that is not there": {dropped: Dropped{7: 0.5}, moved: 4*tb + 2*gb, large: 4 * tb, cheapest: Broadcast, breakEven: 2001, wordless: "filters should drop"},
	} {
		t.Run(name, func(t *testing.T) {
			c := OfFiltered(v, 20, 32*gb, test.dropped)
			// 0.1 % is no binary fraction: a byte may be lost.
			if far(c.PlannedBytes, test.moved) || far(c.Large, test.large) || c.Cheapest != test.cheapest || c.BreakEven-test.breakEven > 0.01 || test.breakEven-c.BreakEven > 0.01 {
				t.Errorf("moves %d, large %d, cheapest %s, equal on %v nodes: want %d, %d, %s, %v", c.PlannedBytes, c.Large, c.Cheapest, c.BreakEven, test.moved, test.large, test.cheapest, test.breakEven)
			}
			text := DescribeFiltered(v, 20, 32*gb, test.dropped)
			if !strings.Contains(text, test.words) || test.wordless != "" && strings.Contains(text, test.wordless) {
				t.Errorf("%q: want %q, not %q", text, test.words, test.wordless)
			}
			if v.Join.Inputs[0].DataSize != 4*tb || v.Join.Inputs[1].DataSize != 2*gb {
				t.Errorf("the join itself was changed: %+v", v.Join.Inputs)
			}
		})
	}
}

// far: more than a byte between them.
func far(a, b int64) bool { return a-b > 1 || b-a > 1 }

// A filter of which nothing is known stays in the figures, and the line says that.
func TestDroppedRowsThatNobodyCounted(t *testing.T) {
	q := mergePlan(t, 1000, "k BETWEEN DynamicValue(RS_1_a_k_min) AND DynamicValue(RS_1_a_k_max)")
	v := q.Verdicts[0]
	text := DescribeFiltered(v, 20, 32*gb, nil)
	if want := "with rows of b that a filter drops before they move, nobody knows how many"; !strings.Contains(text, want) || !strings.Contains(text, "redistribution 30 GB") {
		t.Errorf("%q lacks %q", text, want)
	}
	if text := DescribeFiltered(v, 20, 32*gb, Dropped{1: 0.9}); !strings.Contains(text, "90 % of b (30 GB by the planner)") || !strings.Contains(text, "redistribution 3 GB") {
		t.Errorf("%q", text)
	}
}
