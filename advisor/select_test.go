package advisor

import (
	"math"
	"strings"
	"testing"
)

// sized is an input whose hash table is estimated at exactly online bytes with the default settings.
func sized(name string, online, rows int64) Input {
	return Input{
		Tables: []string{"d." + name}, Rows: rows, CumulativeRows: rows, BasicStats: "COMPLETE", ColumnStats: "COMPLETE",
		DataSize: online - 12*rows - 8*slots(max(rows, 1), 0.75),
		Keys:     []Key{{Expr: "_col0", Type: "bigint", Column: "customer_id"}},
		Layout:   Layout{TotalSize: -1},
	}
}

func joinOf(kind JoinType, inputs ...Input) Join {
	j := Join{Inputs: inputs, BigTable: -1}
	for i := 1; i < len(inputs); i++ {
		j.Conditions = append(j.Conditions, Condition{Type: kind, Left: i - 1, Right: i})
	}
	for i := range j.Inputs {
		j.Inputs[i].Position = i
	}
	return j
}

func bucketed(in Input, buckets int, columns ...string) Input {
	in.Layout.Buckets, in.Layout.BucketColumns = buckets, columns
	return in
}

func sorted(in Input, buckets int, columns ...string) Input {
	in = bucketed(in, buckets, columns...)
	in.Layout.SortColumns = columns
	return in
}

func keyNDV(in Input, ndv int64) Input {
	in.Keys = append([]Key(nil), in.Keys...)
	in.Keys[0].NDV = &ndv
	return in
}

func settings(pairs ...string) Settings {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return NewSettings(m)
}

const (
	kb = int64(1000)
	mb = 1000 * kb
	gb = 1000 * mb

	budgetName = "hive.auto.convert.join.noconditionaltask.size"
	dphjName   = "hive.optimize.dynamic.partition.hashjoin"
)

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name  string
		pairs []string
		want  int64
	}{
		{"container", nil, 10 * mb},
		{"seed: 10 MB, factor 0.2, three slots", []string{"hive.execution.mode", "llap", "hive.llap.memory.oversubscription.max.executors.per.query", "3"}, 16 * mb},
		{"three executors on each node", []string{"hive.execution.mode", "llap", "hive.llap.memory.oversubscription.max.executors.per.query", "12", "hive.llap.daemon.num.executors", "3"}, 16 * mb},
		{"no registry: one slot", []string{"hive.execution.mode", "llap", "hive.llap.daemon.num.executors", "12"}, 12 * mb},
		{"registry of twelve executors: four slots", []string{"hive.execution.mode", "llap", "hive.llap.daemon.num.executors", "12", "hive.llap.daemon.service.hosts", "a,b"}, 18 * mb},
		{"at most eight slots", []string{"hive.execution.mode", "llap", "hive.llap.daemon.num.executors", "60", "hive.llap.daemon.service.hosts", "a"}, 26 * mb},
		{"never below the configured size", []string{"hive.execution.mode", "llap", "hive.llap.memory.oversubscription.max.executors.per.query", "-4"}, 10 * mb},
	} {
		s := settings(c.pairs...)
		if got := Budget(&s); got != c.want {
			t.Errorf("%s: budget %d, want %d", c.name, got, c.want)
		}
	}
	s := SettingsFor(Hive3, map[string]string{"hive.execution.mode": "llap"})
	if got := Budget(&s); got != 10*mb {
		t.Errorf("hive 3 plans with %d, want the configured size", got)
	}
}

