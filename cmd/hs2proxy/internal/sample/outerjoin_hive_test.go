package sample

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/outerjoin"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// outerJoinCase is a query whose result and predicates are known beforehand; the first four are the seed's.
type outerJoinCase struct {
	name, sql string
	rows      string // sorted, parted by commas
	// predicates with the optimizer on and off, as briefly writes them; findings likewise.
	on, off                 string
	findingsOn, findingsOff string
	// rewritten are the rows of each statement of the advice; fixed is how the first one is planned then, with the
	// optimizer off.
	rewritten []string
	fixed     string
	// instead are the statements of an advice in words; unread is a partition that they do not read any more.
	instead []string
	unread  string
	// again are the findings about what the advice leads to: it changes one join at a time.
	again string
}

const outerSelect = "select t1.*,t2.name as name_t2 from t1 left outer join t2 on "

var outerJoinCases = []outerJoinCase{
	{
		name: "case 1", sql: outerSelect + "(t1.id=t2.id) where t1.name='a' and t2.name='aa'",
		rows:        "1 a aa",
		on:          "t1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN INNER, t2.name='aa' AFTER_JOIN NULL_SUPPLYING BELOW_JOIN INNER",
		off:         "t1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER, t2.name='aa' AFTER_JOIN NULL_SUPPLYING ABOVE_JOIN LEFT OUTER",
		findingsOn:  "outer_join_becomes_inner LOW",
		findingsOff: "outer_join_becomes_inner MEDIUM",
		rewritten:   []string{"1 a aa,2 a NULL,3 a NULL", "1 a aa"},
		fixed:       "t2.name='aa' DURING_JOIN NULL_SUPPLYING BELOW_JOIN LEFT OUTER, t1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER",
	},
	{
		name: "case 2", sql: outerSelect + "(t1.id=t2.id and t2.name='aa' ) where t1.name='a'",
		rows: "1 a aa,2 a NULL,3 a NULL",
		on:   "t2.name='aa' DURING_JOIN NULL_SUPPLYING BELOW_JOIN LEFT OUTER, t1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER",
		off:  "t2.name='aa' DURING_JOIN NULL_SUPPLYING BELOW_JOIN LEFT OUTER, t1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER",
	},
	{
		name: "case 3", sql: outerSelect + "(t1.id=t2.id and t1.name='a' ) where t2.name='aa'",
		rows:        "1 a aa",
		on:          "t1.name='a' DURING_JOIN PRESERVED_ROW BELOW_JOIN INNER, t2.name='aa' AFTER_JOIN NULL_SUPPLYING BELOW_JOIN INNER",
		off:         "t1.name='a' DURING_JOIN PRESERVED_ROW IN_JOIN LEFT OUTER, t2.name='aa' AFTER_JOIN NULL_SUPPLYING ABOVE_JOIN LEFT OUTER",
		findingsOn:  "outer_join_becomes_inner LOW",
		findingsOff: "outer_join_becomes_inner MEDIUM",
		rewritten:   []string{"1 a aa,2 a NULL,3 a NULL", "1 a aa"},
		fixed:       "t2.name='aa' DURING_JOIN NULL_SUPPLYING BELOW_JOIN LEFT OUTER, t1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER",
	},
	{
		name: "case 4", sql: outerSelect + "(t1.id=t2.id and t1.name='a' and t2.name='aa')",
		rows:        "1 a aa,1 b NULL,2 a NULL,2 b NULL,3 a NULL,3 b NULL,4 b NULL",
		on:          "t1.name='a' DURING_JOIN PRESERVED_ROW IN_JOIN LEFT OUTER, t2.name='aa' DURING_JOIN NULL_SUPPLYING BELOW_JOIN LEFT OUTER",
		off:         "t1.name='a' DURING_JOIN PRESERVED_ROW IN_JOIN LEFT OUTER, t2.name='aa' DURING_JOIN NULL_SUPPLYING BELOW_JOIN LEFT OUTER",
		findingsOn:  "during_join_preserved_filter MEDIUM",
		findingsOff: "during_join_preserved_filter MEDIUM",
		rewritten:   []string{"1 a aa,2 a NULL,3 a NULL"},
		fixed:       "t2.name='aa' DURING_JOIN NULL_SUPPLYING BELOW_JOIN LEFT OUTER, t1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER",
	},
	{
		name: "right join", sql: "select t1.name, t2.id, t2.name from t1 right join t2 on t1.id=t2.id where t1.name='b'",
		rows:        "b 1 aa,b 4 dd",
		on:          "t1.name='b' AFTER_JOIN NULL_SUPPLYING BELOW_JOIN INNER",
		off:         "t1.name='b' AFTER_JOIN NULL_SUPPLYING ABOVE_JOIN RIGHT OUTER",
		findingsOn:  "outer_join_becomes_inner LOW",
		findingsOff: "outer_join_becomes_inner MEDIUM",
		rewritten:   []string{"b 1 aa,b 4 dd", "b 1 aa,b 4 dd"},
		fixed:       "t1.name='b' DURING_JOIN NULL_SUPPLYING BELOW_JOIN RIGHT OUTER",
	},
	{
		name: "right join, preserved side", sql: "select t1.id, t1.name, t2.name from t1 right join t2 on t1.id=t2.id and t2.name='aa'",
		rows:        "1 a aa,1 b aa,NULL NULL dd",
		on:          "t2.name='aa' DURING_JOIN PRESERVED_ROW IN_JOIN RIGHT OUTER",
		off:         "t2.name='aa' DURING_JOIN PRESERVED_ROW IN_JOIN RIGHT OUTER",
		findingsOn:  "during_join_preserved_filter MEDIUM",
		findingsOff: "during_join_preserved_filter MEDIUM",
		rewritten:   []string{"1 a aa,1 b aa"},
		fixed:       "t2.name='aa' AFTER_JOIN PRESERVED_ROW BELOW_JOIN RIGHT OUTER",
	},
	{
		name: "full join becomes left", sql: "select t1.id, t1.name, t2.name from t1 full join t2 on t1.id=t2.id where t1.name='a'",
		rows:        "1 a aa,2 a NULL,3 a NULL",
		on:          "t1.name='a' AFTER_JOIN PRESERVED_ROW_AND_NULL_SUPPLYING BELOW_JOIN LEFT OUTER",
		off:         "t1.name='a' AFTER_JOIN PRESERVED_ROW_AND_NULL_SUPPLYING ABOVE_JOIN FULL OUTER",
		findingsOn:  "outer_join_becomes_inner LOW",
		findingsOff: "outer_join_becomes_inner MEDIUM",
		rewritten:   []string{"1 a aa,2 a NULL,3 a NULL,NULL NULL dd", "1 a aa,2 a NULL,3 a NULL"},
	},
	{
		name: "full join, filter during", sql: "select t1.id, t1.name, t2.name from t1 full join t2 on t1.id=t2.id and t2.name='aa'",
		rows:        "1 a aa,1 b aa,2 a NULL,2 b NULL,3 a NULL,3 b NULL,4 b NULL,NULL NULL dd",
		on:          "t2.name='aa' DURING_JOIN PRESERVED_ROW_AND_NULL_SUPPLYING IN_JOIN FULL OUTER",
		off:         "t2.name='aa' DURING_JOIN PRESERVED_ROW_AND_NULL_SUPPLYING IN_JOIN FULL OUTER",
		findingsOn:  "during_join_preserved_filter MEDIUM",
		findingsOff: "during_join_preserved_filter MEDIUM",
		rewritten:   []string{"1 a aa,1 b aa,2 a NULL,2 b NULL,3 a NULL,3 b NULL,4 b NULL"},
	},
	{
		name: "null accepting", sql: "select t1.id, t1.name, t2.name from t1 left join t2 on t1.id=t2.id where t1.name='b' and (t2.name='aa' or t2.name is null)",
		rows: "1 b aa,2 b NULL,3 b NULL",
		on:   "t1.name='b' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER, (t2.name='aa' or t2.name is null) AFTER_JOIN NULL_SUPPLYING ABOVE_JOIN LEFT OUTER",
		off:  "t1.name='b' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER, (t2.name='aa' or t2.name is null) AFTER_JOIN NULL_SUPPLYING ABOVE_JOIN LEFT OUTER",
	},
	{
		name: "chain", sql: "select a.id, b.name, c.name from t1 a left join t2 b on a.id=b.id left join t3 c on b.id=c.id and b.name='aa' where a.name='b' and c.name='a'",
		rows: "1 aa a",
		on: "b.name='aa' DURING_JOIN PRESERVED_ROW BELOW_JOIN INNER, a.name='b' AFTER_JOIN PRESERVED_ROW BELOW_JOIN INNER, " +
			"c.name='a' AFTER_JOIN NULL_SUPPLYING BELOW_JOIN INNER",
		off: "b.name='aa' DURING_JOIN PRESERVED_ROW IN_JOIN LEFT OUTER, a.name='b' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER, " +
			"c.name='a' AFTER_JOIN NULL_SUPPLYING ABOVE_JOIN LEFT OUTER",
		findingsOn:  "outer_join_becomes_inner LOW",
		findingsOff: "outer_join_becomes_inner MEDIUM",
		rewritten:   []string{"1 aa a"},
		again:       "outer_join_becomes_inner",
	},
	{
		name: "pruning lost during the join", sql: "select p1.id, p1.name, p2.name from p1 left join p2 on p1.id=p2.id and p1.name='a' and p2.name='aa'",
		rows:        "1 a aa,1 b NULL,2 a NULL,2 b NULL,3 a NULL,3 b NULL,4 b NULL",
		on:          "p1.name='a' DURING_JOIN PRESERVED_ROW IN_JOIN LEFT OUTER 1/2, p2.name='aa' DURING_JOIN NULL_SUPPLYING BELOW_JOIN LEFT OUTER 0/1",
		off:         "p1.name='a' DURING_JOIN PRESERVED_ROW IN_JOIN LEFT OUTER 1/2, p2.name='aa' DURING_JOIN NULL_SUPPLYING BELOW_JOIN LEFT OUTER 0/1",
		findingsOn:  "during_join_preserved_filter MEDIUM, partition_pruning_lost MEDIUM",
		findingsOff: "during_join_preserved_filter MEDIUM, partition_pruning_lost MEDIUM",
		rewritten:   []string{"1 a aa,2 a NULL,3 a NULL"},
		fixed:       "p2.name='aa' DURING_JOIN NULL_SUPPLYING BELOW_JOIN LEFT OUTER 0/1, p1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER 0/1",
	},
	{
		name: "pruning lost to a predicate that NULL fulfils", sql: "select p1.id, p1.name, p2.name from p1 left join p2 on p1.id=p2.id where p1.name='a' and (p2.name='aa' or p2.name is null)",
		rows: "1 a aa,2 a NULL,3 a NULL",
		on: "p1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER 0/1, " +
			"(p2.name='aa' or p2.name is null) AFTER_JOIN NULL_SUPPLYING ABOVE_JOIN LEFT OUTER 1/2",
		off: "p1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER 0/1, " +
			"(p2.name='aa' or p2.name is null) AFTER_JOIN NULL_SUPPLYING ABOVE_JOIN LEFT OUTER 1/2",
		findingsOn:  "partition_pruning_lost MEDIUM",
		findingsOff: "partition_pruning_lost MEDIUM",
		// The advice is in words: filter p2 in a subquery. In ON, and without the cost-based optimizer, the OR prunes nothing.
		instead: []string{
			"select p1.id, p1.name, p2.name from p1 left join (select * from p2 where p2.name='aa' or p2.name is null) p2 on p1.id=p2.id where p1.name='a'",
		},
		rewritten: []string{"1 a aa,2 a NULL,3 a NULL"},
		unread:    "p2/name=dd",
	},
	{
		name: "pruning lost after the join", sql: "select p1.id, p1.name, p2.name from p1 left join p2 on p1.id=p2.id where p1.name='a' and p2.name='aa'",
		rows:        "1 a aa",
		on:          "p1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN INNER 0/1, p2.name='aa' AFTER_JOIN NULL_SUPPLYING BELOW_JOIN INNER 0/1",
		off:         "p1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER 0/1, p2.name='aa' AFTER_JOIN NULL_SUPPLYING ABOVE_JOIN LEFT OUTER 1/2",
		findingsOn:  "outer_join_becomes_inner LOW",
		findingsOff: "outer_join_becomes_inner MEDIUM, partition_pruning_lost MEDIUM",
		rewritten:   []string{"1 a aa,2 a NULL,3 a NULL", "1 a aa"},
		fixed:       "p2.name='aa' DURING_JOIN NULL_SUPPLYING BELOW_JOIN LEFT OUTER 0/1, p1.name='a' AFTER_JOIN PRESERVED_ROW BELOW_JOIN LEFT OUTER 0/1",
	},
}

