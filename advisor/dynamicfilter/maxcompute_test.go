package dynamicfilter

import (
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

func TestMaxComputeLines(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"neither": {
			text: "job0 is root job\n\nIn Job job0:\nroot Tasks: M1\n\nIn Task M1:\n    Data source: shop.a\n    TS: shop.a\n        FS: output: Screen\n",
			want: []string{"no dynamic filter: set odps.optimizer.enable.dynamic.filter=true;", "no dynamic partition pruning: set odps.optimizer.dynamic.filter.dpp.enable=true;"},
		},
		"a filter": {
			text: "job0 is root job\n\nIn Job job0:\nroot Tasks: M1, M2\n\nIn Task M1:\n    TS: shop.a\n        DynamicFilterProducer1: columns: [a]\n            RS: order: +\n\n" +
				"In Task M2:\n    TS: shop.b\n        DynamicFilterConsumer1:\n             producer: DynamicFilterProducer1\n             columns:\n                 b\n            RS: order: +\n",
			want: []string{"DynamicFilterConsumer1 in M2: rows are filtered on b by the keys of DynamicFilterProducer1 in M1 on a", "no dynamic partition pruning"},
		},
		"pruning": {
			text: "DppDynamicProducer1\n    PartitionPruneInfos: [{table: shop.b, column: ds}]\n",
			want: []string{"DppDynamicProducer1: partitions are pruned: ", "no dynamic filter"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := explain.ParseMaxCompute(test.text)
			if err != nil {
				t.Fatal(err)
			}
			got := MaxComputeLines(p)
			if len(got) != len(test.want) {
				t.Fatalf("%q", got)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("%q, want %q…", got[i], want)
				}
			}
		})
	}
}

func TestMaxComputeAdvice(t *testing.T) {
	for name, test := range map[string]struct {
		kind   advisor.JoinType
		filter Kind
		rows   int64
		alias  string
		want   []string
	}{
		"large":        {kind: advisor.Inner, filter: Semijoin, rows: 1e9, alias: "b", want: []string{maxComputeChoose, "select /*+dynamicfilter(a, b)*/ …"}},
		"small":        {kind: advisor.LeftOuter, filter: Semijoin, rows: 1e6, alias: "b", want: []string{maxComputeSmall[0], maxComputeSmall[1], maxComputeChoose, "select /*+dynamicfilter(a, b)*/ …"}},
		"pruning":      {kind: advisor.RightOuter, filter: Pruning, rows: 1e9, alias: "b", want: []string{maxComputePruning, "select /*+dynamicfilter(a, b)*/ …"}},
		"no alias":     {kind: advisor.Inner, filter: Semijoin, rows: 1e9, want: []string{maxComputeChoose, maxComputeForce}},
		"odd alias":    {kind: advisor.Inner, filter: Semijoin, rows: 1e9, alias: "b)*/ x", want: []string{maxComputeChoose, maxComputeForce}},
		"full outer":   {kind: advisor.FullOuter, filter: Semijoin, rows: 1e9, alias: "b"},
		"semi":         {kind: advisor.LeftSemi, filter: Semijoin, rows: 1e9, alias: "b"},
		"anti":         {kind: advisor.Anti, filter: Semijoin, rows: 1e9, alias: "b"},
		"same aliases": {kind: advisor.Inner, filter: Semijoin, rows: 1e9, alias: "a", want: []string{maxComputeChoose, maxComputeForce}},
	} {
		t.Run(name, func(t *testing.T) {
			j := advisor.Join{Inputs: []advisor.Input{{Alias: "a"}, {Alias: test.alias}}, Conditions: []advisor.Condition{{Type: test.kind, Right: 1}}}
			q := advisor.Query{Verdicts: []advisor.JoinVerdict{{Join: j}}}
			f := Filter{Kind: test.filter, Rows: test.rows, producer: &j.Inputs[0], consumer: &j.Inputs[1]}
			if got := f.maxCompute(&q); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
