package hiveql

import (
	"slices"
	"testing"
)

func TestSet(t *testing.T) {
	tests := []struct {
		sql        string
		set        *Assignment
		normalized string
	}{
		{"set", nil, "set"},
		{"SET -v", nil, "set -v"},
		{"set hive.cbo.enable", nil, "set hive.cbo.enable"},
		{"set what ever", nil, "set ?"},
		{"set hive.cbo.enable=false", &Assignment{"hive.cbo.enable", "false"}, "set hive.cbo.enable=false"},
		{"set\n\thive.cbo.enable = false ", &Assignment{"hive.cbo.enable", "false"}, "set hive.cbo.enable=false"},
		// HiveServer2 takes the rest of the text as the value.
		{"set hive.cbo.enable=false;", &Assignment{"hive.cbo.enable", "false;"}, "set hive.cbo.enable=false;"},
		{"set hive.exec.pre.hooks='a b' -- c", &Assignment{"hive.exec.pre.hooks", "'a b'"}, "set hive.exec.pre.hooks='a b'"},
		{"set tez.x=a=b", &Assignment{"tez.x", "a=b"}, "set tez.x=a=b"},
		{"set hive.x=", &Assignment{"hive.x", ""}, "set hive.x="},
		{"set hiveconf:hive.x=1", &Assignment{"hive.x", "1"}, "set hive.x=1"},
		{"set hivevar:d=2024", &Assignment{"hivevar:d", "2024"}, "set hivevar:d=?"},
		{"set system:x=1", &Assignment{"system:x", "1"}, "set system:x=?"},
		{"-- a comment\n# and one of Beeline's\n\n  set -- not this\n mapreduce.x=1", &Assignment{"mapreduce.x", "1"}, "set mapreduce.x=1"},
		{"set hive.x='--a'", &Assignment{"hive.x", "'--a'"}, "set hive.x='--a'"},
		{`set hive.x='\'--a'`, &Assignment{"hive.x", `'\'--a'`}, `set hive.x='\'--a'`},
		// Secrets.
		{"set fs.s3a.secret.key=abc", &Assignment{"fs.s3a.secret.key", "abc"}, "set fs.s3a.secret.key=?"},
		{"set hive.server2.keystore.PASSWORD=abc", &Assignment{"hive.server2.keystore.PASSWORD", "abc"}, "set hive.server2.keystore.PASSWORD=?"},
		{"set mapreduce.job.token=abc", &Assignment{"mapreduce.job.token", "abc"}, "set mapreduce.job.token=?"},
		{"set hive.skewjoin.key=100000", &Assignment{"hive.skewjoin.key", "100000"}, "set hive.skewjoin.key=100000"},
		{"set hive.some.key=100000a", &Assignment{"hive.some.key", "100000a"}, "set hive.some.key=?"},
		{"set hive.some.password=100000", &Assignment{"hive.some.password", "100000"}, "set hive.some.password=?"},
		{"set hive.exec.x=jdbc:x?password=y", &Assignment{"hive.exec.x", "jdbc:x?password=y"}, "set hive.exec.x=?"},
		{"set my\x01key=v", &Assignment{"my\x01key", "v"}, "set ?=?"},
		{"set hive.x=\xff", &Assignment{"hive.x", "\xff"}, "set hive.x=\uFFFD"},
		// Not for the SET processor.
		{"set role admin", nil, "set role admin"},
		{"SET AUTOCOMMIT true", nil, "set autocommit true"},
		{"/* c */ set hive.x=1", nil, "set hive.x = ?"},
	}
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			got := Parse(tt.sql)
			if got.Kind != KindSet || got.Explainable || got.Writes != nil {
				t.Errorf("kind %s, explainable %v, writes %v; want SET alone", got.Kind, got.Explainable, got.Writes)
			}
			if (got.Set == nil) != (tt.set == nil) || got.Set != nil && *got.Set != *tt.set {
				t.Errorf("assignment %v, want %v", got.Set, tt.set)
			}
			if got.Normalized != tt.normalized {
				t.Errorf("normalized %q, want %q", got.Normalized, tt.normalized)
			}
		})
	}
}

func TestReset(t *testing.T) {
	tests := []struct {
		sql  string
		want *Reset
	}{
		{"reset", &Reset{All: true}},
		{"RESET hive.x", &Reset{Keys: []string{"hive.x"}}},
		{"reset -d hive.x hive.y", &Reset{Keys: []string{"hive.x", "hive.y"}}},
		{"reset -d", &Reset{All: true}},
		{"resetting", nil},
	}
	for _, tt := range tests {
		got := Parse(tt.sql).Reset
		if (got == nil) != (tt.want == nil) || got != nil && (got.All != tt.want.All || !slices.Equal(got.Keys, tt.want.Keys)) {
			t.Errorf("Parse(%q).Reset = %v, want %v", tt.sql, got, tt.want)
		}
	}
}

func TestCommandsHideArguments(t *testing.T) {
	for sql, want := range map[string]string{
		"dfs -Dfs.s3a.secret.key=abc -ls /": "dfs ?",
		"ADD JAR hdfs:///x.jar":             "add ?",
		"list jars":                         "list ?",
		"delete jar x":                      "delete ?",
		"reload":                            "reload",
		"reset fs.key '":                    "reset fs.key ?",
	} {
		if got := Parse(sql); got.Kind != KindOther || got.Normalized != want || got.Explainable {
			t.Errorf("Parse(%q): %s %q, want OTHER %q", sql, got.Kind, got.Normalized, want)
		}
	}
}
