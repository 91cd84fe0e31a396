package advisor

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// grown applies a change to a join whose tables have the given sizes.
func grown(t *testing.T, w WhatIf, j *Join, sizes map[string]TableSize) *Join {
	t.Helper()
	g, err := w.Sizes(sizes)
	if err != nil {
		t.Fatal(err)
	}
	after, _ := w.Join(j, &g)
	return after
}

func TestWhatIfOfTheSeedsClusters(t *testing.T) {
	j, before := seedJoin()
	before = before.WithCluster(40, 4)
	values := map[string]string{
		budgetName: "1000000000", dphjName: "true", "hive.execution.mode": "llap", "hive.llap.daemon.service.hosts": "@llap0",
		"hive.llap.memory.oversubscription.max.executors.per.query": "0",
	}
	for _, c := range []struct {
		nodes int64
		want  Strategy
		moved int64
	}{{40, BucketMapJoin, 120}, {134, BucketMapJoin, 402}, {135, DPHJ, 403}, {200, DPHJ, 403}} {
		w := WhatIf{Nodes: c.nodes}
		after := w.Settings(values, before)
		e := Replay(&j, &before, &j, &after)
		if e.Before != BucketMapJoin || e.After != c.want || e.Flips() != (c.want != BucketMapJoin) {
			t.Errorf("%d nodes: %s → %s, want → %s", c.nodes, e.Before, e.After, c.want)
		}
		if got := (e.MovedAfter + gb/2) / gb; got != c.moved {
			t.Errorf("%d nodes move %d GB, want %d", c.nodes, got, c.moved)
		}
	}
	if why := Reason(&j, &before); !strings.Contains(why, "40 nodes") || !strings.Contains(why, "403 GB") || !strings.Contains(why, "120 GB") {
		t.Errorf("reason: %s", why)
	}

	// The seed's budget: 10 MB, factor 0.2 and three slots make 16 MB.
	values = map[string]string{"hive.execution.mode": "llap", "hive.llap.memory.oversubscription.max.executors.per.query": "3", "hive.llap.daemon.service.hosts": "@llap0"}
	before = NewSettings(values).WithCluster(10, 1)
	j = joinOf(Inner, sized("fact", 900*gb, 1000), sized("dim", 16*mb, 10))
	w := WhatIf{Executors: 3}
	after := w.Settings(values, before)
	if e := Replay(&j, &before, &j, &after); e.Before != MergeJoin || e.After != MapJoin || after.Nodes != 10 {
		t.Errorf("three executors: %s → %s on %d nodes", e.Before, e.After, after.Nodes)
	}
}

func TestWhatIfOfSettings(t *testing.T) {
	was := map[string]string{budgetName: "5000000", "mapred.reduce.tasks": "7", "hive.mapjoin.hybridgrace.hashtable": "false", "hive.stats.fetch.column.stats": "true"}
	values := maps.Clone(was)
	before := NewSettings(values)
	w := WhatIf{Set: map[string]string{budgetName: "20000000", "mapreduce.job.reduces": "9"}}
	s := w.Settings(values, before)
	if s.NoConditionalTaskSize != 20*mb || s.FixedReducers != 9 || s.Release != Hive4 {
		t.Errorf("set: budget %d, reducers %d, %s", s.NoConditionalTaskSize, s.FixedReducers, s.Release)
	}
	w = WhatIf{Set: map[string]string{"mapred.reduce.tasks": "9"}}
	if s = w.Settings(map[string]string{"mapreduce.job.reduces": "7"}, before); s.FixedReducers != 9 {
		t.Errorf("an old name sets the same: %d reducers", s.FixedReducers)
	}
	// What a session had from Hive 4's defaults becomes Hive 3's; its own budget stays.
	w = WhatIf{Release: Hive3, Set: map[string]string{"hive.mapjoin.full.outer": "true"}}
	s = w.Settings(values, before)
	if s.Release != Hive3 || !s.HybridGrace || s.FetchColumnStats || s.NoConditionalTaskSize != 5*mb || !s.FullOuter {
		t.Errorf("release: %+v", s)
	}
	if !maps.Equal(values, was) {
		t.Errorf("the recorded settings were written to: %v", values)
	}
}

