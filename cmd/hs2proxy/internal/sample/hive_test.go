package sample

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/store/storetest"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// These tests run the sample on a real HiveServer2, named by HS2PROXY_TEST_HS2 as host:port, in a database of their
// own. They read strategies from the plan text by the seed rules alone, so that they also judge the advisor's Want.

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

func hiveAddress(t *testing.T) string {
	t.Helper()
	address := os.Getenv("HS2PROXY_TEST_HS2")
	if address == "" {
		t.Skip("set HS2PROXY_TEST_HS2=host:port to run the sample on a real HiveServer2")
	}
	return address
}

func open(t *testing.T) *client.Session {
	t.Helper()
	return openAt(t, hiveAddress(t))
}

func openAt(t *testing.T, address string) *client.Session {
	t.Helper()
	session, err := client.Open(t.Context(), client.Config{
		Address: address, Auth: "NONE", User: "hs2proxy", Password: "hs2proxy",
		DialTimeout: 10 * time.Second, CallTimeout: 5 * time.Minute,
	}, nil)
	if err != nil {
		t.Fatalf("open a session on %s: %v", address, err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close a session: %v", err)
		}
	})
	return session
}

func run(t *testing.T, session *client.Session, statements ...string) client.Result {
	t.Helper()
	var last client.Result
	for _, statement := range statements {
		var err error
		if last, err = session.Query(context.WithoutCancel(t.Context()), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return last
}

// planOf is the text of one form of EXPLAIN.
func planOf(t *testing.T, session *client.Session, form, sql string) string {
	t.Helper()
	run(t, session, "SET hive.explain.user=false")
	var text strings.Builder
	for _, row := range run(t, session, "EXPLAIN "+form+" "+sql).Rows {
		if row[0] != nil {
			text.WriteString(*row[0])
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// extended is a query's EXPLAIN EXTENDED, read.
func extended(t *testing.T, session *client.Session, sql string) *explain.Plan {
	t.Helper()
	text := planOf(t, session, "EXTENDED", sql)
	plan, err := explain.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v\n%s", sql, err, text)
	}
	return plan
}

// strategies reads the joins of a query in plan order.
func strategies(t *testing.T, session *client.Session, sql string) []advisor.Strategy {
	t.Helper()
	text := planOf(t, session, "EXTENDED", sql)
	got := classify(text)
	if len(got) == 0 {
		t.Fatalf("no join in the plan:\n%s", text)
	}
	return got
}

func TestSampleOnHive(t *testing.T) {
	db := fmt.Sprintf("h_sample_%d", os.Getpid())
	admin := open(t)
	t.Cleanup(func() { run(t, admin, Teardown(db)...) })
	begin := time.Now()
	run(t, admin, Setup(db)...)
	t.Logf("Setup took %.1f s", time.Since(begin).Seconds())

	for _, q := range Queries(db) {
		t.Run(q.Name, func(t *testing.T) {
			session := open(t)
			run(t, session, q.Settings...)
			begin := time.Now()
			if rows := run(t, session, q.SQL).Rows; len(rows) == 0 {
				t.Error("no rows")
			}
			t.Logf("ran in %.1f s", time.Since(begin).Seconds())
			if got := strategies(t, session, q.SQL); !slices.Equal(got, q.Want) {
				t.Errorf("planned as %v, want %v", got, q.Want)
			}
		})
	}
	t.Run("agreement with the planner", func(t *testing.T) { agree(t, db) })
	for _, s := range Stories(db) {
		t.Run(s.Name, func(t *testing.T) { tell(t, db, s) })
	}
}

// agree runs the queries through a proxy with a database and asks its report how far the simulation agrees with this server's planner.
func agree(t *testing.T, db string) {
	cfg := config.Default()
	cfg.Listen, cfg.Admin.Listen = "127.0.0.1:0", ""
	cfg.Upstream.Name, cfg.Upstream.Address = "sample", hiveAddress(t)
	cfg.Explain.Rate = 50
	cfg.Database.URL = storetest.DSN(t)
	proxy, err := app.New(t.Context(), cfg, zerolog.Nop())
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
	joins := int64(0)
	for _, q := range Queries(db) {
		session := openAt(t, proxy.Addr().String())
		run(t, session, append(slices.Clone(q.Settings), q.SQL)...)
		joins += int64(len(q.Want))
	}
	got := fidelityOf(t, proxy, joins)
	t.Logf("%v", got)
	if got["strategy_percent"] != 100.0 || got["strategy_equal"] != joins || got["fell"] != false {
		t.Errorf("strategies of %v of %d joins agree", got["strategy_equal"], joins)
	}
	if n, _ := got["budgets"].(int64); n == 0 || got["budget_percent"] != 100.0 || got["witnessed"] != joins {
		t.Errorf("the planner's lines of %v of %d joins were matched: %v budgets, %v agree", got["witnessed"], joins, n, got["budget_equal"])
	}
	if n, _ := got["sizes"].(int64); n == 0 || got["size_near_percent"] != 100.0 {
		t.Errorf("of %v sizes %v are equal, %v within 1 %%", n, got["size_equal"], got["size_near"])
	}
	differences, err := proxy.Store().Report(t.Context(), "fidelity_differences")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range differences.Rows {
		t.Logf("differs: %v %v", differences.Columns, row)
	}
}

// fidelityOf waits until so many joins are recorded and returns the report's row.
func fidelityOf(t *testing.T, proxy *app.App, joins int64) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		row := map[string]any{}
		report, err := proxy.Store().Report(ctx, "fidelity")
		if err == nil && len(report.Rows) > 0 {
			for i, column := range report.Columns {
				row[column] = report.Rows[0][i]
			}
		}
		if row["joins"] == joins {
			return row
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%v of %d joins were recorded: %v", row["joins"], joins, err)
		}
	}
}

func tell(t *testing.T, db string, s Story) {
	t.Helper()
	session, loader := open(t), open(t)
	run(t, session, s.Settings...)
	before := strategies(t, session, s.SQL)
	if got := parameter(t, session, s.Table, "numRows"); got != fmt.Sprint(s.RowsBefore) {
		t.Errorf("numRows %s before the load, want %d", got, s.RowsBefore)
	}

	loaded := run(t, loader, s.Load...)
	if loaded.ModifiedRows == nil || *loaded.ModifiedRows != s.RowsLoaded {
		t.Errorf("the load reports %v modified rows, want %d", loaded.ModifiedRows, s.RowsLoaded)
	}
	if got := parameter(t, session, s.Table, "numRows"); got != fmt.Sprint(s.RowsBefore) {
		t.Errorf("numRows %s after the load, want still %d", got, s.RowsBefore)
	}
	if got := parameter(t, session, s.Table, "COLUMN_STATS_ACCURATE"); strings.Contains(got, "BASIC_STATS") {
		t.Errorf("the accuracy flag survived the load: %s", got)
	}
	stale := strategies(t, session, s.SQL)

	run(t, open(t), use(db), "ANALYZE TABLE "+s.Table+" COMPUTE STATISTICS",
		"ANALYZE TABLE "+s.Table+" COMPUTE STATISTICS FOR COLUMNS "+strings.Join(s.JoinColumns, ", "))
	if got := parameter(t, session, s.Table, "numRows"); got != fmt.Sprint(s.RowsAfter) {
		t.Errorf("numRows %s after the ANALYZE, want %d", got, s.RowsAfter)
	}
	fresh := strategies(t, session, s.SQL)
	want := []advisor.Strategy{s.Stale, s.Stale, s.Fresh}
	if got := slices.Concat(before, stale, fresh); !slices.Equal(got, want) {
		t.Errorf("planned as %v before the load, after it and after the ANALYZE; want %v", got, want)
	}
	if rows := run(t, session, s.SQL).Rows; len(rows) == 0 {
		t.Error("the query gives no rows")
	}
}

// parameter is a table parameter as DESCRIBE FORMATTED prints it; empty when it is not there.
func parameter(t *testing.T, session *client.Session, table, name string) string {
	t.Helper()
	for _, row := range run(t, session, "DESCRIBE FORMATTED "+table).Rows {
		if len(row) == 3 && row[1] != nil && strings.TrimSpace(*row[1]) == name && row[2] != nil {
			return strings.TrimSpace(*row[2])
		}
	}
	return ""
}
