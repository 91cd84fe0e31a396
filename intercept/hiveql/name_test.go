package hiveql

import (
	"strings"
	"testing"
)

func TestQuoteIdentifier(t *testing.T) {
	good := map[string]string{
		"a": "`a`", "a`b": "`a``b`", "Größe €": "`Größe €`", "a.b": "`a.b`", `a\b'";--`: "`a\\b'\";--`", "$a{b}": "`$a{b}`",
		strings.Repeat("é", 128): "`" + strings.Repeat("é", 128) + "`",
	}
	for name, want := range good {
		if got, err := QuoteIdentifier(name); err != nil || got != want {
			t.Errorf("QuoteIdentifier(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	bad := []string{
		"", strings.Repeat("a", 129), strings.Repeat("é", 129), "a\nb", "a\x00b", "a\tb", "a\x7fb", "a\u0085b", " a", "a ", "\xff", "a${x}",
	}
	for _, name := range bad {
		if got, err := QuoteIdentifier(name); err == nil {
			t.Errorf("QuoteIdentifier(%q) = %q; want an error", name, got)
		}
	}
}

func TestParseTableName(t *testing.T) {
	good := map[string]TableName{
		"t": {Table: "t"}, "D.T": {"d", "t"}, " `d`.`T x` ": {"d", "t x"}, "`a``b`": {Table: "a`b"}, "d . t": {"d", "t"}, "2020_t": {Table: "2020_t"},
		"d.`2020`": {"d", "2020"}, "default.order": {"default", "order"},
	}
	for s, want := range good {
		got, err := ParseTableName(s)
		if err != nil || got != want {
			t.Errorf("ParseTableName(%q) = %v, %v; want %v", s, got, err, want)
			continue
		}
		quoted, err := got.Quoted()
		if err != nil {
			t.Errorf("%v.Quoted(): %v", got, err)
		}
		if again, err := ParseTableName(quoted); err != nil || again != got {
			t.Errorf("ParseTableName(%q) = %v, %v; want %v", quoted, again, err, got)
		}
	}
	bad := []string{
		"", " ", ".", "d.", ".t", "a.b.c", "a b", "t;", "t; drop table u", "'t'", "\"t\"", "2020", "d.2020", "1e5", "`t", "``", "`a.b`", "t -", "d-t", "größe",
		"${x}", "`${x}`", "t_${x}", "*", "a.*", "`a\nb`", strings.Repeat("a", 129), strings.Repeat("a", 1<<20), "a(b)", "/*+ a */ t",
	}
	for _, s := range bad {
		if got, err := ParseTableName(s); err == nil {
			t.Errorf("ParseTableName(%q) = %v; want an error", s[:min(len(s), 50)], got)
		} else if len(err.Error()) > 1000 {
			t.Errorf("ParseTableName: an error of %d bytes", len(err.Error()))
		}
	}
}

func TestQuotedRefuses(t *testing.T) {
	for _, name := range []TableName{{}, {Table: "a.b"}, {"d", ""}, {"d.e", "t"}, {"d\n", "t"}} {
		if got, err := name.Quoted(); err == nil {
			t.Errorf("%#v.Quoted() = %q; want an error", name, got)
		}
	}
}