func TestWhatIfOfStatistics(t *testing.T) {
	old := int64(5)
	dim := keyNDV(sized("dim", 8*mb, 1000), 1000)
	dim.Keys[0].Table = "d.dim"
	dim.Columns = []Column{{Name: "s", Type: "string", Table: "d.dim", Column: "s", HasStats: true, Nulls: &old}}
	dim.DataSize += 84 * 996
	dim.Layout.TotalSize = 500
	j := joinOf(Inner, sized("fact", 900*gb, 100_000), dim)
	s := settings()
	sizes := map[string]TableSize{"d.dim": {Rows: 2000, Bytes: 16 * mb}}
	for _, c := range []struct {
		name              string
		change            TableChange
		rows, bytes, disk int64
		want              Strategy
	}{
		{"nothing", TableChange{}, 1000, dim.DataSize, 500, MapJoin},
		{"twice the rows, half of which are left", TableChange{Rows: &Amount{Number: 4000}}, 2000, 2 * dim.DataSize, 1000, MergeJoin},
		{"wider rows", TableChange{Bytes: &Amount{Number: 32 * mb}}, 1000, 2 * dim.DataSize, 1000, MergeJoin},
		{"more and narrower rows", TableChange{Rows: &Amount{Factor: 4}, Bytes: &Amount{Factor: 1}}, 4000, dim.DataSize, 500, MapJoin},
	} {
		w := WhatIf{Tables: map[string]TableChange{"d.dim": c.change}}
		after := grown(t, w, &j, sizes)
		in := after.Inputs[1]
		if in.Rows != c.rows || in.DataSize != c.bytes || in.Layout.TotalSize != c.disk {
			t.Errorf("%s: %d rows, %d bytes, %d on disk", c.name, in.Rows, in.DataSize, in.Layout.TotalSize)
		}
		if got, _ := Choose(after, &s); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if after.Inputs[0].Rows != 100_000 || j.Inputs[1].Rows != 1000 || j.Inputs[1].DataSize != dim.DataSize || j.Inputs[1].Layout.TotalSize != 500 {
			t.Errorf("%s: the other side or the join given has changed", c.name)
		}
	}

	w := WhatIf{Tables: map[string]TableChange{"d.dim": {NDV: map[string]int64{"customer_id": 700}, Nulls: map[string]int64{"s": 200}}}}
	in := grown(t, w, &j, sizes).Inputs[1]
	if *in.Keys[0].NDV != 700 || *in.Columns[0].Nulls != 100 || *j.Inputs[1].Keys[0].NDV != 1000 || *j.Inputs[1].Columns[0].Nulls != 5 {
		t.Errorf("columns: %d distinct, %d nulls; before %d and %d", *in.Keys[0].NDV, *in.Columns[0].Nulls, *j.Inputs[1].Keys[0].NDV, *j.Inputs[1].Columns[0].Nulls)
	}
	w = WhatIf{Tables: map[string]TableChange{"d.dim": {NDV: map[string]int64{"customer_id": 5000}}}}
	if in := grown(t, w, &j, sizes).Inputs[1]; *in.Keys[0].NDV != 1000 {
		t.Errorf("%d distinct values in 1000 rows", *in.Keys[0].NDV)
	}

	w = WhatIf{Tables: map[string]TableChange{"d.dim": {Rows: &Amount{Number: 10}}}}
	if _, err := w.Sizes(nil); err == nil || !strings.Contains(err.Error(), "the rows of d.dim are not known") {
		t.Errorf("unknown rows: %v", err)
	}
	if _, err := w.Sizes(map[string]TableSize{"d.dim": {Rows: 0}}); err == nil {
		t.Error("nothing grows to something by a factor")
	}
	w = WhatIf{Tables: map[string]TableChange{"d.other": {Rows: &Amount{Factor: 2}}}}
	g, _ := w.Sizes(nil)
	if after, touched := w.Join(&j, &g); touched || after != &j {
		t.Error("a join that does not read the table is touched")
	}
}

