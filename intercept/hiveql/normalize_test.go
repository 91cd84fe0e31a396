package hiveql

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormalized(t *testing.T) {
	tests := []struct{ sql, want string }{
		{"SELECT  A.x , Count( * ) FROM `T` a", "select a.x, count(*) from t a"},
		{"select 'a', \"b\", 1, 1.5, 10L, 0x1F, true, null", "select ?, ?, ?, ?, ?, ?, true, null"},
		{"select 'a' 'b' \"c\", _utf8'x', _utf8 0x41", "select ?, ?, ?"},
		{"select a where d > date '2024-01-01' + interval '1' day", "select a where d > date ? + interval ? day"},
		{
			"select -5, a-5, a - -5, (-5), a = -5, a+5, +5, -a, null - 5, end - 5, m[1] - 5, (a) - 5",
			"select ?, a - ?, a - ?, (?), a = ?, a + ?, ?, - a, null - ?, end - ?, m[?] - ?, (a) - ?",
		},
		{"select 1 -- c\n/* d */ from t;;\n; -- e", "select ? from t"},
		{"a;b;", "a; b"},

		// Lists of literals are one.
		{"a in (1)", "a in (?)"},
		{"a in (1, 'b' 'c', -3, date '2024-01-01', null, true, ?)", "a in (?)"},
		{"a IN(1,2)", "a in (?)"},
		{"a not in (1, b, 2)", "a not in (?, b, ?)"},
		{"a in (select 1)", "a in (select ?)"},
		{"(a, b) in ((1, 2), (3, 4))", "(a, b) in (?)"},
		{"a in ()", "a in ()"},
		{"a in (((1)))", "a in (((?)))"},
		{"a in (1, 2", "a in (?, ?"},
		{"a in (1 + 2)", "a in (? + ?)"},
		{"values (1, 'a'), (2, 'b')", "values (?)"},
		{"values (1, 'a'), (2, f(3))", "values (?), (?, f(?))"},
		{"values (f(1), 2), (3, 4)", "values (f(?), ?), (?, ?)"},
		{"insert into t values (1), (2) ;", "insert into t values (?)"},

		// Names.
		{"select `a`, `A b`, `Order`, `_c0`, `2x`, `d``e`, `(a|b)?+.+` from `D`.`T`", "select a, `A b`, `Order`, `_c0`, `2x`, `d``e`, `(a|b)?+.+` from d.t"},
		{"select t_${hiveconf:X}_Y, ${hivevar:Z} from ${hiveconf:db}.t", "select t_${hiveconf:X}_Y, ${hivevar:Z} from ${hiveconf:db}.t"},
		{"a == b and c != d and e <> f and g <=> h", "a = b and c <> d and e <> f and g <=> h"},
		{"cast(a as Decimal(10, 2)), if(a, b, c), in (a), over (partition by x)", "cast(a as decimal(?, ?)), if(a, b, c), in (a), over (partition by x)"},
		{"select /*+  MapJoin( A ),SEMI(b, k , 5000)*/ x", "select /*+ mapjoin(a), semi(b, k, 5000) */ x"},

		// Where only a name can stand, double quotes make one (hive.support.quoted.identifiers=standard).
		{`select "T".a, x."B c", "lit" from "T" join "d"."U v"`, `select "T".a, x."B c", ? from "T" join "d"."U v"`},
		{`select trim(both "x" from "lit"), (select a from "t")`, `select trim(both ? from ?), (select a from "t")`},
		{`select transform(a) using "cat" as b from t`, "select transform(a) using ? as b from t"},
		{`insert into "t" values ("x")`, `insert into "t" values (?)`},

		// Not HiveQL, but not lost either; open quotes hide the rest.
		{"select 'secret", "select ?"},
		{"select `secret", "select ?"},
		{"a \x00 b \xff c", "a \uFFFD b \uFFFD c"},
		{"", ""},
	}
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			got := Parse(tt.sql)
			if got.Normalized != tt.want {
				t.Errorf("normalized %q:\n got %q\nwant %q", tt.sql, got.Normalized, tt.want)
			}
			if again := Parse(got.Normalized); again.Normalized != got.Normalized || again.Fingerprint != got.Fingerprint {
				t.Errorf("normalized twice: %q, then %q", got.Normalized, again.Normalized)
			}
			if len(got.Fingerprint) != 16 {
				t.Errorf("fingerprint %q: want 16 digits", got.Fingerprint)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	same := [][2]string{
		{"select a from t where b = 1", "SELECT A\nFROM `t` -- c\nWHERE b=2;"},
		{"select `A b` from t", "select `a B` from t"},
		{"select a from t where b in (1)", "select a from t where b in (1, 2, 3)"},
		{"select a from t limit 5", "select a from t limit 50"},
	}
	for _, pair := range same {
		if a, b := Parse(pair[0]), Parse(pair[1]); a.Fingerprint != b.Fingerprint {
			t.Errorf("%q and %q: want one fingerprint, normalized to %q and %q", pair[0], pair[1], a.Normalized, b.Normalized)
		}
	}
	different := [][2]string{
		{"select a from t", "select b from t"},
		{"select a b from t", "select a, b from t"},
		{"select a from t join u", "select a from t left join u"},
		{"select /*+ mapjoin(t) */ a from t", "select a from t"},
		{"select a from t where b is null", "select a from t where b is not null"},
		{"select 'a' from t", "select a from t"},
		{"select t_${x} from t", "select t_ ${x} from t"},
	}
	for _, pair := range different {
		if a, b := Parse(pair[0]), Parse(pair[1]); a.Fingerprint == b.Fingerprint {
			t.Errorf("%q and %q: want two fingerprints, normalized to %q", pair[0], pair[1], a.Normalized)
		}
	}
}

// The value must not change between releases: it is the key of recorded queries.
func TestFingerprintIsStable(t *testing.T) {
	const sql, want = "select a.x, count(*) from t a where a.k = 7", "c5c253d106edbd37"
	if got := Parse(sql).Fingerprint; got != want {
		t.Errorf("fingerprint of %q is %s, was %s: records of earlier releases no longer match", sql, got, want)
	}
}

func TestNormalizedIsBounded(t *testing.T) {
	long := strings.Repeat("größe, `ü x`, ", 40_000)
	a := Parse("select " + long + "a from t")
	if len(a.Normalized) > MaxNormalized || !strings.HasSuffix(a.Normalized, "…") || !utf8.ValidString(a.Normalized) {
		t.Errorf("normalized text has %d bytes and ends in %q; want at most %d, an ellipsis and valid UTF-8", len(a.Normalized), a.Normalized[len(a.Normalized)-10:], MaxNormalized)
	}
	b := Parse("select " + long + "b from t")
	if a.Normalized != b.Normalized || a.Fingerprint == b.Fingerprint {
		t.Error("texts that differ behind the bound: want the same normalized text and two fingerprints")
	}
}
