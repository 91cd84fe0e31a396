package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	thriftclient "github.com/hs2proxy/hs2proxy/thrift/client"
)

// contents are the rows of the tables of the mix, as HiveServer2 returns them without the proxy: by table, then by partition ("" for
// tables that have none).
type contents map[string]map[string]int64

func (c contents) of(table string, partitions []string) (n int64) {
	for partition, rows := range c[table] {
		if partitions == nil || slices.Contains(partitions, partition) {
			n += rows
		}
	}
	return n
}

// read reads tables anew; one that does not exist has no rows.
func (c contents) read(t *testing.T, direct *thriftclient.Session, tables ...string) {
	t.Helper()
	for _, table := range tables {
		database, name, _ := strings.Cut(table, ".")
		column := "''"
		if name == "parts" {
			column = "p"
		}
		// Rows are fetched, not counted: count(*) could be answered from statistics.
		result, err := direct.Query(t.Context(), "SELECT "+column+" FROM "+database+".`"+name+"`")
		if err != nil && !strings.Contains(err.Error(), "Table not found") {
			t.Fatalf("%s: %v", table, err)
		}
		c[table] = map[string]int64{}
		for _, row := range result.Rows {
			c[table][*row[0]]++
		}
	}
}

// written is what a statement is to have written to a table: nil rows where they cannot be known.
type written struct {
	statement int
	table     string
	rows      *int64
}

func (w written) String() string {
	if w.rows == nil {
		return fmt.Sprintf("statement %d: rows of %s unknown", w.statement, w.table)
	}
	return fmt.Sprintf("statement %d: %d rows into %s", w.statement, *w.rows, w.table)
}

// A mix of statements of two sessions passes the proxy. What the proxy counted for each table is what HiveServer2 returns of them, and
// no number is recorded where the rows cannot be known.
func TestRowsOfMixedStatements(t *testing.T) {
	p := &proxied{hive: sharedHive(t)}
	p.cfg = p.config(t)
	p.start(t)
	stop := sync.OnceFunc(func() { p.stop(t) })
	defer stop()
	direct := session(t, p.hive.Address())
	setup := []string{
		"CREATE TABLE " + mixSource + " STORED AS ORC AS SELECT pos AS k FROM (SELECT posexplode(split(space(" + fmt.Sprint(mixSourceRows-1) + "), ' ')) AS (pos, x)) n",
	}
	for i, database := range mixDatabases {
		tables := []string{
			"CREATE DATABASE " + database,
			"CREATE TABLE " + database + ".plain (k int, s string) STORED AS ORC", "CREATE TABLE " + database + ".words (k int, s string)",
			"CREATE TABLE " + database + ".`order` (k int, s string) STORED AS PARQUET",
			"CREATE TABLE " + database + ".parts (k int, s string) PARTITIONED BY (p string) STORED AS ORC",
		}
		setup = slices.Insert(setup, i*len(tables), tables...)
	}
	runAll(t, direct, setup...)
	file := filepath.Join(t.TempDir(), "words.txt")
	if err := os.WriteFile(file, []byte("1\x01a\n2\x01b\n3\x01c\n4\x01d\n5\x01e\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	through := [2]*thriftclient.Session{sessionIn(t, p.proxy.Addr().String(), mixDatabases[0]), session(t, p.proxy.Addr().String())}
	before := []string{"SET hive.exec.dynamic.partition.mode=nonstrict", "SET hive.stats.autogather=false", "USE " + mixDatabases[1]}
	runAll(t, through[0], before[:2]...)
	runAll(t, through[1], before[0], before[2])
	m := &mix{Rand: rand.New(rand.NewPCG(6, 4)), files: file}
	steps := m.steps(5)
	now, want := contents{}, []written(nil)
	grown := map[string]int64{}
	for i, s := range steps {
		var tables []string
		for _, w := range s.targets {
			tables = append(tables, w.table)
		}
		was := contents{}
		for _, table := range tables {
			was[table] = now[table]
		}
		if _, err := through[s.session].Query(t.Context(), s.sql); (err != nil) != s.fails {
			t.Fatalf("%s: %v", s.sql, err)
		}
		now.read(t, direct, tables...)
		for _, w := range s.targets {
			rows := now.of(w.table, w.partitions)
			if w.change == into {
				rows -= was.of(w.table, nil)
			}
			expected := written{statement: i, table: w.table}
			if w.change != unknown && rows > 0 { // HiveServer2 says 0 for what it did not count, too
				expected.rows = &rows
				grown[w.table] += rows
			}
			want = append(want, expected)
		}
	}
	untouched := contents{}
	for _, database := range mixDatabases {
		for _, table := range mixTables {
			untouched.read(t, direct, database+"."+table)
		}
	}
	for table := range untouched { // those that failed, or only explained, changed nothing
		if got, known := untouched.of(table, nil), now.of(table, nil); got != known {
			t.Errorf("%s has %d rows, %d after the last statement that wrote it", table, got, known)
		}
	}
	stop()

	db := connect(t, p.cfg.Database.URL)
	const opening = 2 // our client sends a SET when it opens a session
	recorded := writesRecorded(t, db, opening+len(before)+1, len(steps))
	if len(steps) < 100 {
		t.Errorf("%d statements, want 100 at least", len(steps))
	}
	text := func(list []written) (out []string) {
		for _, w := range list {
			out = append(out, w.String()+": "+steps[w.statement].sql)
		}
		slices.Sort(out)
		return out
	}
	got, expected := text(recorded), text(want)
	for _, w := range got {
		if !slices.Contains(expected, w) {
			t.Errorf("recorded, and not so: %s", w)
		}
	}
	for _, w := range expected {
		if !slices.Contains(got, w) {
			t.Errorf("not recorded: %s", w)
		}
	}
	for table, rows := range grown {
		var counted int64
		row(t, db, []any{&counted}, `
SELECT sum(w.written_rows)::bigint FROM hs2proxy.table_writes w JOIN hs2proxy.tables t ON t.id = w.table_id WHERE t.name = $1`, table)
		if counted != rows {
			t.Errorf("%s: M is %d, and the rows that can be known are %d", table, counted, rows)
		}
	}
	t.Logf("%d statements, %d writes, %d tables", len(steps), len(want), len(grown))
}

// writesRecorded are the writes of the statements after the first ones.
func writesRecorded(t *testing.T, db *pgx.Conn, skip, statements int) []written {
	t.Helper()
	var all int
	row(t, db, []any{&all}, "SELECT count(*) FROM hs2proxy.statements")
	if all != skip+statements {
		t.Fatalf("%d statements recorded, want %d", all, skip+statements)
	}
	rows, err := db.Query(t.Context(), `
SELECT s.place, t.name, w.written_rows
FROM (SELECT id, row_number() OVER (ORDER BY started_at) - 1 - $1 AS place FROM hs2proxy.statements) s
JOIN hs2proxy.table_writes w ON w.statement_id = s.id JOIN hs2proxy.tables t ON t.id = w.table_id
ORDER BY s.place, t.name`, skip)
	if err != nil {
		t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (w written, err error) {
		err = r.Scan(&w.statement, &w.table, &w.rows)
		return w, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// runAll runs statements one after the other.
func runAll(t *testing.T, s *thriftclient.Session, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := s.Query(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// sessionIn opens a session in a database.
func sessionIn(t *testing.T, address, database string) *thriftclient.Session {
	t.Helper()
	return sessionWith(t, address, map[string]string{"use:database": database})
}
