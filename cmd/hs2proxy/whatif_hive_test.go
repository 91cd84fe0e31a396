package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

const (
	budgetOf  = "hive.auto.convert.join.noconditionaltask.size"
	dphjOf    = "hive.optimize.dynamic.partition.hashjoin"
	entriesOf = "hive.auto.convert.join.hashtable.max.entries"
	hostsOf   = "hive.llap.daemon.service.hosts"
)

// What the planner takes the hashed side of innerSQL and leftSQL for, in bytes: Hive 3 reads no column statistics by default.
const hashedByHive4, hashedByHive3 = 902_144, 2_502_144

// foretold is a change with its prediction: what whatif is told, and what is done on the server to see whether it comes so.
type foretold struct {
	name string
	// sql has %s for the suffix of the tables' layout.
	layout, sql string
	// base are the settings before; flags are whatif's.
	base  map[string]string
	flags []string
	// set and alter make the change on the server; after an alter the tables are made anew.
	set   map[string]string
	alter []string
	// before and after are what the case is there for: that nothing changes would prove little. Where Hive 3 does not follow, after3.
	before, after, after3 advisor.Strategy
}

const (
	innerSQL = "SELECT a.v, b.v FROM big%[1]s a JOIN small%[1]s b ON a.k = b.k"
	leftSQL  = "SELECT a.v, b.v FROM big%[1]s a LEFT OUTER JOIN small%[1]s b ON a.k = b.k"
)

// llap is a cluster of so many nodes and executors of each, as settings of a session.
func llap(nodes, executors int, more map[string]string) map[string]string {
	hosts := make([]string, nodes)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("n%dx%d", i, executors) // Hive keeps what it has read of a list of hosts
	}
	s := map[string]string{
		"hive.execution.mode": "llap", "hive.llap.execution.mode": "all", hostsOf: strings.Join(hosts, ","),
		"hive.llap.daemon.num.executors": fmt.Sprint(executors),
	}
	maps.Copy(s, more)
	return s
}

// network makes Hive compare what moves over the network: the hashed side fits the budget of LLAP only when it is divided by the buckets.
func network(hashed int) map[string]string {
	return map[string]string{budgetOf: fmt.Sprint(hashed * 5 / 9), dphjOf: "true"}
}

// tight is a budget that half of the hashed side fits.
func tight(hashed int) map[string]string {
	return map[string]string{budgetOf: fmt.Sprint(hashed * 5 / 9)}
}

func foretellings(hashed int) []foretold {
	return []foretold{
		{
			name: "a smaller budget", sql: innerSQL, flags: []string{"--set", budgetOf + "=" + tight(hashed)[budgetOf]},
			set: tight(hashed), before: advisor.MapJoin, after: advisor.MergeJoin,
		},
		{
			name: "no map joins", sql: leftSQL, flags: []string{"--set", "hive.auto.convert.join=false"},
			set: map[string]string{"hive.auto.convert.join": "false"}, before: advisor.MapJoin, after: advisor.MergeJoin,
		},
		{
			name: "hash joins of partitions", sql: innerSQL, base: tight(hashed), flags: []string{"--set", dphjOf + "=true"},
			set: map[string]string{dphjOf: "true"}, before: advisor.MergeJoin, after: advisor.DPHJ,
		},
		{
			name: "a table grown", sql: innerSQL, flags: []string{"--table", "DB.small:rows=200000"},
			alter:  []string{"ALTER TABLE small UPDATE STATISTICS SET ('numRows'='200000','rawDataSize'='20000000')"},
			before: advisor.MapJoin, after: advisor.MergeJoin,
		},
		{
			name: "a table shrunk", sql: innerSQL, base: tight(hashed), flags: []string{"--table", "DB.small:rows=2000"},
			alter:  []string{"ALTER TABLE small UPDATE STATISTICS SET ('numRows'='2000','rawDataSize'='200000')"},
			before: advisor.MergeJoin, after: advisor.MapJoin,
		},
		{
			name: "more distinct keys", sql: innerSQL, base: map[string]string{entriesOf: "15000", "hive.stats.fetch.column.stats": "true"}, flags: []string{"--table", "DB.small:ndv.k=18000"},
			alter:  []string{"ALTER TABLE small UPDATE STATISTICS FOR COLUMN k SET ('numDVs'='18000','numNulls'='0','lowValue'='1','highValue'='20000')"},
			before: advisor.MapJoin, after: advisor.MergeJoin,
		},
		{
			name: "buckets", sql: innerSQL, base: tight(hashed),
			flags:  []string{"--bucket", "DB.big:col=k:buckets=4:sort=none"},
			alter:  []string{"ALTER TABLE big CLUSTERED BY (k) INTO 4 BUCKETS"},
			before: advisor.MergeJoin, after: advisor.BucketMapJoin,
		},
		{
			name: "sorted buckets", sql: innerSQL, base: map[string]string{budgetOf: "1000"},
			flags:  []string{"--bucket", "DB.big:col=k:buckets=4", "--bucket", "DB.small:col=k:buckets=4"},
			alter:  []string{"ALTER TABLE big CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS", "ALTER TABLE small CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS"},
			before: advisor.MergeJoin, after: advisor.SMB,
		},
		{
			name: "buckets given up", layout: "_bucketed", sql: innerSQL, base: tight(hashed),
			flags:  []string{"--bucket", "DB.big_bucketed:buckets=0", "--bucket", "DB.small_bucketed:buckets=0"},
			alter:  []string{"ALTER TABLE big_bucketed NOT CLUSTERED", "ALTER TABLE small_bucketed NOT CLUSTERED"},
			before: advisor.BucketMapJoin, after: advisor.MergeJoin,
		},
		{
			name: "more LLAP nodes", layout: "_bucketed", sql: innerSQL, base: llap(40, 1, network(hashed)), flags: []string{"--nodes", "1000"},
			set: llap(1000, 1, network(hashed)), before: advisor.BucketMapJoin, after: advisor.DPHJ,
		},
		{
			name: "more LLAP executors", sql: innerSQL, base: llap(2, 3, tight(hashed)), flags: []string{"--executors", "24"},
			set: llap(2, 24, tight(hashed)), before: advisor.MergeJoin, after: advisor.MapJoin, after3: advisor.MergeJoin,
		},
	}
}

