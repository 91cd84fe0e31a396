package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/store/storetest"
	thriftclient "github.com/hs2proxy/hs2proxy/thrift/client"
)

// counting are the settings of a proxy that runs queries under EXPLAIN ANALYZE again and again.
func (r rig) counting(dsn string, queries ...string) map[string]string {
	var fingerprints []string
	for _, sql := range queries {
		fingerprints = append(fingerprints, fmt.Sprintf("%q", hiveql.Parse(sql).Fingerprint))
	}
	settings := r.settings(dsn)
	settings["ACTUALS__EXPLAIN_ANALYZE__ENABLED"] = "true"
	settings["ACTUALS__EXPLAIN_ANALYZE__CRON"] = "@every 3s"
	settings["ACTUALS__EXPLAIN_ANALYZE__FINGERPRINTS"] = "[" + strings.Join(fingerprints, ", ") + "]"
	settings["ACTUALS__EXPLAIN_ANALYZE__QUEUE"] = "counted"
	return settings
}

// analyzed is a row of report_explain_analyze.
type analyzed struct {
	outcome, reason string
	operators       int
	worst           *float64
}

// lastAnalyzed waits until a query's last run has one of the outcomes.
func lastAnalyzed(t *testing.T, db *pgx.Conn, sql string, outcomes ...string) (a analyzed) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q of EXPLAIN ANALYZE", outcomes), func(context.Context) bool {
		rows, err := db.Query(t.Context(), `
SELECT outcome, reason, operators, worst FROM hs2proxy.report_explain_analyze WHERE fingerprint = $1 AND outcome = ANY ($2) ORDER BY started_at DESC LIMIT 1`,
			hiveql.Parse(sql).Fingerprint, outcomes)
		if err != nil {
			t.Fatal(err)
		}
		list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a analyzed, err error) {
			err = row.Scan(&a.outcome, &a.reason, &a.operators, &a.worst)
			return a, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > 0 {
			a = list[0]
		}
		return len(list) > 0
	})
	return a
}

// lying makes a database whose table big joins a table of 5,000 rows of which the statistics claim ten.
func lying(database string) []string {
	return []string{
		"CREATE DATABASE " + database, "USE " + database,
		"CREATE TABLE big (id int, grp int) STORED AS ORC", "INSERT INTO big " + numbers(20_000),
		"CREATE TABLE lying (id int, grp int) STORED AS ORC", "INSERT INTO lying " + numbers(there),
		fmt.Sprintf("ALTER TABLE lying UPDATE STATISTICS SET ('numRows'='%d', 'rawDataSize'='%d')", claimed, claimed*8),
	}
}

const (
	claimed, there = 10, 5000
	lyingQuery     = "SELECT b.grp, count(*) FROM big b JOIN lying l ON b.id = l.id GROUP BY b.grp"
)

