package advisor

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func judged(j Join, planned Strategy, s Settings) JoinVerdict {
	j.Strategy = planned
	return Judge(j, s)
}

func kindsOf(list []Finding) []FindingKind {
	out := make([]FindingKind, 0, len(list))
	for _, f := range list {
		out = append(out, f.Kind)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func find(t *testing.T, list []Finding, kind FindingKind) Finding {
	t.Helper()
	for _, f := range list {
		if f.Kind == kind {
			return f
		}
	}
	t.Fatalf("no %s among %v", kind, kindsOf(list))
	return Finding{}
}

func TestFindings(t *testing.T) {
	big, small := sized("orders", 900*gb, 3_000_000_000), sized("customers", 300*mb, 4_000_000)
	unknown := small
	unknown.ColumnStats = "NONE"
	noBasic := unknown
	noBasic.BasicStats = "PARTIAL"
	norows := unknown
	norows.BasicStats, norows.Rows, norows.DataSize, norows.CumulativeRows = "NONE", -1, -1, -1
	cross, pairs := joinOf(Inner, big, sized("one", 1000, 1)), joinOf(Inner, sized("few", 100, 2), sized("two", 1000, 2))
	for _, j := range []*Join{&cross, &pairs} {
		j.Inputs[0].Keys, j.Inputs[1].Keys = nil, nil
	}
	for _, c := range []struct {
		name    string
		join    Join
		planned Strategy
		pairs   []string
		kind    FindingKind
		words   []string
		advice  []string
	}{
		{
			"a merge join that could hash its small side", joinOf(Inner, big, small), MergeJoin, nil, MergeJoinLargeSmall,
			[]string{"900 GB", "300 MB"},
			[]string{"SET hive.optimize.dynamic.partition.hashjoin=true;", "SET hive.auto.convert.join.noconditionaltask.size=330000000;", "only with memory to back it"},
		},
		{
			"the container is known", joinOf(Inner, big, small), MergeJoin,
			[]string{"hive.tez.container.size", "4096"},
			MergeJoinLargeSmall,
			nil,
			[]string{"container of 4096 MB"},
		},
		{
			"no column statistics", joinOf(Inner, big, unknown), MergeJoin, nil, MissingStatistics,
			[]string{"d.customers", "4,000,000 rows"},
			[]string{"ANALYZE TABLE `d`.`customers` COMPUTE STATISTICS FOR COLUMNS `id`;"},
		},
		{
			"no basic statistics", joinOf(Inner, big, noBasic), MergeJoin, nil, MissingStatistics,
			[]string{"basic statistics"},
			[]string{"ANALYZE TABLE `d`.`customers` COMPUTE STATISTICS;\n"},
		},
		{
			"near the budget", joinOf(Inner, big, sized("small", 9*mb, 10)), MapJoin, nil, NearFlip,
			[]string{"becomes a merge join", "grows by 11.1 %"},
			[]string{"ANALYZE TABLE"},
		},
		{
			"full outer", joinOf(FullOuter, big, sized("small", mb, 10)), MergeJoin, nil, FullOuterNoBroadcast,
			[]string{"never broadcasts"},
			[]string{"SET hive.optimize.dynamic.partition.hashjoin=true;"},
		},
		{"cross product", pairs, MapJoin, nil, CrossProduct, []string{"up to 4 rows"}, []string{"hive.strict.checks.cartesian.product"}},
		{"cross product with one row", cross, MapJoin, nil, CrossProduct, []string{"3,000,000,000 rows"}, []string{"-- nothing, where one side is a single row"}},
		{
			"bucketed by another column", joinOf(Inner, bucketed(big, 64, "order_id"), small), MergeJoin, nil, BucketedButShuffled,
			[]string{"order_id", "customer_id"},
			[]string{
				"CREATE TABLE `d`.`orders_bucketed` LIKE `d`.`orders`;\nALTER TABLE `d`.`orders_bucketed` CLUSTERED BY (`customer_id`) SORTED BY (`customer_id`) INTO 64 BUCKETS;\n" +
					"INSERT INTO TABLE `d`.`orders_bucketed` SELECT * FROM `d`.`orders`;",
			},
		},
		{
			"too few buckets, and not as many on both sides", joinOf(Inner, bucketed(big, 2, "customer_id"), bucketed(small, 4, "customer_id")), MergeJoin, nil, BucketedButShuffled,
			[]string{"divided by 4 buckets (d.orders has 2, d.customers has 4) is 75 MB", "10 MB"},
			[]string{"SET hive.auto.convert.join.noconditionaltask.size=83000000; -- only with memory to back it: a hash table of up to 83 MB in a container of 1024 MB"},
		},
		{
			"too few buckets, and no memory", joinOf(Inner, bucketed(big, 2, "customer_id"), bucketed(small, 2, "customer_id")), MergeJoin,
			[]string{"hive.tez.container.size", "256"},
			BucketedButShuffled,
			nil,
			[]string{"-- no larger budget: 170 MB of hash table in a container of 256 MB", "it takes a container of 487 MB"},
		},
		{
			"too few buckets", joinOf(Inner, bucketed(big, 2, "customer_id"), bucketed(small, 2, "customer_id")), MergeJoin, nil, BucketedButShuffled,
			[]string{"divided by 2 buckets is 150 MB", "10 MB"},
			[]string{"SET hive.auto.convert.join.noconditionaltask.size="},
		},
		{
			"no statistics on the side to hash", joinOf(Inner, big, noBasic), MergeJoin, nil, MergeJoinMissingStatistics,
			[]string{"d.customers (basic partial, column none)", "a map join if the hashed side turns out at 3.4 % of its estimate of 300 MB or less"},
			[]string{"ANALYZE TABLE `d`.`customers` COMPUTE STATISTICS;"},
		},
		{
			"no rows at all", joinOf(Inner, big, norows), MergeJoin, nil, MergeJoinMissingStatistics,
			[]string{"d.customers (basic none, column none)", "of which nothing is known"},
			[]string{"ANALYZE TABLE `d`.`customers` COMPUTE STATISTICS;"},
		},
		{
			"bucket map joins off", joinOf(Inner, bucketed(big, 64, "customer_id"), small), MergeJoin,
			[]string{"hive.convert.join.bucket.mapjoin.tez", "false"},
			BucketedButShuffled, nil,
			[]string{"SET hive.convert.join.bucket.mapjoin.tez=true;"},
		},
		{
			"Hive chose otherwise", joinOf(Inner, big, small), MapJoin, nil, StrategyUnexplained,
			[]string{"planned a map join", "give a merge join"},
			[]string{"SET "},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settings(c.pairs...)
			for i := range c.join.Inputs {
				in := &c.join.Inputs[i]
				in.Keys = append([]Key(nil), in.Keys...)
				for k := range in.Keys {
					in.Keys[k].Table = in.Tables[0]
					if c.kind == MissingStatistics {
						in.Keys[k].Column = "id"
					}
				}
			}
			got := find(t, Findings([]JoinVerdict{judged(c.join, c.planned, s)}, s), c.kind)
			if got.Subject == "" || got.Severity == "" || len(got.Evidence) == 0 {
				t.Errorf("incomplete: %+v", got)
			}
			for _, w := range c.words {
				if !strings.Contains(got.Summary, w) {
					t.Errorf("summary %q lacks %q", got.Summary, w)
				}
			}
			for _, w := range c.advice {
				if !strings.Contains(got.Advice, w) {
					t.Errorf("advice %q lacks %q", got.Advice, w)
				}
			}
		})
	}
}

func TestNoFindings(t *testing.T) {
	s := settings()
	j := joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("small", mb, 10))
	if list := Findings([]JoinVerdict{judged(j, MapJoin, s)}, s); len(list) > 0 {
		t.Errorf("a safe map join with full statistics gives %+v", list)
	}
	if list := Findings([]JoinVerdict{judged(j, Unknown, s)}, s); len(list) > 0 {
		t.Errorf("an engine without the strategies gives %+v", list)
	}
	if list := Findings(nil, s); len(list) > 0 {
		t.Errorf("no joins give %+v", list)
	}
}

