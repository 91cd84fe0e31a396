package outerjoin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// mrPlan writes what Hive on MapReduce without the optimizer plans for t1 LEFT OUTER JOIN t2 ON id, as the seed prints it:
// with filters on the scans, a filter predicate of the join, and one above it; empty ones are left out.
func mrPlan(t1, t2, inJoin, above string) string {
	var b strings.Builder
	line := func(indent int, text string) { b.WriteString(strings.Repeat(" ", indent) + text + "\n") }
	stats := "Statistics: Num rows: 0 Data size: 28 Basic stats: PARTIAL Column stats: NONE"
	scan := func(alias, filter, values string) {
		line(10, "TableScan")
		line(12, "alias: "+alias)
		line(12, stats)
		indent := 12
		if filter != "" {
			line(12, "Filter Operator")
			line(14, "predicate: "+filter+" (type: boolean)")
			line(14, stats)
			indent = 14
		}
		line(indent, "Reduce Output Operator")
		line(indent+2, "key expressions: id (type: int)")
		line(indent+2, "sort order: +")
		line(indent+2, "Map-reduce partition columns: id (type: int)")
		line(indent+2, stats)
		line(indent+2, "value expressions: "+values)
	}
	line(0, "STAGE PLANS:")
	line(2, "Stage: Stage-1")
	line(4, "Map Reduce")
	line(6, "Map Operator Tree:")
	scan("t1", t1, "id (type: int), name (type: string)")
	scan("t2", t2, "name (type: string)")
	line(6, "Reduce Operator Tree:")
	line(8, "Join Operator")
	line(10, "condition map:")
	line(15, "Left Outer Join0 to 1")
	line(10, "condition expressions:")
	line(12, "0 {VALUE._col0} {VALUE._col1}")
	line(12, "1 {VALUE._col1}")
	if inJoin != "" {
		line(10, "filter predicates:")
		line(12, "0 {"+inJoin+"}")
		line(12, "1")
	}
	line(10, "outputColumnNames: _col0, _col1, _col5")
	line(10, stats)
	indent := 10
	if above != "" {
		line(10, "Filter Operator")
		line(12, "predicate: "+above+" (type: boolean)")
		line(12, stats)
		indent = 12
	}
	line(indent, "Select Operator")
	line(indent+2, "expressions: _col0 (type: int), _col1 (type: string), _col5 (type: string)")
	line(indent+2, "outputColumnNames: _col0, _col1, _col2")
	line(indent+2, "File Output Operator")
	line(indent+4, "compressed: false")
	b.WriteString("\n  Stage: Stage-0\n    Fetch Operator\n      limit: -1\n")
	return b.String()
}

func query(t *testing.T, sql, plan string) advisor.Query {
	t.Helper()
	q := advisor.Query{SQL: sql}
	if plan == "" {
		return q
	}
	p, err := explain.Parse(plan)
	if err != nil {
		t.Fatal(err)
	}
	q.Plan = p
	for _, j := range advisor.Joins(p) {
		q.Verdicts = append(q.Verdicts, advisor.JoinVerdict{Join: j})
	}
	return q
}

// brief is what the tests compare of predicates: "table place side pushable found".
func brief(predicates []Predicate) string {
	var lines []string
	for _, p := range predicates {
		words := []string{p.Text + ":", strings.Join(p.Tables, "+"), string(p.Place), string(p.Side)}
		if p.Pushable {
			words = append(words, "pushable")
		}
		if p.RejectsNulls {
			words = append(words, "rejects")
		}
		lines = append(lines, strings.Join(append(words, string(p.Found)), " "))
	}
	return strings.Join(lines, "\n")
}

