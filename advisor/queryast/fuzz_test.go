package queryast

import "testing"

// FuzzParse: no panic, every place lies in the text and inside its parent's, and a tree can be walked.
func FuzzParse(f *testing.F) {
	for _, sql := range []string{
		"SELECT a.k, b.* FROM t a LEFT JOIN u b ON (a.k = b.k AND b.x <=> 1) WHERE NOT a.z IS NULL OR b.w IN (SELECT 1)",
		"WITH x AS (SELECT 1) FROM x INSERT INTO y SELECT * LATERAL VIEW explode(a) e AS b WHERE c BETWEEN 1 AND 2",
		"CREATE TABLE t STORED AS ORC AS SELECT CASE a WHEN 1 THEN 'x\\'' END, m[0].f FROM t GROUP BY a HAVING count(DISTINCT a) > 1 ORDER BY a LIMIT 5",
		"(SELECT 1) UNION ALL (SELECT date '2024-01-01' - INTERVAL '1' DAY)",
		"SELECT sum(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM `t`",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		q, err := Parse(sql)
		if (q == nil) == (err == nil) {
			t.Fatalf("query %v and error %v", q, err)
		}
		if err != nil {
			return
		}
		show(q)
		for _, s := range q.Selects() {
			checkSpan(t, s.Pos(), Span{0, len(sql)})
			list := append(append([]Expr{s.Where, s.Having, s.Qualify}, s.GroupBy...), s.OrderBy...)
			for _, it := range s.Items {
				list = append(list, it.Expr)
			}
			for _, e := range list {
				Walk(e, func(e Expr) bool {
					for _, c := range children(e) {
						if c != nil {
							checkSpan(t, c.Pos(), e.Pos())
						}
					}
					checkSpan(t, e.Pos(), Span{0, len(sql)})
					return true
				})
			}
		}
	})
}

func checkSpan(t *testing.T, inner, outer Span) {
	t.Helper()
	if inner.Start >= inner.End || inner.Start < outer.Start || inner.End > outer.End {
		t.Fatalf("%v is not inside %v", inner, outer)
	}
}
