package main

import (
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// TestWhatIfOfRecordedJoins records the seed's join on 40 nodes, and asks about 200 and about another size of its table.
func TestWhatIfOfRecordedJoins(t *testing.T) {
	dsn := storetest.DSN(t)
	s, err := store.Open(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const gb = 1_000_000_000
	input := func(table string, size, rows int64) advisor.Input {
		return advisor.Input{
			Tables: []string{table}, Rows: rows, CumulativeRows: rows, DataSize: size, Keys: []advisor.Key{{Expr: "id", Type: "bigint", Table: table, Column: "id"}},
			Layout: advisor.Layout{BucketColumns: []string{"id"}, Buckets: 64, TotalSize: -1},
		}
	}
	j := advisor.Join{
		Strategy: advisor.BucketMapJoin, BigTable: 0, Conditions: []advisor.Condition{{Type: advisor.Inner, Left: 0, Right: 1}},
		Inputs: []advisor.Input{input("shop.orders", 400*gb, 2000), input("shop.customers", 3*gb, 1000)},
	}
	j.Inputs[1].Position = 1
	values := map[string]string{
		"hive.auto.convert.join.noconditionaltask.size": "1000000000", "hive.optimize.dynamic.partition.hashjoin": "true",
		"hive.execution.mode": "llap", "hive.llap.daemon.service.hosts": "@llap0",
	}
	err = s.RecordPlan(t.Context(), store.Analysis{
		Upstream: "hive", Fingerprint: "seed", Database: "shop", Settings: values, Tables: []string{"shop.customers", "shop.orders"}, ExplainedAt: time.Now(),
		Joins: []advisor.JoinVerdict{advisor.Judge(j, advisor.NewSettings(values).WithCluster(40, 12))}, Cause: store.CauseFirst,
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(5000)
	err = s.SaveTableStats(t.Context(), "hive", []advisor.TableStats{{Table: "shop.customers", Kind: "MANAGED_TABLE", Rows: &rows, ReadAt: time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HS2PROXY_DATABASE__URL", dsn)
	for _, c := range []struct {
		name string
		cmd  whatifCmd
		want []string
	}{
		{"more nodes", whatifCmd{Nodes: 200}, []string{
			"1 of 1 joins change", "BUCKET_MAP_JOIN → DPHJ: query seed join 0 of shop.orders, shop.customers on hive", "on 40 nodes a shuffle", "on 200 nodes a shuffle",
			"moves:  120 GB → 403 GB",
		}},
		{"the break point", whatifCmd{Sweep: []string{"nodes=4..400"}}, []string{"nodes from 4 to 400: 1 of 1 joins change", "from 4: BUCKET_MAP_JOIN", "from 135: DPHJ"}},
		{"a fifth of the rows", whatifCmd{Table: []string{"shop.customers:rows=1000"}}, []string{"BUCKET_MAP_JOIN → MAP_JOIN", "moves:  120 GB → 24 GB"}},
		{"no buckets", whatifCmd{Bucket: []string{"shop.orders:buckets=0", "shop.customers:buckets=0"}}, []string{"BUCKET_MAP_JOIN → DPHJ"}},
		{"another table", whatifCmd{Nodes: 200, OnTable: "shop.parts"}, []string{"0 of 0 joins change"}},
	} {
		change, sweeps, err := c.cmd.changes()
		if err != nil {
			t.Fatal(err)
		}
		r := newReplay(change, sweeps, 10)
		if err := c.cmd.replayRecorded(t.Context(), r); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var b strings.Builder
		if err := printWhatIf(&b, r.finish(), "text"); err != nil {
			t.Fatal(err)
		}
		for _, want := range append(c.want, "") {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, &b)
			}
		}
		if strings.Contains(b.String(), "decided otherwise now") {
			t.Errorf("%s: the record is not replayed as it was:\n%s", c.name, &b)
		}
	}
	cmd := whatifCmd{Table: []string{"shop.orders:rows=1000"}}
	change, sweeps, err := cmd.changes()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.replayRecorded(t.Context(), newReplay(change, sweeps, 10)); err == nil || !strings.Contains(err.Error(), "the rows of shop.orders are not known") {
		t.Errorf("rows nobody knows: %v", err)
	}
}

func TestWhatIfUnits(t *testing.T) {
	for text, want := range map[string]int64{"10MB": 10_000_000, "10MiB": 10 << 20, "1.5 GB": 1_500_000_000, "9007199254740993": 9007199254740993, "2b": 2, "1,000": 1000} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "MB", "-1", "10 parsecs", "9999PB9", "1e400", "99999999PB", "NaN"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2024-02-01": time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC), "7d": now.AddDate(0, 0, -7), "36h": now.Add(-36 * time.Hour),
	} {
		if got, err := parseSince(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