// TestOuterJoinOnHive runs the cases on a real HiveServer2, planned with the cost-based optimizer and without (as the
// seed's were), and what the advice says to run instead.
func TestOuterJoinOnHive(t *testing.T) {
	db := fmt.Sprintf("h_outerjoin_%d", os.Getpid())
	session := open(t)
	t.Cleanup(func() { run(t, session, "USE default", "DROP DATABASE IF EXISTS "+db+" CASCADE") })
	run(t, session, "CREATE DATABASE "+db, "USE "+db, "SET hive.explain.user=false",
		"SET hive.exec.dynamic.partition.mode=nonstrict", "SET hive.stats.autogather=false",
		"CREATE TABLE t1 (id int, name string)", "CREATE TABLE t2 (id int, name string)", "CREATE TABLE t3 (id int, name string)",
		"CREATE TABLE p1 (id int) PARTITIONED BY (name string)", "CREATE TABLE p2 (id int) PARTITIONED BY (name string)",
		fill("1", "(1,'a'), (1,'b'), (2,'a'), (2,'b'), (3,'a'), (3,'b'), (4,'b')")+" INSERT INTO TABLE t3 SELECT s.id, s.name", fill("2", "(1,'aa'), (4,'dd')"))

	statements := map[string][]string{}
	for _, cbo := range []bool{true, false} {
		run(t, session, fmt.Sprintf("SET hive.cbo.enable=%v", cbo), "SET hive.auto.convert.join=false")
		for _, c := range outerJoinCases {
			t.Run(fmt.Sprintf("plan, cbo=%v, %s", cbo, c.name), func(t *testing.T) { statements[c.name] = c.plan(t, session, cbo) })
		}
	}
	run(t, session, "SET hive.cbo.enable=true", "SET hive.auto.convert.join=true")
	for _, c := range outerJoinCases {
		t.Run("rows, "+c.name, func(t *testing.T) { c.run(t, session, statements[c.name]) })
	}
}