func TestOnlineSize(t *testing.T) {
	nulls := int64(10)
	none := int64(0)
	base := Input{Rows: 1000, DataSize: 500 * kb}
	for _, c := range []struct {
		name  string
		in    Input
		pairs []string
		long  bool
		want  int64
	}{
		{"rows and slots", base, nil, false, 500*kb + 12*1000 + 8*2048},
		{"a power of two of slots stays", Input{Rows: 768, DataSize: 0}, nil, false, 12*768 + 8*1024},
		{"one row more doubles them", Input{Rows: 769, DataSize: 0}, nil, false, 12*769 + 8*2048},
		{"no rows: slots of one row", Input{Rows: 0, DataSize: 0}, nil, false, 8 * 2},
		{"fast, long key", base, []string{"hive.vectorized.execution.mapjoin.native.fast.hashtable.enabled", "true"}, true, 500*kb - 8*1000 + 16*2048},
		{"fast, other keys", base, []string{"hive.vectorized.execution.mapjoin.native.fast.hashtable.enabled", "true"}, false, 500*kb + 9*1000 + 8*2048},
		{
			"string without nulls",
			Input{Rows: 1000, DataSize: 500 * kb, Columns: []Column{{Type: "string", HasStats: true, Nulls: &none}}},
			nil, false, 500*kb - 84*1000 + 12*1000 + 8*2048,
		},
		{
			"decimal with nulls",
			Input{Rows: 1000, DataSize: 500 * kb, Columns: []Column{{Type: "decimal(10,2)", HasStats: true, Nulls: &nulls}}},
			nil, false, 500*kb - 32*991 + 12*1000 + 8*2048,
		},
		{
			"a column without statistics does not count",
			Input{Rows: 1000, DataSize: 500 * kb, Columns: []Column{{Type: "varchar(10)"}}},
			nil, false, 500*kb + 12*1000 + 8*2048,
		},
		{
			"a made-up one does",
			Input{Rows: 1000, DataSize: 500 * kb, Columns: []Column{{Type: "char(10)", Estimated: true, Nulls: &nulls}}},
			nil, false, 500*kb - 84*991 + 12*1000 + 8*2048,
		},
		{
			"no column statistics at all",
			Input{Rows: 1000, DataSize: 500 * kb, Columns: []Column{{Type: "string", HasStats: true, Nulls: &none}}},
			[]string{"hive.stats.fetch.column.stats", "false"},
			false, 500*kb + 12*1000 + 8*2048,
		},
	} {
		s := settings(c.pairs...)
		if got := onlineSize(&c.in, c.long, &s); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	h3 := SettingsFor(Hive3, map[string]string{"hive.stats.fetch.column.stats": "true"})
	in := Input{Rows: 1000, DataSize: 500 * kb, Columns: []Column{{Type: "string", HasStats: true}}}
	if got, want := onlineSize(&in, false, &h3), 500*kb+12*1000+8*2048; got != want {
		t.Errorf("hive 3: %d, want %d", got, want)
	}
}

// The seed's worked example: one join, four outcomes, and the entries limit.
func TestOneJoinFourOutcomes(t *testing.T) {
	orders := sized("orders", 900*gb, 3_000_000_000)
	customers := sized("customers", 2400*mb, 30_000_000)
	reducers := sizeOf(orders, customers)/400 + 1
	for _, c := range []struct {
		name  string
		join  Join
		pairs []string
		want  Strategy
		words []string
	}{
		{
			"not bucketed, DPHJ off", joinOf(Inner, orders, customers),
			[]string{budgetName, "1000000000"},
			MergeJoin,
			[]string{"d.customers needs 2.4 GB of hash table, the budget is 1 GB", "is not bucketed", "dynamic.partition.hashjoin is off"},
		},
		{
			"not bucketed, DPHJ on, 400 reducers", joinOf(Inner, orders, customers),
			[]string{budgetName, "1000000000", dphjName, "true", "hive.exec.reducers.bytes.per.reducer", grouping(reducers)},
			DPHJ,
			[]string{"6 MB", "400 reducers"},
		},
		{
			"64 buckets", joinOf(Inner, bucketed(orders, 64, "customer_id"), bucketed(customers, 64, "customer_id")),
			[]string{budgetName, "1000000000"},
			BucketMapJoin,
			[]string{"37.5 MB", "64 buckets"},
		},
		{
			"filtered to one country", joinOf(Inner, orders, sized("customers", 300*mb, 4_000_000)),
			[]string{budgetName, "1000000000"},
			MapJoin,
			[]string{"300 MB", "1 GB"},
		},
		{
			"25 million keys under the shuffle limit", joinOf(Inner, sized("fact", 6*gb, 200_000_000), keyNDV(sized("keys", 400*mb, 25_000_000), 25_000_000)),
			[]string{budgetName, "1000000000"},
			MergeJoin,
			[]string{"25,000,000", "21,000,000"},
		},
		{
			"25 million keys, DPHJ on", joinOf(Inner, sized("fact", 6*gb, 200_000_000), keyNDV(sized("keys", 400*mb, 25_000_000), 25_000_000)),
			[]string{budgetName, "1000000000", dphjName, "true"},
			DPHJ, nil,
		},
		{
			"25 million keys above the shuffle limit", joinOf(Inner, sized("fact", 10*gb+1, 200_000_000), keyNDV(sized("keys", 400*mb, 25_000_000), 25_000_000)),
			[]string{budgetName, "1000000000"},
			MapJoin, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Explain(c.join, settings(c.pairs...))
			if d.Strategy != c.want {
				t.Fatalf("got %s, want %s: %s", d.Strategy, c.want, d.Reason)
			}
			for _, w := range c.words {
				if !strings.Contains(d.Reason, w) {
					t.Errorf("reason %q lacks %q", d.Reason, w)
				}
			}
			if last := d.Attempts[len(d.Attempts)-1]; !last.OK || last.Strategy != c.want {
				t.Errorf("the last attempt is %+v", last)
			}
		})
	}
}

