package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/statscheck"
)

const (
	situationsDB = "e2e_situations"
	// agedAfter is rule R9's age for the table "outside".
	agedAfter = 15 * time.Second
)

// situation is one way in which a table's statistics come to be right or wrong, and what the proxy is to make of it.
type situation struct {
	// what is the situation in words, table the table that it befalls.
	what, table string
	// setup makes the table with statistics that are right, with autogather on. query is run then: it says which columns joins use.
	setup []string
	query string
	// stage brings the situation about, in a session of its own; behind, in the table's folder, does so without Hive.
	stage  []string
	behind func(t *testing.T, folder string)
	// view is asked to be refreshed instead, by a person.
	view string
	// looked is run again and again: nothing that the proxy sees writes the table, or changes the plans that read it, so that a query that
	// reads it brings it to the proxy's mind. One that Hive answers without a task does not.
	looked string
	// seen is the reason of the R6 that the statement itself raised, and settled what the reading showed that ended it; empty: none is asked for.
	seen, settled string
	// want are the rules that hold then, and no other: "R3(id)@ds=a" names columns and partition.
	want string
	// analyze is what the refresh runs, without "ANALYZE TABLE" and the table's name; empty: nothing is to be refreshed.
	analyze []string
	mode    statscheck.Mode
}

const (
	noGather  = "SET hive.stats.autogather=false"
	noColumns = "SET hive.stats.column.autogather=false"
)

// numbers is a query for n rows of the columns id and grp.
func numbers(n int) string {
	return fmt.Sprintf("SELECT pos AS id, pos %% 10 AS grp FROM (SELECT posexplode(split(space(%d), ' ')) AS (pos, x)) p", n-1)
}

func filled(table, how string) []string {
	return []string{"CREATE TABLE " + table + " (id int, grp int) " + how, "INSERT INTO " + table + " " + numbers(1000)}
}

// partitioned is a table with 1,000 rows in each partition, written by one statement.
func partitioned(table string, partitions ...string) []string {
	return []string{
		"CREATE TABLE " + table + " (id int, grp int) PARTITIONED BY (ds string)", "SET hive.exec.dynamic.partition.mode=nonstrict",
		fmt.Sprintf("INSERT INTO %s PARTITION (ds) SELECT n.id, n.grp, v.ds FROM (%s) n LATERAL VIEW explode(array('%s')) v AS ds", table, numbers(1000), strings.Join(partitions, "', '")),
	}
}

func joined(table, column string) string {
	return fmt.Sprintf("SELECT count(*) FROM %s t JOIN dim d ON t.%s = d.id", table, column)
}

// rowsFile holds 1,000 rows as Hive's text files do.
func rowsFile(t *testing.T, dir string) string {
	t.Helper()
	var text []byte
	for i := range 1000 {
		text = fmt.Appendf(text, "%d\x01%d\n", i, i%10)
	}
	file := filepath.Join(dir, "rows")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// doubled copies every file of a table, as a writer would that knows the folder and not Hive, an hour ago.
func doubled(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "0*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files of the table: %v, %v", files, err)
	}
	ago := time.Now().Add(-time.Hour)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file+"_foreign", text, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{file, file + "_foreign"} {
			if err := os.Chtimes(f, ago, ago); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chtimes(folder, ago, ago); err != nil {
		t.Fatal(err)
	}
}

const (
	basic  = "COMPUTE STATISTICS"
	noScan = "COMPUTE STATISTICS NOSCAN"
)

func forColumn(column string) string { return "COMPUTE STATISTICS FOR COLUMNS `" + column + "`" }

