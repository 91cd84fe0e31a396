package advisor

import (
	"strings"
	"testing"
)

// TestBucketedButShuffled: what is in the way of joins over buckets, beside those in TestFindings.
func TestBucketedButShuffled(t *testing.T) {
	big, small := sized("orders", 900*gb, 3_000_000_000), sized("customers", 300*mb, 4_000_000)
	external := bucketed(big, 64, "customer_id")
	external.Layout.External = true
	fact, many := sized("fact", 6*gb, 30_000_000), keyNDV(sized("many", 400*mb, 25_000_000), 25_000_000)
	for _, c := range []struct {
		name          string
		join          Join
		planned       Strategy
		pairs         []string
		words, advice string
	}{
		{
			"only the hashed side has buckets", joinOf(Inner, big, bucketed(small, 64, "customer_id")), MergeJoin, nil,
			"d.orders is the side to stream and has no buckets, the other side's do not help", "CLUSTERED BY (`customer_id`)",
		},
		{
			"an external table", joinOf(Inner, external, bucketed(small, 64, "customer_id")), MergeJoin, nil,
			"d.orders is an external table, which bucketed joins leave out", "SET hive.disable.unsafe.external.table.operations=false;",
		},
		{
			"too many keys to hash, and not sorted", joinOf(Inner, bucketed(fact, 64, "customer_id"), bucketed(many, 64, "customer_id")), MergeJoin,
			[]string{budgetName, "1000000000"},
			"d.fact is not sorted by the keys customer_id inside its buckets", "SORTED BY (`customer_id`)",
		},
		{
			"the last of several conditions is outer", joinOf(LeftOuter, bucketed(big, 64, "customer_id"), bucketed(small, 64, "customer_id"), small), MergeJoin, nil,
			"a join of several inputs that ends in an outer join is never hashed", "SET hive.merge.nway.joins=false;",
		},
		{
			"a shuffle moves less than copies to 200 nodes", joinOf(Inner, bucketed(sized("facts", 400*gb, 1_000_000_000), 64, "customer_id"), bucketed(sized("items", 3*gb, 10_000_000), 64, "customer_id")), DPHJ,
			llapPairs(200, budgetName, "1000000000"),
			"on 200 nodes a shuffle of both sides moves 403 GB, a bucket map join 600 GB", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settings(c.pairs...)
			got := find(t, Findings([]JoinVerdict{judged(c.join, c.planned, s)}, s), BucketedButShuffled)
			if !strings.Contains(got.Summary, c.words) {
				t.Errorf("summary %q lacks %q", got.Summary, c.words)
			}
			if !strings.Contains(got.Advice, c.advice) || c.advice == "" && got.Advice != "" {
				t.Errorf("advice %q, want %q", got.Advice, c.advice)
			}
		})
	}
}
