package advisor

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func sweepOf(t *testing.T, name string, low, high int64) Sweep {
	t.Helper()
	w, err := NewSweep(name, low, high)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// seedJoin is the seed's join of 400 GB with 3 GB in 64 buckets, on LLAP with dynamically partitioned hash joins.
func seedJoin() (Join, Settings) {
	j := joinOf(Inner, bucketed(sized("orders", 400*gb, 100), 64, "customer_id"), bucketed(sized("customers", 3*gb, 10), 64, "customer_id"))
	s := settings(budgetName, "1000000000", dphjName, "true", "hive.execution.mode", "llap", "hive.llap.daemon.service.hosts", "@llap0",
		"hive.llap.memory.oversubscription.max.executors.per.query", "0")
	return j, s
}

func TestSweepFindsTheSeedsFlipsOfClusterSize(t *testing.T) {
	j, s := seedJoin()
	w := sweepOf(t, "nodes", 4, 400)
	// 134 nodes × 3 GB = 402 GB are less than the 403 GB of a shuffle, 135 × 3 GB = 405 GB are more.
	want := []Piece{{4, 134, BucketMapJoin}, {135, 400, DPHJ}}
	if got := w.Pieces(&j, s); !slices.Equal(got, want) {
		t.Errorf("nodes: %v, want %v", got, want)
	}
	// The seed's 10 MB that three slots of 20 % make 16 MB.
	j = joinOf(Inner, sized("fact", 900*gb, 1000), sized("dim", 16*mb, 10))
	s = settings("hive.execution.mode", "llap", "hive.llap.memory.oversubscription.max.executors.per.query", "3")
	w = sweepOf(t, "executors", 1, 40)
	if got, want := w.Pieces(&j, s), []Piece{{1, 2, MergeJoin}, {3, 40, MapJoin}}; !slices.Equal(got, want) {
		t.Errorf("executors: %v, want %v", got, want)
	}
	s = s.WithCluster(4, 3)
	w = sweepOf(t, "budget", mb, 100*mb)
	if got, want := w.Pieces(&j, s), []Piece{{mb, 10*mb - 1, MergeJoin}, {10 * mb, 100 * mb, MapJoin}}; !slices.Equal(got, want) {
		t.Errorf("budget: %v, want %v", got, want)
	}
}

func TestSweepOfStrategiesThatComeBack(t *testing.T) {
	// Bucketed and sorted by the key: with a small budget a sort-merge-bucket join, from the bucket's share on a bucket map join, and a map
	// join once the whole side fits.
	j := joinOf(Inner, sorted(sized("a", 900*gb, 100), 64, "customer_id"), sorted(sized("b", 6400*kb, 10), 64, "customer_id"))
	w := sweepOf(t, "budget", 1, 10*gb)
	want := []Piece{{1, 100*kb - 1, SMB}, {100 * kb, 10 * gb, BucketMapJoin}}
	if got := w.Pieces(&j, settings()); !slices.Equal(got, want) {
		t.Errorf("containers: %v, want %v", got, want)
	}
	j, s := seedJoin()
	s = s.WithCluster(200, 4)
	// A reducer's share is the least that a hash table is made of: 403 GB make 1,009 reducers.
	want = []Piece{{1, 3*gb/1009 - 1, MergeJoin}, {3 * gb / 1009, 3*gb - 1, DPHJ}, {3 * gb, 10 * gb, MapJoin}}
	if got := w.Pieces(&j, s); !slices.Equal(got, want) {
		t.Errorf("llap: %v, want %v", got, want)
	}
}

// TestSweepOfALimit: the entries limit refuses a map join unless the big side is above the shuffle limit.
func TestSweepOfALimit(t *testing.T) {
	j := joinOf(Inner, keyNDV(sized("fact", 6*gb, 1000), 1000), keyNDV(sized("keys", 400*mb, 900), 900))
	s := settings(budgetName, "1000000000", "hive.auto.convert.join.hashtable.max.entries", "500")
	w := sweepOf(t, "hive.auto.convert.join.shuffle.max.size", 1, 100*gb)
	if got, want := w.Pieces(&j, s), []Piece{{1, 6*gb - 1, MapJoin}, {6 * gb, 100 * gb, MergeJoin}}; !slices.Equal(got, want) {
		t.Errorf("shuffle limit: %v, want %v", got, want)
	}
	w = sweepOf(t, "hive.auto.convert.join.hashtable.max.entries", 1, 10_000)
	if got, want := w.Pieces(&j, s), []Piece{{1, 899, MergeJoin}, {900, 10_000, MapJoin}}; !slices.Equal(got, want) {
		t.Errorf("entries: %v, want %v", got, want)
	}
}

// TestSweepAgreesWithEveryNumber compares the pieces with the decision at each number of small ranges, over joins and settings of all kinds.
func TestSweepAgreesWithEveryNumber(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	kinds := []JoinType{Inner, LeftOuter, RightOuter, FullOuter, LeftSemi, Cross}
	several := 0
	for range 1500 {
		inputs := make([]Input, 2+r.IntN(3))
		for i := range inputs {
			in := Input{
				Tables: []string{"d.t"}, Rows: r.Int64N(60), DataSize: r.Int64N(4000), Layout: Layout{TotalSize: -1},
				Keys: []Key{{Expr: "k", Type: "bigint", Column: "k"}},
			}
			in.CumulativeRows = in.Rows
			if r.IntN(2) == 0 {
				in = keyNDV(in, r.Int64N(60))
			}
			if r.IntN(2) == 0 {
				in = sorted(in, 1+r.IntN(8), "k")
			}
			inputs[i] = in
		}
		j := joinOf(kinds[r.IntN(len(kinds))], inputs...)
		on := func() string { return []string{"true", "false"}[r.IntN(2)] }
		s := settings(budgetName, "800", dphjName, on(), "hive.execution.mode", []string{"llap", "container"}[r.IntN(2)],
			"hive.exec.reducers.bytes.per.reducer", "500", "hive.auto.convert.join.hashtable.max.entries", "30",
			"hive.auto.convert.join.shuffle.max.size", "2000", "hive.tez.cartesian-product.enabled", on(), "hive.auto.convert.sortmerge.join", on(),
			"hive.llap.daemon.service.hosts", "@llap0").WithCluster(r.Int64N(6), r.Int64N(12))
		if r.IntN(4) == 0 {
			s.Release = []Release{Hive3, Hive2}[r.IntN(2)]
		}
		d := sweepable[r.IntN(len(sweepable))]
		w := sweepOf(t, d.names[0], 1+r.Int64N(20), 800)
		if d.names[0] == "mapreduce.job.reduces" {
			s.FixedReducers = 7
		}
		pieces := w.Pieces(&j, s)
		if len(pieces) > 1 {
			several++
		}
		if pieces[0].From != w.Low || pieces[len(pieces)-1].To != w.High {
			t.Fatalf("%s: %v does not cover %d to %d", w.Name, pieces, w.Low, w.High)
		}
		for i, p := range pieces {
			if i > 0 && (p.From != pieces[i-1].To+1 || p.Strategy == pieces[i-1].Strategy) {
				t.Fatalf("%s: %v has a gap or a break that is none", w.Name, pieces)
			}
			for n := p.From; n <= p.To; n++ {
				at := w.At(s, n)
				if got, _ := Choose(&j, &at); got != p.Strategy {
					t.Fatalf("%s at %d: %s, but %v\n%+v\n%+v", w.Name, n, got, pieces, j, s)
				}
			}
		}
	}
	if several < 75 {
		t.Errorf("only %d sweeps had a break", several)
	}
}

func TestSweepRefuses(t *testing.T) {
	for _, c := range []struct {
		name      string
		low, high int64
	}{{"budget", 0, 10}, {"budget", 10, 9}, {"hive.auto.convert.join", 1, 2}, {"nodes", 1, 2_000_000}} {
		if _, err := NewSweep(c.name, c.low, c.high); err == nil {
			t.Errorf("%v is no sweep", c)
		}
	}
}