func situations(t *testing.T) []situation {
	dir := t.TempDir()
	rows := rowsFile(t, dir)
	inPartition := func(ds, what string) string { return "PARTITION (`ds`='" + ds + "') " + what }
	return []situation{
		{
			what: "rows ×10 by INSERT with autogather off", table: "grown", setup: filled("grown", ""), query: joined("grown", "id"),
			stage: []string{noGather, "INSERT INTO grown " + numbers(9000)},
			want:  "R2 R3(id) R4", mode: statscheck.ModeColumns, analyze: []string{forColumn("id")},
		},
		{
			what: "column statistics dropped by ALTER", table: "altered", setup: filled("altered", ""), query: joined("altered", "id"),
			stage: []string{"ALTER TABLE altered CHANGE COLUMN id id bigint"},
			want:  "R3(id)", mode: statscheck.ModeColumns, analyze: []string{forColumn("id")},
		},
		{
			what: "a new column used as a join key", table: "widened", setup: filled("widened", ""), query: joined("widened", "id"),
			stage: []string{"ALTER TABLE widened ADD COLUMNS (k int)", joined("widened", "k")},
			want:  "R3(k)", mode: statscheck.ModeColumns, analyze: []string{forColumn("k")},
		},
		{
			what: "a partition added by ADD PARTITION with files", table: "added", setup: partitioned("added", "a", "b"), query: joined("added", "id"),
			stage: []string{"ALTER TABLE added ADD PARTITION (ds='c') LOCATION 'file://" + dir + "'"},
			want:  "R2@ds=c R3(id)@ds=c", mode: statscheck.ModeColumns,
			analyze: []string{inPartition("c", forColumn("id"))},
		},
		{
			what: "INSERT OVERWRITE of one partition", table: "replaced", setup: partitioned("replaced", "a", "b"), query: joined("replaced", "id"),
			stage: []string{noGather, "INSERT OVERWRITE TABLE replaced PARTITION (ds='a') " + numbers(5000)},
			want:  "R2@ds=a R3(id)@ds=a R4@ds=a R7@ds=a", mode: statscheck.ModeColumns,
			analyze: []string{inPartition("a", forColumn("id"))},
		},
		{
			what: "files written behind Hive's back, ORC", table: "behind_orc", setup: filled("behind_orc", "STORED AS ORC"), query: joined("behind_orc", "id"),
			behind: doubled, looked: joined("behind_orc", "id"),
			want: "R5", mode: statscheck.ModeNoScan, analyze: []string{noScan},
		},
		{
			what: "files written behind Hive's back, text", table: "behind_text", setup: filled("behind_text", ""), query: joined("behind_text", "id"),
			behind: doubled, looked: joined("behind_text", "id"),
			want: "R5", mode: statscheck.ModeBasic, analyze: []string{basic},
		},
		{
			what: "numRows 0 with data", table: "zero",
			stage: []string{"CREATE TABLE zero (id int, grp int)", "LOAD DATA LOCAL INPATH '" + rows + "' INTO TABLE zero"},
			want:  "R1", mode: statscheck.ModeBasic, analyze: []string{basic},
		},
		{
			what: "an external table", table: "outside",
			setup: []string{"CREATE EXTERNAL TABLE outside (id int, grp int) STORED AS ORC", "INSERT INTO outside " + numbers(1000)},
			query: joined("outside", "id"), looked: joined("outside", "id"),
			want: "R9", mode: statscheck.ModeNoScan, analyze: []string{noScan},
		},
		{
			what: "a truncated table: R6 until it is read again, which shows Hive's 0 rows to be right", table: "emptied", setup: filled("emptied", ""), query: joined("emptied", "id"),
			stage: []string{"TRUNCATE TABLE emptied"}, seen: "TRUNCATE seen, whose rows could not be counted", settled: "numRows 0, totalSize 0, with BASIC_STATS",
		},
		{
			what: "multi-insert, the first target", table: "multi_a", setup: filled("multi_a", ""), query: joined("multi_a", "id"),
			stage: []string{noGather, "FROM (" + numbers(1000) + ") n INSERT INTO TABLE multi_a SELECT id, grp INSERT INTO TABLE multi_b SELECT id, grp"},
			want:  "R2 R3(id)", mode: statscheck.ModeColumns, analyze: []string{forColumn("id")},
		},
		{
			what: "multi-insert, the second target", table: "multi_b", setup: filled("multi_b", ""),
			want: "R2", mode: statscheck.ModeBasic, analyze: []string{basic},
		},
		{
			what: "CTAS without statistics", table: "created",
			stage: []string{noGather, "CREATE TABLE created AS " + numbers(1000)},
			want:  "R2", mode: statscheck.ModeBasic, analyze: []string{basic},
		},
		{
			what: "MERGE on an ACID table", table: "merged",
			setup: []string{"CREATE TABLE merged (id int, grp int) STORED AS ORC TBLPROPERTIES ('transactional'='true')", "INSERT INTO merged " + numbers(1000)},
			query: joined("merged", "id"),
			stage: []string{"MERGE INTO merged t USING (" + numbers(3000) + ") s ON t.id = s.id WHEN MATCHED AND s.id < 100 THEN DELETE " +
				"WHEN MATCHED THEN UPDATE SET grp = 1 WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.grp)"},
			want: "R3(id)", mode: statscheck.ModeColumns, analyze: []string{forColumn("id")},
		},
		{
			what: "a view over stale tables", table: "below", setup: append(filled("below", ""), "CREATE VIEW above AS SELECT id, grp FROM below"),
			query: joined("above", "id"), view: "above",
			stage: []string{noGather, "INSERT INTO below " + numbers(2000)},
			want:  "R2 R3(id) R4", mode: statscheck.ModeColumns, analyze: []string{forColumn("id")},
		},
		{
			what: "partial column statistics on one of many partitions", table: "partial", setup: partitioned("partial", "a", "b", "c"), query: joined("partial", "id"),
			stage: []string{noColumns, "INSERT INTO partial PARTITION (ds='d') " + numbers(1000)}, looked: joined("partial", "id"),
			want: "R3(id)@ds=d R7@ds=d", mode: statscheck.ModeColumns,
			analyze: []string{inPartition("d", forColumn("id"))},
		},
		{
			what: "statistics that are right", table: "fine", setup: filled("fine", ""), query: joined("fine", "id"), looked: joined("fine", "id"),
			stage: []string{"INSERT INTO fine " + numbers(2000)}, // autogather keeps up
		},
	}
}
