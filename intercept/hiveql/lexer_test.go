package hiveql

import (
	"slices"
	"strings"
	"testing"
)

var kindNames = map[tokenKind]string{
	tokWord: "w", tokQuoted: "q", tokString: "s", tokNumber: "n", tokCharset: "c", tokVariable: "v", tokHint: "h", tokOp: "o", tokBad: "bad",
}

// tokens is the text as "kind:text" pieces.
func tokens(sql string) []string {
	var out []string
	l := lexer{src: sql}
	for t := l.next(); t.kind != tokEOF; t = l.next() {
		out = append(out, kindNames[t.kind]+":"+l.text(t))
	}
	return out
}

func TestLexer(t *testing.T) {
	tests := []struct {
		sql  string
		want []string
	}{
		{"", nil},
		{" \t\r\n", nil},
		{"a_1 B", []string{"w:a_1", "w:B"}},

		// Numbers, their suffixes, and identifiers that begin with a digit.
		{"1 10L 2S 3Y 10G 5k 1.5BD 1d 1.5e3 1e-5 1. 0x1F", []string{"n:1", "n:10L", "n:2S", "n:3Y", "n:10G", "n:5k", "n:1.5BD", "n:1d", "n:1.5e3", "n:1e-5", "n:1.", "n:0x1F"}},
		{"2020_t 1a 10Lx 1e 1ex 0x 0xg 10kb", []string{"w:2020_t", "w:1a", "w:10Lx", "w:1e", "w:1ex", "w:0x", "w:0xg", "w:10kb"}},
		{"1.5L", []string{"n:1.5", "w:L"}},
		{"1e+", []string{"w:1e", "o:+"}},
		{"t.5", []string{"w:t", "o:.", "n:5"}},
		{"a.2020_b", []string{"w:a", "o:.", "w:2020_b"}},

		// Strings.
		{`'a' "b"`, []string{"s:'a'", `s:"b"`}},
		{`'a''b'"c"`, []string{`s:'a''b'"c"`}},
		{`'\'' "\"" '\\'`, []string{`s:'\''`, `s:"\""`, `s:'\\'`}},
		{`'a;--b/*c*/"' x`, []string{`s:'a;--b/*c*/"'`, "w:x"}},
		{`'`, []string{"bad:'"}},
		{`'\`, []string{`bad:'\`}},
		{`'\'`, []string{`bad:'\'`}},
		{`'a'"b`, []string{`bad:'a'"b`}},
		{`_utf8'x' _utf8 0xFF _a b`, []string{"c:_utf8", "s:'x'", "c:_utf8", "n:0xFF", "w:_a", "w:b"}},
		{"_", []string{"w:_"}},
		{"_" + strings.Repeat("a", 100) + "'x'", []string{"w:_" + strings.Repeat("a", 100), "s:'x'"}},

		// Backticks.
		{"`a`.`b c` `d``e` ````", []string{"q:`a`", "o:.", "q:`b c`", "q:`d``e`", "q:````"}},
		{"`a\nb`", []string{"q:`a\nb`"}},
		{"`", []string{"bad:`"}},
		{"`a``", []string{"bad:`a``"}},

		// Comments and hints.
		{"a -- b\nc --", []string{"w:a", "w:c"}},
		{"a--\rc", []string{"w:a", "w:c"}},
		{"a /* b */ c /**/ d /***/ e", []string{"w:a", "w:c", "w:d", "w:e"}},
		{"a /* b /* c */ d */ e", []string{"w:a", "w:e"}},
		{"a /* b /* c */ d", []string{"w:a"}},
		{"a /*+ b */ c", []string{"w:a", "h:/*+ b */", "w:c"}},
		{"a /*+ b", []string{"w:a", "h:/*+ b"}},
		{"a /* -- */ b", []string{"w:a", "w:b"}},
		{"a / b * c - d", []string{"w:a", "o:/", "w:b", "o:*", "w:c", "o:-", "w:d"}},

		// Operators.
		{"a<=>b == c != d <> e <= f >= g || h :: i", []string{"w:a", "o:<=>", "w:b", "o:==", "w:c", "o:!=", "w:d", "o:<>", "w:e", "o:<=", "w:f", "o:>=", "w:g", "o:||", "w:h", "o:::", "w:i"}},
		{"a<b>c=d", []string{"w:a", "o:<", "w:b", "o:>", "w:c", "o:=", "w:d"}},
		{"m['k'];", []string{"w:m", "o:[", "s:'k'", "o:]", "o:;"}},

		// Variables.
		{"${hiveconf:x} ${a.b}", []string{"v:${hiveconf:x}", "v:${a.b}"}},
		{"a_${hiveconf:x}_b ${x}${y} ${x}1", []string{"w:a_${hiveconf:x}_b", "w:${x}${y}", "w:${x}1"}},
		{"${ a} ${", []string{"o:$", "o:{", "w:a", "o:}", "o:$", "o:{"}},

		// What is no HiveQL.
		{"a\x00b \\ # @", []string{"w:a", "bad:\x00", "w:b", "bad:\\", "bad:#", "bad:@"}},
		{"größe", []string{"w:gr", "bad:öß", "w:e"}},
	}
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			if got := tokens(tt.sql); !slices.Equal(got, tt.want) {
				t.Errorf("tokens(%q):\n got %q\nwant %q", tt.sql, got, tt.want)
			}
		})
	}
}

// Half a megabyte of anything must take time linear in the length: with anything quadratic this test does not end.
func TestParseIsLinear(t *testing.T) {
	const size = 512 << 10
	for _, unit := range []string{
		"(", ")", "((1),", "in (1, ", "values (1),(x),", "/*", "/*+", "/**/", "--\n", "'\\", `\`, "'", "`", "``", "${", "${a", "_a.", "_a-", "_a ", "1.", "1e", ";",
		"insert into ", "from ", "join (", "a.", "-", "- 1", "as ", "partition (a=", "x", "é", "\x00", "'a' ", "date ", "{", "a ", "set ", "1,", "in ((",
	} {
		sql := strings.Repeat(unit, size/len(unit))
		for _, prefix := range []string{"", "select ", "create table t as ", "set a="} {
			if info := Parse(prefix + sql); len(info.Normalized) > MaxNormalized {
				t.Errorf("%q repeated: normalized text of %d bytes", prefix+unit, len(info.Normalized))
			}
		}
	}
}
