package advisor

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestComparedNumbers(t *testing.T) {
	const most, least = math.MaxInt64, math.MinInt64
	for _, c := range []struct {
		witnessed, simulated int64
		equal, near          bool
	}{
		{0, 0, true, true},
		{0, 1, false, false},
		{100, 101, false, true},
		{100, 102, false, false},
		{101, 100, false, true},
		{99, 100, false, false},
		{-100, -99, false, true},
		{-100, 100, false, false},
		{1_000_000, 990_000, false, true},
		{1_000_000, 989_999, false, false},
		{most, most, true, true},
		{most, most - most/100, false, true},
		{most, most - most/99, false, false},
		{most, least, false, false},
		{least, most, false, false},
		{least, least + 1, false, true},
	} {
		got := against(c.witnessed, c.simulated)
		if got.Equal() != c.equal || got.Near() != c.near {
			t.Errorf("%d against %d: equal %v, near %v", c.witnessed, c.simulated, got.Equal(), got.Near())
		}
	}
	if c := (Compared{Witnessed: 0}); c.Equal() || c.Near() {
		t.Error("what the simulation does not know agrees with nothing")
	}
}

// witnessed reads a decision of Hive 4.0.1 from its log and judges a join with the same inputs.
func witnessed(t *testing.T, s Settings, log string, j Join, nodes int64) *Fidelity {
	t.Helper()
	w := ParseWitness(strings.Split(log, "\n"))
	joins := []Join{j}
	matched := w.Attach(joins)
	v := Judge(joins[0], s)
	return Compare(&v, matched[0], nodes)
}

const keyLimitLog = `INFO ConvertJoinMapJoin: Memory monitor info set to : { isLlap: false executorsPerNode: 1 maxExecutorsOverSubscribeMemory: 3 memoryOverSubscriptionFactor: 0.20000000298023224 memoryCheckInterval: 100000 noConditionalTaskSize: 11884106200 adjustedNoConditionalTaskSize: 11884106200 hashTableInflationFactor: 2.0 threshold: 23768212400 }
INFO ConvertJoinMapJoin: maxJoinMemory: 11884106200
INFO ConvertJoinMapJoin: Estimated number of buckets 1
INFO ConvertJoinMapJoin: Join input#0; onlineDataSize: 5568909036; Statistics: Num rows: 42500321 Data size: 7913559976 Basic stats: COMPLETE Column stats: NONE
INFO ConvertJoinMapJoin: Join input#1; onlineDataSize: 373144064; Statistics: Num rows: 9955264 Data size: 119463168 Basic stats: COMPLETE Column stats: COMPLETE
DEBUG ConvertJoinMapJoin: Estimated NDV for input 1: 9955264; Max NDV for MapJoin conversion: 9955263
DEBUG ConvertJoinMapJoin: Number of different entries for HashTable is greater than the max; we do not convert to MapJoin
DEBUG ConvertJoinMapJoin: Estimated size for input 0: 5568909036; Max size for DPHJ conversion: 5569909036
DEBUG ConvertJoinMapJoin: Conditions to convert to MapJoin are not met
INFO ConvertJoinMapJoin: Join input#0; onlineDataSize: 5568909036; Statistics: Num rows: 42500321 Data size: 7913559976 Basic stats: COMPLETE Column stats: NONE
INFO ConvertJoinMapJoin: Join input#1; onlineDataSize: 373144064; Statistics: Num rows: 9955264 Data size: 119463168 Basic stats: COMPLETE Column stats: COMPLETE
INFO ConvertJoinMapJoin: Fallback to common merge join operator`

const firstInputOnlyLog = `WARN ConvertJoinMapJoin: LLAP cluster information not available. Falling back to getting #executors from hiveconf..
INFO ConvertJoinMapJoin: Memory monitor info set to : { isLlap: true executorsPerNode: 1 maxExecutorsOverSubscribeMemory: 1 memoryOverSubscriptionFactor: 0.5 memoryCheckInterval: 100000 noConditionalTaskSize: 137995300 adjustedNoConditionalTaskSize: 206992950 hashTableInflationFactor: 2.0 threshold: 413985900 }
INFO ConvertJoinMapJoin: maxJoinMemory: 206992950
INFO ConvertJoinMapJoin: Estimated number of buckets 1
INFO ConvertJoinMapJoin: Join input#0; onlineDataSize: 26729255692; Statistics: Num rows: 209431369 Data size: 33190683616 Basic stats: COMPLETE Column stats: COMPLETE
INFO ConvertJoinMapJoin: Fallback to common merge join operator`

const noInputsLog = `INFO ConvertJoinMapJoin: maxJoinMemory: 635825190
INFO ConvertJoinMapJoin: We can convert the join to an SMB join.`

