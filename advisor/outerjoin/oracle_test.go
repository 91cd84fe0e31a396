package outerjoin

import (
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor/jsonl/jsonltest"
	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

type oracleCase struct {
	ID, SQL, Error  string
	ExplainExtended string `json:"explain_extended"`
}

// TestOracle: over the recorded plans of a real planner no finding says anything but the plan. HS2PROXY_SHARED names the
// folder with oracle/cases.jsonl.gz.
func TestOracle(t *testing.T) {
	cases, outer, predicates, found := 0, 0, map[string]int{}, map[string]int{}
	for _, c := range jsonltest.Shared[oracleCase](t, "oracle/cases.jsonl.gz") {
		if c.Error != "" {
			continue
		}
		cases++
		ast, err := queryast.Parse(c.SQL)
		if err != nil {
			t.Errorf("%s: %s: %v", c.ID, c.SQL, err)
			continue
		}
		q := query(t, c.SQL, c.ExplainExtended)
		if len(scopes(ast, newView(q))) > 0 {
			outer++
		}
		alone := Classify(query(t, "", c.ExplainExtended))
		for _, p := range Classify(q) {
			predicates[string(p.Place)+" "+string(p.Side)+" "+string(p.Type)+" → "+string(p.Planned)+" "+string(p.Found)]++
			checkPredicate(t, c.ID+" "+c.SQL, &p)
			checkAlone(t, c.ID+" "+c.SQL, &p, alone)
		}
		for _, f := range Find(q) {
			found[string(f.Kind)]++
			t.Logf("%s: %s\n%s: %s\n%s\n", c.ID, c.SQL, f.Kind, f.Summary, f.Advice)
		}
	}
	t.Logf("%d cases, %d with outer joins; predicates %v; findings %v", cases, outer, predicates, found)
	if cases < 1000 || outer < 100 || found[string(BecomesInner)] < 20 {
		t.Errorf("too little was compared: %d cases, %d with outer joins, findings %v", cases, outer, found)
	}
}

// checkPredicate holds a predicate against the plan that Hive's optimizer made.
func checkPredicate(t *testing.T, name string, p *Predicate) {
	t.Helper()
	changed := []queryast.JoinType{queryast.Inner, queryast.LeftSemi}
	if p.Type == queryast.FullOuter {
		changed = append(changed, queryast.LeftOuter, queryast.RightOuter)
	}
	isChanged := slices.Contains(changed, p.Planned)
	switch {
	case p.RejectsNulls && p.Planned == p.Type && p.Found != AboveJoin:
		t.Errorf("%s\n%s rejects nulls, the plan keeps the %s join and has it %q", name, p.Text, p.Type, p.Found)
	case !p.RejectsNulls && p.Place == AfterJoin && p.Side == NullSupplying && p.Found == BelowJoin && !isChanged:
		t.Errorf("%s\n%s is pushed below the side that the %s join pads", name, p.Text, p.Type)
	case p.Place == DuringJoin && p.Side == PreservedRow && p.Found == BelowJoin && !isChanged:
		t.Errorf("%s\n%s is pushed below the side that the %s join preserves", name, p.Text, p.Type)
	}
}

// checkAlone: the plan without the text tells the same of what Hive pushed below a join that stayed as it was written.
func checkAlone(t *testing.T, name string, p *Predicate, alone []Predicate) {
	t.Helper()
	if p.Found != BelowJoin || p.Planned != p.Type || p.Type == queryast.FullOuter || p.PartitionsRead > 0 || len(p.at.scope.from.Joins) > 1 {
		return
	}
	column := func(c *queryast.ColumnRef) string { _, n := p.at.scope.source(c); return n }
	text := shape(p.at.expr, column)
	if strings.HasPrefix(text, "(not (is NULL") {
		return
	}
	if !slices.ContainsFunc(alone, func(a Predicate) bool {
		_, list := planPredicates(a.Text)
		return len(list) == 1 && shape(list[0], bare) == text && a.Place == p.Place && a.Side == p.Side && a.Found == BelowJoin
	}) {
		t.Errorf("%s\n%s is %s %s, not so from the plan alone:\n%s", name, p.Text, p.Place, p.Side, brief(alone))
	}
}