// ask runs whatif on one query and gives what it prints as JSON.
func (h realHive) ask(sql string, base map[string]string, flags ...string) whatIf {
	h.t.Helper()
	args := []string{"whatif", "--format", "json", "--database", h.database, sql}
	for _, name := range slices.Sorted(maps.Keys(base)) {
		args = append(args, "--base", name+"="+base[name])
	}
	for _, flag := range flags {
		args = append(args, strings.ReplaceAll(flag, "DB.", h.database+"."))
	}
	var got whatIf
	out := h.command(args...)
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		h.t.Fatalf("%v in\n%s", err, out)
	}
	if got.Joins != 1 || got.Unlike != 0 {
		h.t.Errorf("%d joins, %d decided otherwise than planned:\n%s", got.Joins, got.Unlike, out)
	}
	return got
}

func TestWhatIfForetellsHive4(t *testing.T) {
	h := startRealHive(t, "HS2PROXY_TEST_HS2", "a HiveServer2 of Hive 4")
	for _, c := range foretellings(hashedByHive4) {
		t.Run(c.name, func(t *testing.T) { h.with(t).foretells(c) })
	}
}

func TestWhatIfForetellsHive3(t *testing.T) {
	h := startHive3(t)
	for _, c := range foretellings(hashedByHive3) {
		if c.after3 != "" {
			c.after = c.after3
		}
		t.Run(c.name, func(t *testing.T) { h.with(t).foretells(c) })
	}
}

// foretells asks whatif what a change would do, then makes the change on the server and looks at its plan.
func (h realHive) foretells(c foretold) {
	sql := fmt.Sprintf(c.sql, c.layout)
	var told []advisor.Strategy
	for _, change := range h.ask(sql, c.base, c.flags...).Changes {
		told = append(told, change.Before, change.After)
	}
	want := []advisor.Strategy{c.before, c.after}
	if c.before == c.after {
		want = nil
	}
	if !slices.Equal(told, want) {
		h.t.Errorf("foretold %v, want %v", told, want)
	}

	if was := h.planned(sql, c.base); was != c.before {
		h.t.Errorf("Hive plans a %s before the change, want %s", was, c.before)
	}
	if len(c.alter) > 0 {
		h.t.Cleanup(h.restore)
		h.run(h.open(h.address), append([]string{"USE " + h.database}, c.alter...)...)
	}
	after := map[string]string{}
	maps.Copy(after, c.base)
	maps.Copy(after, c.set)
	if is := h.planned(sql, after); is != c.after {
		h.t.Errorf("Hive plans a %s after the change, want %s", is, c.after)
	}
}

// TestSweepForetellsHive4: where a sweep says that a join flips, Hive flips, to the byte and to the node.
func TestSweepForetellsHive4(t *testing.T) {
	h := startRealHive(t, "HS2PROXY_TEST_HS2", "a HiveServer2 of Hive 4")
	for _, c := range []struct {
		name, layout, sweep string
		base                map[string]string
		at                  func(n int64) map[string]string
		breaks              int
	}{
		{
			"budget", "", "budget=1kB..1GB",
			map[string]string{dphjOf: "true"},
			func(n int64) map[string]string { return map[string]string{dphjOf: "true", budgetOf: fmt.Sprint(n)} }, 2,
		},
		{
			"budget of buckets", "_sorted", "budget=1kB..1GB", nil,
			func(n int64) map[string]string { return map[string]string{budgetOf: fmt.Sprint(n)} }, 1,
		},
		{"nodes", "_bucketed", "nodes=4..1000", llap(4, 1, network(hashedByHive4)), func(n int64) map[string]string { return llap(int(n), 1, network(hashedByHive4)) }, 1},
		{
			"executors", "", "executors=1..40", llap(2, 1, tight(hashedByHive4)),
			func(n int64) map[string]string { return llap(2, int(n), tight(hashedByHive4)) }, 1,
		},
		{"keys", "", entriesOf + "=1..30000", nil, func(n int64) map[string]string { return map[string]string{entriesOf: fmt.Sprint(n)} }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := h.with(t)
			sql := fmt.Sprintf(innerSQL, c.layout)
			got := h.ask(sql, c.base, "--sweep", c.sweep)
			if len(got.Sweeps) != 1 || len(got.Sweeps[0].Joins) != 1 || len(got.Sweeps[0].Joins[0].Pieces) != c.breaks+1 {
				t.Fatalf("swept %+v, want %d breaks", got.Sweeps, c.breaks)
			}
			pieces := got.Sweeps[0].Joins[0].Pieces
			for i, p := range pieces {
				if is := h.planned(sql, c.at(p.From)); is != p.Strategy {
					t.Errorf("from %d: foretold %s, Hive plans a %s", p.From, p.Strategy, is)
				}
				if i == 0 {
					continue
				}
				if is := h.planned(sql, c.at(p.From-1)); is != pieces[i-1].Strategy {
					t.Errorf("just below %d: foretold %s, Hive plans a %s", p.From, pieces[i-1].Strategy, is)
				}
			}
			t.Logf("%+v", pieces)
		})
	}
}