func TestMissingStatisticsOncePerTable(t *testing.T) {
	s := settings()
	one, two := sized("facts", 900*gb, 3_000_000_000), sized("facts", 900*gb, 3_000_000_000)
	one.ColumnStats, two.ColumnStats = "NONE", "NONE"
	one.Keys = []Key{{Expr: "_col0", Type: "int", Table: "d.facts", Column: "a"}}
	two.Keys = []Key{{Expr: "_col1", Type: "int", Table: "d.facts", Column: "b"}}
	list := Findings([]JoinVerdict{judged(joinOf(Inner, one, sized("x", mb, 10)), MapJoin, s), judged(joinOf(Inner, two, sized("y", mb, 10)), MapJoin, s)}, s)
	var count int
	for _, f := range list {
		if f.Kind == MissingStatistics {
			count++
			if want := "FOR COLUMNS `a`, `b`;"; !strings.Contains(f.Advice, want) {
				t.Errorf("advice %q lacks %q", f.Advice, want)
			}
		}
	}
	if count != 1 {
		t.Errorf("%d findings for one table", count)
	}
}

func TestAdviceChangesThePlan(t *testing.T) {
	j := joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("customers", 300*mb, 4_000_000))
	s := settings()
	f := find(t, Findings([]JoinVerdict{judged(j, MergeJoin, s)}, s), MergeJoinLargeSmall)
	for line := range strings.SplitSeq(f.Advice, "\n") {
		statement, _, _ := strings.Cut(line, ";")
		if strings.Contains(statement, " TABLE ") {
			continue // see TestLevers
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(statement, "SET "), "=")
		if !ok {
			t.Fatalf("no SET statement: %q", line)
		}
		if d := Explain(j, settings(name, value)); d.Strategy == MergeJoin {
			t.Errorf("%s leaves a merge join", statement)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"a": "`a`", "a b": "`a b`", "a`b": "`a``b`", "": "", "a\nb": "", `a\b`: ""} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestExpect(t *testing.T) {
	s := settings()
	v := judged(joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("customers", mb, 1000)), MapJoin, s)
	if v.Expect(nil, s) || v.Verdict.Expected != "" {
		t.Error("nothing better known must leave the verdict")
	}
	if !v.Expect(map[string]float64{"d.customers": 100}, s) || v.Verdict.Expected != MergeJoin {
		t.Errorf("a table a hundred times as large: %+v", v.Verdict)
	}
	if v.Join.Inputs[1].Rows != 1000 {
		t.Error("the judged join must stay as it is")
	}
	stale := find(t, Findings([]JoinVerdict{v}, s), StaleStatistics)
	if stale.Severity != High || !strings.Contains(stale.Summary, "d.customers holds 100 times the rows Hive counts: Hive planned a map join, with the true numbers the rules give a merge join") ||
		!strings.HasPrefix(stale.Advice, "ANALYZE TABLE `d`.`customers` COMPUTE STATISTICS;") {
		t.Errorf("finding %+v", stale)
	}
	if v.Expect(map[string]float64{"d.customers": 1.01}, s); slices.Contains(kindsOf(Findings([]JoinVerdict{v}, s)), StaleStatistics) {
		t.Error("a growth that changes nothing is a finding")
	}
}

