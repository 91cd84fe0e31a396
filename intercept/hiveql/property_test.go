package hiveql

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// template is a statement with the places where literals and blanks stand: %s, %n and _.
var templates = []string{
	"select_a.x_from_t_a_join_u_b_on_a.k_=_b.k_where_a.ds_=_%s_and_a.n_>_%n",
	"select_count(*),_sum(x_*_%n)_from_`t`_where_y_in_(%s,%s,%s)_or_z_between_%n_and_%n_limit_10",
	"insert_into_t_partition_(ds_=_%s)_select_*_from_s_where_a_<>_%s",
	"with_q_as_(select_%n_n_from_t)_insert_overwrite_table_u_select_n_from_q_where_n_!=_%n",
	"update_t_set_a_=_%s,_b_=_%n_where_c_=_%s",
	"create_table_c_as_select_%s_s,_x_from_a_left_join_b_on_a.k_=_b.k",
}

var (
	blanks = []string{" ", "  ", "\n", "\t\r\n", " -- comment 'quote\n", "/* a */", " /* a /* nested \"*/ b */ ", "\n--\n"}
	str    = []string{"'a'", `"b"`, `'it\'s ; -- /*'`, "'x''y'", "''", "'from t join u'", "'${hiveconf:x}'", "_utf8 'z'"}
	num    = []string{"1", "-1", "10L", "2S", "3Y", "1.5BD", "1e10", "0x1F", "- 7", "1."}
)

// fill renders a template with literals, blanks and letter case of the test's choice.
func fill(t *rapid.T, template string) string {
	var b strings.Builder
	for i := 0; i < len(template); i++ {
		c := template[i]
		switch {
		case c == '_':
			b.WriteString(rapid.SampledFrom(blanks).Draw(t, "blank"))
		case c == '%' && template[i+1] == 's':
			b.WriteString(rapid.SampledFrom(str).Draw(t, "string"))
			i++
		case c == '%' && template[i+1] == 'n':
			b.WriteString(rapid.SampledFrom(num).Draw(t, "number"))
			i++
		case rapid.Bool().Draw(t, "upper"):
			b.WriteString(strings.ToUpper(string(c)))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString(rapid.SampledFrom([]string{"", ";", " ; ;", "\n-- end"}).Draw(t, "end"))
	return b.String()
}

func TestFingerprintIgnoresLiteralsBlanksAndCase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		template := rapid.SampledFrom(templates).Draw(t, "template")
		one, two := fill(t, template), fill(t, template)
		a, b := Parse(one), Parse(two)
		if a.Fingerprint != b.Fingerprint || a.Normalized != b.Normalized {
			t.Fatalf("two fingerprints:\n%q\n%q\nnormalized\n%q\n%q", one, two, a.Normalized, b.Normalized)
		}
		if a.Kind != b.Kind || a.Explainable != b.Explainable || len(a.Writes) != len(b.Writes) {
			t.Fatalf("two readings:\n%q: %+v\n%q: %+v", one, a, two, b)
		}
	})
}

func TestQuotedIdentifierIsOneToken(t *testing.T) {
	name := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("ab`.'\"\\-/*${} é")), 0, 140, -1))
	rapid.Check(t, func(t *rapid.T) {
		name := name.Draw(t, "name")
		quoted, err := QuoteIdentifier(name)
		if err != nil {
			t.Skip("refused")
		}
		l := lexer{src: quoted + quoted[:0] + " from"}
		token := l.next()
		if token.kind != tokQuoted || unquoteIdentifier(l.text(token)) != name || !l.is(l.next(), "from") {
			t.Fatalf("QuoteIdentifier(%q) = %q reads as %q", name, quoted, tokens(quoted))
		}
	})
}

func TestTableNameRoundTrip(t *testing.T) {
	part := rapid.StringMatching("[a-z0-9_ `é'$-]{1,20}")
	rapid.Check(t, func(t *rapid.T) {
		name := TableName{Table: part.Draw(t, "table")}
		if rapid.Bool().Draw(t, "with database") {
			name.Database = part.Draw(t, "database")
		}
		quoted, err := name.Quoted()
		if err != nil {
			t.Skip("refused")
		}
		got, err := ParseTableName(quoted)
		if err != nil || got != name {
			t.Fatalf("ParseTableName(%q) = %v, %v; want %v", quoted, got, err, name)
		}
		info := Parse("insert into " + quoted + " select * from s")
		if len(info.Writes) != 1 || info.Writes[0].Table != name {
			t.Fatalf("INSERT INTO %s writes %v; want %v", quoted, info.Writes, name)
		}
	})
}

