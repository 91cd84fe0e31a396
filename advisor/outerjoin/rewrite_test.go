package outerjoin

import (
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// TestClassifyText: places, sides and null rejection by the text alone.
func TestClassifyText(t *testing.T) {
	for _, c := range []struct{ name, sql, want string }{
		{
			"right", "SELECT 1 FROM a RIGHT JOIN b ON a.k = b.k AND a.x = 1 AND b.x = 2 WHERE a.y = 3 AND b.y = 4",
			`a.x = 1: a DURING_JOIN NULL_SUPPLYING pushable 
b.x = 2: b DURING_JOIN PRESERVED_ROW 
a.y = 3: a AFTER_JOIN NULL_SUPPLYING rejects 
b.y = 4: b AFTER_JOIN PRESERVED_ROW pushable `,
		},
		{
			"full", "SELECT 1 FROM a FULL OUTER JOIN b ON a.k = b.k AND a.x = 1 WHERE b.y = 4 AND a.y IS NULL",
			`a.x = 1: a DURING_JOIN PRESERVED_ROW_AND_NULL_SUPPLYING 
b.y = 4: b AFTER_JOIN PRESERVED_ROW_AND_NULL_SUPPLYING rejects 
a.y IS NULL: a AFTER_JOIN PRESERVED_ROW_AND_NULL_SUPPLYING `,
		},
		{
			"chain: b is padded by the first join, preserved by the second",
			"SELECT 1 FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.k = c.k AND b.x = 1 WHERE b.y = 2",
			`b.x = 1: b DURING_JOIN PRESERVED_ROW 
b.y = 2: b AFTER_JOIN NULL_SUPPLYING rejects `,
		},
		{
			"a later inner join's condition is evaluated after", "SELECT 1 FROM a LEFT JOIN b ON a.k = b.k JOIN c ON b.x = c.x AND a.y = 1",
			`b.x = c.x: b+c AFTER_JOIN NULL_SUPPLYING rejects 
a.y = 1: a AFTER_JOIN PRESERVED_ROW pushable `,
		},
		{
			"a later right join pads what came before", "SELECT 1 FROM a LEFT JOIN b ON a.k = b.k RIGHT JOIN c ON a.k = c.k WHERE a.x = 1",
			`a.x = 1: a AFTER_JOIN NULL_SUPPLYING rejects `,
		},
		{
			"an inner join before", "SELECT 1 FROM a JOIN b ON a.k = b.k AND a.x = 1 LEFT JOIN c ON b.k = c.k WHERE c.x <=> NULL",
			`c.x <=> NULL: c AFTER_JOIN NULL_SUPPLYING `,
		},
		{
			"in a subquery and a CTE", "WITH x AS (SELECT b.v FROM a LEFT JOIN b ON a.k = b.k WHERE b.x = 1) SELECT * FROM x JOIN (SELECT 1 FROM c LEFT JOIN d ON c.k = d.k AND c.x = 2) s",
			`b.x = 1: b AFTER_JOIN NULL_SUPPLYING rejects 
c.x = 2: c DURING_JOIN PRESERVED_ROW `,
		},
		{"not certain", "SELECT 1 FROM a LEFT JOIN b ON a.k = b.k AND x = 1 WHERE y = 2 AND b.k IN (SELECT 1) AND z.y = 3", ""},
		{
			"columns of a subquery", "SELECT 1 FROM (SELECT k, x FROM t) a LEFT JOIN (SELECT k, y AS z FROM u) b ON a.k = b.k WHERE x = 1 AND z = 2 AND k = 3",
			`x = 1: a AFTER_JOIN PRESERVED_ROW pushable 
z = 2: b AFTER_JOIN NULL_SUPPLYING rejects `,
		},
		{"no outer join", "SELECT 1 FROM a JOIN b ON a.k = b.k AND a.x = 1 LEFT SEMI JOIN c ON a.k = c.k WHERE b.y = 2", ""},
		{"not read", "SELECT TRANSFORM (a) USING 'x' FROM a LEFT JOIN b ON a.k = b.k WHERE b.x = 1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := brief(Classify(advisor.Query{SQL: c.sql})); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestRewrite moves the first predicate of a query.
func TestRewrite(t *testing.T) {
	toOn := func(r *rewrite, p *Predicate) { r.toOn(p, p.at.join) }
	toWhere := func(r *rewrite, p *Predicate) { r.toWhere(p) }
	toSource := func(r *rewrite, p *Predicate) { r.toSource(p) }
	for _, c := range []struct {
		name, sql string
		change    func(*rewrite, *Predicate)
		want      string
	}{
		{
			"WHERE goes", "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WHERE b.x = 1 GROUP BY a.k", toOn,
			"SELECT a.k FROM a LEFT JOIN b ON a.k = b.k AND b.x = 1 GROUP BY a.k;",
		},
		{
			"OR gets brackets on both sides", "SELECT 1 FROM a LEFT JOIN b ON a.k = b.k OR a.j = b.j WHERE b.x = 1 OR b.y = 2;", toOn,
			"SELECT 1 FROM a LEFT JOIN b ON (a.k = b.k OR a.j = b.j) AND (b.x = 1 OR b.y = 2);",
		},
		{
			"into WHERE that is there", "SELECT 1 FROM a LEFT JOIN b ON a.k = b.k AND a.x = 1 WHERE a.y = 2 OR a.z = 3", toWhere,
			"SELECT 1 FROM a LEFT JOIN b ON a.k = b.k WHERE (a.y = 2 OR a.z = 3) AND a.x = 1;",
		},
		{
			"in a union", "SELECT 1 FROM a LEFT JOIN b ON a.k = b.k AND a.x = 1 UNION ALL SELECT 2", toWhere,
			"SELECT 1 FROM a LEFT JOIN b ON a.k = b.k WHERE a.x = 1 UNION ALL SELECT 2;",
		},
		{
			"into a subquery", "SELECT 1 FROM d.t AS a FULL JOIN b ON a.k = b.k AND a.x = 1", toSource,
			"SELECT 1 FROM (SELECT * FROM d.t AS a WHERE a.x = 1) a FULL JOIN b ON a.k = b.k;",
		},
		{"a later join pads the table", "SELECT 1 FROM a LEFT JOIN b ON a.k = b.k AND a.x = 1 RIGHT JOIN c ON a.k = c.k", toWhere, ""},
		{"nothing would be left of ON", "SELECT 1 FROM a LEFT JOIN b ON a.x = 1", toWhere, ""},
		{"USING takes no predicate", "SELECT 1 FROM a LEFT JOIN b USING (k) WHERE b.x = 1", toOn, ""},
		{"a later table takes part", "SELECT 1 FROM a LEFT JOIN b ON a.k = b.k JOIN c ON a.k = c.k WHERE b.x = c.x", toOn, ""},
		{"columns are named by database", "SELECT d.a.k FROM d.a FULL JOIN d.b ON d.a.k = d.b.k AND d.a.x = 1", toSource, ""},
		{"another select reads the same tables", "FROM a LEFT JOIN b ON a.k = b.k INSERT INTO x SELECT a.k WHERE b.x = 1 INSERT INTO y SELECT a.k", toOn, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			predicates := Classify(advisor.Query{SQL: c.sql})
			if len(predicates) == 0 {
				t.Fatal("no predicate")
			}
			r := newRewrite(predicates[0].at.scope)
			c.change(r, &predicates[0])
			if got := r.sql(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestReduced(t *testing.T) {
	for sql, want := range map[string]queryast.JoinType{
		"SELECT 1 FROM a LEFT JOIN b ON a.k = b.k WHERE b.x = 1":        queryast.Inner,
		"SELECT 1 FROM a FULL JOIN b ON a.k = b.k WHERE b.x = 1":        queryast.RightOuter,
		"SELECT 1 FROM a FULL JOIN b ON a.k = b.k WHERE a.x = 1":        queryast.LeftOuter,
		"SELECT 1 FROM a FULL JOIN b ON a.k = b.k WHERE a.x = b.x":      queryast.Inner,
		"SELECT 1 FROM a FULL JOIN b ON a.k = b.k WHERE a.x + b.x > 10": queryast.Inner,
	} {
		var pads mask
		predicates := Classify(advisor.Query{SQL: sql})
		for _, p := range predicates {
			pads |= p.at.pads
		}
		if got := reduced(&predicates[0], pads); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