// fill writes rows of (id, name) into both tables of a number.
func fill(number, rows string) string {
	return "FROM (SELECT v.id, v.name FROM TABLE(VALUES " + rows + ") AS v(id, name)) s" +
		" INSERT INTO TABLE t" + number + " SELECT s.id, s.name INSERT INTO TABLE p" + number + " PARTITION (name) SELECT s.id, s.name"
}

// plan compares predicates and findings, and what the statements of the advice are planned as. It returns those.
func (c outerJoinCase) plan(t *testing.T, session *client.Session, cbo bool) []string {
	t.Helper()
	predicates, findings := c.on, c.findingsOn
	if !cbo {
		predicates, findings = c.off, c.findingsOff
	}
	q := outerQuery(t, session, c.sql)
	if got := briefly(outerjoin.Classify(q)); got != predicates {
		t.Errorf("predicates\n%s\nwant\n%s", got, predicates)
	}
	var kinds []string
	statements := slices.Clone(c.instead)
	for _, f := range outerjoin.FindVerbatim(q) {
		kinds = append(kinds, string(f.Kind)+" "+string(f.Severity))
		for line := range strings.Lines(f.Advice) {
			if sql := strings.TrimSuffix(strings.TrimSpace(line), ";"); !strings.HasPrefix(line, "--") && !slices.Contains(statements, sql) {
				statements = append(statements, sql)
			}
		}
	}
	if got := strings.Join(kinds, ", "); got != findings {
		t.Errorf("findings %q, want %q", got, findings)
	}
	if len(statements) != len(c.rewritten) {
		t.Errorf("the advice is %q, want %d statements", statements, len(c.rewritten))
	}
	if c.unread != "" && !strings.Contains(planOf(t, session, "EXTENDED", c.sql), c.unread) {
		t.Errorf("%s is not read", c.unread)
	}
	for i, sql := range statements {
		if c.unread != "" && strings.Contains(planOf(t, session, "EXTENDED", sql), c.unread) {
			t.Errorf("after the advice %s is still read: %s", c.unread, sql)
		}
		after := outerQuery(t, session, sql)
		if found := outerjoin.Find(after); len(found) > 0 && (len(found) > 1 || string(found[0].Kind) != c.again) {
			t.Errorf("the advice leads to another finding: %s\n%+v", sql, found)
		}
		if i == 0 && c.fixed != "" {
			if got := briefly(outerjoin.Classify(after)); got != c.fixed {
				t.Errorf("%s\npredicates\n%s\nwant\n%s", sql, got, c.fixed)
			}
		}
	}
	return statements
}