const costsLog = `INFO ConvertJoinMapJoin: maxJoinMemory: 1000
INFO ConvertJoinMapJoin: Estimated number of buckets 8
INFO ConvertJoinMapJoin: Join input#0; onlineDataSize: 90; Statistics: Num rows: 7 Data size: 10 Basic stats: COMPLETE Column stats: COMPLETE
INFO ConvertJoinMapJoin: Join input#1; onlineDataSize: 138; Statistics: Num rows: 3 Data size: 70 Basic stats: COMPLETE Column stats: COMPLETE
INFO ConvertJoinMapJoin: Cost of Bucket Map Join : numNodes = 5 total small table size = 99 networkCostMJ = 495
INFO ConvertJoinMapJoin: Bucket Map Join chosen`

func TestCompareWithThePlannersLog(t *testing.T) {
	is := func(list ...int64) (out []ComparedInput) { // position, witnessed, simulated …
		for i := 0; i < len(list); i += 3 {
			out = append(out, ComparedInput{int(list[i]), against(list[i+1], list[i+2])})
		}
		return out
	}
	ndv := int64(9955264)
	keyed := joinOf(Inner, Input{Rows: 42500321, DataSize: 7913559976}, Input{Rows: 9955264, DataSize: 119463168, Keys: []Key{{NDV: &ndv}}})
	keyed.Strategy = MergeJoin
	unkeyed := joinOf(Inner, keyed.Inputs[0], keyed.Inputs[1])
	unkeyed.Strategy = MergeJoin
	unkeyed.Inputs = slices.Clone(unkeyed.Inputs)
	unkeyed.Inputs[1].Keys = []Key{{}}
	partial := joinOf(Inner, Input{Rows: 209431369, DataSize: 33190683616}, Input{Rows: 5, DataSize: 50})
	partial.Strategy = MergeJoin
	smb := joinOf(Inner, Input{Rows: 1, DataSize: 1}, Input{Rows: 2, DataSize: 2})
	smb.Strategy = SMB
	small := joinOf(Inner, Input{Rows: 7, DataSize: 10}, Input{Rows: 3, DataSize: 70})
	small.Strategy = BucketMapJoin
	settings := func(more ...string) Settings {
		raw := map[string]string{"hive.execution.engine": "tez"}
		for i := 0; i < len(more); i += 2 {
			raw[more[i]] = more[i+1]
		}
		return NewSettings(raw)
	}
	const size = "hive.auto.convert.join.noconditionaltask.size"
	nodes := against(5, 4)
	for _, c := range []struct {
		name     string
		log      string
		join     Join
		settings Settings
		nodes    int64
		want     *Fidelity
	}{
		{
			"budget, keys and the size of an input that carries no column", keyLimitLog, keyed, settings(size, "11884106200"), 0, &Fidelity{
				Strategy: MergeJoin, Budget: against(11884106200, 11884106200),
				Sizes:   is(0, 5568909036, 7913559976+12*42500321+8*67108864, 1, 373144064, 373144064),
				Entries: is(1, 9955264, 9955264),
			},
		},
		{
			"keys the simulation knows nothing of, another budget", keyLimitLog, unkeyed, settings(size, "10000000"), 3, &Fidelity{
				Strategy: MergeJoin, Budget: against(11884106200, 10000000),
				Sizes:   is(0, 5568909036, 7913559976+12*42500321+8*67108864, 1, 373144064, 373144064),
				Entries: []ComparedInput{{1, Compared{Witnessed: 9955264}}},
			},
		},
		{
			"a decision after one look, under LLAP", firstInputOnlyLog, partial,
			settings(size, "137995300", "hive.execution.mode", "llap", "hive.llap.execution.mode", "all", "hive.llap.daemon.num.executors", "1", "hive.llap.mapjoin.memory.oversubscribe.factor", "0.5"), 0,
			&Fidelity{Strategy: MergeJoin, Budget: against(206992950, 206992950), Sizes: is(0, 26729255692, 33190683616+12*209431369+8*536870912)},
		},
		{"no look at all", noInputsLog, smb, settings(size, "635825190", "hive.auto.convert.join", "false"), 0, &Fidelity{Strategy: SMB, Budget: against(635825190, 635825190)}},
		{
			"a cluster of another size", costsLog, small, settings(size, "1000"), 4, &Fidelity{
				Strategy: BucketMapJoin, Budget: against(1000, 1000), Sizes: is(0, 90, 10+12*7+8*16, 1, 138, 70+12*3+8*4), Nodes: &nodes,
			},
		},
		{
			"a cluster only the planner knows", costsLog, small, settings(size, "1000"), 0, &Fidelity{
				Strategy: BucketMapJoin, Budget: against(1000, 1000), Sizes: is(0, 90, 10+12*7+8*16, 1, 138, 70+12*3+8*4),
			},
		},
		{"other inputs", keyLimitLog, small, settings(), 0, nil},
		{"nothing logged, as in Hive 3", "INFO Driver: Semantic Analysis Completed", keyed, settings(), 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := witnessed(t, c.settings, c.log, c.join, c.nodes); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %s\nwant %s", show(got), show(c.want))
			}
		})
	}
}

func show(f *Fidelity) string {
	b, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
