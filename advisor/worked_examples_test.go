package advisor

import "testing"

// comparedTo finds an attempt that compares these two numbers and ended like that.
func comparedTo(d Decision, strategy Strategy, ok bool, left, right int64) bool {
	for _, a := range d.Attempts {
		if a.Strategy == strategy && a.OK == ok && a.Left != nil && a.Right != nil && *a.Left == left && *a.Right == right {
			return true
		}
	}
	return false
}

// The worked examples of the seed, each with its deciding comparison to the byte.
func TestWorkedExamplesToTheByte(t *testing.T) {
	orders, customers := sized("orders", 900*gb, 3_000_000_000), sized("customers", 2400*mb, 30_000_000)
	country := sized("customers", 300*mb, 4_000_000)
	keys := keyNDV(sized("keys", 400*mb, 25_000_000), 25_000_000)
	// 400 reducers: bytes per reducer a 400th of both data sizes, rounded up.
	perReducer := grouping(sizeOf(orders, customers)/400 + 1)
	both := func(buckets int) Join {
		return joinOf(Inner, bucketed(orders, buckets, "customer_id"), bucketed(customers, buckets, "customer_id"))
	}
	llap := []string{"hive.execution.mode", "llap", budgetName, "1000000000", dphjName, "true"}
	network := joinOf(Inner, bucketed(sized("big", 400*gb, 1_000_000_000), 64, "customer_id"), bucketed(sized("small", 3*gb, 10_000_000), 64, "customer_id"))
	type compared struct {
		strategy    Strategy
		ok          bool
		left, right int64
	}
	for _, c := range []struct {
		name     string
		join     Join
		settings Settings
		want     Strategy
		decides  []compared
	}{
		{
			"orders and customers, not bucketed, DPHJ off", joinOf(Inner, orders, customers), settings(budgetName, "1000000000"),
			MergeJoin,
			[]compared{{MapJoin, false, 2_400_000_000, 1_000_000_000}},
		},
		{
			"DPHJ on, 400 reducers", joinOf(Inner, orders, customers),
			settings(budgetName, "1000000000", dphjName, "true", "hive.exec.reducers.bytes.per.reducer", perReducer),
			DPHJ,
			[]compared{{MapJoin, false, 2_400_000_000, 1_000_000_000}, {DPHJ, true, 6_000_000, 1_000_000_000}},
		},
		{"64 buckets", both(64), settings(budgetName, "1000000000"), BucketMapJoin, []compared{{BucketMapJoin, true, 37_500_000, 1_000_000_000}}},
		{
			"filtered to one country", joinOf(Inner, orders, country), settings(budgetName, "1000000000"),
			MapJoin,
			[]compared{{MapJoin, true, 300_000_000, 1_000_000_000}},
		},
		{
			"25 million keys", joinOf(Inner, sized("fact", 6*gb, 200_000_000), keys), settings(budgetName, "1000000000"),
			MergeJoin,
			[]compared{{MapJoin, false, 25_000_000, 21_000_000}},
		},
		{
			"25 million keys, DPHJ on", joinOf(Inner, sized("fact", 6*gb, 200_000_000), keys), settings(budgetName, "1000000000", dphjName, "true"),
			DPHJ,
			[]compared{{MapJoin, false, 25_000_000, 21_000_000}},
		},
		{
			"16 MB: a budget of 10 MB and three slots", joinOf(Inner, orders, sized("small", 16*mb, 1000)),
			settings("hive.execution.mode", "llap", "hive.llap.memory.oversubscription.max.executors.per.query", "3"),
			MapJoin,
			[]compared{{MapJoin, true, 16_000_000, 16_000_000}},
		},
		{
			"one byte more than 16 MB", joinOf(Inner, orders, sized("small", 16*mb+1, 1000)),
			settings("hive.execution.mode", "llap", "hive.llap.memory.oversubscription.max.executors.per.query", "3"),
			MergeJoin,
			[]compared{{MapJoin, false, 16_000_001, 16_000_000}},
		},
		{
			"3 GB and 400 GB on 40 nodes", network, settings(llap...).WithCluster(40, 12),
			BucketMapJoin,
			[]compared{{MapJoin, false, 3_000_000_000, 1_800_000_011}, {DPHJ, false, 403_000_000_000, 120_000_000_000}},
		},
		{
			"3 GB and 400 GB on 200 nodes", network, settings(llap...).WithCluster(200, 12),
			DPHJ,
			[]compared{{DPHJ, true, 403_000_000_000, 600_000_000_000}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Explain(c.join, c.settings)
			if d.Strategy != c.want {
				t.Fatalf("got %s, want %s: %s", d.Strategy, c.want, d.Reason)
			}
			for _, w := range c.decides {
				if !comparedTo(d, w.strategy, w.ok, w.left, w.right) {
					t.Errorf("no attempt compares %d with %d for %s (%v): %+v", w.left, w.right, w.strategy, w.ok, d.Attempts)
				}
			}
		})
	}
}
