package e2e

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// restores runs the statements that a refresh left to undo it, and compares every number with those from before. The
// refresh runs in a queue of its own (tez.queue.name).
func restores(t *testing.T, r rig) {
	s := session(t, r.address)
	columns := []string{"b", "n", "l", "d", "m", "s", "c", "day", "at", "bin"}
	const values = "SELECT k > 1, k, cast(k AS bigint) * 10000000000, k / 4.0D, cast(k / 8 AS decimal(10,3)), concat('it''s ', k), cast(concat('v', k) AS varchar(9))," +
		" date_add('2026-01-01', k), cast(date_add('2026-01-01', k) AS timestamp), cast(concat('b', k) AS binary)"
	for _, sql := range []string{
		"CREATE TABLE restored (b boolean, n int, l bigint, d double, m decimal(10,3), s string, c varchar(9), day date, at timestamp, bin binary) STORED AS ORC",
		"INSERT INTO restored " + values + " FROM (SELECT explode(array(1, 2, 3, 4)) AS k) x",
		"ANALYZE TABLE restored COMPUTE STATISTICS FOR COLUMNS",
	} {
		if _, err := s.Query(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	read := func() advisor.TableStats {
		t.Helper()
		stats, err := statscheck.ReadTable(t.Context(), s, hiveql.TableName{Database: "default", Table: "restored"}, columns)
		if err != nil {
			t.Fatal(err)
		}
		return stats
	}
	before := read()
	for _, sql := range []string{
		"SET hive.stats.autogather=false",
		"INSERT INTO restored " + values + " FROM (SELECT pos + 50 AS k FROM (SELECT posexplode(split(space(99), ' ')) AS (pos, x)) y) x",
	} {
		if _, err := s.Query(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}

	dsn := storetest.DSN(t)
	db := connect(t, dsn)
	settings := r.settings(dsn)
	settings["STATISTICS__REFRESH__QUEUE"] = "statistics"
	serve(t, r.program, settings)
	var (
		id      int64
		effect  string
		restore []string
	)
	row(t, db, []any{&id}, "SELECT hs2proxy.request_refresh('default.restored', columns => $1)", columns)
	eventually(t, "the refresh's end", func(context.Context) bool {
		row(t, db, []any{&effect}, "SELECT coalesce(effect, '') FROM hs2proxy.refreshes WHERE id = $1", id)
		return effect != ""
	})
	row(t, db, []any{&restore}, "SELECT restore FROM hs2proxy.report_refreshes WHERE id = $1", id)
	refreshed := read()
	if effect != "EFFECTIVE" || *refreshed.Rows != 104 || len(restore) == 0 {
		t.Fatalf("the refresh ended %s with %d rows and %d statements", effect, *refreshed.Rows, len(restore))
	}
	for _, sql := range restore {
		if _, err := s.Query(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	after := read()
	if *after.Rows != *before.Rows || *after.RawDataSize != *before.RawDataSize {
		t.Errorf("restored %d rows of %d bytes, before %d of %d", *after.Rows, *after.RawDataSize, *before.Rows, *before.RawDataSize)
	}
	for _, name := range columns {
		if !reflect.DeepEqual(after.Columns[name], before.Columns[name]) {
			t.Errorf("%s restored to %s, before %s, refreshed %s", name, shown(after.Columns[name]), shown(before.Columns[name]), shown(refreshed.Columns[name]))
		}
	}
	if t.Failed() {
		t.Log(strings.Join(restore, "\n"))
	}
}

func shown(c advisor.ColumnStats) string {
	text, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
