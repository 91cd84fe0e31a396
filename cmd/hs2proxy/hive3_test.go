package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// These tests are for HS2PROXY_TEST_HIVE3, a HiveServer2 of Hive 3.1 on Tez.

func startHive3(t *testing.T) realHive {
	t.Helper()
	return startRealHive(t, "HS2PROXY_TEST_HIVE3", "a HiveServer2 of Hive 3.1 on Tez")
}

// hive3Queries are joins with the strategy that Hive 3.1.3 gives each. The texts differ: on record is the last plan of each.
var hive3Queries = []struct {
	name, sql string
	settings  map[string]string
	want      advisor.Strategy
}{
	{"map join", fmt.Sprintf(innerSQL, ""), nil, advisor.MapJoin},
	{"merge join", fmt.Sprintf(leftSQL, ""), map[string]string{budgetOf: "500000"}, advisor.MergeJoin},
	{"hash join of partitions", "SELECT b.v FROM big a JOIN small b ON a.k = b.k", map[string]string{
		budgetOf: "1500000", dphjOf: "true", "hive.exec.reducers.bytes.per.reducer": "10000000",
	}, advisor.DPHJ},
	{"bucket map join", fmt.Sprintf(innerSQL, "_bucketed"), map[string]string{budgetOf: "1500000", "hive.convert.join.bucket.mapjoin.tez": "true"}, advisor.BucketMapJoin},
	{"sorted buckets", fmt.Sprintf(innerSQL, "_sorted"), map[string]string{budgetOf: "1000", "hive.auto.convert.sortmerge.join": "true"}, advisor.SMB},
	{"full outer", "SELECT a.v, b.v FROM big a FULL OUTER JOIN small b ON a.k = b.k", map[string]string{dphjOf: "true"}, advisor.MergeJoin},
	{"not exists", "SELECT a.v FROM big a WHERE NOT EXISTS (SELECT 1 FROM small b WHERE a.k = b.k)", nil, advisor.MapJoin},
}

// TestHive3ThroughTheProxy: a client's joins are relayed, explained, and judged by the rules of Hive 3, unasked.
func TestHive3ThroughTheProxy(t *testing.T) {
	h := startHive3(t)
	cfg := config.Default()
	cfg.Listen, cfg.Admin.Listen = "127.0.0.1:0", ""
	cfg.Upstream.Name, cfg.Upstream.Address = "hive3", h.address
	cfg.Explain.Rate = 50
	cfg.Database.URL = storetest.DSN(t)
	proxy, err := app.New(t.Context(), cfg, zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel))
	if err != nil {
		t.Fatal(err)
	}
	if err := proxy.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	for _, q := range hive3Queries {
		session := h.open(proxy.Addr().String())
		h.run(session, "USE "+h.database)
		for _, name := range slices.Sorted(maps.Keys(q.settings)) {
			h.run(session, "SET "+name+"="+q.settings[name])
		}
		h.run(session, q.sql)
	}

	fidelity := reportUntil(t, proxy.Store(), "fidelity", func(rows []map[string]any) bool {
		return len(rows) == 1 && rows[0]["joins"] == int64(len(hive3Queries))
	})[0]
	t.Logf("%v", fidelity)
	if version := fmt.Sprint(fidelity["hive_version"]); !strings.HasPrefix(version, "3.1") || advisor.ReleaseOf(version) != advisor.Hive3 {
		t.Errorf("version %s", version)
	}
	if fidelity["strategy_percent"] != 100.0 {
		t.Errorf("%v %% of the strategies agree", fidelity["strategy_percent"])
	}
	if fidelity["witnessed"] != int64(len(hive3Queries)) || fidelity["budget_percent"] != 100.0 || fidelity["sizes"] != int64(0) {
		t.Errorf("the planner told of %v joins and %v sizes; %v %% of the budgets agree", fidelity["witnessed"], fidelity["sizes"], fidelity["budget_percent"])
	}
	seen := 0
	err = proxy.Store().RecordedJoins(t.Context(), store.JoinFilter{}, func(j *store.RecordedJoin) error {
		seen++
		if j.Settings[advisor.ReleaseName] != string(advisor.Hive3) {
			t.Errorf("a join is on record under the release %q", j.Settings[advisor.ReleaseName])
		}
		return nil
	})
	if err != nil || seen != len(hive3Queries) {
		t.Errorf("%d joins of %d on record, %v", seen, len(hive3Queries), err)
	}
	for _, row := range reportUntil(t, proxy.Store(), "joins", func(rows []map[string]any) bool { return len(rows) == len(hive3Queries) }) {
		if row["agrees"] != true {
			t.Errorf("planned %v, simulated %v: %v", row["planned"], row["simulated"], row["reason"])
		}
	}
}

