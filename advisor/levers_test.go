package advisor

import (
	"slices"
	"strings"
	"testing"
)

// pull applies a lever's SET statements to the settings and its layout to the join, as a person would.
func pull(t *testing.T, l Lever, j Join, pairs []string) (Join, Settings) {
	t.Helper()
	j.Inputs = slices.Clone(j.Inputs)
	for line := range strings.SplitSeq(l.Apply, "\n") {
		switch statement := strings.TrimSuffix(line, ";"); {
		case strings.HasPrefix(statement, "SET "):
			name, value, ok := strings.Cut(strings.TrimPrefix(statement, "SET "), "=")
			if !ok {
				t.Fatalf("no value in %q", line)
			}
			pairs = append(slices.Clone(pairs), name, value)
		case strings.HasPrefix(statement, "ALTER TABLE "):
			for pos := range j.Inputs {
				if strings.Contains(statement, quoteTable(j.Inputs[pos].Tables[0]+bucketedSuffix)) {
					_, rest, _ := strings.Cut(statement, "INTO ")
					n := 0
					for _, r := range strings.TrimSuffix(rest, " BUCKETS") {
						n = n*10 + int(r-'0')
					}
					j.Inputs[pos] = sorted(j.Inputs[pos], n, keyNames(&j.Inputs[pos])...)
				}
			}
		case l.Kind == LeverLayout && (strings.HasPrefix(statement, "CREATE TABLE ") || strings.HasPrefix(statement, "INSERT INTO TABLE ")):
		default:
			t.Fatalf("%s: %q is no statement of a switch or a layout", l.Kind, line)
		}
	}
	return j, settings(pairs...)
}

func leverKinds(list []Lever) []LeverKind {
	out := make([]LeverKind, len(list))
	for i := range list {
		out[i] = list[i].Kind
	}
	return out
}

func TestLevers(t *testing.T) {
	orders, customers := sized("orders", 900*gb, 3_000_000_000), sized("customers", 2400*mb, 30_000_000)
	big, small := sized("big", 50*gb, 1_000_000_000), sized("small", 300*mb, 4_000_000)
	bare := small
	bare.ColumnStats = "NONE"
	external := func(in Input) Input { in.Layout.External = true; return in }
	crowded := keyNDV(sized("keys", 400*mb, 25_000_000), 25_000_000)
	llap := []string{"hive.execution.mode", "llap"}
	for _, c := range []struct {
		name  string
		join  Join
		pairs []string
		want  []string // kind, strategy and a word of the statement or of the refusal
	}{
		{
			"the seed's merge join: no memory for 2.4 GB", joinOf(Inner, orders, customers),
			[]string{budgetName, "1000000000"},
			[]string{
				"BUDGET MAP_JOIN 2.7 GB of hash table in a container of 1024 MB (Hive's default, since hive.tez.container.size is not set)",
				"SWITCH DPHJ SET hive.optimize.dynamic.partition.hashjoin=true;",
				"LAYOUT BUCKET_MAP_JOIN CREATE TABLE `d`.`orders_bucketed` LIKE `d`.`orders`;\nALTER TABLE `d`.`orders_bucketed` CLUSTERED BY (`customer_id`) SORTED BY (`customer_id`) INTO 4 BUCKETS;",
			},
		},
		{
			"the same with a container of 8 GB", joinOf(Inner, orders, customers),
			[]string{budgetName, "1000000000", "hive.tez.container.size", "8192"},
			[]string{"BUDGET MAP_JOIN SET hive.auto.convert.join.noconditionaltask.size=2700000000;", "SWITCH DPHJ ", "LAYOUT BUCKET_MAP_JOIN "},
		},
		{
			"a map task's memory stands in for the container's", joinOf(Inner, orders, customers),
			[]string{budgetName, "1000000000", "mapreduce.map.memory.mb", "8192"},
			[]string{"BUDGET MAP_JOIN SET hive.auto.convert.join.noconditionaltask.size=2700000000;", "SWITCH DPHJ ", "LAYOUT BUCKET_MAP_JOIN "},
		},
		{
			"executors of 1 GB", joinOf(Inner, big, small), llap,
			[]string{"BUDGET MAP_JOIN SET hive.auto.convert.join.noconditionaltask.size=280000000;", "SWITCH DPHJ ", "LAYOUT BUCKET_MAP_JOIN "},
		},
		{
			"executors of 512 MB", joinOf(Inner, big, small), append(slices.Clone(llap), "hive.llap.daemon.num.executors", "8"),
			[]string{"BUDGET MAP_JOIN 280 MB of hash table in an LLAP executor of 512 MB", "SWITCH DPHJ ", "LAYOUT BUCKET_MAP_JOIN "},
		},
		{
			"statistics first", joinOf(Inner, big, bare), nil,
			[]string{"STATISTICS MAP_JOIN ANALYZE TABLE `d`.`small` COMPUTE STATISTICS FOR COLUMNS", "BUDGET MAP_JOIN ", "SWITCH DPHJ ", "LAYOUT BUCKET_MAP_JOIN "},
		},
		{
			"statistics of the side that is streamed shrink no hash table", joinOf(Inner, func(in Input) Input { in.ColumnStats = "NONE"; return in }(big), small), nil,
			[]string{"BUDGET MAP_JOIN ", "SWITCH DPHJ ", "LAYOUT BUCKET_MAP_JOIN "},
		},
		{
			"too many keys: only the entries limit and the reduce side", joinOf(Inner, sized("fact", 6*gb, 200_000_000), crowded),
			[]string{budgetName, "1000000000"},
			[]string{"SWITCH DPHJ ", "SWITCH MAP_JOIN SET hive.auto.convert.join.hashtable.max.entries=28000000;", "LAYOUT SMB "},
		},
		{
			"two switches that need each other", joinOf(Inner, big, small),
			[]string{"hive.auto.convert.join", "false"},
			[]string{
				"SWITCH DPHJ SET hive.auto.convert.join=true;\nSET hive.optimize.dynamic.partition.hashjoin=true;",
				"LAYOUT SMB CREATE TABLE `d`.`big_bucketed` LIKE `d`.`big`;\nALTER TABLE `d`.`big_bucketed` CLUSTERED BY (`customer_id`) SORTED BY (`customer_id`) INTO 256 BUCKETS;\n" +
					"INSERT INTO TABLE `d`.`big_bucketed` SELECT * FROM `d`.`big`;\nCREATE TABLE `d`.`small_bucketed` LIKE `d`.`small`;\n",
			},
		},
		{
			"full outer: only the reduce side", joinOf(FullOuter, big, small),
			[]string{"hive.mapjoin.hybridgrace.hashtable", "true"},
			[]string{"SWITCH DPHJ SET hive.optimize.dynamic.partition.hashjoin=true;\nSET hive.mapjoin.hybridgrace.hashtable=false;"},
		},
		{
			"external tables", joinOf(Inner, bucketed(big, 64, "customer_id"), external(small)), nil,
			[]string{"BUDGET ", "SWITCH DPHJ ", "SWITCH BUCKET_MAP_JOIN SET hive.disable.unsafe.external.table.operations=false;"},
		},
		{"a map join", joinOf(Inner, big, sized("tiny", mb, 10)), nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settings(c.pairs...)
			v := Judge(c.join, s)
			v.Join.Strategy, v.Verdict.Planned, v.Verdict.Agrees = v.Decision.Strategy, v.Decision.Strategy, true
			got := Levers(v, s)
			shown := make([]string, len(got))
			for i, l := range got {
				shown[i] = string(l.Kind) + " " + string(l.Strategy) + " " + l.Apply + l.Refused
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", shown, c.want)
			}
			for i, l := range got {
				if i < len(c.want) && !strings.HasPrefix(shown[i], c.want[i]) {
					t.Errorf("lever %d is %q, want %q", i, shown[i], c.want[i])
				}
				if l.Effect == "" || (l.Apply == "") == (l.Refused == "") {
					t.Errorf("incomplete: %+v", l)
				}
				if l.Refused != "" || l.Kind == LeverStatistics {
					continue
				}
				// The selector confirms what is advised.
				j, changed := pull(t, l, c.join, c.pairs)
				if d := Explain(j, changed); d.Strategy != l.Strategy {
					t.Errorf("%s gives %s, not %s: %s", l.Apply, d.Strategy, l.Strategy, d.Reason)
				}
			}
			order := []LeverKind{LeverStatistics, LeverBudget, LeverSwitch, LeverLayout}
			if !slices.IsSortedFunc(leverKinds(got), func(a, b LeverKind) int { return slices.Index(order, a) - slices.Index(order, b) }) {
				t.Errorf("order %v", leverKinds(got))
			}
		})
	}
}

