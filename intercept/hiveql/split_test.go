package hiveql

import (
	"slices"
	"strings"
	"testing"
)

func texts(script string) []string {
	var list []string
	for _, st := range Split(script) {
		list = append(list, st.Text)
	}
	return list
}

func TestSplit(t *testing.T) {
	tests := []struct {
		name, script string
		want         []string
	}{
		{"nothing", "", nil},
		{"blanks and comments", " \n-- a\n/* b; */ # no comment here but a bad token", []string{"# no comment here but a bad token"}},
		{"only semicolons", ";; ;\n;", nil},
		{"two", "select 1;\nselect 2;\n", []string{"select 1", "select 2"}},
		{"the last without a semicolon", "select 1; select 2", []string{"select 1", "select 2"}},
		{"in strings", `select ';', ";" from t; select '\';' ; select "a\\";`, []string{`select ';', ";" from t`, `select '\';'`, `select "a\\"`}},
		{"doubled quotes", `select 'it'';s'; select 2`, []string{`select 'it'';s'`, "select 2"}},
		{"a quote in the other kind", `select "it's;" ; select '"' ;`, []string{`select "it's;"`, `select '"'`}},
		{"a string over lines", "select 'a\n-- b;\n# c;\n';x", []string{"select 'a\n-- b;\n# c;\n'", "x"}},
		{"in backticks", "select `a;b`, `c``;` from t; select 2", []string{"select `a;b`, `c``;` from t", "select 2"}},
		{"in a line comment", "select 1 -- one; it's\n + 2; select 3 -- end;", []string{"select 1 -- one; it's\n + 2", "select 3"}},
		{"two signs in a string", "select '--'; select 2", []string{"select '--'", "select 2"}},
		{"in a block comment", "select /* ; ' */ 1; select 2 /* ; */;", []string{"select /* ; ' */ 1", "select 2"}},
		{"nested comments", "select /* a /* ; */ ; */ 1; select 2", []string{"select /* a /* ; */ ; */ 1", "select 2"}},
		{"a hint", "select /*+ MAPJOIN(a) */ 1; /*+ x; */ select 2", []string{"select /*+ MAPJOIN(a) */ 1", "/*+ x; */ select 2"}},
		{"a comment without end", "select 1; select 2 /* ; select 3;", []string{"select 1", "select 2"}},
		{"a string without end", "select 1; select 'a; select 3;", []string{"select 1", "select 'a; select 3;"}},
		{"a backtick without end", "select 1; select `a; select 3;", []string{"select 1", "select `a; select 3;"}},
		{"number sign lines", "# a; it's\nselect 1\n  # b; \"\n+ 2;\n# c\n;", []string{"select 1\n  \n+ 2"}},
		{"a number sign line at the end", "select 1 -- x\n# y\n;select 2", []string{"select 1", "select 2"}},
		{"carriage returns", "select 1;\r\nselect 2;\r\n", []string{"select 1", "select 2"}},
		{"a byte order mark", "\ufeffselect 1; select 2", []string{"select 1", "select 2"}},
		{"a byte order mark and a number sign", "\ufeff# it's\nselect 1", []string{"select 1"}},
		{"variables", "select ${hiveconf:a}, '${b;c}' from t_${d}; x", []string{"select ${hiveconf:a}, '${b;c}' from t_${d}", "x"}},
		{"SET is taken literally", "set a=/tmp/*; set b=`; SET c = 1 -- d; e\n;", []string{"set a=/tmp/*", "set b=`", "SET c = 1"}},
		{"SET with quotes", `set a='x;y'; set b="; "; set c`, []string{`set a='x;y'`, `set b="; "`, "set c"}},
		{"SET with an escaped semicolon", `set a=x\;y; set b=1`, []string{`set a=x;y`, "set b=1"}},
		{"SET over lines", "set a=1\n# note; x\n-- note; y\n;select 1", []string{"set a=1", "select 1"}},
		{"SET ROLE is HiveQL", "set role `a;b`; set autocommit /* ; */ true; x", []string{"set role `a;b`", "set autocommit /* ; */ true", "x"}},
		{"DELETE FROM is HiveQL", "delete from `a;b` where x = 1; delete jar /a/*; x", []string{"delete from `a;b` where x = 1", "delete jar /a/*", "x"}},
		{"other commands", "add jar /lib/*; dfs -ls /a/*;list jars;reset;x", []string{"add jar /lib/*", "dfs -ls /a/*", "list jars", "reset", "x"}},
		{"a comment before SET", "/* licence; */\n-- more\nset a=1;", []string{"set a=1"}},
		{"client commands", "!connect jdbc:hive2://h:1/;a=b x'y\nselect 1;\n  !quit;\nselect 2", []string{"!connect jdbc:hive2://h:1/;a=b x'y", "select 1", "!quit", "select 2"}},
		{"an exclamation mark inside", "select 1\n!= 2; x", []string{"select 1\n!= 2", "x"}},
		{"words that begin like commands", "settle /* ; */ x; addition `;`", []string{"settle /* ; */ x", "addition `;`"}},
		{"a charset", "select _utf8 'a;b'; x", []string{"select _utf8 'a;b'", "x"}},
		{"a backslash outside strings", `select \; x`, []string{`select \`, "x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := texts(tt.script); !slices.Equal(got, tt.want) {
				t.Errorf("Split(%q)\n got %q\nwant %q", tt.script, got, tt.want)
			}
		})
	}
}

func TestSplitTellsPlaces(t *testing.T) {
	script := "\ufeff-- head\nselect 1; select 'a\nb';\r\n\n# x\n  set a=1;\n!q\n/* skip */ é; x"
	want := []Statement{
		{Text: "select 1", Lead: "-- head\n", Line: 2, Column: 1},
		{Text: "select 'a\nb'", Lead: " ", Line: 2, Column: 11},
		{Text: "set a=1", Lead: "\r\n\n# x\n  ", Line: 6, Column: 3},
		{Text: "!q", Lead: "\n", Line: 7, Column: 1, Client: true},
		{Text: "é", Lead: "\n/* skip */ ", Line: 8, Column: 12},
		{Text: "x", Lead: " ", Line: 8, Column: 16},
	}
	if got := Split(script); !slices.Equal(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

// checkSplit holds for every script whatever.
func checkSplit(t interface{ Fatalf(string, ...any) }, script string) {
	list := Split(script)
	line := 1
	for _, st := range list {
		switch {
		case st.Text == "" || st.Line < line || st.Column < 1:
			t.Fatalf("Split(%q): statement %+v behind line %d", script, st, line)
		case strings.Count(script, "\n") < st.Line-1:
			t.Fatalf("Split(%q): line %d", script, st.Line)
		case st.Client != strings.HasPrefix(st.Text, "!"):
			t.Fatalf("Split(%q): statement %+v", script, st)
		}
		line = st.Line
		rest := strings.SplitAfterN(strings.TrimPrefix(script, byteOrderMark), "\n", st.Line)[st.Line-1]
		if first := st.Text[0]; st.Column > len(rest) || rest[st.Column-1] != first && first != ';' {
			t.Fatalf("Split(%q): %q does not begin at %d:%d", script, st.Text, st.Line, st.Column)
		}
		if _, _, command := command(st.Text); command || st.Client {
			continue
		}
		// A statement of HiveQL is one: it holds no semicolon that HiveLexer would see.
		for _, tok := range readAll(st.Text, nil) {
			if l := (lexer{src: st.Text}); l.op(tok, ";") {
				t.Fatalf("Split(%q): %q holds a semicolon", script, st.Text)
			}
		}
	}
	plain := !strings.ContainsAny(script, "#!") && !slices.ContainsFunc(list, func(st Statement) bool {
		first, _ := shortWord(st.Text)
		return isCommand(first)
	})
	if !plain {
		return
	}
	// Nothing is lost: the statements have the script's own tokens.
	l := lexer{src: strings.TrimPrefix(script, byteOrderMark)}
	var all, got []string
	for tok := l.next(); tok.kind != tokEOF; tok = l.next() {
		if !l.op(tok, ";") {
			all = append(all, l.text(tok))
		}
	}
	for _, st := range list {
		l := lexer{src: st.Text}
		for tok := l.next(); tok.kind != tokEOF; tok = l.next() {
			got = append(got, l.text(tok))
		}
	}
	if !slices.Equal(got, all) {
		t.Fatalf("Split(%q)\n got %q\nwant %q", script, got, all)
	}
}

func FuzzSplit(f *testing.F) {
	for _, script := range []string{
		"", "select 1; select 2", "set a=b;c", "/* /* ; */", "select 'a;'';\n", "\ufeff# x\n!q;\n", "a `b``;` -- c;\r d; /*+ ; */ e", `set a=\;\`, "_utf8'x;';${a;b}", "set role x;delete from t;",
	} {
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script string) { checkSplit(t, script) })
}

// BenchmarkSplit shows that time is linear for scripts made to be slow, too.
func BenchmarkSplit(b *testing.B) {
	for name, piece := range map[string]string{"Queries": "select a.x from t a join u b on a.k = b.k where c = ';';\n", "Commands": "set;", "Open": "set /*;", "Lines": "x\n   #;\n"} {
		b.Run(name, func(b *testing.B) {
			script := strings.Repeat(piece, 10000)
			b.SetBytes(int64(len(script)))
			for b.Loop() {
				Split(script)
			}
		})
	}
}