// run compares the rows of the query and of the statements of the advice.
func (c outerJoinCase) run(t *testing.T, session *client.Session, statements []string) {
	t.Helper()
	if got := sortedRows(t, session, c.sql); got != c.rows {
		t.Errorf("rows %s, want %s", got, c.rows)
	}
	for i, sql := range statements {
		if got := sortedRows(t, session, sql); i < len(c.rewritten) && got != c.rewritten[i] {
			t.Errorf("%s\nrows %s, want %s", sql, got, c.rewritten[i])
		}
	}
}

func outerQuery(t *testing.T, session *client.Session, sql string) advisor.Query {
	t.Helper()
	plan := extended(t, session, sql)
	return advisor.Query{SQL: sql, Plan: plan}
}

// briefly writes predicates as "text place side found planned", with the partitions read in vain and at all.
func briefly(predicates []outerjoin.Predicate) string {
	var list []string
	for _, p := range predicates {
		text := fmt.Sprintf("%s %s %s %s %s", p.Text, p.Place, p.Side, p.Found, p.Planned)
		if p.PartitionsRead > 0 {
			text += fmt.Sprintf(" %d/%d", p.PartitionsNeedless, p.PartitionsRead)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// sortedRows are a query's rows, their values parted by spaces.
func sortedRows(t *testing.T, session *client.Session, sql string) string {
	t.Helper()
	var rows []string
	for _, row := range run(t, session, sql).Rows {
		var values []string
		for _, v := range row {
			if v == nil {
				values = append(values, "NULL")
			} else {
				values = append(values, *v)
			}
		}
		rows = append(rows, strings.Join(values, " "))
	}
	slices.Sort(rows)
	return strings.Join(rows, ",")
}