func TestParseWitness(t *testing.T) {
	lines := strings.Split(`2026-11-30T17:26:12,100  INFO [pool-1] optimizer.ConvertJoinMapJoin: Memory monitor info set to : { isLlap: true executorsPerNode: 2 maxExecutorsOverSubscribeMemory: 1 memoryOverSubscriptionFactor: 1.0 memoryCheckInterval: 100000 noConditionalTaskSize: 500 adjustedNoConditionalTaskSize: 1000 hashTableInflationFactor: 2.0 threshold: 2000 }
INFO ConvertJoinMapJoin: maxJoinMemory: 1000
INFO ConvertJoinMapJoin: Estimated number of buckets 8
INFO ConvertJoinMapJoin: Join input#0; onlineDataSize: -44; Statistics: Num rows: 7 Data size: 10 Basic stats: COMPLETE Column stats: PARTIAL
INFO ConvertJoinMapJoin: Join input#1; onlineDataSize: 99; Statistics: Num rows: 3 Data size: 70 Basic stats: COMPLETE Column stats: COMPLETE
DEBUG ConvertJoinMapJoin: Estimated NDV for input 1: 21894; Max NDV for MapJoin conversion: 21000000
INFO ConvertJoinMapJoin: Cost of dynamically partitioned hash join : total small table size = 99 bigTableSize = -44networkCostDPHJ = 55
INFO ConvertJoinMapJoin: Cost of Bucket Map Join : numNodes = 5 total small table size = 99 networkCostMJ = 495
INFO ConvertJoinMapJoin: Bucket Map Join chosen
INFO ConvertJoinMapJoin: maxJoinMemory: 1000
INFO ConvertJoinMapJoin: Estimated number of buckets 1
INFO ConvertJoinMapJoin: Join input#0; onlineDataSize: 5; Statistics: Num rows: 1 Data size: 1 Basic stats: COMPLETE Column stats: NONE
INFO ConvertJoinMapJoin: We cannot convert to SMB because the sort column names do not match.
DEBUG ConvertJoinMapJoin: Estimated size for input 0: 370508632; Max size for DPHJ conversion: 370508632
INFO ConvertJoinMapJoin: Try dynamic partitioned hash join with estimated 20 reducers
INFO ConvertJoinMapJoin: Fallback to common merge join operator
INFO TezCompiler: Cycle free: false`, "\n")
	w := ParseWitness(lines)
	if len(w.Joins) != 2 || w.CycleFree {
		t.Fatalf("got %+v", w)
	}
	ndv, size := int64(21894), int64(370508632)
	first := WitnessJoin{
		Strategy: BucketMapJoin, Budget: 1000, Configured: 500, LLAP: true, Executors: 2, Slots: 1, Buckets: 8,
		Nodes: 5, DPHJCost: 55, MapJoinCost: 495,
		Inputs: []WitnessInput{
			{OnlineDataSize: -44, Rows: 7, DataSize: 10, BasicStats: "COMPLETE", ColumnStats: "PARTIAL"},
			{OnlineDataSize: 99, Rows: 3, DataSize: 70, BasicStats: "COMPLETE", ColumnStats: "COMPLETE", NDV: &ndv},
		},
	}
	first.words = w.Joins[0].words
	if !reflect.DeepEqual(w.Joins[0], first) {
		t.Errorf("got %+v, want %+v", w.Joins[0], first)
	}
	second := w.Joins[1]
	if second.Strategy != MergeJoin || second.Reducers != 20 || second.ShuffleSize == nil || *second.ShuffleSize != size || len(second.Notes) != 1 {
		t.Errorf("got %+v", second)
	}
	j := joinOf(Inner, Input{Rows: 7, DataSize: 10}, Input{Rows: 3, DataSize: 70})
	j.Strategy = BucketMapJoin
	joins := []Join{joinOf(Inner, Input{Rows: 1, DataSize: 2}, Input{Rows: 3, DataSize: 4}), j}
	matched := w.Attach(joins)
	if matched[0] != nil || matched[1] != &w.Joins[0] {
		t.Fatalf("matched %v", matched)
	}
	if got := joins[1].Inputs[1].OnlineDataSize; got == nil || *got != 99 {
		t.Errorf("online size %v", got)
	}
	if w := ParseWitness([]string{"Join input#", "maxJoinMemory:", "maxJoinMemory: x", "Join input#99999999; onlineDataSize: 1"}); len(w.Joins) != 0 {
		t.Errorf("garbage gives %+v", w)
	}
}

