package sample

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func TestQueriesCoverEveryStrategyUnderUniqueNames(t *testing.T) {
	seen := map[advisor.Strategy]bool{}
	names := map[string]bool{}
	for _, q := range Queries("d") {
		if names[q.Name] {
			t.Errorf("two queries are named %q", q.Name)
		}
		names[q.Name] = true
		if q.Why == "" || q.SQL == "" || len(q.Want) == 0 || q.Settings[0] != "USE `d`" {
			t.Errorf("%s is incomplete: %+v", q.Name, q)
		}
		for _, s := range q.Want {
			seen[s] = true
		}
	}
	for _, s := range []advisor.Strategy{advisor.MapJoin, advisor.BucketMapJoin, advisor.DPHJ, advisor.SMB, advisor.MergeJoin} {
		if !seen[s] {
			t.Errorf("no query shows %s", s)
		}
	}
}

var tableName = regexp.MustCompile(`(?:FROM|JOIN|INTO TABLE|OVERWRITE TABLE) ([a-z_]+)`)

func TestQueriesReadOnlyTablesOfTheShop(t *testing.T) {
	made := map[string]bool{}
	for _, table := range shop {
		made[table.name] = true
	}
	statements := []string{}
	for _, q := range Queries("d") {
		statements = append(statements, q.SQL)
	}
	for _, s := range Stories("d") {
		statements = append(append(statements, s.SQL), s.Load...)
		if name, ok := strings.CutPrefix(s.Table, "d."); !ok || !made[name] || !strings.Contains(s.SQL, " "+name+" ") {
			t.Errorf("story %q is told of %s, which its query does not read", s.Name, s.Table)
		}
	}
	found := 0
	for _, statement := range statements {
		for _, m := range tableName.FindAllStringSubmatch(statement, -1) {
			found++
			if !made[m[1]] {
				t.Errorf("%s is not made by Setup, but used in: %s", m[1], statement)
			}
		}
	}
	if found < len(Queries("d")) {
		t.Fatalf("only %d table names found", found)
	}
}

func TestStoriesFireTheRowRule(t *testing.T) {
	for _, s := range Stories("d") {
		if s.RowsLoaded < 1000 || float64(s.RowsLoaded)/float64(s.RowsBefore) < 0.2 {
			t.Errorf("%s: %d rows written on %d are not enough to count as stale", s.Name, s.RowsLoaded, s.RowsBefore)
		}
		if s.Stale == s.Fresh {
			t.Errorf("%s changes no strategy", s.Name)
		}
	}
}

func TestSetupQuotesTheDatabase(t *testing.T) {
	statements := Setup("odd`name")
	for _, want := range []string{"DROP DATABASE IF EXISTS `odd``name` CASCADE", "USE `odd``name`"} {
		if !slices.Contains(statements, want) {
			t.Errorf("Setup lacks %q", want)
		}
	}
	if statements[0] != Teardown("odd`name")[0] {
		t.Errorf("Setup begins with %q", statements[0])
	}
}
