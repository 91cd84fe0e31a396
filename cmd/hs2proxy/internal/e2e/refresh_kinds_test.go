package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// ending is how a refresh ended.
type ending struct {
	state, effect, error string
	statements           []string
	before, after        *int64
}

// asked requests a refresh as a person does in psql and waits for its end.
func asked(t *testing.T, db *pgx.Conn, table, mode string, partitions []string) (id int64, e ending) {
	t.Helper()
	row(t, db, []any{&id}, "SELECT hs2proxy.request_refresh($1, mode => $2, partitions => $3, upstream => 'default')", table, mode, partitions)
	return id, endOf(t, db, id)
}

func endOf(t *testing.T, db *pgx.Conn, id int64) (e ending) {
	t.Helper()
	eventually(t, "the refresh's end", func(context.Context) bool {
		row(t, db, []any{&e.state, &e.effect, &e.error, &e.statements, &e.before, &e.after}, `
SELECT state, coalesce(effect, ''), error, statements, rows_before, rows_after FROM hs2proxy.report_refreshes WHERE id = $1`, id)
		return e.state != "RUNNING" && e.state != "REQUESTED"
	})
	return e
}

// Every kind of table is refreshed as it can be, or refused with the reason and without an ANALYZE.
func kindsOfTables(t *testing.T, r rig) {
	dsn := storetest.DSN(t)
	db := connect(t, dsn)
	proxy := serve(t, r.program, r.settings(dsn))
	client := session(t, proxy.address(t))
	files := t.TempDir()
	write := func(name string, rows int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(files, name), []byte(strings.Repeat("1\n", rows)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a", 700)
	runAll(t, client,
		"CREATE DATABASE e2e_kinds", "USE e2e_kinds",
		"CREATE EXTERNAL TABLE outside (id int) LOCATION 'file://"+files+"'",
		"CREATE TABLE plain (id int)", "INSERT INTO plain VALUES (1), (2), (3)",
		"CREATE TABLE shadowed (id int)", "INSERT INTO shadowed VALUES (1), (2)",
		"CREATE TABLE parts (id int) PARTITIONED BY (ds string)", "INSERT INTO parts PARTITION (ds='a') VALUES (1)",
		"CREATE VIEW above AS SELECT p.id FROM plain p JOIN parts q ON p.id = q.id", "CREATE VIEW higher AS SELECT id FROM above",
		"CREATE TEMPORARY TABLE mine (id int)", "INSERT INTO mine VALUES (1)",
		"CREATE TEMPORARY TABLE shadowed (id int)",
	)

	t.Run("external", func(t *testing.T) {
		_, first := asked(t, db, "e2e_kinds.outside", "BASIC", nil)
		write("b", 300) // by somebody who does not know Hive
		_, second := asked(t, db, "e2e_kinds.outside", "BASIC", nil)
		if first.effect != "EFFECTIVE" || *first.after != 700 || second.effect != "EFFECTIVE" || *second.before != 700 || *second.after != 1000 {
			t.Errorf("%+v, then %+v; want 700 rows, then 1000", first, second)
		}
	})
	t.Run("view", func(t *testing.T) {
		id, e := asked(t, db, "e2e_kinds.higher", "BASIC", nil)
		if e.state != "CANCELED" || !strings.Contains(e.error, "a view holds no data; requested instead: ") || len(e.statements) > 0 {
			t.Errorf("the view: %+v", e)
		}
		for _, base := range []string{"e2e_kinds.parts", "e2e_kinds.plain"} {
			var instead int64
			row(t, db, []any{&instead}, "SELECT coalesce(max(id), 0) FROM hs2proxy.refreshes WHERE id > $1 AND table_name = $2 AND reason LIKE 'base table of the view e2e_kinds.higher: %'", id, base)
			if instead == 0 {
				t.Fatalf("no refresh of %s was requested: %s", base, e.error)
			}
			if e := endOf(t, db, instead); e.state != "DONE" {
				t.Errorf("%s: %+v", base, e)
			}
		}
	})
	// What another session calls shadowed is this table, whatever its own temporary one holds.
	t.Run("a table below a temporary one", func(t *testing.T) {
		if _, e := asked(t, db, "e2e_kinds.shadowed", "BASIC", nil); e.state != "DONE" || *e.after != 2 {
			t.Errorf("%+v, want 2 rows", e)
		}
	})
	for _, c := range []struct {
		table, mode string
		partitions  []string
		want        string
	}{
		{"e2e_kinds.mine", "BASIC", nil, "Table not found"}, // in the service user's session
		{"e2e_kinds.none", "BASIC", nil, "Table not found"},
		{"e2e_none.plain", "BASIC", nil, "Database does not exist"},
		{"e2e_kinds.plain", "BASIC", []string{"ds=a"}, "the table is not partitioned"},
		{"e2e_kinds.parts", "BASIC", []string{"ds=z"}, "partition"},
	} {
		t.Run("refused: "+c.table+" "+strings.Join(c.partitions, ","), func(t *testing.T) {
			_, e := asked(t, db, c.table, c.mode, c.partitions)
			if e.state != "FAILED" || !strings.Contains(e.error, c.want) || len(e.statements) > 0 {
				t.Errorf("%+v, want FAILED: …%s…", e, c.want)
			}
		})
	}
	rows, err := db.Query(t.Context(), "SELECT DISTINCT table_name FROM hs2proxy.report_stale_tables WHERE table_name LIKE 'e2e_kinds.%'")
	if err != nil {
		t.Fatal(err)
	}
	stale, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"e2e_kinds.mine", "e2e_kinds.above", "e2e_kinds.higher"} {
		if slices.Contains(stale, name) {
			t.Errorf("%s is called stale", name)
		}
	}
}