func sizeOf(inputs ...Input) int64 {
	var n int64
	for _, in := range inputs {
		n += in.DataSize
	}
	return n
}

func grouping(n int64) string { return strings.ReplaceAll(grouped(n), ",", "") }

// The seed's cluster resize: 3 GB against 400 GB on 40 and on 200 nodes.
func TestNetworkFlip(t *testing.T) {
	j := joinOf(Inner, bucketed(sized("big", 400*gb, 1_000_000_000), 64, "customer_id"), bucketed(sized("small", 3*gb, 10_000_000), 64, "customer_id"))
	for _, c := range []struct {
		nodes       int64
		want        Strategy
		left, right int64
	}{
		{40, BucketMapJoin, 403 * gb, 120 * gb},
		{134, BucketMapJoin, 403 * gb, 402 * gb},
		{135, DPHJ, 403 * gb, 405 * gb},
		{200, DPHJ, 403 * gb, 600 * gb},
	} {
		s := settings("hive.execution.mode", "llap", budgetName, "1000000000", dphjName, "true").WithCluster(c.nodes, 12)
		d := Explain(j, s)
		if d.Strategy != c.want {
			t.Errorf("%d nodes: %s, want %s: %s", c.nodes, d.Strategy, c.want, d.Reason)
		}
		found := false
		for _, a := range d.Attempts {
			if a.Left != nil && *a.Left == c.left && a.Right != nil && *a.Right == c.right {
				found = true
			}
		}
		if !found {
			t.Errorf("%d nodes: no attempt compares %d with %d: %+v", c.nodes, c.left, c.right, d.Attempts)
		}
	}
	none := Explain(j, settings("hive.execution.mode", "llap", budgetName, "1000000000", dphjName, "true"))
	if !none.Refused || none.Strategy != Unknown {
		t.Errorf("without a registry the planner refuses, got %+v", none)
	}
	zk := Explain(j, settings("hive.execution.mode", "llap", budgetName, "1000000000", dphjName, "true", "hive.llap.daemon.service.hosts", "@llap0"))
	if zk.Refused || len(zk.Uncertain) == 0 {
		t.Errorf("an unknown node count must be uncertain, got %+v", zk)
	}
	off := Explain(j, settings("hive.execution.mode", "llap", budgetName, "1000000000"))
	if off.Strategy != BucketMapJoin {
		t.Errorf("with DPHJ off: %s, want %s", off.Strategy, BucketMapJoin)
	}
}

