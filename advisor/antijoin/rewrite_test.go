package antijoin_test

import (
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor/antijoin"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

func TestRewritten(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{
			"SELECT a.v FROM l a WHERE a.k NOT IN (SELECT k FROM r)",
			"SELECT a.v FROM l a WHERE (a.k IS NOT NULL AND NOT EXISTS (SELECT 1 FROM r WHERE r.k = a.k))",
		},
		{
			"SELECT v FROM l WHERE NOT k IN (SELECT b.k FROM d.r AS b WHERE b.v = 'x' OR b.v = 'y') AND v > 1",
			"SELECT v FROM l WHERE (l.k IS NOT NULL AND NOT EXISTS (SELECT 1 FROM d.r AS b WHERE (b.v = 'x' OR b.v = 'y') AND b.k = l.k)) AND v > 1",
		},
		{
			"SELECT v FROM l WHERE `K 1` NOT IN (SELECT DISTINCT `Key` FROM r) AND k NOT IN (SELECT k2 FROM r WHERE v > 2)",
			"SELECT v FROM l WHERE (l.`k 1` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM r WHERE r.key = l.`k 1`)) AND (l.k IS NOT NULL AND NOT EXISTS (SELECT 1 FROM r WHERE v > 2 AND r.k2 = l.k))",
		},
		{"SELECT v FROM l WHERE k IN (SELECT k FROM r)", ""},
		{"SELECT v FROM l WHERE k NOT IN (1, 2)", ""},
		{"SELECT v FROM l WHERE k NOT IN (SELECT max(k) FROM r)", ""},
		{"SELECT v FROM l WHERE k NOT IN (SELECT k FROM r GROUP BY k)", ""},
		{"SELECT v FROM l WHERE k NOT IN (SELECT k FROM r LIMIT 5)", ""},
		{"SELECT v FROM l WHERE k NOT IN (SELECT k FROM r UNION SELECT k FROM s)", ""},
		{"SELECT v FROM l WHERE k NOT IN (SELECT r.k FROM r JOIN s ON r.k = s.k)", ""},
		{"SELECT v FROM l WHERE k NOT IN (SELECT k FROM l)", ""},
		{"SELECT v FROM l JOIN m ON l.a = m.a WHERE k NOT IN (SELECT k FROM r)", ""},
		{"SELECT v FROM l WHERE k + 1 NOT IN (SELECT k FROM r)", ""},
		{"SELECT v FROM l WHERE k = 1 OR k NOT IN (SELECT k FROM r)", ""},
		{"SELECT FROM", ""},
	} {
		got, ok := antijoin.Rewritten(c.sql)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.sql, got, c.want)
			continue
		}
		if ok {
			if _, err := queryast.Parse(got); err != nil {
				t.Errorf("%s: %v", got, err)
			}
			if again, ok := antijoin.Rewritten(got); ok {
				t.Errorf("rewritten again: %s", again)
			}
		}
	}
}
