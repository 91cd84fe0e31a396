package explain_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// TestHalfPlansAreRefused: what cannot be read in full gives an error with the line, not a plan that lacks a part.
func TestHalfPlansAreRefused(t *testing.T) {
	line := func(text, with string) int {
		return strings.Count(text[:strings.Index(text, with)], "\n") + 1
	}
	for name, c := range map[string]struct {
		text string
		line int
	}{
		"a second plan":               {tezPlan + tezPlan, strings.Count(tezPlan, "\n") + line(tezPlan, "STAGE PLANS:")},
		"a second plan after another": {tezPlan + "Time taken: 1 seconds\n" + mrPlan, strings.Count(tezPlan, "\n") + 1 + line(mrPlan, "STAGE PLANS:")},
		"no indentation":              {strings.ReplaceAll(tezPlan, "  ", ""), line(tezPlan, "TableScan")},
		"an operator among attributes": {
			strings.Replace(tezPlan, "                Merge Join Operator", "                keys:\n                  Merge Join Operator", 1),
			line(tezPlan, "Merge Join Operator") + 1,
		},
		"a vertex without its name": {
			strings.Replace(userPlan, "      Reducer 3 vectorized, llap\n      File Output Operator [FS_9]\n", "      note:1\n", 1),
			line(userPlan, "Merge Join Operator") - 1,
		},
	} {
		p, err := explain.Parse(c.text)
		var syntax *explain.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != c.line || p != nil {
			t.Errorf("%s: plan %v, error %v, want line %d", name, p != nil, err, c.line)
		}
	}
}

// TestPrefixes: numbers in what stands before each line may differ, the rest may not.
func TestPrefixes(t *testing.T) {
	want := countJoins(parse(t, mrPlan))
	n := 0
	numbered := strings.ReplaceAll(mrPlan, "\n", "\n> 9 | ")
	for strings.Contains(numbered, "> 9 | ") {
		n++
		numbered = strings.Replace(numbered, "> 9 | ", "> "+strings.Repeat("1", 1+n%3)+" ~ ", 1)
	}
	for name, text := range map[string]string{
		"numbers":                      "> 0 ~ " + numbered,
		"a log's first line":           "2026-01-31 12:00:00,123 main EXPLAIN output for queryid hive_1 : " + mrPlan,
		"tabs as blanks of a web page": strings.ReplaceAll(mrPlan, "  ", "\u00a0 "),
		"a prompt behind":              mrPlan + "0: jdbc:hive2://localhost:10000/default>",
		"a mail below":                 mrPlan + "\nRegards,\n  Join Operator\n",
	} {
		p, err := explain.Parse(text)
		if err != nil {
			if name != "a mail below" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := countJoins(p); got != want || name == "a mail below" {
			t.Errorf("%s: %d joins, want %d", name, got, want)
		}
	}
}
