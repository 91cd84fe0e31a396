package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// A statement with a finding of every kind: each advisor's view shows its own, report_findings all.
func TestEachAdvisorHasItsView(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	a := analysis("hive-a", "f1", t0, verdict(advisor.MapJoin, 1000))
	of := map[advisor.Family][]string{}
	var all []string
	for _, k := range advisor.Kinds() {
		a.Findings = append(a.Findings, advisor.Finding{Kind: k.Kind, Severity: advisor.Low, Subject: "join 0 MAPJOIN_25 (Map 1)", Summary: k.Title})
		of[k.Advisor], all = append(of[k.Advisor], string(k.Kind)), append(all, string(k.Kind))
	}
	advisor.Complete(a.Findings, a.Joins)
	st := ended(statement(s, "SELECT 1", "f1", t0), intercept.StateFinished, time.Second)
	f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st, Analysis: a}))
	shows := func(view string, want []string) {
		t.Helper()
		got := f.rows(view, "kind")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s shows %v, want %v", view, got, want)
		}
	}
	shows("findings", all)
	for _, family := range advisor.Families() {
		if len(of[family]) == 0 {
			t.Errorf("no kind of %s", family)
		}
		shows("findings_"+string(family), of[family])
	}
}