// seedCases are the cases of the seed: the same two predicates in ON and in WHERE.
var seedCases = []struct {
	name, sql, plan    string
	predicates, alone  string
	findings, rewrites string
}{
	{
		name: "1: both after the join",
		sql:  "select t1.*,t2.name as name_t2\nfrom t1 left outer join t2 on (t1.id=t2.id)\nwhere t1.name='a' and t2.name='aa';",
		plan: mrPlan("(name = 'a')", "", "", "(_col5 = 'aa')"),
		predicates: `t1.name='a': t1 AFTER_JOIN PRESERVED_ROW pushable BELOW_JOIN
t2.name='aa': t2 AFTER_JOIN NULL_SUPPLYING rejects ABOVE_JOIN`,
		alone: `(name = 'a'): t1 AFTER_JOIN PRESERVED_ROW pushable BELOW_JOIN
(_col5 = 'aa'):  AFTER_JOIN NULL_SUPPLYING ABOVE_JOIN`,
		findings: "outer_join_becomes_inner MEDIUM",
		rewrites: "select t1.*,t2.name as name_t2\nfrom t1 left outer join t2 on (t1.id=t2.id) AND t2.name='aa' WHERE t1.name='a';\n" +
			"select t1.*,t2.name as name_t2\nfrom t1 JOIN t2 on (t1.id=t2.id)\nwhere t1.name='a' and t2.name='aa';",
	},
	{
		name: "2: the null supplying table's during, the preserved row table's after",
		sql:  "select t1.*,t2.name as name_t2\nfrom t1 left outer join t2 on (t1.id=t2.id and t2.name='aa' )\nwhere  t1.name='a';",
		plan: mrPlan("(name = 'a')", "(name = 'aa')", "", ""),
		predicates: `t2.name='aa': t2 DURING_JOIN NULL_SUPPLYING pushable BELOW_JOIN
t1.name='a': t1 AFTER_JOIN PRESERVED_ROW pushable BELOW_JOIN`,
		alone: `(name = 'a'): t1 AFTER_JOIN PRESERVED_ROW pushable BELOW_JOIN
(name = 'aa'): t2 DURING_JOIN NULL_SUPPLYING pushable BELOW_JOIN`,
	},
	{
		name: "3: the null supplying table's after, the preserved row table's during",
		sql:  "select t1.*,t2.name as name_t2\nfrom t1 left outer join t2 on (t1.id=t2.id and t1.name='a' )\nwhere  t2.name='aa';",
		plan: mrPlan("", "", "(VALUE._col1 = 'a')", "(_col5 = 'aa')"),
		predicates: `t1.name='a': t1 DURING_JOIN PRESERVED_ROW IN_JOIN
t2.name='aa': t2 AFTER_JOIN NULL_SUPPLYING rejects ABOVE_JOIN`,
		alone: `(VALUE._col1 = 'a'): t1 DURING_JOIN PRESERVED_ROW IN_JOIN
(_col5 = 'aa'):  AFTER_JOIN NULL_SUPPLYING ABOVE_JOIN`,
		findings: "outer_join_becomes_inner MEDIUM",
		rewrites: "select t1.*,t2.name as name_t2\nfrom t1 left outer join t2 on t1.id=t2.id AND t2.name='aa' WHERE t1.name='a';\n" +
			"select t1.*,t2.name as name_t2\nfrom t1 JOIN t2 on (t1.id=t2.id and t1.name='a' )\nwhere  t2.name='aa';",
	},
	{
		name: "4: both during the join",
		sql:  "select t1.*,t2.name as name_t2\nfrom t1 left outer join t2 on \n(t1.id=t2.id and t1.name='a' and t2.name='aa');",
		plan: mrPlan("", "(name = 'aa')", "(VALUE._col1 = 'a')", ""),
		predicates: `t1.name='a': t1 DURING_JOIN PRESERVED_ROW IN_JOIN
t2.name='aa': t2 DURING_JOIN NULL_SUPPLYING pushable BELOW_JOIN`,
		alone: `(VALUE._col1 = 'a'): t1 DURING_JOIN PRESERVED_ROW IN_JOIN
(name = 'aa'): t2 DURING_JOIN NULL_SUPPLYING pushable BELOW_JOIN`,
		findings: "during_join_preserved_filter MEDIUM",
		rewrites: "select t1.*,t2.name as name_t2\nfrom t1 left outer join t2 on \nt1.id=t2.id AND t2.name='aa' WHERE t1.name='a';",
	},
}

func TestSeed(t *testing.T) {
	for _, c := range seedCases {
		t.Run(c.name, func(t *testing.T) {
			q := query(t, c.sql, c.plan)
			if got := brief(Classify(q)); got != c.predicates {
				t.Errorf("predicates\n%s\nwant\n%s", got, c.predicates)
			}
			if got := brief(Classify(query(t, "", c.plan))); got != c.alone {
				t.Errorf("from the plan alone\n%s\nwant\n%s", got, c.alone)
			}
			for _, p := range Classify(q) {
				if p.Planned != queryast.LeftOuter || p.Join != "t1 LEFT OUTER JOIN t2" {
					t.Errorf("%s: planned %q for %q", p.Text, p.Planned, p.Join)
				}
				if p.Pushable != (p.Found == BelowJoin) {
					t.Errorf("%s: the rule says %v, the plan %s", p.Text, p.Pushable, p.Found)
				}
			}
			if got := kinds(Find(q)); got != c.findings {
				t.Errorf("findings %q, want %q", got, c.findings)
			}
			for _, f := range Find(q) {
				if text := fmt.Sprint(f); strings.Contains(text, "'a") {
					t.Errorf("a literal is in what is kept: %s", text)
				}
			}
			if got := strings.Join(rewrites(FindVerbatim(q)), "\n"); got != c.rewrites {
				t.Errorf("rewrites\n%s\nwant\n%s", got, c.rewrites)
			}
		})
	}
}

// TestPlanAlone: what a pasted plan tells is enough for the predicate that a join keeps to itself, unless a filter above
// the join may drop what it padded.
func TestPlanAlone(t *testing.T) {
	for i, want := range []string{"", "", "", "during_join_preserved_filter MEDIUM"} {
		if got := kinds(Find(query(t, "", seedCases[i].plan))); got != want {
			t.Errorf("case %d: %q, want %q", i+1, got, want)
		}
	}
}

func kinds(findings []advisor.Finding) string {
	var list []string
	for _, f := range findings {
		list = append(list, string(f.Kind)+" "+string(f.Severity))
	}
	return strings.Join(list, ", ")
}

// rewrites are the statements of the advice.
func rewrites(findings []advisor.Finding) []string {
	var list []string
	for _, f := range findings {
		var sql []string
		for line := range strings.Lines(f.Advice) {
			if !strings.HasPrefix(line, "--") {
				sql = append(sql, strings.TrimSuffix(line, "\n"))
			}
		}
		if len(sql) > 0 {
			list = append(list, strings.Join(sql, "\n"))
		}
	}
	return list
}
