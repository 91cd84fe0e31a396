package advisor

import (
	"slices"
	"testing"
)

func TestPath(t *testing.T) {
	orders, customers := sized("orders", 900*gb, 3_000_000_000), sized("customers", 2400*mb, 30_000_000)
	for _, c := range []struct {
		name  string
		join  Join
		pairs []string
		want  []string
	}{
		{
			"the seed's merge join", joinOf(Inner, orders, customers),
			[]string{budgetName, "1000000000"},
			[]string{
				"1. MAP_JOIN? the hashed inputs together fit the budget (bytes): no, 2,400,000,000 against 1,000,000,000",
				"2. SMB? both sides are bucketed and sorted by the keys: no (d.orders is not bucketed and sorted by exactly the join keys)",
				"3. DPHJ? hive.optimize.dynamic.partition.hashjoin is on: no",
				"4. MERGE_JOIN? nothing faster is left: yes",
			},
		},
		{
			"64 buckets", joinOf(Inner, bucketed(orders, 64, "customer_id"), bucketed(customers, 64, "customer_id")),
			[]string{budgetName, "1000000000"},
			[]string{
				"1. BUCKET_MAP_JOIN? the hashed inputs fit the budget (bytes): yes, 37,500,000 against 1,000,000,000 (divided by 64 buckets)",
				"2. BUCKET_MAP_JOIN? the bucket layout allows a bucket map join: yes",
			},
		},
	} {
		d := Explain(c.join, settings(c.pairs...))
		if got := Path(&d); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
