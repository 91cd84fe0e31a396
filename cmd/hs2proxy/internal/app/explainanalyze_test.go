package app

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

const countedSQL = "SELECT t.a, u.b FROM shop.t JOIN shop.u ON t.a = u.a"

// countedPlan is user-level text of EXPLAIN ANALYZE: two rows were expected of the copied side, 500 came.
const countedPlan = `Vertex dependency in root stage
Map 2 <- Map 1 (BROADCAST_EDGE)

Stage-0
  Fetch Operator
    limit:-1
    Stage-1
      Map 2 vectorized
      File Output Operator [FS_24]
        Select Operator [SEL_23] (rows=2 width=93)
          Output:["_col0","_col1"]
          Map Join Operator [MAPJOIN_22] (rows=2 width=93)
            Conds:RS_19._col0=SEL_21._col0(Inner),Output:["_col0","_col2"]
          <-Map 1 [BROADCAST_EDGE] vectorized
            BROADCAST [RS_19]
              PartitionCols:_col0
              Select Operator [SEL_18] (rows=2/500 width=4)
                Output:["_col0"]
                Filter Operator [FIL_17] (rows=2/500 width=4)
                  predicate:a is not null
                  TableScan [TS_0] (rows=2/500 width=4)
                    shop@t,t,Tbl:COMPLETE,Col:COMPLETE,Output:["a"]
          <-Select Operator [SEL_21] (rows=2 width=93)
              Output:["_col0","_col1"]
              Filter Operator [FIL_20] (rows=2 width=93)
                predicate:a is not null
                TableScan [TS_3] (rows=2 width=93)
                  shop@u,u,Tbl:COMPLETE,Col:COMPLETE,Output:["a","b"]`

func cells(text string) (out [][]string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, []string{line})
	}
	return out
}

// counting is a fake HiveServer2 that explains countedSQL; its EXPLAIN ANALYZE goes on until it is canceled where blocks is set.
type counting struct {
	*hs2test.Server
	mu    sync.Mutex
	asked []string
}

func startCounting(t *testing.T, blocks bool) *counting {
	t.Helper()
	plan, err := os.ReadFile("../pipeline/testdata/mapjoin.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{}
	c.Server, err = hs2test.Start(hs2test.Config{Execute: func(sql string) hs2test.Outcome {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asked = append(c.asked, sql)
		switch {
		case strings.HasPrefix(sql, "EXPLAIN EXTENDED"):
			return hs2test.Outcome{Cells: cells(string(plan))}
		case strings.HasPrefix(sql, "EXPLAIN ANALYZE"):
			return hs2test.Outcome{Cells: cells(countedPlan), Block: blocks}
		case strings.HasPrefix(sql, "DESCRIBE FORMATTED"):
			return hs2test.Outcome{Cells: describedTable}
		case sql == "SET -v":
			return hs2test.Outcome{Cells: [][]string{{"hive.execution.engine=tez"}, {"hive.driver.parallel.compilation=true"}}}
		case strings.Contains(sql, "version()"):
			return hs2test.Outcome{Cells: [][]string{{"4.0.1 r3af4517"}}}
		default:
			return hs2test.Outcome{}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (c *counting) analyzed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(c.asked), func(s string) bool { return !strings.HasPrefix(s, "EXPLAIN ANALYZE") }))
}

func explainAnalyzing(cron string) func(*config.Config) {
	return func(c *config.Config) {
		c.Database.KeepLiterals = true // so that every proxy knows the text
		c.Actuals.ExplainAnalyze.Enabled, c.Actuals.ExplainAnalyze.MostJoined, c.Actuals.ExplainAnalyze.Cron = true, 3, cron
	}
}

// TestOneProxyRunsExplainAnalyze: two proxies fire at the same time, one of them runs the query, and what it counts is reported.
func TestOneProxyRunsExplainAnalyze(t *testing.T) {
	hive, dsn := startCounting(t, false), storetest.DSN(t)
	a, _ := start(t, hive.Addr(), dsn, explainAnalyzing("0 4 * * 0"))
	defer stop(t, a)
	b, _ := start(t, hive.Addr(), dsn, explainAnalyzing("0 4 * * 0"))
	defer stop(t, b)
	converse(t, a.Addr().String(), countedSQL)
	waitFor(t, func() bool { return a.Counters().Recorded.Load() > 0 && len(report(t, dsn, "joins").Rows) == 1 })
	if n := hive.analyzed(); n != 0 {
		t.Fatalf("%d run unasked", n)
	}
	var fired sync.WaitGroup
	for _, p := range []*App{a, b, a, b} {
		fired.Go(func() { p.counter.fired(t.Context(), time.Now().Truncate(time.Hour)) })
	}
	fired.Wait()
	if n := hive.analyzed(); n != 1 {
		t.Errorf("run %d times", n)
	}
	ran := report(t, dsn, "explain_analyze")
	if len(ran.Rows) != 1 || ran.Rows[0][columnOf(t, ran, "outcome")] != "COUNTED" || ran.Rows[0][columnOf(t, ran, "operators")] != int64(3) || ran.Rows[0][columnOf(t, ran, "worst")] != 250.0 {
		t.Errorf("report_explain_analyze: %v", ran.Rows)
	}
	if errs := report(t, dsn, "estimate_errors"); len(errs.Rows) == 0 {
		t.Error("report_estimate_errors is empty")
	}
	found := report(t, dsn, "findings_movement")
	if !slices.ContainsFunc(found.Rows, func(row []any) bool { return row[columnOf(t, found, "kind")] == "broadcast_actual_dwarfs_estimate" }) {
		t.Errorf("findings %v", found.Rows)
	}
}

// TestExplainAnalyzeIsCanceledInTime: its schedule starts it, its time limit ends it, in HiveServer2 too.
func TestExplainAnalyzeIsCanceledInTime(t *testing.T) {
	hive, dsn := startCounting(t, true), storetest.DSN(t)
	a, _ := start(t, hive.Addr(), dsn, func(c *config.Config) {
		explainAnalyzing("@every 1s")(c)
		c.Actuals.ExplainAnalyze.Timeout = 500 * time.Millisecond
	})
	defer stop(t, a)
	converse(t, a.Addr().String(), countedSQL)
	waitFor(t, func() bool { return slices.Contains(hive.Calls(), "CancelOperation") })
	waitFor(t, func() bool { return len(report(t, dsn, "explain_analyze").Rows) > 0 })
	ran := report(t, dsn, "explain_analyze")
	if got := ran.Rows[len(ran.Rows)-1]; got[columnOf(t, ran, "outcome")] != "CANCELED" || !strings.Contains(got[columnOf(t, ran, "reason")].(string), "longer than 500ms") {
		t.Errorf("got %v", got)
	}
	if errs := report(t, dsn, "estimate_errors"); len(errs.Rows) > 0 {
		t.Errorf("counted %v", errs.Rows)
	}
}

// TestNoExplainAnalyzeUnasked: by default nothing runs.
func TestNoExplainAnalyzeUnasked(t *testing.T) {
	if config.Default().Actuals.ExplainAnalyze.Enabled {
		t.Error("on by default")
	}
	hive, dsn := startCounting(t, false), storetest.DSN(t)
	a, _ := start(t, hive.Addr(), dsn, nil)
	defer stop(t, a)
	if a.counter != nil {
		t.Error("there is a schedule")
	}
}