// Statistics claim ten rows of a table that has 5,000. The schedule runs the query that broadcasts it under EXPLAIN ANALYZE, in the
// queue configured and as the service user, and what Hive counted is reported and found. What writes, or is not known, is refused.
func explainAnalyzes(t *testing.T, r rig) {
	const sql, unknown = lyingQuery, "SELECT 'never run'"
	dsn := storetest.DSN(t)
	db := connect(t, dsn)
	proxy := serve(t, r.program, r.counting(dsn, sql, unknown))
	client := session(t, proxy.address(t))
	runAll(t, client, append(lying("e2e_counted"), sql)...)
	got := lastAnalyzed(t, db, sql, "COUNTED", "FAILED", "NO_COUNTS", "CANCELED")
	if got.outcome != "COUNTED" || got.operators == 0 || got.worst == nil || *got.worst < there/claimed/2 {
		t.Fatalf("report_explain_analyze: %+v", got)
	}
	if u := lastAnalyzed(t, db, unknown, "REFUSED"); u.reason != "no plan of it is on record" {
		t.Errorf("a query that never ran: %+v", u)
	}

	var estimated, actual int64
	var source string
	row(t, db, []any{&estimated, &actual, &source}, `
SELECT estimated_rows, actual_rows, source FROM hs2proxy.operator_actuals WHERE actual_rows = $1 ORDER BY q_error DESC LIMIT 1`, there)
	if estimated > claimed || source != "EXPLAIN_ANALYZE" {
		t.Errorf("%d rows estimated, %d counted by %s", estimated, actual, source)
	}
	var under int64
	row(t, db, []any{&under}, `
SELECT coalesce(sum(underestimated), 0)::bigint FROM hs2proxy.report_estimate_errors
WHERE q_error IN ('100 to 1000', '1000 and more') AND $1 = ANY (worst_fingerprints)`, hiveql.Parse(sql).Fingerprint)
	if under == 0 {
		t.Error("report_estimate_errors tells of no underestimate of the query")
	}
	var severity, summary string
	var evidence map[string]any
	row(t, db, []any{&severity, &summary, &evidence}, `
SELECT severity, summary, evidence FROM hs2proxy.report_findings WHERE kind = 'broadcast_actual_dwarfs_estimate' AND fingerprint = $1`, hiveql.Parse(sql).Fingerprint)
	if !strings.Contains(summary, "5,000") && !strings.Contains(fmt.Sprint(evidence), "5000") {
		t.Errorf("the finding: %s, %s, %v", severity, summary, evidence)
	}
	if log, err := os.ReadFile(r.log); err != nil || !strings.Contains(string(log), "queueName=counted") {
		t.Errorf("no Tez of the queue in HiveServer2's log: %v", err)
	}
}

// A query that goes on for longer than its time is canceled in Hive, and what is left at the end of a run's time is not run.
func explainAnalyzeEnds(t *testing.T, r rig) {
	const (
		slow = "SELECT count(*) FROM endless_counted a JOIN endless_counted b ON a.word = b.word"
		next = "SELECT count(DISTINCT a.word) FROM endless_counted a JOIN endless_counted b ON a.word = b.word"
	)
	dsn := storetest.DSN(t)
	db := connect(t, dsn)
	direct := session(t, r.address)
	slowTable(t, direct, "endless_counted", 20_000)
	settings := r.counting(dsn, slow, next)
	settings["ACTUALS__EXPLAIN_ANALYZE__TIMEOUT"] = "15s"
	settings["ACTUALS__EXPLAIN_ANALYZE__MAX_TIME"] = "20s"
	proxy := serve(t, r.program, settings)
	explained := session(t, proxy.address(t))
	for _, sql := range []string{slow, next} { // their texts become known; nobody waits for their end
		begins(t, db, explained, sql)
	}
	first := lastAnalyzed(t, db, slow, "CANCELED", "COUNTED", "FAILED", "NO_COUNTS")
	second := lastAnalyzed(t, db, next, "CANCELED", "COUNTED", "FAILED", "NO_COUNTS")
	if first.outcome != "CANCELED" || second.outcome != "CANCELED" {
		t.Fatalf("%+v and %+v, want both canceled", first, second)
	}
	reasons := first.reason + "\n" + second.reason
	for _, want := range []string{"it took longer than 15s", "the run ended: "} {
		if !strings.Contains(reasons, want) {
			t.Errorf("reasons %q, want one with %q", reasons, want)
		}
	}
}

// begins runs a query whose end nobody waits for: it is canceled once its plan is on record.
func begins(t *testing.T, db *pgx.Conn, client *thriftclient.Session, sql string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { _, _ = client.Query(ctx, sql) })
	eventually(t, "the plan of "+sql, func(context.Context) bool {
		var plans int
		row(t, db, []any{&plans}, "SELECT count(*) FROM hs2proxy.plans WHERE fingerprint = $1", hiveql.Parse(sql).Fingerprint)
		return plans > 0
	})
	cancel()
	running.Wait()
}
