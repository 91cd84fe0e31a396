package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// A table of 10,000 partitions is queried, written and refreshed like any other: of its partitions a check reads sixteen at most, other
// tables are looked at meanwhile, and what is asked for of one partition is done to that one alone.
func manyPartitions(t *testing.T, r rig) {
	const partitions, batch, most = 10_000, 500, 16
	dsn := storetest.DSN(t)
	db := connect(t, dsn)
	direct := session(t, r.address)
	runAll(t, direct, "CREATE DATABASE e2e_many", "USE e2e_many", "CREATE TABLE parts (id int, grp int) PARTITIONED BY (ds int)",
		"CREATE TABLE dim (id int)", "INSERT INTO dim VALUES (1)")
	for first := 0; first < partitions; first += batch {
		var add strings.Builder
		add.WriteString("ALTER TABLE parts ADD")
		for ds := first; ds < first+batch; ds++ {
			fmt.Fprintf(&add, " PARTITION (ds=%d)", ds)
		}
		runAll(t, direct, add.String())
	}
	began := time.Now()
	runAll(t, direct, "DESCRIBE FORMATTED parts")
	t.Logf("DESCRIBE FORMATTED of %d partitions took %s", partitions, time.Since(began).Round(time.Millisecond))

	settings := r.settings(dsn)
	settings["STATISTICS__MAX_AGE"] = "1s"
	proxy := serve(t, r.program, settings)
	client := session(t, proxy.address(t))
	runAll(t, client, "USE e2e_many", "SET hive.stats.autogather=false", "SET hive.exec.dynamic.partition.mode=nonstrict",
		"INSERT INTO parts PARTITION (ds=7) "+numbers(2000),                 // named
		"INSERT INTO parts PARTITION (ds) SELECT id, 0, 9000 + id FROM dim", // and not
		"SELECT count(*) FROM parts p JOIN dim d ON p.id = d.id WHERE p.ds < 100",
		"INSERT INTO dim VALUES (2), (3)")
	for _, table := range []string{"e2e_many.parts", "e2e_many.dim"} {
		eventually(t, "a look at "+table, func(context.Context) bool {
			var looked int
			row(t, db, []any{&looked}, "SELECT count(*) FROM hs2proxy.tables WHERE name = $1 AND checked_at IS NOT NULL", table)
			return looked == 1
		})
	}
	eventually(t, "the partition that was written to be found", func(context.Context) bool {
		var stale int
		row(t, db, []any{&stale}, "SELECT count(*) FROM hs2proxy.report_stale_tables WHERE table_name = 'e2e_many.parts' AND partition = 'ds=7' AND rule = 'R2'")
		return stale == 1
	})
	_, e := asked(t, db, "e2e_many.parts", "BASIC", []string{"ds=7"})
	if want := "ANALYZE TABLE `e2e_many`.`parts` PARTITION (`ds`='7') COMPUTE STATISTICS"; e.state != "DONE" || e.effect == "INEFFECTIVE" || len(e.statements) != 1 || e.statements[0] != want {
		t.Errorf("the refresh of one partition: %+v", e)
	}
	if _, e := asked(t, db, "e2e_many.parts", "BASIC", []string{"ds=999?"}); e.state != "DONE" || len(e.statements) != 10 {
		t.Errorf("the refresh of ten by a pattern: %+v", e)
	}
	// Those of a pattern that matches too many are not cut down to some.
	if _, e := asked(t, db, "e2e_many.parts", "BASIC", []string{"ds=*"}); e.state != "FAILED" || len(e.statements) > 0 ||
		!strings.Contains(e.error, fmt.Sprintf("%d partitions match ds=*, and one refresh takes 1000 at most", partitions)) {
		t.Errorf("the refresh of all by a pattern: %+v", e)
	}
	log, err := os.ReadFile(r.log)
	if err != nil {
		t.Fatal(err)
	}
	var checks, each int
	for line := range strings.Lines(string(log)) {
		_, sql, ok := strings.Cut(after(line, " Executing command(queryId="), "): ")
		switch {
		case !ok:
		case strings.HasPrefix(sql, "DESCRIBE FORMATTED `e2e_many`.`parts` PARTITION"):
			each++
		case strings.TrimSpace(sql) == "DESCRIBE FORMATTED `e2e_many`.`parts`":
			checks++ // or a refresh, which reads the table once and again
		}
	}
	var largest, failures int
	row(t, db, []any{&largest}, "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM hs2proxy.partitions GROUP BY read_at) c") // a check has one time
	if each == 0 || largest == 0 || largest > most {
		t.Errorf("%d partitions were described, in one check %d", each, largest)
	}
	row(t, db, []any{&failures}, "SELECT check_failures FROM hs2proxy.tables WHERE name = 'e2e_many.parts'")
	t.Logf("the table was described %d times, which took too long %d times in a row, and %d partitions", checks, failures, each)
}