// One byte, row or key on either side of each comparison.
func TestBoundaries(t *testing.T) {
	big := sized("big", 50*gb, 1_000_000_000)
	small := func(online int64) Input { return sized("small", online, 1000) }
	ndv := func(n int64) Join { return joinOf(Inner, sized("big", 5*gb, 1_000_000_000), keyNDV(small(mb), n)) }
	shuffle := func(online int64) Join {
		return joinOf(Inner, sized("big", online, 1_000_000_000), keyNDV(small(mb), 30_000_000))
	}
	rows := func(n int64) Join {
		j := joinOf(Inner, big, sized("small", mb, n))
		j.Inputs[0].Keys, j.Inputs[1].Keys = nil, nil
		return j
	}
	for _, c := range []struct {
		name  string
		join  Join
		pairs []string
		want  Strategy
	}{
		{"total at the budget", joinOf(Inner, big, small(10*mb)), nil, MapJoin},
		{"total above the budget", joinOf(Inner, big, small(10*mb+1)), nil, MergeJoin},
		{"two hashed sides at the budget", joinOf(Inner, big, small(6*mb), small(4*mb)), nil, MapJoin},
		{"two hashed sides above the budget", joinOf(Inner, big, small(6*mb), small(4*mb+1)), nil, MergeJoin},
		{"divided, the remainder is dropped", joinOf(Inner, bucketed(big, 4, "customer_id"), small(40*mb+3)), nil, BucketMapJoin},
		{"divided, above", joinOf(Inner, bucketed(big, 4, "customer_id"), small(40*mb+4)), nil, MergeJoin},
		{"keys at the limit", ndv(21_000_000), nil, MapJoin},
		{"keys above the limit", ndv(21_000_001), nil, MergeJoin},
		{"keys limit off", ndv(21_000_001), []string{"hive.auto.convert.join.hashtable.max.entries", "0"}, MapJoin},
		{"shuffle limit reached", shuffle(10 * gb), nil, MergeJoin},
		{"shuffle limit passed", shuffle(10*gb + 1), nil, MapJoin},
		{"shuffle limit off", shuffle(gb), []string{"hive.auto.convert.join.shuffle.max.size", "0"}, MapJoin},
		{"cross product of one row", rows(1), []string{"hive.tez.cartesian-product.enabled", "true"}, MapJoin},
		{"cross product of two rows", rows(2), []string{"hive.tez.cartesian-product.enabled", "true"}, MergeJoin},
		{"cross product without the edge", rows(2), nil, MapJoin},
		{"left join must hash the right", joinOf(LeftOuter, small(mb), big), nil, MergeJoin},
		{"left join streams the left", joinOf(LeftOuter, big, small(mb)), nil, MapJoin},
		{"right join streams the right", joinOf(RightOuter, small(mb), big), nil, MapJoin},
		{"semi join hashes the right", joinOf(LeftSemi, small(mb), big), nil, MergeJoin},
		{"anti join streams the left", joinOf(Anti, big, small(mb)), nil, MapJoin},
		{"full outer is never a map join", joinOf(FullOuter, big, small(mb)), nil, MergeJoin},
		{"full outer may be DPHJ", joinOf(FullOuter, big, small(mb)), []string{dphjName, "true"}, DPHJ},
		{"full outer with hybrid grace", joinOf(FullOuter, big, small(mb)), []string{dphjName, "true", "hive.mapjoin.hybridgrace.hashtable", "true"}, MergeJoin},
		{"full outer switched off", joinOf(FullOuter, big, small(mb)), []string{dphjName, "true", "hive.mapjoin.full.outer", "false"}, MergeJoin},
		{"three inputs ending in an outer join", joinOf(LeftOuter, big, small(mb), small(mb)), []string{dphjName, "true"}, MergeJoin},
		{"auto convert off", joinOf(Inner, big, small(mb)), []string{"hive.auto.convert.join", "false", dphjName, "true"}, MergeJoin},
		{"DPHJ at the budget", joinOf(Inner, big, small(40*mb)), []string{dphjName, "true", "mapreduce.job.reduces", "4"}, DPHJ},
		{"DPHJ above the budget", joinOf(Inner, big, small(40*mb+4)), []string{dphjName, "true", "mapreduce.job.reduces", "4"}, MergeJoin},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := Explain(c.join, settings(c.pairs...)); d.Strategy != c.want {
				t.Errorf("got %s, want %s: %s", d.Strategy, c.want, d.Reason)
			}
		})
	}
}

