package advisor

import "testing"

// recordedJoins are as many joins as an installation records, of all strategies: sizes around the budget, with and without buckets.
func recordedJoins(n int) []Join {
	joins := make([]Join, n)
	for i := range joins {
		size := mb + int64(i%1000)*50*kb
		fact, dim := keyNDV(sized("fact", 900*gb, 1_000_000), 1000), keyNDV(sized("dim", size, 1000), 1000)
		for _, in := range []*Input{&fact, &dim} {
			in.Keys[0].Table = in.Tables[0]
		}
		switch i % 4 {
		case 1:
			fact, dim = sorted(fact, 64, "customer_id"), sorted(dim, 64, "customer_id")
		case 2:
			fact = bucketed(fact, 16, "customer_id")
		default:
		}
		joins[i] = joinOf(Inner, fact, dim)
	}
	return joins
}

// BenchmarkReplay replays 100,000 joins with another budget and a table grown; ns/op is for all of them.
func BenchmarkReplay(b *testing.B) {
	joins := recordedJoins(100_000)
	w := WhatIf{
		Set:    map[string]string{budgetName: "20000000", dphjName: "true"},
		Tables: map[string]TableChange{"d.dim": {Rows: &Amount{Factor: 2}}},
	}
	before := NewSettings(nil)
	after := w.Settings(nil, before)
	g, err := w.Sizes(nil)
	if err != nil {
		b.Fatal(err)
	}
	flips := 0
	b.ReportAllocs()
	for b.Loop() {
		flips = 0
		for i := range joins {
			changed, _ := w.Join(&joins[i], &g)
			if e := Replay(&joins[i], &before, changed, &after); e.Flips() {
				flips++
			}
		}
	}
	if flips == 0 || flips == len(joins) {
		b.Fatalf("%d joins flip", flips)
	}
}

// BenchmarkSweep finds the break points of 100,000 joins between 1 MB and 2 GB; ns/op is for all of them.
func BenchmarkSweep(b *testing.B) {
	joins := recordedJoins(100_000)
	w, err := NewSweep("budget", mb, 2*gb)
	if err != nil {
		b.Fatal(err)
	}
	s := NewSettings(map[string]string{dphjName: "true"})
	b.ReportAllocs()
	for b.Loop() {
		broken := 0
		for i := range joins {
			if len(w.Pieces(&joins[i], s)) > 1 {
				broken++
			}
		}
		if broken == 0 {
			b.Fatal("no join has a break")
		}
	}
}
