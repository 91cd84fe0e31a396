package check

import (
	"maps"
	"testing"
)

func TestReadAppliesWhatComesBefore(t *testing.T) {
	list := Read("a.sql", `SELECT * FROM a JOIN b;
SET hive.auto.convert.join=false;
set hivevar:env=prod; set hive.x=${hivevar:env}-${unknown};
USE ${env}_dwh;
SELECT * FROM c JOIN d;
RESET hive.x;
SELECT * FROM e;
RESET;
SELECT * FROM f;
use ${nobody};
SELECT * FROM g;
USE h;
SELECT * FROM h;`, Session{Database: "default", Settings: map[string]string{"hive.y": "1"}})
	want := []struct {
		line     int
		database string
		settings map[string]string
		unknown  string
	}{
		{1, "default", map[string]string{"hive.y": "1"}, ""},
		{5, "prod_dwh", map[string]string{"hive.y": "1", "hive.auto.convert.join": "false", "hivevar:env": "prod", "hive.x": "prod-${unknown}"}, ""},
		{7, "prod_dwh", map[string]string{"hive.y": "1", "hive.auto.convert.join": "false", "hivevar:env": "prod"}, ""},
		{9, "prod_dwh", map[string]string{"hivevar:env": "prod"}, ""},
		{11, "prod_dwh", map[string]string{"hivevar:env": "prod"}, "the database is not known: USE at line 10 names a variable that is not set"},
		{13, "h", map[string]string{"hivevar:env": "prod"}, ""},
	}
	if len(list) != len(want) {
		t.Fatalf("%d statements: %+v", len(list), list)
	}
	for i, w := range want {
		got := list[i]
		if got.File != "a.sql" || got.Line != w.line || got.Database != w.database || !maps.Equal(got.Settings, w.settings) ||
			got.Unknown != w.unknown || got.Ordinal != i+1 || got.Skipped != "" {
			t.Errorf("statement %d\n got %+v\nwant %+v", i, got, w)
		}
	}
}

func TestReadBeginsEachScriptAnew(t *testing.T) {
	start := Session{Database: "d", Settings: map[string]string{"a": "1"}}
	Read("a.sql", "set a=2; use e; select * from t", start)
	if got := Read("b.sql", "select * from t", start)[0]; got.Database != "d" || got.Settings["a"] != "1" {
		t.Errorf("the session of another script: %+v", got)
	}
}

func TestReadSkips(t *testing.T) {
	for _, tt := range []struct{ script, want string }{
		{"CREATE TABLE t (a int)", "CREATE is not explained"},
		{"create view v as select * from a join b", "CREATE is not explained"},
		{"DROP TABLE t", "DROP is not explained"},
		{"INSERT INTO t VALUES (1)", "INSERT reads no table"},
		{"SELECT 1", "SELECT reads no table"},
		{"add jar hdfs://secret", "ADD is not explained"},
		{"GRANT SELECT ON t TO USER u", "GRANT is not explained"},
		{"EXPLAIN SELECT * FROM a", "EXPLAIN is not explained"},
		{"(", "no statement that Hive explains"},
		{"!connect jdbc:hive2://h/ user password", "a command for the client"},
		{"-- hs2proxy: skip\nselect * from t", "a comment says so"},
		{"-- more\n -- hs2proxy:skip, reads a temporary table \nselect * from t", "a comment says so: reads a temporary table"},
		{"select * from t", ""},
		{"-- hs2proxy: skipped is another word\nselect * from t", ""},
		{"select * from t -- hs2proxy: skip\n", ""},
		{"set a=1; -- hs2proxy: skip\nselect * from t", ""},
		{"set a=1;\n-- hs2proxy: skip\nselect * from t", "a comment says so"},
		{"create table t as select * from a", ""},
		{"merge into t using s on t.a = s.a when matched then delete", ""},
	} {
		list := Read("a.sql", tt.script, Session{})
		if len(list) != 1 || list[0].Skipped != tt.want || (tt.want == "") != (list[0].Ordinal == 1) {
			t.Errorf("%q: %+v, want %q", tt.script, list, tt.want)
		}
	}
	for _, script := range []string{"", "set", "set -v", "set a", "set a=b", "use d", "reset"} {
		if list := Read("a.sql", script, Session{}); len(list) > 0 {
			t.Errorf("%q: %+v", script, list)
		}
	}
}
