package advisor

import (
	"strings"
	"testing"
)

// Texts as Hive's classes write them, in the frame that HiveServer2 sends: TezTask's return code and the diagnostics of the vertex.
const (
	tezFailure = "Error while processing statement: FAILED: Execution Error, return code 2 from org.apache.hadoop.hive.ql.exec.tez.TezTask. " +
		"Vertex failed, vertexName=Map 1, vertexId=vertex_1443634917922_0008_1_05, diagnostics=[Task failed, taskId=task_1443634917922_0008_1_05_000006, " +
		"diagnostics=[TaskAttempt 0 failed, info=[Error: Error while running task ( failure ) : "
	memoryMonitor = tezFailure + "org.apache.hadoop.hive.ql.exec.mapjoin.MapJoinMemoryExhaustionError: Hash table loading exceeded memory limits for input: Map 2 " +
		"numEntries: 65000000 estimatedMemoryUsage: 5153960800 effectiveThreshold: 5153960788 memoryMonitorInfo: { isLlap: true executorsPerNode: 12 " +
		"maxExecutorsOverSubscribeMemory: 3 memoryOverSubscriptionFactor: 0.2 memoryCheckInterval: 100000 noConditionalTaskSize: 10000000 " +
		"adjustedNoConditionalTaskSize: 16000000 hashTableInflationFactor: 2.0 threshold: 32000000 }\n\tat org.apache.hadoop.hive.ql.exec.tez.HashTableLoader.load"
	heapSpace = tezFailure + "java.lang.OutOfMemoryError: Java heap space\n\tat "
)

