package explain_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// joinLine matches a join operator in any text form, counted without the parser.
var joinLine = regexp.MustCompile(`(?m)^[ |<-]*(Map Join|Merge Join|Sorted Merge Bucket Map Join|Join) Operator(?: \[[A-Z]+_\d+\].*)?\r?$`)

// TestGoldenPlans reads every plan of Hive's own tests and finds every join operator of its text.
func TestGoldenPlans(t *testing.T) {
	read := map[string]int{}
	failed := map[string]int{}
	shown, masked := 0, 0
	for _, g := range goldenPlans(t) {
		if strings.Trim(g.Plan, "# \n") == "A masked pattern was here" {
			masked++
			continue
		}
		p, err := explain.Parse(g.Plan)
		if err != nil {
			failed[g.Form]++
			if shown++; shown <= 20 {
				t.Errorf("%s (%s): %v", g.File, g.Form, err)
			}
			continue
		}
		read[g.Form]++
		want := len(joinLine.FindAllString(g.Plan, -1))
		if p.Form == explain.FormFormatted {
			want = strings.Count(g.Plan, `Join Operator":{`)
		}
		if got := countJoins(p); got != want {
			if shown++; shown <= 20 {
				t.Errorf("%s (%s): %d joins, want %d: %.60q", g.File, g.Form, got, want, g.Query)
			}
		}
	}
	t.Logf("read: %v, failed: %v, masked as a whole: %d", read, failed, masked)
}

func countJoins(p *explain.Plan) int {
	n := 0
	seen := map[*explain.Operator]bool{}
	var visit func(o *explain.Operator)
	visit = func(o *explain.Operator) {
		if seen[o] {
			return
		}
		seen[o] = true
		if strings.HasSuffix(o.Kind, "Join Operator") && !strings.HasPrefix(o.Kind, "Lateral") {
			n++
		}
		for _, c := range o.Children {
			visit(c)
		}
		for _, c := range o.Inputs {
			visit(c)
		}
	}
	for _, s := range p.Stages {
		for _, o := range s.Roots {
			visit(o)
		}
		for _, v := range s.Vertices {
			for _, o := range v.Roots {
				visit(o)
			}
		}
	}
	return n
}
