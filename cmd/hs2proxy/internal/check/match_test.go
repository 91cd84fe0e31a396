package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// outcomesOf are the statements of scripts, in order of their names: "a.sql", "select 1; select 2", …
func outcomesOf(scripts ...string) []Outcome {
	var list []Outcome
	for i := 0; i < len(scripts); i += 2 {
		for _, st := range Read(scripts[i], scripts[i+1], Session{}) {
			list = append(list, Outcome{Statement: st})
		}
	}
	return list
}

func TestMatch(t *testing.T) {
	const (
		revenue = "select p.category, sum(o.amount) from orders o join products p on o.product_id = p.id group by p.category;"
		edited  = "select p.category, p.title, sum(o.amount) from orders o join products p on o.product_id = p.id group by p.category, p.title;"
		clicks  = "insert overwrite table daily select ds, count(*) from clicks c join pages g on c.page = g.page where g.live = 1;"
		joined  = "insert overwrite table daily select ds, count(*) from clicks c join pages g on c.page = g.page join users u on c.u = u.u where g.live = 1;"
		people  = "with x as (select a from people) select * from x cross join y;"
	)
	for _, tt := range []struct {
		name     string
		was, now []string
		want     string // a pair for each statement: script and number of its record, e for edited; - for none
	}{
		{"the same", []string{"a", revenue + clicks}, []string{"a", revenue + clicks}, "a0 a1"},
		{"another order", []string{"a", revenue + clicks}, []string{"a", clicks + revenue}, "a1 a0"},
		{"other literals and case", []string{"a", clicks}, []string{"a", strings.ToUpper(strings.ReplaceAll(clicks, "1", "25"))}, "a0"},
		{"twice the same", []string{"a", revenue + revenue}, []string{"a", revenue + revenue + revenue}, "a0 a1 -"},
		{"one edited", []string{"a", revenue + clicks}, []string{"a", edited + clicks}, "a0e a1"},
		{"a join more", []string{"a", clicks}, []string{"a", joined}, "a0e"},
		{"both edited and swapped", []string{"a", revenue + clicks}, []string{"a", joined + edited}, "a1e a0e"},
		{"one before it is new", []string{"a", revenue}, []string{"a", people + edited}, "- a0e"},
		{"another in its place", []string{"a", revenue}, []string{"a", people}, "-"},
		{"moved", []string{"a", revenue, "b", clicks}, []string{"a", clicks, "b", ""}, "b0"},
		{"moved, and another put in its place", []string{"a", revenue}, []string{"a", edited, "b", revenue}, "- a0"},
		{"in both scripts", []string{"a", revenue, "b", revenue}, []string{"a", revenue, "b", revenue}, "a0 b0"},
		{"edited and moved", []string{"a", revenue}, []string{"b", edited}, "-"},
		{"skipped", []string{"a", revenue}, []string{"a", "-- hs2proxy: skip\n" + revenue + "create table t (a int);"}, "- -"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old := Update(Baseline{}, outcomesOf(tt.was...))
			var got []string
			for _, p := range match(old, outcomesOf(tt.now...)) {
				text := "-"
				if p.found() {
					text = fmt.Sprintf("%s%d", p.file, p.index)
				}
				if p.edited {
					text += "e"
				}
				got = append(got, text)
			}
			if !slices.Equal(got, strings.Fields(tt.want)) {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}