func TestParseOverflow(t *testing.T) {
	for _, c := range []struct {
		name, message string
		want          Overflow
		ok            bool
	}{
		{
			"LLAP's memory monitor", memoryMonitor,
			Overflow{Vertex: "Map 1", Input: "Map 2", Entries: 65_000_000, Used: 5_153_960_800, Limit: 5_153_960_788, Certain: true, Words: "hash table loading exceeded memory limits"},
			true,
		},
		{
			"the fast table's own bound",
			tezFailure + "java.lang.RuntimeException: Vector MapJoin Long Hash Table cannot grow any more -- use a smaller container size. " +
				"Current logical size is 268435456 and the limit is 268435456. Estimated key count was 30000000.",
			Overflow{Vertex: "Map 1", Certain: true, Words: "the hash table cannot grow any more"},
			true,
		},
		{
			"a local task", "org.apache.hadoop.hive.ql.exec.mapjoin.MapJoinMemoryExhaustionError: 2014-10-14 12:00:01\tProcessing rows:\t8100000\tHashtable size:\t8099999\t" +
				"Memory usage:\t3890035464\tpercentage:\t0.913",
			Overflow{Entries: 8_100_000, Used: 3_890_035_464, Certain: true, Words: "map join memory exhausted"},
			true,
		},
		{
			"an older local task", "org.apache.hadoop.hive.ql.exec.mapjoin.MapJoinMemoryExhaustionException: 2014-10-14",
			Overflow{Certain: true, Words: "map join memory exhausted"},
			true,
		},
		{
			"out of memory in a hash table", heapSpace + "org.apache.hadoop.hive.ql.exec.persistence.BytesBytesMultiHashMap.expandAndRehashImpl(BytesBytesMultiHashMap.java:734)",
			Overflow{Vertex: "Map 1", Certain: true, Words: "out of memory"},
			true,
		},
		{
			"out of memory in a fast hash table", heapSpace + "org.apache.hadoop.hive.ql.exec.vector.mapjoin.fast.VectorMapJoinFastLongHashTable.expandAndRehash",
			Overflow{Vertex: "Map 1", Certain: true, Words: "out of memory"},
			true,
		},
		{
			"out of memory somewhere", heapSpace + "org.apache.hadoop.mapreduce.lib.input.LineRecordReader",
			Overflow{Vertex: "Map 1", Words: "out of memory"},
			true,
		},
		{
			"a container that was ended", tezFailure + "Container container_1 is running beyond physical memory limits. Current usage: 1.1 GB of 1 GB physical memory used",
			Overflow{Vertex: "Map 1", Words: "the container went beyond its memory and was ended"},
			true,
		},
		{"another failure", tezFailure + "java.lang.NumberFormatException: null", Overflow{}, false},
		{"no message", "", Overflow{}, false},
		{"numbers that are none", "MapJoinMemoryExhaustionError vertexName= numEntries: x estimatedMemoryUsage: 99999999999999999999", Overflow{Certain: true, Words: "map join memory exhausted"}, true},
	} {
		got, ok := ParseOverflow(c.message)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: got %+v %v, want %+v %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// hashing is a map join of d.orders with d.customers in Map 1, whose small side comes from Map 2.
func hashing(t *testing.T, s Settings, rows int64) JoinVerdict {
	t.Helper()
	small := sized("customers", 9*mb, rows)
	small.Vertex = "Map 2"
	small.Keys[0].Table = "d.customers"
	big := sized("orders", 50*gb, 1_000_000_000)
	big.Vertex = "Map 1"
	j := joinOf(Inner, big, small)
	j.OperatorID, j.Vertex, j.BigTable = "MAPJOIN_25", "Map 1", 0
	v := judged(j, MapJoin, s)
	if !v.Verdict.Agrees {
		t.Fatalf("no map join: %s", v.Decision.Reason)
	}
	return v
}

func TestOverflowFindings(t *testing.T) {
	container := settings()
	llap := settings("hive.execution.mode", "llap")
	grown := hashing(t, container, 300_000)
	grown.Expect(map[string]float64{"d.customers": 100}, container)
	bare := hashing(t, container, 300_000)
	bare.Join.Inputs[1].ColumnStats = "NONE"
	promised := settings(budgetName, "1000000000", "hive.tez.container.size", "512")
	elsewhere := hashing(t, container, 300_000)
	elsewhere.Join.Vertex, elsewhere.Join.Ordinal = "Map 7", 1
	elsewhere.Decision.OnlineDataSizes = []int64{50 * gb, 99 * mb}
	merge := judged(joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("customers", 300*mb, 4_000_000)), MergeJoin, container)
	plain := heapSpace + "org.example.Udf.evaluate"
	for _, c := range []struct {
		name     string
		message  string
		verdicts []JoinVerdict
		s        Settings
		severity Severity
		words    []string
		advice   []string
		not      []string
	}{
		{
			"the text names input, rows and bytes", memoryMonitor,
			[]JoinVerdict{elsewhere, hashing(t, llap, 300_000)},
			llap, High,
			[]string{
				"the hash table of d.customers did not fit (hash table loading exceeded memory limits)", "estimated at 9 MB and 300,000 rows",
				"loading stopped at 5.2 GB after 65,000,000 rows", "the limit was 5.2 GB", "at least 217 times the estimated rows",
			},
			[]string{
				"ANALYZE TABLE `d`.`customers` COMPUTE STATISTICS;\nANALYZE TABLE `d`.`customers` COMPUTE STATISTICS FOR COLUMNS `customer_id`;",
				"SET hive.auto.convert.join.noconditionaltask.size=7400000; -- merge join until",
			},
			[]string{"hybridgrace"}, // LLAP keeps it to partitioned joins
		},
		{
			"the rows were right, their size was not", strings.ReplaceAll(memoryMonitor, "65000000", "300000"),
			[]JoinVerdict{hashing(t, container, 300_000)},
			container, High,
			[]string{"the rows are within their estimate, their size is at least 573 times what was estimated"},
			[]string{"SET hive.auto.convert.join.noconditionaltask.size=8900000;", "SET hive.mapjoin.hybridgrace.hashtable=true;"},
			nil,
		},
		{
			"rows written since", plain,
			[]JoinVerdict{grown},
			container, Medium,
			[]string{"a task ran out of memory (out of memory) where the map join hashes d.customers", "d.customers holds 100 times the rows Hive counts"},
			nil, nil,
		},
		{"statistics missing", plain, []JoinVerdict{bare}, container, Medium, []string{"without full statistics (basic complete, column none)"}, nil, nil},
		{
			"a budget without memory", plain,
			[]JoinVerdict{hashing(t, promised, 300_000)},
			promised, Medium,
			[]string{"the budget has no memory behind it: 1 GB of hash table in a container of 512 MB"},
			nil, nil,
		},
		{
			"nothing better known: the estimate", plain,
			[]JoinVerdict{merge, hashing(t, container, 300_000)},
			container, Medium,
			[]string{"within the budget of 10 MB, so the estimate is too low"},
			nil, nil,
		},
		{
			"two joins in one vertex", plain,
			[]JoinVerdict{hashing(t, container, 300_000), hashing(t, container, 300_000)},
			container, Medium,
			[]string{"or that of one of 1 more join in the same place"},
			nil, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := OverflowFindings(c.message, c.verdicts, c.s)
			if len(got) != 1 || got[0].Kind != MapJoinMemory || got[0].Severity != c.severity || got[0].Subject != "join 0 MAPJOIN_25 (Map 1)" || len(got[0].Evidence) == 0 {
				t.Fatalf("got %+v", got)
			}
			for _, w := range c.words {
				if !strings.Contains(got[0].Summary, w) {
					t.Errorf("summary %q lacks %q", got[0].Summary, w)
				}
			}
			for _, w := range c.advice {
				if !strings.Contains(got[0].Advice, w) {
					t.Errorf("advice %q lacks %q", got[0].Advice, w)
				}
			}
			for _, w := range c.not {
				if strings.Contains(got[0].Advice, w) {
					t.Errorf("advice %q holds %q", got[0].Advice, w)
				}
			}
		})
	}
	for _, c := range []struct {
		message  string
		verdicts []JoinVerdict
	}{
		{"FAILED: SemanticException", []JoinVerdict{hashing(t, container, 300_000)}},
		{memoryMonitor, []JoinVerdict{merge}},
		{memoryMonitor, nil},
	} {
		if got := OverflowFindings(c.message, c.verdicts, container); got != nil {
			t.Errorf("%.40s: got %+v", c.message, got)
		}
	}
}

// Three hashed inputs: the text names one, or all are meant together.
func TestOverflowOfManyInputs(t *testing.T) {
	s := settings()
	big, a, b := sized("orders", 50*gb, 1_000_000_000), sized("a", 5*mb, 1000), sized("b", 4*mb, 1000)
	big.Vertex, a.Vertex, b.Vertex = "Map 1", "Map 2", "Map 3"
	j := joinOf(Inner, big, a, b)
	j.Vertex, j.BigTable = "Map 1", 0
	v := judged(j, MapJoin, s)
	named := OverflowFindings(strings.Replace(memoryMonitor, "input: Map 2", "input: Map 3", 1), []JoinVerdict{v}, s)
	if len(named) != 1 || !strings.Contains(named[0].Summary, "the hash table of d.b did not fit") || named[0].Evidence["estimated_bytes"] != 4*mb {
		t.Errorf("got %+v", named)
	}
	all := OverflowFindings(heapSpace, []JoinVerdict{v}, s)
	if len(all) != 1 || !strings.Contains(all[0].Summary, "hashes d.a, d.b") || all[0].Evidence["estimated_bytes"] != 9*mb {
		t.Errorf("got %+v", all)
	}
}