// reportUntil reads a report until it is as wanted.
func reportUntil(t *testing.T, s *store.Store, name string, enough func([]map[string]any) bool) []map[string]any {
	t.Helper()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		report, err := s.Report(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]map[string]any, len(report.Rows))
		for i := range report.Rows {
			rows[i] = map[string]any{}
			for c, column := range report.Columns {
				rows[i][column] = report.Rows[i][c]
			}
		}
		if enough(rows) {
			return rows
		}
		select {
		case <-again.C:
		case <-limit.C:
			t.Fatalf("report %s: %v", name, rows)
		}
	}
}

// TestHive3Explain: explain and check know the release by the server, and agree with its plans.
func TestHive3Explain(t *testing.T) {
	h := startHive3(t)
	dir := t.TempDir()
	sql := filepath.Join(dir, "sql")
	if err := os.Mkdir(sql, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, q := range hive3Queries {
		args, script := []string{"explain", "--database", h.database}, "USE "+h.database+";\n"
		for _, name := range slices.Sorted(maps.Keys(q.settings)) {
			args = append(args, "--set", name+"="+q.settings[name])
			script += "SET " + name + "=" + q.settings[name] + ";\n"
		}
		out := h.command(append(args, q.sql)...)
		if want := fmt.Sprintf("planned %s = simulated %s\n", q.want, q.want); !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", q.name, want, out)
		}
		if strings.Contains(out, "hive.auto.convert.anti.join") {
			t.Errorf("%s: advice that Hive 3 refuses:\n%s", q.name, out)
		}
		if is := h.planned(q.sql, q.settings); is != q.want {
			t.Errorf("%s: Hive plans a %s, want %s", q.name, is, q.want)
		}
		if err := os.WriteFile(filepath.Join(sql, fmt.Sprintf("%d.sql", i)), []byte(script+q.sql+";\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	baseline := filepath.Join(dir, "joins.yaml")
	h.command("check", sql, "--baseline", baseline, "--update")
	out := h.command("check", sql, "--baseline", baseline, "--strict")
	if want := fmt.Sprintf("%d unchanged", len(hive3Queries)); !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	recorded, err := os.ReadFile(baseline)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []advisor.Strategy{advisor.MapJoin, advisor.MergeJoin, advisor.DPHJ, advisor.BucketMapJoin, advisor.SMB} {
		if !strings.Contains(string(recorded), string(s)) {
			t.Errorf("no %s in the baseline:\n%s", s, recorded)
		}
	}
}

// hive3Edges are joins at which Hive 3's rules leave Hive 4's: reducers stand in for buckets, LLAP compares network costs of joins without
// buckets, and sorted buckets must be hashed alike.
var hive3Edges = []edge{
	{"without buckets on 251 nodes", fmt.Sprintf(innerSQL, ""), llapOf(251), advisor.MapJoin},
	{"without buckets on 252 nodes", fmt.Sprintf(innerSQL, ""), llapOf(252), advisor.DPHJ},
	{"one reducer, on 252 nodes", fmt.Sprintf(innerSQL, ""), llapOf(252, "hive.exec.reducers.bytes.per.reducer", "1000000000"), advisor.MapJoin},
	{"two reducers that a setting fixes", fmt.Sprintf(innerSQL, ""), llapOf(252, "hive.exec.reducers.bytes.per.reducer", "1000000000", "mapreduce.job.reduces", "2"), advisor.DPHJ},
	{"no bucket map joins", fmt.Sprintf(innerSQL, ""), llapOf(252, "hive.convert.join.bucket.mapjoin.tez", "false"), advisor.MapJoin},
	{"no hash joins of partitions", fmt.Sprintf(innerSQL, ""), llapOf(252, dphjOf, "false"), advisor.MapJoin},
	{"one bucket", fmt.Sprintf(innerSQL, "_single"), llapOf(252), advisor.MapJoin},
	{"left outer on 252 nodes", fmt.Sprintf(leftSQL, ""), llapOf(252), advisor.DPHJ},
	{"above the budget but for the reducers", fmt.Sprintf(innerSQL, ""), llapOf(100, budgetOf, "1500000"), advisor.DPHJ},
	{"buckets on 252 nodes", fmt.Sprintf(innerSQL, "_bucketed"), llapOf(252), advisor.DPHJ},
	{"buckets on 251 nodes", fmt.Sprintf(innerSQL, "_bucketed"), llapOf(251), advisor.BucketMapJoin},
	{
		"a GROUP BY for buckets", "SELECT a.c, b.v FROM (SELECT k, count(*) c FROM big GROUP BY k) a JOIN small b ON a.k = b.k",
		map[string]string{"hive.exec.reducers.bytes.per.reducer": "10000000"},
		advisor.BucketMapJoin,
	},
	{
		"a GROUP BY and one reducer", "SELECT a.c, b.v FROM (SELECT k, count(*) c FROM big GROUP BY k) a JOIN small b ON a.k = b.k",
		map[string]string{"hive.exec.reducers.bytes.per.reducer": "1000000000"},
		advisor.MapJoin,
	},
	{"buckets of a column that is no key", "SELECT a.v, b.v FROM big_other a JOIN small b ON a.k = b.k", nil, advisor.BucketMapJoin},
	{"buckets of a column that is not read", "SELECT b.v FROM big_other a JOIN small b ON a.k = b.k", nil, advisor.MapJoin},
	{"buckets hashed another way", "SELECT a.v, b.v FROM big_sorted a JOIN small_older b ON a.k = b.k", map[string]string{budgetOf: "1000"}, advisor.MergeJoin},
	{"a GROUP BY of sorted buckets", groupedSQL + "small_sorted b ON a.k = b.k", map[string]string{budgetOf: "1000"}, advisor.SMB},
	{"a GROUP BY of buckets hashed another way", groupedSQL + "small_older b ON a.k = b.k", map[string]string{budgetOf: "1000"}, advisor.MergeJoin},
	{"a semi join of sorted buckets", "SELECT a.v FROM big_sorted a LEFT SEMI JOIN small_sorted b ON a.k = b.k", map[string]string{budgetOf: "1000"}, advisor.SMB},
	{"a semi join of buckets hashed another way", "SELECT a.v FROM big_sorted a LEFT SEMI JOIN small_older b ON a.k = b.k", map[string]string{budgetOf: "1000"}, advisor.MergeJoin},
	{"a cross product, hash joins of partitions on", "SELECT a.v, b.v FROM big a CROSS JOIN small b", map[string]string{dphjOf: "true"}, advisor.MapJoin},
}

const bucketMapJoinOf, reducerBytesOf = "hive.convert.join.bucket.mapjoin.tez", "hive.exec.reducers.bytes.per.reducer"

// groupedBigSQL takes a shuffle.
const groupedBigSQL = "SELECT a.c, b.v FROM (SELECT k, count(*) c FROM big GROUP BY k) a JOIN small b ON a.k = b.k"

// groupedSQL groups by what its table is sorted by, which takes no shuffle.
const groupedSQL = "SELECT a.c, b.v FROM (SELECT k, count(*) c FROM big_sorted GROUP BY k) a JOIN "

// llapOf are the settings of a cluster of so many nodes with 4 executors each, hash joins of partitions on.
func llapOf(nodes int, more ...string) map[string]string {
	hosts := make([]string, nodes)
	for i := range hosts {
		hosts[i] = "h" + fmt.Sprint(i)
	}
	values := map[string]string{
		"hive.execution.mode": "llap", "hive.llap.execution.mode": "all", "hive.llap.daemon.service.hosts": strings.Join(hosts, ","),
		"hive.llap.daemon.num.executors": "4", dphjOf: "true",
	}
	for i := 0; i+1 < len(more); i += 2 {
		values[more[i]] = more[i+1]
	}
	return values
}

// TestHive3Edges: each is planned as the rules of Hive 3 foretell.
func TestHive3Edges(t *testing.T) {
	h := startHive3(t)
	var statements []string
	for _, table := range []struct {
		name, clause string
		rows         int64
	}{
		{"big_other", "CLUSTERED BY (v) INTO 4 BUCKETS STORED AS ORC", 5_000_000},
		{"big_single", "CLUSTERED BY (k) INTO 1 BUCKETS STORED AS ORC", 5_000_000},
		{"small_single", "CLUSTERED BY (k) INTO 1 BUCKETS STORED AS ORC", 20_000},
		{"small_older", "CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS STORED AS ORC TBLPROPERTIES ('bucketing_version'='1')", 20_000},
	} {
		statements = append(statements, fmt.Sprintf("CREATE TABLE %s (k BIGINT, v STRING) %s", table.name, table.clause),
			fmt.Sprintf("ALTER TABLE %s UPDATE STATISTICS SET ('numRows'='%d','rawDataSize'='%d')", table.name, table.rows, 100*table.rows))
	}
	h.run(h.open(h.address), append([]string{"USE " + h.database}, statements...)...)
	h.plansAsSimulated(hive3Edges)
}

// TestHive3FullOuterRefused: Hive 3 refuses a FULL OUTER join that would fit the budget but has too many keys, and whatif says so before.
func TestHive3FullOuterRefused(t *testing.T) {
	h := startHive3(t)
	const sql = "SELECT a.v, b.v FROM big a FULL OUTER JOIN small b ON a.k = b.k"
	base := map[string]string{budgetOf: "10000000000", "hive.stats.fetch.column.stats": "true"}
	for _, c := range []struct {
		name    string
		set     map[string]string
		refused bool
	}{
		{"as many keys as allowed", map[string]string{entriesOf: "2500000"}, false},
		{"a key too many", map[string]string{entriesOf: "2499999"}, true},
		{"no shuffle limit", map[string]string{entriesOf: "1000", "hive.auto.convert.join.shuffle.max.size": "0"}, false},
		{"above the budget", map[string]string{entriesOf: "1000", budgetOf: "1000000"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := h.with(t)
			var flags []string
			settings := maps.Clone(base)
			for _, name := range slices.Sorted(maps.Keys(c.set)) {
				flags = append(flags, "--set", name+"="+c.set[name])
				settings[name] = c.set[name]
			}
			got := h.ask(sql, base, flags...)
			told := len(got.Changes) == 1 && got.Changes[0].After == advisor.Unknown
			if told != c.refused || !c.refused && len(got.Changes) != 0 {
				t.Errorf("whatif tells %+v, refused: %v", got.Changes, c.refused)
			}
			if !c.refused {
				if is := h.planned(sql, settings); is != advisor.MergeJoin {
					t.Errorf("Hive plans a %s", is)
				}
				return
			}
			session := h.open(h.address)
			h.run(session, "USE "+h.database)
			for name, value := range settings {
				h.run(session, "SET "+name+"="+value)
			}
			if _, err := session.Query(t.Context(), "EXPLAIN "+sql); err == nil || !strings.Contains(err.Error(), "IndexOutOfBoundsException") {
				t.Errorf("Hive says %v", err)
			}
		})
	}
}

// TestHive3BucketMapJoinLever: the switch advised for a join over a GROUP BY tells of the reducers that Hive then counts on.
func TestHive3BucketMapJoinLever(t *testing.T) {
	h := startHive3(t)
	const sql = groupedBigSQL
	args := []string{"explain", "--database", h.database, "--set", budgetOf + "=1000000", "--set", "mapreduce.job.reduces=20", "--set", bucketMapJoinOf + "="}
	explain := func(on string) string {
		of := slices.Clone(args)
		of[len(of)-1] += on
		return h.command(append(of, sql)...)
	}
	for on, wants := range map[string][]string{
		"false": {"planned MERGE_JOIN = simulated MERGE_JOIN\n", "SET " + bucketMapJoinOf + "=true", "of hash table in each of 20 reducers, over which the streamed side is spread already"},
		"true":  {"planned BUCKET_MAP_JOIN = simulated BUCKET_MAP_JOIN\n", "(divided by 20 reducers)"},
	} {
		out := explain(on)
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", on, want, out)
			}
		}
	}
}
