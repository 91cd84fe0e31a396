package queryast

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, sql, want string }{
		{
			"seed case 2", "select t1.*,t2.name as name_t2\nfrom t1 left outer join t2 on (t1.id=t2.id and t2.name='aa' )\nwhere  t1.name='a';",
			"select t1.*, t2.name as name_t2 from t1 <LEFT OUTER> t2 on (and (= t1.id t2.id) (= t2.name 'aa')) where (= t1.name 'a')",
		},
		{"no from", "SELECT 1", "select 1"},
		{"aliases", "SELECT a.x AS y, b.z w FROM d.t AS a, u b", "select a.x as y, b.z as w from d.t a <COMMA> u b"},
		{
			"chain", "SELECT * FROM a JOIN b ON a.k=b.k LEFT JOIN c USING (k, l) RIGHT OUTER JOIN d ON c.k=d.k FULL JOIN e ON d.k=e.k CROSS JOIN f",
			"select * from a <INNER> b on (= a.k b.k) <LEFT OUTER> c using k+l <RIGHT OUTER> d on (= c.k d.k) <FULL OUTER> e on (= d.k e.k) <CROSS> f",
		},
		{
			"semi and anti", "SELECT * FROM a LEFT SEMI JOIN b ON a.k=b.k LEFT ANTI JOIN c ON a.k=c.k",
			"select * from a <LEFT SEMI> b on (= a.k b.k) <LEFT ANTI> c on (= a.k c.k)",
		},
		{"joins in brackets", "SELECT * FROM (a JOIN b ON a.k=b.k) LEFT JOIN c ON a.k=c.k", "select * from a <INNER> b on (= a.k b.k) <LEFT OUTER> c on (= a.k c.k)"},
		{
			"subquery", "SELECT s.c FROM (SELECT k, count(*) c FROM t WHERE k > 1 GROUP BY k) s WHERE s.c > 2",
			"select s.c from (select k, count(*) as c from t where (> k 1) group k) s where (> s.c 2)",
		},
		{"cte", "WITH x AS (SELECT 1 a), y (b) AS (SELECT a FROM x) SELECT * FROM y", "with x(select 1 as a) with y(select a from x) select * from y"},
		{
			"union", "SELECT a FROM t UNION ALL SELECT b FROM u UNION SELECT c FROM v ORDER BY a LIMIT 5",
			"((select a from t UNION ALL select b from u) UNION select c from v) limit order a",
		},
		{"union in brackets", "(SELECT a FROM t LIMIT 1) UNION ALL (SELECT b FROM u LIMIT 2)", "(select a from t limit UNION ALL select b from u limit)"},
		{"one in brackets", "(SELECT a FROM t) ORDER BY a", "select a from t order a"},
		{
			"lateral view", "SELECT x FROM t LATERAL VIEW OUTER explode(arr) e AS x, y LATERAL VIEW posexplode(m) f JOIN u ON x=u.k",
			"select x from t view explode(arr) e(x,y) view posexplode(m) f() <INNER> u on (= x u.k)",
		},
		{
			"lateral view behind a join", "SELECT x FROM t JOIN u ON t.k=u.k LATERAL VIEW explode(u.arr) e AS x WHERE x = 1",
			"select x from t <INNER> u view explode(u.arr) e(x) on (= t.k u.k) where (= x 1)",
		},
		{"insert", "INSERT OVERWRITE TABLE d.t PARTITION (ds='1', hr) IF NOT EXISTS SELECT a, b FROM u", "INSERT OVERWRITE d.t select a, b from u"},
		{"insert with columns", "INSERT INTO t (a, b) SELECT a, b FROM u", "INSERT INTO t select a, b from u"},
		{"insert directory", "INSERT OVERWRITE LOCAL DIRECTORY '/tmp/x' ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' SELECT * FROM t", "INSERT OVERWRITE DIRECTORY select * from t"},
		{
			"ctas", "CREATE TABLE IF NOT EXISTS d.t STORED AS ORC TBLPROPERTIES ('a'='as select') AS WITH x AS (SELECT 1 a) SELECT * FROM x",
			"with x(select 1 as a) CREATE TABLE AS d.t select * from x",
		},
		{"view", "CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE VIEW AS v select 1"},
		{
			"multi-insert", "FROM a LEFT JOIN b ON a.k=b.k INSERT INTO TABLE x SELECT a.k WHERE b.k IS NULL INSERT OVERWRITE TABLE y SELECT b.k LATERAL VIEW explode(q) e AS z GROUP BY b.k",
			"INSERT INTO x select a.k from a <LEFT OUTER> b on (= a.k b.k) where (is NULL b.k); INSERT OVERWRITE y select b.k from a <LEFT OUTER> b view explode(q) e(z) on (= a.k b.k) group b.k",
		},
		{"from first", "FROM t SELECT a WHERE a > 1", "select a from t where (> a 1)"},
		{"explain", "EXPLAIN EXTENDED SELECT 1", "select 1"},
		{"hint", "SELECT /*+ MAPJOIN(b) */ a.k FROM a JOIN b", "select/*+ MAPJOIN(b) */ a.k from a <INNER> b"},
		{"comments", "SELECT a -- 'b\n, /* c, /* d */ e */ f FROM t -- end", "select a, f from t"},
		{"strings", `SELECT 'it\'s', "say ""x", 'a;b' FROM t WHERE x = '\u0041\101\\'`, `select 'it's', 'say x', 'a;b' from t where (= x 'AA\')`},
		{"backticks", "SELECT `a``b`.`Group` FROM `my db`.`T x` `a``b`", "select a`b.group from my db.t x a`b"},
		{"limit is a name and a clause", "SELECT limit FROM t limit LIMIT 5", "select limit from t limit limit"},
		{
			"clauses", "SELECT k, sum(v) OVER (PARTITION BY k ORDER BY d DESC NULLS LAST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) s, rank() OVER w FROM t GROUP BY k, v WITH ROLLUP HAVING sum(v) > 1 WINDOW w AS (ORDER BY q) QUALIFY s > 1 DISTRIBUTE BY k SORT BY v DESC LIMIT 3, 4",
			"select k, sum(v) over[k d] as s, rank() over[] from t group k v having (> sum(v) 1) qualify (> s 1) order q k v limit",
		},
		{"grouping sets", "SELECT a, grouping(b) FROM t GROUP BY a, b GROUPING SETS ((a), (a, b)) HAVING a > 1", "select a, grouping(b) from t group a b having (> a 1)"},
		{"values", "SELECT * FROM TABLE(VALUES (1,'a'), (2,'b')) AS v(x, y)", "select * from VALUES v"},
		{"sample", "SELECT * FROM t TABLESAMPLE(BUCKET 1 OUT OF 4 ON k) s", "select * from t s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, err := Parse(c.sql)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(q); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestExpressions(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"a OR b AND NOT c = 1", "(or a (and b (not (= c 1))))"},
		{"(a OR b) OR (c AND (d AND e))", "(or a b (and c d e))"},
		{"a = b IS NULL", "(= a (is NULL b))"},
		{"a + b IS NOT NULL", "(+ a (is not NULL b))"},
		{"a < 1 = b >= 2", "(= (< a 1) (>= b 2))"},
		{"a <=> b AND c IS NOT DISTINCT FROM d AND e IS DISTINCT FROM f", "(and (<=> a b) (<=> c d) (not (<=> e f)))"},
		{"a IS TRUE OR b IS NOT UNKNOWN", "(or (is TRUE a) (is not UNKNOWN b))"},
		{"a NOT IN (1, 2) AND (a, b) IN (SELECT x, y FROM t)", "(and (not in a 1 2) (in (tuple a b) {select x, y from t}))"},
		{"NOT EXISTS (SELECT 1 FROM t WHERE t.k = a.k)", "(not (exists {select 1 from t where (= t.k a.k)}))"},
		{"a BETWEEN 1 + 1 AND 3 AND b NOT BETWEEN 'x' AND 'y'", "(and (between a (+ 1 1) 3) (not between b 'x' 'y'))"},
		{"a LIKE 'x%' AND b NOT RLIKE 'y' AND c LIKE ANY ('p', 'q')", "(and (LIKE a 'x%') (not RLIKE b 'y') (LIKE ANY c 'p' 'q'))"},
		{"a > ALL (SELECT 1) OR a = ANY (SELECT 2)", "(or (> ALL a {select 1}) (= SOME a {select 2}))"},
		{"CASE WHEN a = 1 THEN 'x' ELSE b END = CASE c WHEN 1 THEN 2 END", "(= (case - [(= a 1) 'x'] b) (case c [1 2] -))"},
		{"a - b - c * -d / 2 % 3 DIV 4 || 'x'", "(|| (- (- a b) (DIV (% (/ (* c (- d)) 2) 3) 4)) 'x')"},
		{"a & b | c ^ ~d", "(| (& a b) (^ c (~ d)))"},
		{"CAST(a AS decimal(10,2)) == 1.5BD AND b != 10L", "(and (= (cast a decimal(10,2)) 1.5BD) (<> b 10L))"},
		{"ds >= date '2024-01-01' - INTERVAL '1' DAY AND t < current_date + 5 days", "(and (>= ds (- date '2024-01-01' INTERVAL '1' DAY)) (< t (+ current_date 5 days)))"},
		{"EXTRACT(year FROM d) = floor(x TO day)", "(= extract(d) floor(x))"},
		{"if(a, 1, 0) = coalesce(b.c, 0)", "(= if(a 1 0) coalesce(b.c 0))"},
		{"m['k'].f.g = arr[0] AND d.fn(x) = count(DISTINCT y, z)", "(and (= m['k']->f->g arr[0]) (= d.fn(x) count(distinct y z)))"},
		{"(a.b).c = d.e.f", "(= a.b->c d.e.f)"},
		{"a = ? AND !b", "(and (= a ?) (not b))"},
		{"a > (SELECT max(x) FROM t)", "(> a {select max(x) from t})"},
		{"'a' 'b' = x AND 1abc = 0x", "(and (= 'ab' x) (= 1abc 0x))"},
	} {
		q, err := Parse("SELECT 1 FROM t WHERE " + c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if got := showExpr(q.Branches[0].Body.(*Select).Where); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.sql, got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, sql := range []string{
		"", ";", "SELECT", "SELECT a FROM", "SELECT a FROM t WHERE", "SELECT a FROM t t2 t3", "SELECT a b c", "SELECT a,", "SELECT (a", "SELECT a)",
		"SHOW TABLES", "SET a=b", "UPDATE t SET a = 1", "DELETE FROM t", "INSERT INTO t VALUES (1)", "CREATE TABLE t (a int)",
		"SELECT TRANSFORM(a) USING 'x' FROM t", "SELECT * FROM noop(ON t)", "SELECT * FROM (SELECT 1)", "SELECT 'a", "SELECT `a", "SELECT ``",
		"SELECT a /* b", "SELECT ${hiveconf:x}", "SELECT a FROM t WHERE a < b < c", "SELECT CASE END", "SELECT CAST(a AS", "SELECT a FROM a JOIN (b JOIN c ON 1=1) ON 2=2",
		"SELECT a FROM t; SELECT b FROM u", "SELECT INTERVAL (1) x", "SELECT \xff", "WITH x AS SELECT 1 SELECT 2", "SELECT a FROM t LIMIT x y",
		"SELECT * FROM UNIQUEJOIN PRESERVE a (k), b (k)", "CREATE TABLE x AS INSERT INTO y SELECT 1",
		strings.Repeat("(", 100_000), "SELECT " + strings.Repeat("(", 100_000), "SELECT " + strings.Repeat("- ", 100_000) + "1", "SELECT " + strings.Repeat("NOT ", 100_000) + "a",
		"SELECT 1" + strings.Repeat("+1", 100_000), "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 10_000), "SELECT a" + strings.Repeat("[0]", 10_000),
		"SELECT * FROM " + strings.Repeat("(SELECT * FROM ", 1000), strings.Repeat("WITH a AS (", 1000), "SELECT '" + strings.Repeat("x", maxText),
	} {
		q, err := Parse(sql)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%.60q: got %v and %v, want a SyntaxError", sql, q, err)
		} else if syntax.Offset < 0 || syntax.Offset > len(sql) {
			t.Errorf("%.60q: offset %d", sql, syntax.Offset)
		}
	}
}

// TestLong: what is long without being deep is read.
func TestLong(t *testing.T) {
	for _, sql := range []string{
		"SELECT 1 FROM t WHERE a = 1" + strings.Repeat(" AND a = 1", 50_000),
		"SELECT 1 FROM t WHERE a IN (1" + strings.Repeat(",1", 50_000) + ")",
		"SELECT " + strings.Repeat("(", 100) + "a" + strings.Repeat(")", 100),
	} {
		if _, err := Parse(sql); err != nil {
			t.Errorf("%.40q: %v", sql, err)
		}
	}
}

func TestPositions(t *testing.T) {
	sql := "SELECT a.k  FROM t a LEFT JOIN u AS b ON (a.k = b.k AND (b.x = 1 OR b.y=2)) WHERE a.z  IS NULL AND NOT b.w IN (1, 2)"
	q, err := Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	s := q.Branches[0].Body.(*Select)
	j := s.From.Joins[0]
	if got := q.Text(j.Span); got != "LEFT JOIN u AS b ON (a.k = b.k AND (b.x = 1 OR b.y=2))" {
		t.Errorf("join %q", got)
	}
	if got := q.Text(s.From.Sources[1].Span); got != "u AS b" {
		t.Errorf("source %q", got)
	}
	if got := q.Text(s.Items[0].Span); got != "a.k" {
		t.Errorf("item %q", got)
	}
	var got []string
	for _, e := range append(Conjuncts(j.On), Conjuncts(s.Where)...) {
		got = append(got, q.Text(e.Pos()))
	}
	want := []string{"a.k = b.k", "(b.x = 1 OR b.y=2)", "a.z  IS NULL", "NOT b.w IN (1, 2)"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHelpers(t *testing.T) {
	q, err := Parse(`WITH c AS (SELECT 1) SELECT (SELECT 2), x FROM d.t JOIN (SELECT 3) s ON t.a = S.b.c AND s.d IN (SELECT 4)
		WHERE f(t.e, CASE WHEN g THEN h END) > 1 HAVING EXISTS (SELECT 5) UNION SELECT 6`)
	if err != nil {
		t.Fatal(err)
	}
	var items []string
	for _, s := range q.Selects() {
		items = append(items, q.Text(s.Items[0].Span))
	}
	if got := strings.Join(items, " "); got != "1 (SELECT 2) 2 3 4 5 6" {
		t.Errorf("selects %s", got)
	}
	s := q.Branches[0].Body.(*SetOperation).Left.(*Select)
	var names []string
	for _, c := range append(Columns(s.From.Joins[0].On), Columns(s.Where)...) {
		names = append(names, c.Qualifier()+":"+c.Name())
	}
	if got := strings.Join(names, " "); got != "t:a s:b s:d t:e :g :h" {
		t.Errorf("columns %s", got)
	}
	for name, want := range map[string]int{"t": 0, "d.t": 0, "s": 1, "d": -1, "": -1} {
		if got := s.From.Source(name); got != want {
			t.Errorf("source %q is %d, want %d", name, got, want)
		}
	}
	if Conjuncts(nil) != nil {
		t.Error("conjuncts of nothing")
	}
}

func TestWithoutLiterals(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT a.k1, 'it''s', 1.5e3 -- of Smith\nFROM `t 1` /* 'x' */ WHERE ds = date \"2024-01-01\" AND x IN (1,-2)": "SELECT a.k1, ?, ? FROM `t 1` WHERE ds = date ? AND x IN (?,-?)",
		"SELECT /*+ MAPJOIN(b) */ 1abc\n  FROM t ": "SELECT /*+ MAPJOIN(b) */ 1abc\n  FROM t",
		"a = 'open": "a =",
		"":          "",
	} {
		if got := WithoutLiterals(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