func TestLayouts(t *testing.T) {
	big, medium := sized("big", 50*gb, 1_000_000_000), sized("medium", 20*gb, 100_000_000)
	small := sized("small", 30*mb, 1000)
	external := func(in Input) Input { in.Layout.External = true; return in }
	shuffled := func(in Input) Input { in.Layout.Shuffled = true; return in }
	for _, c := range []struct {
		name  string
		join  Join
		pairs []string
		want  Strategy
		big   int
	}{
		{"only the big side is bucketed", joinOf(Inner, bucketed(big, 8, "customer_id"), small), nil, BucketMapJoin, 0},
		{"only the small side is bucketed", joinOf(Inner, big, bucketed(small, 8, "customer_id")), nil, MergeJoin, -1},
		{"bucketed by another column", joinOf(Inner, bucketed(big, 8, "other"), small), nil, MergeJoin, -1},
		{"a bucket column is no key", joinOf(Inner, bucketed(big, 8, "customer_id", "other"), small), nil, MergeJoin, -1},
		{"bucket map join off", joinOf(Inner, bucketed(big, 8, "customer_id"), small), []string{"hive.convert.join.bucket.mapjoin.tez", "false"}, MergeJoin, -1},
		{"an external side", joinOf(Inner, bucketed(big, 8, "customer_id"), external(small)), nil, MergeJoin, -1},
		{
			"an external side, allowed", joinOf(Inner, bucketed(big, 8, "customer_id"), external(small)),
			[]string{"hive.disable.unsafe.external.table.operations", "false"},
			BucketMapJoin, 0,
		},
		{"bucketed and sorted, too big for a map join", joinOf(Inner, sorted(big, 8, "customer_id"), sorted(medium, 4, "customer_id")), nil, SMB, 0},
		{"a map join is preferred to sort-merge", joinOf(Inner, sorted(big, 2, "customer_id"), sorted(sized("tiny", mb, 10), 2, "customer_id")), nil, BucketMapJoin, 0},
		{"sorted by another column", joinOf(Inner, sorted(big, 8, "customer_id"), bucketed(medium, 8, "customer_id")), nil, MergeJoin, -1},
		{"sort-merge off", joinOf(Inner, sorted(big, 8, "customer_id"), sorted(medium, 8, "customer_id")), []string{"hive.auto.convert.sortmerge.join", "false"}, MergeJoin, -1},
		{"one side shuffled", joinOf(Inner, sorted(big, 8, "customer_id"), shuffled(sorted(medium, 8, "customer_id"))), nil, MergeJoin, -1},
		{"both sides shuffled", joinOf(Inner, shuffled(sorted(big, 8, "customer_id")), shuffled(sorted(medium, 8, "customer_id"))), nil, SMB, 0},
		{
			"both sides shuffled, reduce side off", joinOf(Inner, shuffled(sorted(big, 8, "customer_id")), shuffled(sorted(medium, 8, "customer_id"))),
			[]string{"hive.auto.convert.sortmerge.join.reduce.side", "false"},
			MergeJoin, -1,
		},
		{"auto convert off leaves sort-merge", joinOf(Inner, sorted(big, 8, "customer_id"), sorted(medium, 8, "customer_id")), []string{"hive.auto.convert.join", "false"}, SMB, 0},
		{"right join streams the right", joinOf(RightOuter, sorted(big, 8, "customer_id"), sorted(medium, 8, "customer_id")), nil, SMB, 1},
		{
			"no sort-merge after a second attempt that failed", joinOf(Inner, sorted(bucketed(big, 512, "other"), 512, "other"), sorted(sized("m", 4*gb, 1000), 8, "customer_id")),
			nil, MergeJoin, -1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Explain(c.join, settings(c.pairs...))
			if d.Strategy != c.want || d.BigTable != c.big {
				t.Errorf("got %s at %d, want %s at %d: %s", d.Strategy, d.BigTable, c.want, c.big, d.Reason)
			}
		})
	}
}

func TestSortMergeBigTable(t *testing.T) {
	in := func(total int64, partitions int) Input {
		i := sorted(sized("t", 50*gb, 1000), 8, "customer_id")
		i.Layout.TotalSize, i.Layout.Partitions = total, partitions
		return i
	}
	over := in(1, 0)
	over.OverJoin = true
	for _, c := range []struct {
		name   string
		policy string
		join   Join
		want   int
	}{
		{"larger average", "AvgPartitionSizeBasedBigTableSelectorForAutoSMJ", joinOf(Inner, in(1000, 10), in(200, 1)), 1},
		{"larger table", "TableSizeBasedBigTableSelectorForAutoSMJ", joinOf(Inner, in(1000, 10), in(200, 1)), 0},
		{"leftmost", "LeftmostBigTableSelectorForAutoSMJ", joinOf(Inner, in(1, 0), in(200, 0)), 0},
		{"tie", "AvgPartitionSizeBasedBigTableSelectorForAutoSMJ", joinOf(Inner, in(100, 0), in(100, 0)), 0},
		{"tie, fewer partitions", "AvgPartitionSizeBasedBigTableSelectorForAutoSMJ", joinOf(Inner, in(1000, 10), in(100, 1)), 1},
		{"over a join", "TableSizeBasedBigTableSelectorForAutoSMJ", joinOf(Inner, over, in(100, 1)), -1},
	} {
		s := settings("hive.auto.convert.sortmerge.join.bigtable.selection.policy", "org.apache.hadoop.hive.ql.optimizer."+c.policy)
		if big, why := sortMerge(&c.join, &s); big != c.want {
			t.Errorf("%s: %d (%s), want %d", c.name, big, why.text(&c.join, &s), c.want)
		}
	}
}

