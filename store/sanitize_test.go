package store

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"
)

func TestJSONLosesOnlyNUL(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune{0, '\\', 'u', '0', '"', 'a', 'é', '\n'})).Draw(t, "s")
		b, err := asJSON(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		want := strings.ReplaceAll(s, "\x00", "\uFFFD")
		if back[want] != want {
			t.Fatalf("%q came back as %q", s, back)
		}
	})
}

func TestTextIsAlwaysStorable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "s"))
		if got := text(s); !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			t.Fatalf("%q", got)
		}
		if got := message(s + strings.Repeat("é", 9000)); !utf8.ValidString(got) || len(got) > maxMessage+len("…") {
			t.Fatalf("%d bytes", len(got))
		}
	})
}

func TestMessagesWithoutLiterals(t *testing.T) {
	const sql = `SELECT a1 FROM t WHERE name = 'O\'Neil' AND id = 12345 AND x = "q" AND c = ''`
	for _, c := range []struct{ msg, want string }{
		{"", ""},
		{"table t not found", "table t not found"},
		{"near '12345' in line 1", "near ? in line 1"},
		{`cannot recognize input near 'id' '=' '12345'`, `cannot recognize input near 'id' '=' ?`},
		{`bad value 'O\'Neil' here`, `bad value ? here`},
		{`'q' and "q"`, `? and ?`},
		{"in " + sql + ".", "in NORMALIZED."},
		{"1 of 12345 rows", "1 of 12345 rows"},
	} {
		if got := withoutLiterals(c.msg, sql, "NORMALIZED"); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.msg, got, c.want)
		}
	}
}

func TestSecretSettings(t *testing.T) {
	for name, secret := range map[string]bool{
		"javax.jdo.option.ConnectionPassword": true, "fs.s3a.access.key": true, "fs.s3a.secret.key": true, "fs.azure.account.key.host": true,
		"hive.server2.keystore.password": true, "hive.metastore.token.signature": true, "hive.server2.authentication.kerberos.keytab": true,
		"hive.skewjoin.key": false, "hive.auto.convert.join.noconditionaltask.size": false, "hive.optimize.bucketmapjoin": false,
	} {
		if got := settingValue(name, "v") == hidden; got != secret {
			t.Errorf("%s: hidden %v", name, got)
		}
	}
	if settingValue("a.password", "") != "" {
		t.Error("an empty value is no secret")
	}
}

func TestEvidenceThatJSONCannotHold(t *testing.T) {
	b, err := asJSON(evidence(map[string]any{"nan": math.NaN(), "inf": math.Inf(1), "n": 1.5}))
	if err != nil || string(b) != `{"inf":"+Inf","n":1.5,"nan":"NaN"}` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestClassesOfSQLStates(t *testing.T) {
	for code, want := range map[string]bool{
		"08006": true, "57P01": true, "57P03": true, "53300": true, "53100": true, "42501": true, "42P01": true, "3F000": true, "25006": true, "40P01": true,
		"57014": true, "28P01": true, "XX000": true, "58030": true, "55P03": true,
		"22021": false, "23505": false, "23514": false, "22P02": false, "54000": false, "21000": false, "P0001": false, "": false,
	} {
		if got := unavailable(&pgconn.PgError{Code: code}); got != want {
			t.Errorf("%q: unavailable %v", code, got)
		}
	}
}
