package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// ddl sees what statements that change no rows, or all of them, do to what is known of tables: findings end with their table, whatever
// becomes of its name, and tables and partitions that come by another way are looked at.
func (p *proxied) ddl(t *testing.T) {
	client := p.open(t)
	defer func() { _ = client.Close() }()
	db := connect(t, p.cfg.Database.URL)
	run := func(statements ...string) {
		t.Helper()
		for _, sql := range statements {
			if _, err := client.Query(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	// holds waits until just these rules hold for a table.
	holds := func(table, want string) {
		t.Helper()
		eventually(t, fmt.Sprintf("%s to hold for %s", orNothing(want), table), func(context.Context) bool { return p.held(t)[situationsDB+"."+table] == want })
	}
	rows := rowsFile(t, t.TempDir())
	load := func(table string) string { return "LOAD DATA LOCAL INPATH '" + rows + "' INTO TABLE " + table }
	exported := filepath.Join(t.TempDir(), "exported")
	run("USE "+situationsDB, "CREATE TABLE goes (id int, grp int)", "CREATE TABLE moves (id int, grp int)", load("goes"), load("moves"))
	holds("goes", "R1")
	holds("moves", "R1")

	// The renamed table is looked at under its new name; under the old one nothing holds any more, nor where it was dropped.
	run("DROP TABLE goes", "ALTER TABLE moves RENAME TO moved")
	holds("goes", "")
	holds("moves", "")
	holds("moved", "R1")
	p.history(t, db, "goes", "R1", "", "the table was dropped, or renamed")
	p.history(t, db, "moves", "R1", "", "the table was dropped, or renamed")
	p.history(t, db, "moved", "R6", "RENAME seen", "a reading at")

	// A table that comes from a folder.
	run("EXPORT TABLE multi_b TO 'file://"+exported+"'", "IMPORT TABLE imported FROM 'file://"+exported+"'")
	p.history(t, db, "imported", "R6", "IMPORT seen", "a reading at")

	// One partition is emptied, another leaves for another table.
	run("TRUNCATE TABLE replaced PARTITION (ds='b')")
	p.history(t, db, "replaced", "R6", "TRUNCATE of ds=b seen", "a reading at")
	run("CREATE TABLE takes LIKE replaced", "ALTER TABLE takes EXCHANGE PARTITION (ds='a') WITH TABLE replaced")
	p.history(t, db, "takes", "R6", "ALTER_PARTITION of ds=a seen", "a reading at")
	p.history(t, db, "replaced", "R6", "ALTER_PARTITION of ds=a seen", "a reading at")
	eventually(t, "the partition to be known where it is now", func(context.Context) bool {
		var list string
		row(t, db, []any{&list}, `
SELECT coalesce(string_agg(t.name || ' ' || p.name || ' ' || coalesce(p.baseline_rows::text, '?'), ', ' ORDER BY t.name, p.name), '')
FROM hs2proxy.partitions p JOIN hs2proxy.tables t ON t.id = p.table_id WHERE t.name IN ($1, $2)`, situationsDB+".replaced", situationsDB+".takes")
		return list == situationsDB+".replaced ds=b 0, "+situationsDB+".takes ds=a 5000"
	})

	// All tables end with their database, and what held for them.
	run("DROP DATABASE " + situationsDB + " CASCADE")
	eventually(t, "nothing to hold for the tables of the database", func(context.Context) bool { return len(p.held(t)) == 0 })
	p.history(t, db, "moved", "R1", "", "the database was dropped")
}

// history waits until a rule that held for a table is on record with the reason, and with what ended it.
func (p *proxied) history(t *testing.T, db *pgx.Conn, table, rule, reason, by string) {
	t.Helper()
	var why, cleared string
	defer func() { t.Logf("%s of %s: %q, ended by %q", rule, table, why, cleared) }()
	eventually(t, fmt.Sprintf("%s of %s (%s) to end by %q", rule, table, reason, by), func(context.Context) bool {
		row(t, db, []any{&why, &cleared}, `
SELECT coalesce(max(reason), ''), coalesce(max(cleared_by), '') FROM hs2proxy.report_stale_history
WHERE table_name = $1 AND partition = '' AND rule = $2 AND starts_with(reason, $3)`, situationsDB+"."+table, rule, reason)
		return strings.Contains(cleared, by)
	})
}