func TestLeversOfStaleStatistics(t *testing.T) {
	s := settings()
	v := judged(joinOf(Inner, sized("orders", 900*gb, 3_000_000_000), sized("customers", mb, 1000)), MapJoin, s)
	v.Expect(map[string]float64{"d.customers": 100}, s)
	got := Levers(v, s)
	if len(got) != 1 || got[0].Kind != LeverStatistics || got[0].Strategy != MergeJoin || !strings.HasPrefix(got[0].Apply, "ANALYZE TABLE `d`.`customers` COMPUTE STATISTICS;") {
		t.Errorf("got %+v", got)
	}
}

func TestNoLeversWithoutAgreement(t *testing.T) {
	s := settings()
	if got := Levers(judged(joinOf(Inner, sized("a", 50*gb, 1000), sized("b", 300*mb, 1000)), MapJoin, s), s); got != nil {
		t.Errorf("the selector can confirm nothing about a plan it does not arrive at: %+v", got)
	}
}

// A table's layout cannot be changed below another join.
func TestNoLayoutAboveAJoin(t *testing.T) {
	s := settings()
	over := sized("big", 50*gb, 1_000_000_000)
	over.OverJoin = true
	got := Levers(judged(joinOf(Inner, over, sized("small", 300*mb, 4_000_000)), MergeJoin, s), s)
	if slices.Contains(leverKinds(got), LeverLayout) {
		t.Errorf("got %+v", got)
	}
}

func TestMemoryBacks(t *testing.T) {
	for _, c := range []struct {
		pairs  []string
		budget int64
		want   bool
	}{
		{[]string{"hive.tez.container.size", "3072"}, 1 << 30, true},
		{[]string{"hive.tez.container.size", "3072"}, 1<<30 + 1, false},
		{nil, 1024 << 20 / 3, true},
		{nil, 1024<<20/3 + 1, false},
		{[]string{"hive.execution.mode", "llap", "hive.llap.daemon.memory.per.instance.mb", "12288"}, 1 << 30, true},
		{[]string{"hive.execution.mode", "llap", "hive.llap.daemon.memory.per.instance.mb", "12288"}, 1<<30 + 1, false},
	} {
		s := settings(c.pairs...)
		if ok, why := MemoryOf(&s).Backs(c.budget); ok != c.want || why == "" {
			t.Errorf("%v backs %d: %v (%s), want %v", c.pairs, c.budget, ok, why, c.want)
		}
	}
}