// checkInfo holds for every text whatever.
func checkInfo(t interface{ Fatalf(string, ...any) }, sql string) {
	info := Parse(sql)
	switch {
	case info.Kind == "" || len(info.Fingerprint) != 16:
		t.Fatalf("Parse(%q): kind %q, fingerprint %q", sql, info.Kind, info.Fingerprint)
	case len(info.Normalized) > MaxNormalized:
		t.Fatalf("Parse(%q): normalized text of %d bytes", sql, len(info.Normalized))
	case !utf8.ValidString(info.Normalized) || strings.Contains(info.Normalized, "\x00"):
		t.Fatalf("Parse(%q): normalized %q is not what Postgres takes", sql, info.Normalized)
	case info.Query != "" && !strings.Contains(sql, info.Query):
		t.Fatalf("Parse(%q): query %q is not part of it", sql, info.Query)
	case info.Kind == KindExplain && info.Explainable:
		t.Fatalf("Parse(%q): an EXPLAIN is explainable", sql)
	case (info.Set != nil) && info.Kind != KindSet, info.Use != "" && info.Kind != KindUse, (info.Query != "") != (info.Kind == KindCTAS):
		t.Fatalf("Parse(%q): kind %s with set %v, use %q, query %q", sql, info.Kind, info.Set, info.Use, info.Query)
	}
	for _, w := range info.Writes {
		if w.Op == "" || w.Table.Table == "" {
			t.Fatalf("Parse(%q): write %+v", sql, w)
		}
	}
	checkPeek(t, sql, info)
	// What is between tokens is blank or comment: the tokens cover the rest, in order.
	l, end := lexer{src: sql}, 0
	for tok := l.next(); tok.kind != tokEOF; tok = l.next() {
		if tok.start < end || tok.end <= tok.start {
			t.Fatalf("lexer: token %v behind %d in %q", tok, end, sql)
		}
		end = tok.end
	}
}

func TestAnyText(t *testing.T) {
	word := rapid.SampledFrom([]string{
		"select", "from", "insert", "into", "overwrite", "table", "partition", "(", ")", ",", "=", "as", "create", "with", "values", "in", "alter", "add",
		"drop", "exchange", "set", "reset", "use", "merge", "explain", "t", "d.t", "`x y`", "'s'", "1", "-", ";", "/*", "*/", "/*+", "--", "\n", "'", "`", "${x}", "_u",
	})
	rapid.Check(t, func(t *rapid.T) {
		sep := rapid.SampledFrom([]string{"", " "}).Draw(t, "separator")
		checkInfo(t, strings.Join(rapid.SliceOfN(word, 0, 30).Draw(t, "words"), sep))
	})
}

func FuzzParse(f *testing.F) {
	for _, sql := range templates {
		f.Add(strings.NewReplacer("_", " ", "%s", "'x'", "%n", "1").Replace(sql))
	}
	for _, sql := range []string{
		"", "set a=b", "alter table t add partition (a='b', c", "/* /* */", "insert into `a``b` partition(x=-1) values (1)", "create table t as (select", "_utf8'x", "\x00\xff${",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) { checkInfo(t, sql) })
}

// BenchmarkParse measures a query as reports send it, and one with a long list of literals.
func BenchmarkParse(b *testing.B) {
	for name, sql := range map[string]string{
		"Report": `SELECT c.c_customer_id, c.c_last_name, d.d_date, SUM(ss.ss_net_paid) AS paid FROM store_sales ss
			JOIN customer c ON ss.ss_customer_sk = c.c_customer_sk JOIN date_dim d ON ss.ss_sold_date_sk = d.d_date_sk
			WHERE d.d_year = 2001 AND d.d_moy IN (1, 2, 3) AND c.c_birth_country <> 'FRANCE'
			GROUP BY c.c_customer_id, c.c_last_name, d.d_date HAVING SUM(ss.ss_net_paid) > 1000 ORDER BY paid DESC LIMIT 100`,
		"List": "select a.x, count(*) from t a join u b on a.k = b.k where a.ds in (" + strings.Repeat("'2024-01-01', ", 1000) + "'x') group by a.x",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(sql)))
			b.ReportAllocs()
			for b.Loop() {
				Parse(sql)
			}
		})
	}
}
