package pipeline

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// partitionedTables fakes the statistics of a table with four very different partitions, one without most column statistics,
// and of a table to join it with.
func partitionedTables(t *testing.T, config client.Config, database string) {
	t.Helper()
	session, err := client.Open(t.Context(), config, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, sql string) {
		t.Helper()
		if _, err := session.Query(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	t.Cleanup(func() {
		run(context.Background(), "DROP DATABASE IF EXISTS "+database+" CASCADE")
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	statements := []string{
		"SET metastore.metadata.transformer.class=", "DROP DATABASE IF EXISTS " + database + " CASCADE", "CREATE DATABASE " + database, "USE " + database,
		"CREATE TABLE p (a bigint, s string, w string) PARTITIONED BY (ds string, h int) STORED AS ORC", "CREATE TABLE u (a bigint, b string) STORED AS ORC",
		"ALTER TABLE u UPDATE STATISTICS SET ('numRows'='500','rawDataSize'='50000')",
		"ALTER TABLE u UPDATE STATISTICS FOR COLUMN a SET ('numDVs'='500','numNulls'='0')",
		"ALTER TABLE u UPDATE STATISTICS FOR COLUMN b SET ('numDVs'='50','numNulls'='5','avgColLen'='10','maxColLen'='40')",
	}
	for i, rows := range []int{1000, 20_000, 40_000, 7000} {
		partition := fmt.Sprintf("PARTITION (ds='2024-01-0%d', h=%d)", i+1, i)
		statements = append(statements, "ALTER TABLE p ADD "+partition,
			fmt.Sprintf("ALTER TABLE p %s UPDATE STATISTICS SET ('numRows'='%d','rawDataSize'='%d')", partition, rows, rows*100))
		for _, column := range []string{"a", "s", "w"} {
			length := ",'avgColLen'='20','maxColLen'='40'"
			nulls := rows / (i + 2)
			if column == "a" {
				length, nulls = "", i
			}
			if i < 3 || column == "a" { // the fourth has statistics of its key alone
				statements = append(statements, fmt.Sprintf("ALTER TABLE p %s UPDATE STATISTICS FOR COLUMN %s SET ('numDVs'='%d','numNulls'='%d'%s)",
					partition, column, rows/(2+i), nulls, length))
			}
		}
	}
	for _, sql := range statements {
		run(t.Context(), sql)
	}
}

// TestPartitionedJoinOnHive compares the simulated sizes of a partitioned join with those that the planner of a real HiveServer2 logs.
func TestPartitionedJoinOnHive(t *testing.T) {
	address := os.Getenv("HS2PROXY_TEST_HS2")
	if address == "" {
		t.Skip("HS2PROXY_TEST_HS2=host:port of a HiveServer2 4.0.1 (authentication NONE) is not set")
	}
	const database = "h_pipe_partitions"
	config := client.Config{Address: address, Auth: "NONE", User: "pipeline", DialTimeout: 30 * time.Second, CallTimeout: time.Minute}
	partitionedTables(t, config, database)
	service := NewService(To(config), nil)
	defer service.Close()
	explainer := NewExplainer(ExplainConfig{
		Login: To(config), Timeout: time.Minute, Concurrency: 1, Rate: 100, BreakerFailures: 5, BreakerPause: time.Minute, Witness: true,
	}, quiet())
	defer explainer.Close()
	a := &Analyzer{
		Upstream: "main", Explainer: explainer, Server: NewServer(service, time.Hour, time.Now), Tables: NewTables(service, time.Hour, time.Now), Log: quiet(),
	}
	for name, where := range map[string]string{
		"one partition":               "p.ds = '2024-01-02'",
		"two":                         "p.ds <= '2024-01-02'",
		"two others, filtered":        "p.ds in ('2024-01-01', '2024-01-03') AND p.w = 'x'",
		"all":                         "p.h >= 0",
		"one without some statistics": "p.h = 3",
		"three, one without some":     "p.h <> 2",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := a.Analyze(t.Context(), Query{
				SQL:         "SELECT p.s, u.b FROM p JOIN u ON p.a = u.a WHERE " + where,
				Fingerprint: "f", Cause: store.CauseFirst, Target: Target{Database: database},
			})
			if err != nil || got.Error != "" || len(got.Joins) != 1 {
				t.Fatalf("got %+v, %v", got, err)
			}
			j := got.Joins[0]
			if !j.Verdict.Agrees {
				t.Errorf("planned %s, simulated %s: %s", j.Verdict.Planned, j.Verdict.Simulated, j.Decision.Reason)
			}
			for pos, in := range j.Join.Inputs {
				if in.OnlineDataSize == nil {
					t.Errorf("input %d: the planner's size is not there", pos)
				} else if size := j.Decision.OnlineDataSizes[pos]; size != *in.OnlineDataSize {
					t.Errorf("input %d (%s): simulated %d, the planner's %d: %+v", pos, strings.Join(in.Tables, " "), size, *in.OnlineDataSize, in.Columns)
				}
			}
			if len(j.Decision.Uncertain) > 0 {
				t.Errorf("uncertain: %q", j.Decision.Uncertain)
			}
		})
	}
}