func TestBigTableByCumulativeRows(t *testing.T) {
	a, b := sized("a", mb, 1000), sized("b", 2*mb, 1000)
	a.CumulativeRows, b.CumulativeRows = 5000, 2000
	if d := Explain(joinOf(Inner, a, b), settings()); d.BigTable != 0 {
		t.Errorf("more rows below must win, got %d", d.BigTable)
	}
	b.CumulativeRows = 5000
	if d := Explain(joinOf(Inner, a, b), settings()); d.BigTable != 1 {
		t.Errorf("size must break the tie, got %d", d.BigTable)
	}
	huge := sized("huge", 11*mb, 10)
	if d := Explain(joinOf(Inner, a, huge), settings()); d.BigTable != 1 {
		t.Errorf("an input above the budget must be streamed whatever its rows, got %d", d.BigTable)
	}
}

// Above a sort-merge-bucket join the planner cannot count rows. It ends the attempt when it needs them: not once an input above the
// budget was met. A join recorded without the figure takes the input's own rows.
func TestUncountedRows(t *testing.T) {
	uncounted := func(in Input) Input {
		in.Uncounted, in.CumulativeRows = true, -1
		return in
	}
	small, made, huge := sized("small", mb, 1000), uncounted(sized("made", 2*mb, 1000)), sized("huge", 11*mb, 10)
	dphj := []string{"hive.optimize.dynamic.partition.hashjoin", "true"}
	for name, c := range map[string]struct {
		join     Join
		settings Settings
		want     Strategy
		big      int
	}{
		"first":                    {joinOf(Inner, made, small), settings(), MergeJoin, -1},
		"second":                   {joinOf(Inner, small, made), settings(), MergeJoin, -1},
		"in the middle":            {joinOf(Inner, small, made, small), settings(), MergeJoin, -1},
		"DPHJ needs the rows too":  {joinOf(Inner, made, small), settings(dphj...), MergeJoin, -1},
		"itself above the budget":  {joinOf(Inner, small, uncounted(huge)), settings(), MapJoin, 1},
		"after one above":          {joinOf(Inner, huge, made), settings(), MapJoin, 0},
		"before one above":         {joinOf(Inner, made, huge), settings(), MergeJoin, -1},
		"the figure is not there":  {joinOf(Inner, small, func() Input { in := small; in.CumulativeRows = -1; return in }()), settings(), MapJoin, 0},
		"of no use without a rule": {joinOf(LeftOuter, small, uncounted(huge)), settings(), MergeJoin, -1},
	} {
		d := Explain(c.join, c.settings)
		if d.Strategy != c.want || d.BigTable != c.big {
			t.Errorf("%s: %s streams %d, want %s and %d: %s", name, d.Strategy, d.BigTable, c.want, c.big, d.Reason)
		}
		assumed := strings.Contains(strings.Join(d.Uncertain, "\n"), "cumulative")
		if assumed != (name == "the figure is not there") {
			t.Errorf("%s: uncertain %q", name, d.Uncertain)
		}
	}
	d := Explain(joinOf(Inner, small, made), settings(dphj...))
	if d.PlanPosition != 0 || !strings.Contains(d.Reason, "lies above a sort-merge-bucket join") || !strings.Contains(d.Attempts[0].Note, "d.made") {
		t.Errorf("position %d, %+v: %s", d.PlanPosition, d.Attempts[0], d.Reason)
	}
}

func TestExpectedDistinct(t *testing.T) {
	for _, c := range []struct{ n, rows, want int64 }{
		{1, 100, 1},
		{10, 1_000_000, 10},
		{1_000_000, 10, 10},
		{100, 100, 63},
		{math.MaxInt64, 77, 77},
	} {
		if got := expectedDistinct(c.n, c.rows); got != c.want {
			t.Errorf("expectedDistinct(%d, %d) = %d, want %d", c.n, c.rows, got, c.want)
		}
	}
}

