package advisor

import (
	"strings"
	"testing"
)

// sizedFor3 is an input of so many bytes of data; Hive 3 adds 12 bytes a row and 8 a slot.
func sizedFor3(name string, data, rows int64) Input {
	in := sized(name, 0, rows)
	in.DataSize = data
	return in
}

func releaseSettings(r Release, pairs ...string) Settings {
	values := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return SettingsFor(r, values)
}

func llapPairs(nodes int, more ...string) []string {
	hosts := strings.TrimSuffix(strings.Repeat("h,", nodes), ",")
	return append([]string{"hive.execution.mode", "llap", dphjName, "true", "hive.llap.daemon.service.hosts", hosts}, more...)
}

// Hive 3 takes the reducers of the join's shuffles for buckets where no input tells a count: under LLAP, the network then decides.
func TestHive3ReducersForBuckets(t *testing.T) {
	big, small := sizedFor3("big", 500*mb, 5_000_000), sizedFor3("small", 2*mb, 20_000)
	plain := joinOf(Inner, big, small)
	const oneReducer = "1000000000"
	for name, c := range map[string]struct {
		join     Join
		settings Settings
		want     Strategy
	}{
		// (629.6 MB shuffled) / (2.5 MB hashed) = 251.6
		"251 nodes":                {plain, releaseSettings(Hive3, llapPairs(251)...), MapJoin},
		"252 nodes":                {plain, releaseSettings(Hive3, llapPairs(252)...), DPHJ},
		"Hive 4":                   {plain, releaseSettings(Hive4, llapPairs(252)...), MapJoin},
		"Hive 2":                   {plain, releaseSettings(Hive2, llapPairs(252, "hive.convert.join.bucket.mapjoin.tez", "true")...), MapJoin},
		"one reducer":              {plain, releaseSettings(Hive3, llapPairs(252, "hive.exec.reducers.bytes.per.reducer", oneReducer)...), MapJoin},
		"two by setting":           {plain, releaseSettings(Hive3, llapPairs(252, "hive.exec.reducers.bytes.per.reducer", oneReducer, "mapreduce.job.reduces", "2")...), DPHJ},
		"bucket map joins off":     {plain, releaseSettings(Hive3, llapPairs(252, "hive.convert.join.bucket.mapjoin.tez", "false")...), MapJoin},
		"DPHJ off":                 {plain, releaseSettings(Hive3, llapPairs(252, dphjName, "false")...), MapJoin},
		"one bucket":               {joinOf(Inner, bucketed(big, 1, "customer_id"), small), releaseSettings(Hive3, llapPairs(252)...), MapJoin},
		"no registry":              {plain, releaseSettings(Hive3, "hive.execution.mode", "llap", dphjName, "true"), Unknown},
		"containers":               {plain, releaseSettings(Hive3, dphjName, "true"), MapJoin},
		"fits a reducer only":      {plain, releaseSettings(Hive3, llapPairs(2, budgetName, "1300000")...), DPHJ},
		"as in containers":         {plain, releaseSettings(Hive3, budgetName, "1300000"), MergeJoin},
		"a GROUP BY":               {joinOf(Inner, grouped4(big), small), releaseSettings(Hive3), BucketMapJoin},
		"a GROUP BY in Hive 4":     {joinOf(Inner, grouped4(big), small), releaseSettings(Hive4), MapJoin},
		"a GROUP BY, one reducer":  {joinOf(Inner, grouped4(big), small), releaseSettings(Hive3, "hive.exec.reducers.bytes.per.reducer", oneReducer), MapJoin},
		"no key, two reducers set": {joinOf(Inner, keyless(big), keyless(small)), releaseSettings(Hive3, llapPairs(252, "mapreduce.job.reduces", "2")...), MapJoin},
	} {
		d := Explain(c.join, c.settings)
		if d.Strategy != c.want {
			t.Errorf("%s: %s, want %s: %s", name, d.Strategy, c.want, d.Reason)
		}
		if name == "252 nodes" && (!strings.Contains(d.Reason, "on 252 nodes a shuffle of both sides") || d.Attempts[0].Note != "divided by 2 reducers") {
			t.Errorf("%s: %q, %s", name, d.Attempts[0].Note, d.Reason)
		}
	}
}

// grouped4 is an input that a GROUP BY leaves spread by its key, in buckets that nobody counts.
func grouped4(in Input) Input {
	in = bucketed(in, -1, "customer_id")
	in.Layout.SortColumns, in.Layout.Shuffled = in.Layout.BucketColumns, true
	return in
}

func keyless(in Input) Input {
	in.Keys = nil
	return in
}