func TestWhatIfOfBuckets(t *testing.T) {
	in := func(name string, online, rows int64) Input {
		in := sized(name, online, rows)
		in.Keys[0].Table = "d." + name
		return in
	}
	by := func(columns ...string) Bucketing { return Bucketing{Columns: columns, Sort: columns, Count: 64} }
	unsorted := by("customer_id")
	unsorted.Sort = nil
	for _, c := range []struct {
		name   string
		change map[string]Bucketing
		alter  func(j *Join)
		want   Strategy
	}{
		{"the streamed side alone", map[string]Bucketing{"d.orders": by("customer_id")}, nil, BucketMapJoin},
		{"the hashed side alone does not help", map[string]Bucketing{"d.customers": by("customer_id")}, nil, MergeJoin},
		{"by another column", map[string]Bucketing{"d.orders": by("order_id")}, nil, MergeJoin},
		{"both, a share that does not fit", map[string]Bucketing{"d.orders": by("customer_id"), "d.customers": by("customer_id")}, func(j *Join) {
			j.Inputs[1].DataSize += 100 * gb
		}, SMB},
		{"both, one of them not sorted", map[string]Bucketing{"d.orders": by("customer_id"), "d.customers": unsorted}, func(j *Join) {
			j.Inputs[1].DataSize += 100 * gb
		}, MergeJoin},
		{"a shuffle below ends it", map[string]Bucketing{"d.orders": by("customer_id")}, func(j *Join) { j.Inputs[0].Layout.Shuffled = true }, MergeJoin},
		{"a GROUP BY below too", map[string]Bucketing{"d.orders": by("customer_id")}, func(j *Join) { j.Inputs[0].GroupBys = 1 }, MergeJoin},
		{"an external table is kept out", map[string]Bucketing{"d.orders": by("customer_id")}, func(j *Join) { j.Inputs[0].Layout.External = true }, MergeJoin},
		{"the buckets are taken away", map[string]Bucketing{"d.orders": {}}, func(j *Join) {
			j.Inputs[0] = sorted(j.Inputs[0], 64, "customer_id")
		}, MergeJoin},
	} {
		j := joinOf(Inner, in("orders", 900*gb, 1000), in("customers", 2400*mb, 100))
		if c.alter != nil {
			c.alter(&j)
		}
		w := WhatIf{Tables: map[string]TableChange{}}
		for name, b := range c.change {
			w.Tables[name] = TableChange{Buckets: &b}
		}
		was := slices.Clone(j.Inputs)
		after := grown(t, w, &j, nil)
		s := settings(budgetName, "1000000000")
		if got, _ := Choose(after, &s); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		for pos := range was {
			if was[pos].Layout.Buckets != j.Inputs[pos].Layout.Buckets {
				t.Errorf("%s: the join given has changed", c.name)
			}
		}
	}
}

func TestBytesMoved(t *testing.T) {
	j := joinOf(Inner, Input{DataSize: 100}, Input{DataSize: 20}, Input{DataSize: 3})
	llap, container := NewSettings(map[string]string{"hive.execution.mode": "llap"}).WithCluster(7, 4), NewSettings(nil).WithCluster(7, 4)
	for _, c := range []struct {
		strategy Strategy
		big      int
		s        *Settings
		want     int64
	}{
		{MergeJoin, -1, &llap, 123},
		{DPHJ, 0, &llap, 123},
		{SMB, 0, &llap, 0},
		{MapJoin, 0, &llap, 7 * 23},
		{BucketMapJoin, 1, &llap, 7 * 103},
		{MapJoin, 0, &container, 23},
		{Unknown, -1, &llap, -1},
	} {
		if got := BytesMoved(&j, c.strategy, c.big, c.s); got != c.want {
			t.Errorf("%s, big table %d: %d, want %d", c.strategy, c.big, got, c.want)
		}
	}
	j.Inputs[2].DataSize = -1
	if got := BytesMoved(&j, MergeJoin, -1, &llap); got != -1 {
		t.Errorf("an unknown size: %d", got)
	}
	if got := BytesMoved(&j, MapJoin, 2, &llap); got != 7*120 {
		t.Errorf("the unknown side stays where it is: %d", got)
	}
}

// TestSettingsOfADecision: what a decision shows of the cluster is what it was made with.
func TestSettingsOfADecision(t *testing.T) {
	j, _ := seedJoin()
	values := map[string]string{
		budgetName: "1000000000", dphjName: "true", "hive.execution.mode": "llap", "hive.llap.daemon.service.hosts": "@llap0",
	}
	s := NewSettings(values).WithCluster(1040, 12)
	d := Explain(j, s)
	got := SettingsOf(values, &d)
	if got.Nodes != 1040 || Budget(&got) != Budget(&s) || Budget(&s) < 1800*mb {
		t.Errorf("%d nodes, budget %d, want 1040 and %d", got.Nodes, Budget(&got), Budget(&s))
	}
	if again := Explain(j, got); again.Strategy != d.Strategy || again.Reason != d.Reason {
		t.Errorf("%s, want %s", again.Reason, d.Reason)
	}
	container := Explain(j, settings())
	if got := SettingsOf(nil, &container); got.Nodes != 0 || got.NodeExecutors != 0 {
		t.Errorf("containers have no cluster: %+v", got)
	}
}