func TestReducers(t *testing.T) {
	key := []Key{{Expr: "_col0", Type: "int"}}
	j := joinOf(Inner, Input{DataSize: 256 * mb, Keys: key}, Input{DataSize: 1, Keys: key})
	for _, c := range []struct {
		pairs []string
		want  int64
	}{
		{nil, 2},
		{[]string{"hive.exec.reducers.max", "1"}, 1},
		{[]string{"mapreduce.job.reduces", "7"}, 7},
		{[]string{"mapred.reduce.tasks", "9"}, 9},
		{[]string{"hive.exec.reducers.bytes.per.reducer", "1"}, 1009},
	} {
		s := settings(c.pairs...)
		if got := reducersFor(&j, &s); got != c.want {
			t.Errorf("%v: %d, want %d", c.pairs, got, c.want)
		}
	}
	cross := joinOf(Inner, Input{DataSize: 256 * mb}, Input{DataSize: 1})
	s := settings("mapreduce.job.reduces", "7")
	if got := reducersFor(&cross, &s); got != 1 {
		t.Errorf("rows without a key go to one reducer, got %d", got)
	}
}

func TestMargin(t *testing.T) {
	j := joinOf(Inner, sized("big", 50*gb, 1_000_000_000), Input{Rows: 0, DataSize: 5 * mb, Keys: []Key{{Expr: "_col0", Type: "int"}}})
	d := Explain(j, settings())
	if d.Strategy != MapJoin || d.Margin == nil || d.Margin.Next != MergeJoin {
		t.Fatalf("got %s, margin %+v", d.Strategy, d.Margin)
	}
	if d.Margin.Factor < 1.99 || d.Margin.Factor > 2.01 {
		t.Errorf("5 MB of 10 MB may double, got a factor of %v", d.Margin.Factor)
	}
	j.Inputs[1].DataSize = 40 * mb
	d = Explain(j, settings())
	if d.Strategy != MergeJoin || d.Margin == nil || d.Margin.Next != MapJoin || math.Abs(d.Margin.Factor-0.25) > 0.001 {
		t.Errorf("40 MB must shrink to a quarter, got %s, margin %+v", d.Strategy, d.Margin)
	}
	full := joinOf(FullOuter, sized("big", 50*gb, 1_000_000_000), sized("small", mb, 1000))
	if d := Explain(full, settings()); d.Margin != nil {
		t.Errorf("no size decides a FULL OUTER join without DPHJ, got %+v", d.Margin)
	}
}

func TestSettings(t *testing.T) {
	s := NewSettings(map[string]string{
		budgetName: "10x", "hive.auto.convert.join": "yes", "hive.hashtable.loadfactor": "0", "hive.execution.mode": "LLAP",
		"hive.llap.daemon.service.hosts": "a, b,c", "hive.llap.daemon.num.executors": "6", "unknown": "1",
	})
	if s.NoConditionalTaskSize != 10*mb || !s.AutoConvertJoin || s.LoadFactor != 0.75 {
		t.Errorf("malformed values must leave the defaults: %+v", s)
	}
	if len(s.Malformed) != 3 {
		t.Errorf("malformed: %v", s.Malformed)
	}
	if !s.LLAP || s.Nodes != 3 || s.NodeExecutors != 6 {
		t.Errorf("the host list gives the cluster: %+v", s)
	}
	for _, r := range Releases() {
		if s := SettingsFor(r, nil); s.Release != r || len(s.Malformed) > 0 {
			t.Errorf("%s: %+v", r, s)
		}
	}
	names := map[string]bool{}
	for _, i := range Catalogue() {
		if i.Name == "" || i.Meaning == "" || names[i.Name] {
			t.Errorf("catalogue entry %+v", i)
		}
		names[i.Name] = true
	}
	if v, ok := ReleaseDefault(Hive3, "hive.mapjoin.hybridgrace.hashtable"); !ok || v != "true" {
		t.Errorf("hive 3 default %q %v", v, ok)
	}
	if _, ok := ReleaseDefault(Hive4, "no.such.setting"); ok {
		t.Error("an unknown setting has no default")
	}
}

func TestWords(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 2_400_000_000: "2.4 GB", 37_500_000: "37.5 MB", 16_000_000: "16 MB", -5_000_000: "-5 MB", 999_960: "1 MB"} {
		if got := human(n); got != want {
			t.Errorf("human(%d) = %q, want %q", n, got, want)
		}
	}
	if a, b := humanPair(10_000_001, 10_000_000); a != "10,000,001 B" || b != "10,000,000 B" {
		t.Errorf("%s and %s cannot be told apart", a, b)
	}
}
