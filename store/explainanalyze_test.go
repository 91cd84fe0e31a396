package store_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/store"
)

// TestOneProxyTakesAFiring: of proxies that fire at the same time one gets it, and none while the run before goes on.
func TestOneProxyTakesAFiring(t *testing.T) {
	f := newFixture(t, store.Options{Instance: "a"})
	other := f.open(store.Options{Instance: "b", Now: func() time.Time { return f.now }})
	var (
		work sync.WaitGroup
		mu   sync.Mutex
		runs []int64
	)
	for i := range 8 {
		s := f.Store
		if i%2 == 1 {
			s = other
		}
		work.Go(func() {
			run, ok, err := s.ClaimExplainAnalyze(t.Context(), "hive-a", t0, 0, time.Minute)
			if err != nil {
				t.Error(err)
			}
			if ok {
				mu.Lock()
				runs = append(runs, run)
				mu.Unlock()
			}
		})
	}
	work.Wait()
	if len(runs) != 1 {
		t.Fatalf("%d proxies took the firing", len(runs))
	}
	claim := func(s *store.Store, upstream string, at time.Time, gap time.Duration) (int64, bool) {
		t.Helper()
		run, ok, err := s.ClaimExplainAnalyze(t.Context(), upstream, at, gap, time.Minute)
		f.ok(err)
		return run, ok
	}
	if _, ok := claim(other, "hive-a", t0.Add(time.Hour), 0); ok {
		t.Error("taken while the run before goes on")
	}
	if _, ok := claim(other, "hive-b", t0, 0); !ok {
		t.Error("another server's firing is refused")
	}
	f.ok(f.ExtendExplainAnalyze(t.Context(), runs[0], time.Minute))
	f.ok(f.FinishExplainAnalyze(t.Context(), runs[0], ""))
	if err := f.FinishExplainAnalyze(t.Context(), runs[0], ""); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("ended twice: %v", err)
	}
	for _, c := range []struct {
		at   time.Duration
		gap  time.Duration
		want bool
	}{{0, 0, false}, {-time.Hour, 0, false}, {10 * time.Minute, 30 * time.Minute, false}, {10 * time.Minute, 0, true}} {
		if _, ok := claim(other, "hive-a", t0.Add(c.at), c.gap); ok != c.want {
			t.Errorf("%v later with a gap of %v: %v", c.at, c.gap, ok)
		}
	}
	// A proxy that is gone keeps nobody from the next firing, and its run is ended for it.
	f.exec(`UPDATE hs2proxy.explain_analyze_runs SET lease_until = now() - interval '1 second' WHERE lease_until IS NOT NULL`)
	if _, ok := claim(f.Store, "hive-a", t0.Add(time.Hour), 0); !ok {
		t.Error("refused after the proxy before was gone")
	}
	f.want("the proxy b was gone", `SELECT reason FROM hs2proxy.explain_analyze_runs WHERE fired_at = $1`, t0.Add(10*time.Minute))
}

// TestQueriesToCount: those named, and of the others those whose joins run most; each once a database, with its last plan.
func TestQueriesToCount(t *testing.T) {
	f := newFixture(t, store.Options{KeepLiterals: true})
	s := session("hive-a")
	run := func(fingerprint string, times int, joins ...advisor.JoinVerdict) {
		t.Helper()
		for i := range times {
			a := analysis("hive-a", fingerprint, t0, joins...)
			a.Reused = i > 0
			f.ok(f.RecordStatement(t.Context(), store.Observation{
				Session: s, Statement: ended(statement(s, "SELECT "+fingerprint, fingerprint, t0), "FINISHED", time.Second), Analysis: a,
			}))
		}
	}
	join := verdict(advisor.MapJoin, 1000)
	second := join
	second.Join.Ordinal = 1
	run("seldom", 2, join)
	run("two joins", 2, join, second)
	run("often", 5, join)
	run("no join", 9)
	names := func(fingerprints []string, most int) (out []string) {
		t.Helper()
		queries, err := f.QueriesToCount(t.Context(), "hive-a", fingerprints, most)
		f.ok(err)
		for _, q := range queries {
			if q.SampleSQL != "SELECT "+q.Fingerprint || q.Database != "shop" || len(q.Settings) == 0 {
				t.Errorf("got %+v", q)
			}
			out = append(out, q.Fingerprint)
		}
		return out
	}
	for _, c := range []struct {
		named []string
		most  int
		want  []string
	}{
		{nil, 0, nil},
		{nil, 2, []string{"often", "two joins"}},
		{nil, 9, []string{"often", "two joins", "seldom"}},
		{[]string{"no join", "unknown"}, 0, []string{"no join"}},
		{[]string{"often"}, 1, []string{"often", "two joins"}},
	} {
		if got := names(c.named, c.most); !equal(got, c.want) {
			t.Errorf("%v and %d: got %v, want %v", c.named, c.most, got, c.want)
		}
	}
	if queries, err := f.QueriesToCount(t.Context(), "hive-b", []string{"often"}, 9); err != nil || len(queries) > 0 {
		t.Errorf("another server: %v, %v", queries, err)
	}
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestExplainAnalyzeIsReported without the literals that Hive quotes, and goes with the retention.
func TestExplainAnalyzeIsReported(t *testing.T) {
	f := newFixture(t, store.Options{})
	run, _, err := f.ClaimExplainAnalyze(t.Context(), "hive-a", t0, 0, time.Minute)
	f.ok(err)
	f.ok(f.SaveExplainAnalyze(t.Context(), run, store.ExplainAnalyze{
		Fingerprint: "f1", Database: "shop", SQL: "SELECT a FROM t WHERE b = 'hunter2'", Outcome: store.AnalyzeFailed, Reason: "cannot read 'hunter2'", StartedAt: t0, Took: 1500 * time.Millisecond,
	}))
	f.ok(f.SaveExplainAnalyze(t.Context(), run, store.ExplainAnalyze{Fingerprint: "f2", Database: "shop", Outcome: store.AnalyzeCounted, Operators: 3, StartedAt: t0.Add(time.Second)}))
	got := f.rows("explain_analyze", "upstream", "started_at", "fingerprint", "database", "outcome", "reason", "operators", "seconds")
	want := []string{"hive-a | 0.0002777777777777778h | f2 | shop | COUNTED |  | 3 | 0", "hive-a | 0h | f1 | shop | FAILED | cannot read ? | 0 | 1.5"}
	if !equal(got, want) {
		t.Errorf("got %q", got)
	}
	f.now = t0.Add(48 * time.Hour)
	policy := store.Policy{Refreshes: time.Hour}
	for _, want := range []string{"2", "0"} { // what runs stays
		_, err := f.Retention(t.Context(), policy)
		f.ok(err)
		f.want(want, `SELECT count(*) FROM hs2proxy.explain_analyzes`)
		if want == "2" {
			f.ok(f.FinishExplainAnalyze(t.Context(), run, ""))
		}
	}
}
