package e2e

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// settings are those of a proxy that runs refreshes.
func (r rig) settings(dsn string) map[string]string {
	return map[string]string{
		"UPSTREAM__ADDRESS": r.address, "UPSTREAM__HTTP_ADDRESS": r.httpAddress, "DATABASE__URL": dsn,
		"STATISTICS__REFRESH__ENABLED": "true",
	}
}

// Two proxies share a Postgres and a HiveServer2. The one that runs a refresh is killed in mid-ANALYZE: nothing of it stays behind in
// Hive, the other proxy runs the refresh once to its end, and both attempts are on record. Over the binary transport HiveServer2 ends
// the session with its connection; over HTTP the session outlives it, and the second attempt kills the query by its tag.
func killed(t *testing.T, r rig, transport string) {
	const rows = 100_000 // of which some thousand are read a minute
	table := "slow_" + transport
	direct := session(t, r.address)
	slowTable(t, direct, table, rows)
	dsn := storetest.DSN(t)
	db := connect(t, dsn)
	settings := r.settings(dsn)
	settings["SERVICE__TRANSPORT"] = transport
	proxies := []*serving{serve(t, r.program, settings), serve(t, r.program, settings)}

	var id int64
	row(t, db, []any{&id}, "SELECT hs2proxy.request_refresh($1, mode => 'BASIC')", "default."+table)
	statement := "ANALYZE TABLE `default`.`" + table + "`"
	eventually(t, "ANALYZE on Tez", func(context.Context) bool {
		all := executions(t, r.log, statement)
		return len(all) > 0 && all[0].tez
	})
	var holder string
	row(t, db, []any{&holder}, "SELECT claimed_by FROM hs2proxy.refreshes WHERE id = $1 AND state = 'RUNNING'", id)
	first := slices.IndexFunc(proxies, func(s *serving) bool { return s.instance == holder })
	if first < 0 {
		t.Fatalf("%q runs the refresh", holder)
	}
	proxies[first].kill(t)
	if e := executions(t, r.log, statement)[0]; e.finished {
		t.Fatal("the first ANALYZE ended before the proxy was killed")
	}
	runAll(t, direct, "ALTER TABLE "+table+" SET SERDEPROPERTIES ('input.regex'='(x+)')") // the second attempt is not to take as long
	if os.Getenv("HS2PROXY_E2E_FULL") != "1" {                                            // two minutes are not waited for each time
		runSQL(t, db, "UPDATE hs2proxy.refreshes SET lease_until = clock_timestamp() WHERE id = $1", id)
		runSQL(t, db, "NOTIFY hs2proxy_refresh")
	}

	var state, effect string
	eventually(t, "the refresh's end", func(context.Context) bool {
		row(t, db, []any{&state, &effect}, "SELECT state, coalesce(effect, '') FROM hs2proxy.refreshes WHERE id = $1", id)
		return state != "RUNNING" && state != "REQUESTED"
	})
	if state != "DONE" || effect != "EFFECTIVE" {
		t.Errorf("the refresh ended %s, %s", state, effect)
	}
	var after int64
	row(t, db, []any{&after}, "SELECT rows_after FROM hs2proxy.report_refreshes WHERE id = $1", id)
	if after != rows {
		t.Errorf("%d rows counted, want %d", after, rows)
	}
	all := executions(t, r.log, statement)
	if len(all) != 2 {
		t.Fatalf("%d ANALYZEs ran in Hive, want 2: %+v", len(all), all)
	}
	if e := all[0]; e.finished || !e.interrupted || !e.killed {
		t.Errorf("the killed proxy's ANALYZE in Hive: %+v", e)
	}
	if e := all[1]; !e.finished || e.interrupted || e.killed {
		t.Errorf("the other proxy's ANALYZE in Hive: %+v", e)
	}
	got := attempts(t, db, id)
	other := proxies[1-first].instance
	if len(got) != 2 || got[0].outcome != "LOST" || got[0].by != holder || !strings.Contains(got[0].reason, holder) ||
		got[1].outcome != "DONE" || got[1].by != other || got[1].reason != "" {
		t.Errorf("attempts %+v, want one LOST by %s and one DONE by %s", got, holder, other)
	}
}

type attempt struct{ outcome, by, reason string }

func attempts(t *testing.T, db *pgx.Conn, id int64) []attempt {
	t.Helper()
	rows, err := db.Query(t.Context(), "SELECT outcome, claimed_by, reason FROM hs2proxy.report_refresh_attempts WHERE id = $1 ORDER BY attempt", id)
	if err != nil {
		t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a attempt, err error) {
		err = row.Scan(&a.outcome, &a.by, &a.reason)
		return a, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	return db
}

func row(t *testing.T, db *pgx.Conn, into []any, sql string, args ...any) {
	t.Helper()
	if err := db.QueryRow(t.Context(), sql, args...).Scan(into...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func runSQL(t *testing.T, db *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
