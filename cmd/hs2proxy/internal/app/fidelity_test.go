package app

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// A fall of the agreement is told once, and its end.
func TestAgreementWithThePlannerIsWatched(t *testing.T) {
	dsn := storetest.DSN(t)
	hive := startFake(t)
	a, out := start(t, hive.Addr(), dsn, nil)
	explain := func(query string, agree bool, n int) {
		t.Helper()
		joins := make([]advisor.JoinVerdict, n)
		for i := range joins {
			joins[i].Join.Strategy = advisor.MergeJoin
			joins[i].Join.BigTable = -1
			joins[i].Verdict = advisor.Verdict{Planned: advisor.MergeJoin, Simulated: advisor.MergeJoin, Agrees: agree}
		}
		err := a.Store().RecordPlan(t.Context(), store.Analysis{
			Upstream: a.Config().Upstream.Name, Fingerprint: query, HiveVersion: "4.0.1", Joins: joins, ExplainedAt: time.Now(), Cause: store.CauseFirst,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	explain("q1", false, 20)
	for range 3 {
		a.watchFidelity(t.Context())
	}
	waitFor(t, func() bool { return strings.Contains(out.String(), "agreement with the planner fell") })
	table := report(t, dsn, "findings")
	if len(table.Rows) != 1 || fmt.Sprint(table.Rows[0][columnOf(t, table, "kind")]) != string(advisor.FidelityFell) {
		t.Errorf("findings %v", table.Rows)
	}
	explain("q2", true, 2000)
	a.watchFidelity(t.Context())
	waitFor(t, func() bool { return strings.Contains(out.String(), "agreement with the planner recovered") })
	if table := report(t, dsn, "findings"); len(table.Rows) != 0 {
		t.Errorf("findings %v", table.Rows)
	}
	stop(t, a)
	for _, line := range []string{"agreement with the planner fell", "agreement with the planner recovered"} {
		if n := strings.Count(out.String(), line); n != 1 {
			t.Errorf("%q is told %d times:\n%s", line, n, out)
		}
	}
}