func TestMissingStatisticsNamesThePartitions(t *testing.T) {
	s := settings()
	orders := sized("orders", 900*gb, 3_000_000_000)
	customers := sized("customers", 300*mb, 4_000_000)
	customers.BasicStats, customers.ColumnStats = "PARTIAL", "PARTIAL"
	customers.Keys = []Key{{Expr: "_col0", Type: "bigint", Table: "d.customers", Column: "customer_id"}}
	v := judged(joinOf(Inner, orders, customers), MergeJoin, s)
	rows, ndv := int64(7), int64(5)
	full := TableStats{
		Table: "d.customers", Partition: "ds=1", Rows: &rows, ColumnsRead: []string{"customer_id"},
		Columns: map[string]ColumnStats{"customer_id": {NDV: &ndv}},
	}
	noRows, noColumn, other := full, full, full
	noRows.Partition, noRows.Rows = "ds=2", nil
	noColumn.Partition, noColumn.Columns = "ds=3", nil
	other.Table, other.Rows = "d.other", nil
	f := find(t, FindingsFor(Query{Verdicts: []JoinVerdict{v}, Settings: s, Tables: map[string]TableStats{
		"d.customers": {Table: "d.customers"}, "d.customers/ds=1": full, "d.customers/ds=2": noRows, "d.customers/ds=3": noColumn, "d.other/ds=1": other,
	}}), MergeJoinMissingStatistics)
	if want := []string{"d.customers/ds=2", "d.customers/ds=3"}; !reflect.DeepEqual(f.Evidence["partitions"], want) {
		t.Errorf("partitions %v, want %v", f.Evidence["partitions"], want)
	}
	if !strings.Contains(f.Summary, "none of d.customers/ds=2, d.customers/ds=3)") {
		t.Errorf("summary %q", f.Summary)
	}
}
