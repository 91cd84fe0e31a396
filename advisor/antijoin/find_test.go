package antijoin_test

import (
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/antijoin"
)

func TestMissed(t *testing.T) {
	off := map[string]string{"hive.auto.convert.anti.join": "false"}
	for name, c := range map[string]struct {
		sql      string
		settings map[string]string
		// summary and advice are parts of the finding's; no summary: there must be no finding.
		summary, advice string
	}{
		"setting off":           {"SELECT l.v FROM d.l LEFT JOIN d.r ON l.k = r.k WHERE r.k IS NULL", off, "hive.auto.convert.anti.join is off", "SET hive.auto.convert.anti.join=true;"},
		"setting off, aliases":  {"SELECT x.v FROM d.l x LEFT JOIN d.r AS y ON x.k = y.k WHERE y.k IS NULL AND x.v > 'a'", off, "joins LEFT OUTER to y", "SET hive"},
		"names without a table": {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE k2 IS NULL AND r.k IS NULL", off, "is off", ""},
		"USING":                 {"SELECT l.v FROM l LEFT JOIN r USING (k) WHERE r.k IS NULL", off, "is off", ""},
		"in a subquery":         {"SELECT count(*) FROM (SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL) s", off, "is off", ""},
		"over WITH":             {"WITH w AS (SELECT k FROM d.r) SELECT l.v FROM l LEFT JOIN w ON l.k = w.k WHERE w.k IS NULL", off, "is off", ""},
		"another demanded":      {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k AND r.k2 > 5 WHERE r.k2 IS NULL", off, "is off", ""},
		"not exists":            {"SELECT l.v FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)", off, "is off", ""},
		"not exists in HAVING":  {"SELECT l.v FROM l GROUP BY l.k, l.v HAVING NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)", off, "is off", ""},
		"without the optimizer": {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL", map[string]string{"hive.cbo.enable": "false"}, "hive.cbo.enable is off", "SET hive.cbo.enable=true;"},
		"one OR":                {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k AND r.k2 = 1 WHERE r.k IS NULL OR r.k2 IS NULL", nil, "HIVE-23992", "WHERE r.k IS NULL"},
		"right side selected":   {"SELECT l.v, r.v FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL", nil, "used above the join: r.v", "leave r.v out"},
		"star":                  {"SELECT * FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL", nil, "r.*", ""},
		"right side grouped":    {"SELECT count(*) FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL GROUP BY r.v", nil, "r.v", ""},
		"right side filtered":   {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL AND coalesce(r.v, 'secret') = 'x'", nil, "coalesce(r.v, ?) = ?", "without a match"},

		"a constant selected":  {"SELECT l.v, 1 FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL", nil, "has a constant", "leave the constant out"},
		"a constant beside it": {"SELECT l.v, CAST(NULL AS string) FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)", nil, "has a constant", ""},
		"two in the way":       {"SELECT l.v, r.k FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL", off, "is off, and columns of the right side are used above the join: r.k", "=true;\n-- without"},

		"no condition known":      {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL", nil, "", ""},
		"a column that may be":    {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE r.k2 IS NULL", off, "", ""},
		"null-safe":               {"SELECT l.v FROM l LEFT JOIN r ON l.k <=> r.k WHERE r.k IS NULL", off, "", ""},
		"condition not strict":    {"SELECT l.v FROM l LEFT JOIN r ON l.k = coalesce(r.k, 0) WHERE r.k IS NULL", off, "", ""},
		"condition with OR":       {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k OR l.v = r.v WHERE r.k IS NULL", off, "", ""},
		"an expression":           {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE coalesce(r.k, r.k2) IS NULL", off, "", ""},
		"test beside an OR":       {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL OR l.k = 1", off, "", ""},
		"left side tested":        {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE l.k IS NULL", off, "", ""},
		"IS NOT NULL":             {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NOT NULL", off, "", ""},
		"exists":                  {"SELECT l.v FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k)", off, "", ""},
		"not exists under OR":     {"SELECT l.v FROM l WHERE l.k = 1 OR NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)", off, "", ""},
		"whose k":                 {"SELECT l.v FROM l LEFT JOIN r ON l.k = r.k WHERE k IS NULL", off, "", ""},
		"another table":           {"SELECT l.v FROM l LEFT JOIN other r ON l.k = r.k WHERE r.k IS NULL", off, "", ""},
		"another database":        {"SELECT l.v FROM l LEFT JOIN e.r ON l.k = r.k WHERE r.k IS NULL", off, "", ""},
		"a query that is no text": {"SELECT FROM", off, "", ""},
		"no text":                 {"", off, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := antijoin.Find(with(outer(t, c.sql, c.settings), 1000, -1))
			if c.summary == "" {
				if len(found) > 0 {
					t.Errorf("false alarm: %+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Kind != antijoin.Missed {
				t.Fatalf("found %+v", found)
			}
			f := found[0]
			if !strings.Contains(f.Summary, c.summary) || !strings.Contains(f.Advice, c.advice) || strings.Contains(f.Summary+f.Advice, "secret") {
				t.Errorf("summary %q\nadvice %q", f.Summary, f.Advice)
			}
			if f.Severity != advisor.Medium || !strings.Contains(f.Summary, "30,000,000 rows of ") || !strings.Contains(f.Summary, "1,000 distinct keys") {
				t.Errorf("%s: %s", f.Severity, f.Summary)
			}
			if f.Evidence["rows_moved"] != int64(30_000_000) || f.Evidence["distinct_keys"] != int64(1000) {
				t.Errorf("evidence %v", f.Evidence)
			}
		})
	}
}

// What the plan shows decides: the same query with another plan is another matter.
func TestPlanDecides(t *testing.T) {
	const sql = "SELECT l.v FROM d.l LEFT JOIN d.r ON l.k = r.k WHERE r.k IS NULL"
	off := map[string]string{"hive.auto.convert.anti.join": "false"}
	for name, c := range map[string]struct {
		typ, filter string
		want        advisor.FindingKind
	}{
		"anti join":            {"Anti Join", "", antijoin.Saving},
		"outer join":           {"Left Outer Join", "_col2 is null", antijoin.Missed},
		"filter of more":       {"Left Outer Join", "(_col2 is null and _col1 is not null)", antijoin.Missed},
		"no filter":            {"Left Outer Join", "", ""},
		"another filter":       {"Left Outer Join", "_col2 is not null", ""},
		"inner join":           {"Inner Join", "_col2 is null", ""},
		"the other side looks": {"Right Outer Join", "_col2 is null", ""},
		"semi join":            {"Left Semi Join", "", ""},
		"full outer":           {"Full Outer Join", "_col2 is null", ""},
	} {
		found := antijoin.Find(queryOf(t, sql, planText(merge, c.typ, c.filter, "vectorized"), off))
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || found[0].Kind != c.want) {
			t.Errorf("%s: %+v", name, found)
		}
	}
	if found := antijoin.Find(advisor.Query{SQL: sql}); found != nil {
		t.Errorf("without a plan: %+v", found)
	}
	both := outer(t, "SELECT l.v FROM d.l LEFT JOIN d.r ON l.k = r.k WHERE r.k IS NULL AND NOT EXISTS (SELECT 1 FROM r x WHERE x.k = l.k)", off)
	if found := antijoin.Find(both); len(found) > 0 {
		t.Errorf("two places, one join: %+v", found)
	}
}

func TestMissedBeforeHive4(t *testing.T) {
	const sql = "SELECT l.v FROM d.l LEFT JOIN d.r ON l.k = r.k WHERE r.k IS NULL"
	for _, version := range []string{"3.1.3", "2.3.9"} {
		q := outer(t, sql, nil)
		q.Version = version
		found := antijoin.Find(q)
		if len(found) != 1 || found[0].Severity != advisor.Info || !strings.Contains(found[0].Summary, "since 4.0") || found[0].Advice != "" {
			t.Errorf("%s: %+v", version, found)
		}
	}
}

func TestRightJoin(t *testing.T) {
	q := queryOf(t, "SELECT r.v FROM l RIGHT JOIN r ON l.k = r.k WHERE l.k IS NULL", planText(merge, "Right Outer Join", "_col0 is null", ""), nil)
	found := antijoin.Find(q)
	if len(found) != 1 || found[0].Kind != antijoin.Missed || !strings.Contains(found[0].Summary, "RIGHT OUTER to l") || !strings.Contains(found[0].Advice, "r LEFT JOIN l") {
		t.Errorf("%+v", found)
	}
}

func TestSaving(t *testing.T) {
	for _, sql := range []string{
		"SELECT l.v FROM d.l LEFT JOIN d.r ON l.k = r.k WHERE r.k IS NULL",
		"SELECT l.v FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
	} {
		found := antijoin.Find(with(anti(t, sql), 1000, -1))
		if len(found) != 1 || found[0].Kind != antijoin.Saving || found[0].Severity != advisor.Info {
			t.Errorf("%s: %+v", sql, found)
			continue
		}
		if f := found[0]; !strings.Contains(f.Summary, "30,000,000 rows of r with 1,000 distinct keys") || len(f.Tables) != 2 {
			t.Errorf("%+v", f)
		}
	}
}

func TestWrongResult(t *testing.T) {
	const (
		key      = "SELECT l.v FROM d.l LEFT JOIN d.r ON l.k = r.k WHERE r.k IS NULL"
		nullable = "SELECT l.v FROM d.l LEFT JOIN d.r ON l.k = r.k WHERE r.k2 IS NULL"
		cast     = "SELECT l.v FROM d.l LEFT JOIN d.r ON l.k = r.k WHERE cast(r.k AS int) IS NULL"
		left     = "SELECT l.v FROM d.l LEFT JOIN d.r ON l.k > 5 WHERE r.k IS NULL"
		exists   = "SELECT l.v FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)"
	)
	for name, c := range map[string]struct {
		sql, version, operator, mode string
		nulls                        int64
		issue                        string
		severity                     advisor.Severity
	}{
		"key":                            {key, "4.0.1", merge, "vectorized", -1, "", ""},
		"nullable, with NULLs":           {nullable, "4.0.1", merge, "vectorized", 7, "HIVE-29176", advisor.High},
		"nullable, NULLs not known":      {nullable, "4.1.0", merge, "vectorized", -1, "HIVE-29176", advisor.Medium},
		"nullable, none NULL":            {nullable, "4.0.1", merge, "vectorized", 0, "", ""},
		"nullable, mended":               {nullable, "4.2.0", merge, "vectorized", 7, "", ""},
		"nullable, version not known":    {nullable, "", merge, "vectorized", 7, "HIVE-29176", advisor.Medium},
		"nullable, a vendor's":           {nullable, "3.1.3000.7.2.18.0-641", merge, "vectorized", 7, "HIVE-29176", advisor.Medium},
		"left side only":                 {left, "4.1.0", merge, "vectorized", 0, "HIVE-29175", advisor.High},
		"left side only, mended":         {left, "4.2.0", merge, "vectorized", 0, "", ""},
		"cast, alpha-1":                  {cast, "4.0.0-alpha-1", merge, "vectorized", 0, "HIVE-26135", advisor.High},
		"cast, alpha-2":                  {cast, "4.0.0-alpha-2", merge, "vectorized", 0, "", ""},
		"cast, version not known":        {cast, "", merge, "vectorized", 0, "", ""},
		"map join not vectorized, alpha": {exists, "4.0.0-alpha-2", "Map Join Operator", "", 0, "HIVE-26659", advisor.High},
		"map join vectorized, alpha":     {exists, "4.0.0-alpha-2", "Map Join Operator", "vectorized, llap", 0, "", ""},
		"merge join, alpha":              {exists, "4.0.0-alpha-2", merge, "", 0, "", ""},
		"map join not vectorized, beta":  {exists, "4.0.0-beta-1", "Map Join Operator", "", 0, "", ""},
		"map join not vectorized, 4.0.1": {exists, "4.0.1", "Map Join Operator", "", 0, "", ""},
	} {
		q := with(queryOf(t, c.sql, planText(c.operator, "Anti Join", "", c.mode), nil), 1000, c.nulls)
		q.Version = c.version
		found := antijoin.Find(q)
		if len(found) != 1 {
			t.Errorf("%s: %+v", name, found)
			continue
		}
		f := found[0]
		if c.issue == "" {
			if f.Kind == antijoin.WrongResult {
				t.Errorf("%s: false alarm: %+v", name, f)
			}
			continue
		}
		if f.Kind != antijoin.WrongResult || f.Evidence["issue"] != c.issue || f.Severity != c.severity || !strings.HasPrefix(f.Advice, "SET hive.auto.convert.anti.join=false;") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestSavingOfWhatIsNotCounted: nothing is said to be saved by numbers that nobody has counted.
func TestSavingOfWhatIsNotCounted(t *testing.T) {
	const sql = "SELECT l.v FROM d.l LEFT JOIN d.r ON l.k = r.k WHERE r.k IS NULL"
	q := with(queryOf(t, sql, planText(merge, "Anti Join", "", "vectorized"), nil), 30_000_000, -1)
	if found := antijoin.Find(q); len(found) != 1 || !strings.Contains(found[0].Summary, "30,000,000 rows of d.r move to the join, by the estimate none has the key of another") &&
		!strings.Contains(found[0].Summary, "30,000,000 rows of r move to the join, by the estimate none has the key of another") {
		t.Errorf("as many keys as rows: %+v", found)
	}
	size := int64(1_000_000)
	s := q.Tables["d.r"]
	s.Rows, s.TotalSize = new(int64), &size
	q.Tables["d.r"] = s
	if found := antijoin.Find(q); len(found) != 1 || !strings.Contains(found[0].Summary, "never counted") || strings.Contains(found[0].Summary, "30,000,000") {
		t.Errorf("not counted: %+v", found)
	}
}