// The network turns the strategy at the node that ShuffleFromNodes and a sweep name.
func TestHive3ShuffleFromNodes(t *testing.T) {
	j := joinOf(Inner, sizedFor3("big", 500*mb, 5_000_000), sizedFor3("small", 2*mb, 20_000))
	s := releaseSettings(Hive3, llapPairs(2)...)
	if n, ok := ShuffleFromNodes(&j, &s); !ok || n != 252 {
		t.Errorf("from %d nodes on, %t; want 252", n, ok)
	}
	four := releaseSettings(Hive4, llapPairs(2)...)
	if n, ok := ShuffleFromNodes(&j, &four); ok {
		t.Errorf("Hive 4 compares no network for inputs without buckets, got %d", n)
	}
	for _, sweep := range []struct {
		name      string
		low, high int64
		nodes     int64
		want      []Piece
	}{
		{"nodes", 1, 400, 2, []Piece{{1, 251, MapJoin}, {252, 400, DPHJ}}},
		{"mapreduce.job.reduces", 1, 10, 300, []Piece{{1, 1, MapJoin}, {2, 10, DPHJ}}},
		{"hive.exec.reducers.bytes.per.reducer", 1, gb, 300, []Piece{{1, 502*mb - 1, DPHJ}, {502 * mb, gb, MapJoin}}},
	} {
		w, err := NewSweep(sweep.name, sweep.low, sweep.high)
		if err != nil {
			t.Fatal(err)
		}
		got := w.Pieces(&j, s.WithCluster(sweep.nodes, 4))
		if len(got) != len(sweep.want) {
			t.Errorf("%s: %v, want %v", sweep.name, got, sweep.want)
			continue
		}
		for i := range got {
			if got[i] != sweep.want[i] {
				t.Errorf("%s: %v, want %v", sweep.name, got, sweep.want)
			}
		}
	}
}

// What a release asks of buckets: Hive 4 keys, Hive 3 columns that came up to the join, Hive 2 all keys in order.
func TestReleaseBuckets(t *testing.T) {
	small := sized("small", mb, 1000)
	twoKeys := func(in Input) Input {
		in.Keys = []Key{{Expr: "_col0", Type: "bigint", Column: "customer_id"}, {Expr: "_col1", Type: "int", Column: "region"}}
		return in
	}
	big := sized("big", 50*gb, 1_000_000)
	bmj := []string{"hive.convert.join.bucket.mapjoin.tez", "true"}
	for name, c := range map[string]struct {
		join Join
		want map[Release]Strategy
	}{
		"by the key":       {joinOf(Inner, bucketed(big, 4, "customer_id"), small), map[Release]Strategy{Hive4: BucketMapJoin, Hive3: BucketMapJoin, Hive2: BucketMapJoin}},
		"by no key":        {joinOf(Inner, bucketed(big, 4, "city"), small), map[Release]Strategy{Hive4: MapJoin, Hive3: BucketMapJoin, Hive2: MapJoin}},
		"by one of two":    {joinOf(Inner, twoKeys(bucketed(big, 4, "region")), twoKeys(small)), map[Release]Strategy{Hive4: BucketMapJoin, Hive3: BucketMapJoin, Hive2: MapJoin}},
		"in order":         {joinOf(Inner, twoKeys(bucketed(big, 4, "customer_id", "region")), twoKeys(small)), map[Release]Strategy{Hive4: BucketMapJoin, Hive3: BucketMapJoin, Hive2: BucketMapJoin}},
		"in another order": {joinOf(Inner, twoKeys(bucketed(big, 4, "region", "customer_id")), twoKeys(small)), map[Release]Strategy{Hive4: BucketMapJoin, Hive3: BucketMapJoin, Hive2: MapJoin}},
	} {
		for r, want := range c.want {
			if d := Explain(c.join, releaseSettings(r, bmj...)); d.Strategy != want {
				t.Errorf("%s, %s: %s, want %s: %s", name, r, d.Strategy, want, d.Reason)
			}
		}
	}
}

// Sorted buckets: only Hive 3 compares the versions of the hash function, only Hive 4 counts the groupings.
func TestReleaseSortMerge(t *testing.T) {
	version := func(in Input, n int) Input {
		in.Layout.BucketingVersion = n
		return in
	}
	a, b := sorted(sized("a", 50*gb, 1_000_000), 4, "customer_id"), sorted(sized("b", 40*gb, 1_000_000), 4, "customer_id")
	mixed, same := joinOf(Inner, version(a, 2), version(b, 1)), joinOf(Inner, version(a, 1), version(b, 1))
	twice := joinOf(Inner, version(a, 2), version(b, 2))
	twice.Inputs[1].GroupBys = 2
	// A GROUP BY of sorted buckets in the vertex of the scan has the table's version, one over a shuffle has none.
	over := func(in Input, n int) Input {
		in = version(in, n)
		in.Layout.Buckets, in.GroupBys = -1, 1
		return in
	}
	grouped, regrouped := joinOf(Inner, over(a, 2), version(b, 1)), joinOf(Inner, over(a, 0), version(b, 1))
	smb := []string{"hive.auto.convert.sortmerge.join", "true"}
	for name, c := range map[string]struct {
		join Join
		want map[Release]Strategy
	}{
		"versions differ":                 {mixed, map[Release]Strategy{Hive4: SMB, Hive3: MergeJoin, Hive2: SMB}},
		"one version":                     {same, map[Release]Strategy{Hive4: SMB, Hive3: SMB, Hive2: SMB}},
		"versions differ over a GROUP BY": {grouped, map[Release]Strategy{Hive4: SMB, Hive3: MergeJoin, Hive2: SMB}},
		"a GROUP BY without a version":    {regrouped, map[Release]Strategy{Hive4: SMB, Hive3: SMB, Hive2: SMB}},
		"groups twice":                    {twice, map[Release]Strategy{Hive4: MergeJoin, Hive3: SMB, Hive2: SMB}},
	} {
		for r, want := range c.want {
			d := Explain(c.join, releaseSettings(r, smb...))
			if d.Strategy != want {
				t.Errorf("%s, %s: %s, want %s: %s", name, r, d.Strategy, want, d.Reason)
			}
			if name == "versions differ" && r == Hive3 && !strings.Contains(d.Reason, "d.b has buckets of another bucketing_version") {
				t.Error(d.Reason)
			}
		}
	}
}
