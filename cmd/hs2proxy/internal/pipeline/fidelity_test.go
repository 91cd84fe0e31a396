package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// plannersLog is what Hive 4 logs of the join of mapJoinPlan, whose inputs have 2 rows, 8 and 178 bytes.
var plannersLog = []string{
	"INFO ConvertJoinMapJoin: Memory monitor info set to : { isLlap: false executorsPerNode: 1 maxExecutorsOverSubscribeMemory: 3 memoryOverSubscriptionFactor: 0.20000000298023224 memoryCheckInterval: 100000 noConditionalTaskSize: 10000000 adjustedNoConditionalTaskSize: 10000000 hashTableInflationFactor: 2.0 threshold: 20000000 }",
	"INFO ConvertJoinMapJoin: maxJoinMemory: 10000000",
	"INFO ConvertJoinMapJoin: Estimated number of buckets 1",
	"INFO ConvertJoinMapJoin: Join input#0; onlineDataSize: 64; Statistics: Num rows: 2 Data size: 8 Basic stats: COMPLETE Column stats: COMPLETE",
	"INFO ConvertJoinMapJoin: Join input#1; onlineDataSize: 66; Statistics: Num rows: 2 Data size: 178 Basic stats: COMPLETE Column stats: COMPLETE",
	"INFO ConvertJoinMapJoin: Convert to non-bucketed map join",
}

func TestAnalyzeComparesWithThePlannersLog(t *testing.T) {
	server, hive := startHive(t), newFakeHive()
	a := shopAnalyzer(t, server, hive)
	log := plannersLog
	server.set(func() {
		server.mu.reply = func(string) answer {
			return answer{rows: strings.Split(strings.TrimRight(mapJoinPlan, "\n"), "\n"), log: log}
		}
	})
	analysis, err := a.Analyze(within(t), shopQuery(server))
	if err != nil || len(analysis.Joins) != 1 {
		t.Fatalf("got %+v, %v", analysis, err)
	}
	f := analysis.Joins[0].Fidelity
	if f == nil || f.Strategy != advisor.MapJoin || !f.Budget.Equal() || f.Budget.Witnessed != 10_000_000 || len(f.Sizes) != 2 || !f.Sizes[0].Equal() || !f.Sizes[1].Equal() {
		t.Errorf("got %+v", f)
	}
	var c Counters
	c.compared(analysis.Joins)

	log = slices.Clone(plannersLog)
	log[1] = "INFO ConvertJoinMapJoin: maxJoinMemory: 10000001"
	log[4] = strings.Replace(log[4], "onlineDataSize: 66", "onlineDataSize: 67", 1)
	if analysis, err = a.Analyze(within(t), shopQuery(server)); err != nil {
		t.Fatal(err)
	}
	if f := analysis.Joins[0].Fidelity; f == nil || f.Budget.Equal() || !f.Budget.Near() || f.Sizes[1].Near() || *f.Sizes[1].Simulated != 66 {
		t.Errorf("got %+v", f)
	}
	c.compared(analysis.Joins)

	log = nil // as Hive 3, or a server that refuses the log level
	if analysis, err = a.Analyze(within(t), shopQuery(server)); err != nil || analysis.Joins[0].Fidelity != nil {
		t.Errorf("got %+v, %v", analysis, err)
	}
	c.compared(analysis.Joins)
	c.compared([]advisor.JoinVerdict{{Join: advisor.Join{Strategy: advisor.Unknown}}}) // another engine
	for name, n := range map[string][3]int64{
		"strategies": {c.Strategies.Agreed.Load(), c.Strategies.Compared.Load(), 33},
		"budgets":    {c.Budgets.Agreed.Load(), c.Budgets.Compared.Load(), 12},
		"sizes":      {c.Sizes.Agreed.Load(), c.Sizes.Compared.Load(), 34},
	} {
		if n[0]*10+n[1] != n[2] {
			t.Errorf("%s: %d of %d agree", name, n[0], n[1])
		}
	}
}

// The number of LLAP nodes is compared only where something but the planner's log tells it.
func TestAnalyzeComparesConfiguredNodes(t *testing.T) {
	server, hive := startHive(t), newFakeHive()
	a := shopAnalyzer(t, server, hive)
	log := append(slices.Clone(plannersLog[:5]),
		"INFO ConvertJoinMapJoin: Cost of Bucket Map Join : numNodes = 5 total small table size = 99 networkCostMJ = 495", plannersLog[5])
	server.set(func() {
		server.mu.reply = func(string) answer {
			return answer{rows: strings.Split(strings.TrimRight(mapJoinPlan, "\n"), "\n"), log: log}
		}
	})
	for _, configured := range []int{0, 4} {
		a.LLAPNodes = configured
		analysis, err := a.Analyze(within(t), shopQuery(server))
		if err != nil || len(analysis.Joins) != 1 || analysis.Joins[0].Fidelity == nil {
			t.Fatalf("got %+v, %v", analysis, err)
		}
		nodes := analysis.Joins[0].Fidelity.Nodes
		if (nodes == nil) != (configured == 0) || nodes != nil && (nodes.Witnessed != 5 || *nodes.Simulated != 4 || nodes.Equal()) {
			t.Errorf("%d configured: %+v", configured, nodes)
		}
	}
}
