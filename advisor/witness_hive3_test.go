package advisor

import "testing"

// TestWitnessOfHive3: Hive 3.1.3 logs what memory there is and how the decision ends, not the inputs and not the budget.
func TestWitnessOfHive3(t *testing.T) {
	const monitor = "INFO  : Memory monitor info set to : { isLlap: true executorsPerNode: 12 maxExecutorsOverSubscribeMemory: 3 memoryOverSubscriptionFactor: 0.20000000298023224 " +
		"memoryCheckInterval: 100000 noConditionalTaskSize: 10000000 adjustedNoConditionalTaskSize: 16000000 hashTableInflationFactor: 2.0 threshold: 32000000 }"
	w := ParseWitness([]string{
		"INFO  : Compiling command", monitor, "INFO  : Estimated number of buckets 1", "INFO  : Convert to non-bucketed map join",
		monitor, "INFO  : Estimated number of buckets 4",
		monitor, "INFO  : Estimated number of buckets 1", "INFO  : Try dynamic partitioned hash join with estimated 16 reducers", "INFO  : Selected dynamic partitioned hash join",
		monitor, "INFO  : We can convert the join to an SMB join.",
		monitor, "INFO  : Fallback to common merge join operator",
		monitor, "INFO  : and the log breaks off",
	})
	want := []WitnessJoin{{Strategy: MapJoin, Buckets: 1}, {Strategy: BucketMapJoin, Buckets: 4}, {Strategy: DPHJ, Buckets: 1, Reducers: 16}, {Strategy: SMB}, {Strategy: MergeJoin}}
	if len(w.Joins) != len(want) {
		t.Fatalf("%d decisions, want %d: %+v", len(w.Joins), len(want), w.Joins)
	}
	for i, got := range w.Joins {
		if got.Strategy != want[i].Strategy || got.Buckets != want[i].Buckets || got.Reducers != want[i].Reducers {
			t.Errorf("decision %d: %+v, want %+v", i, got, want[i])
		}
		if got.Budget != 10_000_000 || got.Configured != 10_000_000 || !got.LLAP || got.Executors != 12 || len(got.Inputs) != 0 {
			t.Errorf("decision %d: %+v", i, got)
		}
	}
	// A join of its own is the decision's; where there are two, nobody knows which.
	one := []Join{{Strategy: MapJoin, Inputs: []Input{{Rows: 5}, {Rows: 7}}}}
	if alone := (Witness{Joins: w.Joins[:1]}); alone.Attach(one)[0] == nil {
		t.Error("the only decision is not the only join's")
	}
	if got := w.Attach(append(one, one...)); got[0] != nil || got[1] != nil {
		t.Errorf("guessed: %v", got)
	}
}
