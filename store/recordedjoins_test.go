package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// capturedPlans are the analyses of the plans captured from Hive that the advisor is tested with.
func capturedPlans(t testing.TB, upstream string) []store.Analysis {
	t.Helper()
	paths, err := filepath.Glob("../advisor/testdata/plans/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no captured plans: %v", err)
	}
	var out []store.Analysis
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range txtar.Parse(b).Files {
			if section.Name != "extended" {
				continue
			}
			p, err := explain.Parse(string(section.Data))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			a := *analysis(upstream, filepath.Base(path), t0)
			for _, j := range advisor.Joins(p) {
				a.Joins = append(a.Joins, advisor.Judge(j, advisor.NewSettings(a.Settings)))
			}
			out = append(out, a)
		}
	}
	return out
}

// kept reads what the filter chooses, as "fingerprint/ordinal strategy", sorted.
func (f *fixture) kept(filter store.JoinFilter) string {
	f.t.Helper()
	var out []string
	f.ok(f.RecordedJoins(f.t.Context(), filter, func(j *store.RecordedJoin) error {
		out = append(out, fmt.Sprintf("%s/%d %s", j.Fingerprint, j.Join.Ordinal, j.Join.Strategy))
		return nil
	}))
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestRecordedJoinsAreTheLatestAsFiltered(t *testing.T) {
	f := newFixture(t, store.Options{})
	if got := f.kept(store.JoinFilter{}); got != "" {
		t.Errorf("of nothing: %s", got)
	}
	hour := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Hour) }
	a, b := session("hive-a"), session("hive-b")
	b.User = "bo"
	run := func(s intercept.Session, fp string, at time.Time, joins ...advisor.JoinVerdict) {
		t.Helper()
		st := ended(statement(s, "SELECT 1", fp, at), intercept.StateFinished, time.Second)
		an := analysis(s.Upstream, fp, at, joins...)
		for _, v := range joins {
			for _, in := range v.Join.Inputs {
				an.Tables = append(an.Tables, in.Tables...)
			}
		}
		f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st, Analysis: an}))
	}
	other := verdict(advisor.MapJoin, 70)
	other.Join.Inputs[1].Tables = []string{"shop.other"}
	run(a, "f1", hour(0), verdict(advisor.MapJoin, 500))
	run(a, "f1", hour(1), verdict(advisor.MergeJoin, 50_000_000), other) // replaces the plan before
	run(b, "f2", hour(2), verdict(advisor.DPHJ, 700))
	for _, c := range []struct {
		filter store.JoinFilter
		want   string
	}{
		{store.JoinFilter{}, "f1/0 MERGE_JOIN, f1/1 MAP_JOIN, f2/0 DPHJ"},
		{store.JoinFilter{Upstream: "hive-b"}, "f2/0 DPHJ"},
		{store.JoinFilter{Upstream: "hive-c"}, ""},
		{store.JoinFilter{User: "ana"}, "f1/0 MERGE_JOIN, f1/1 MAP_JOIN"},
		{store.JoinFilter{User: "bo", Since: hour(3)}, ""},
		{store.JoinFilter{Since: hour(2)}, "f2/0 DPHJ"},
		{store.JoinFilter{Table: "shop.other"}, "f1/1 MAP_JOIN"},
		{store.JoinFilter{Table: "Shop.Items"}, "f1/0 MERGE_JOIN, f2/0 DPHJ"},
		{store.JoinFilter{Table: "shop.none"}, ""},
	} {
		if got := f.kept(c.filter); got != c.want {
			t.Errorf("%+v: %q, want %q", c.filter, got, c.want)
		}
	}
	f.ok(f.RecordedJoins(t.Context(), store.JoinFilter{Upstream: "hive-b"}, func(j *store.RecordedJoin) error {
		if j.Upstream != "hive-b" || j.Database != "shop" || j.Runs != 1 || !j.ExplainedAt.Equal(hour(2)) || j.Simulated != advisor.DPHJ || j.Budget != 10_000_000 ||
			j.Settings["hive.auto.convert.join.noconditionaltask.size"] != "10000000" || j.SettingsHash == "" || j.Attempts != nil {
			t.Errorf("read %+v", j)
		}
		return nil
	}))
}

// TestRecordedJoinsComeBackWhole: the joins of plans captured from Hive are read as they were recorded, and decided as they were.
func TestRecordedJoinsComeBackWhole(t *testing.T) {
	f := newFixture(t, store.Options{KeepLiterals: true})
	want := map[string]advisor.JoinVerdict{}
	for i, a := range capturedPlans(t, "hive-a") {
		if i == 0 {
			a.Settings["hive.execution.mode"] = "llap"
		}
		f.ok(f.RecordPlan(t.Context(), a))
		for _, v := range a.Joins {
			want[fmt.Sprintf("%s/%d", a.Fingerprint, v.Join.Ordinal)] = v
		}
	}
	llap := 0
	f.ok(f.RecordedJoins(t.Context(), store.JoinFilter{}, func(j *store.RecordedJoin) error {
		name := fmt.Sprintf("%s/%d", j.Fingerprint, j.Join.Ordinal)
		v, ok := want[name]
		delete(want, name)
		got, _ := json.Marshal(j.Join)
		recorded, _ := json.Marshal(v.Join)
		if !ok || string(got) != string(recorded) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, recorded)
		}
		s := advisor.NewSettings(j.Settings)
		if got, _ := advisor.Choose(&j.Join, &s); j.Settings["hive.execution.mode"] == "" && got != j.Simulated {
			t.Errorf("%s is decided %s, was %s", name, got, j.Simulated)
		}
		if j.Attempts != nil {
			llap++
		}
		return nil
	}))
	if len(want) > 0 || llap == 0 {
		t.Errorf("%d joins did not come back; %d with the attempts of LLAP", len(want), llap)
	}
}

// TestRecordedJoinsOfEitherForm: random joins are the same read from the replay form, from JSON, as of plans recorded before there was that
// form, and from JSON where a program that does not know the form has recorded the plan since.
func TestRecordedJoinsOfEitherForm(t *testing.T) {
	f := newFixture(t, store.Options{})
	r := rand.New(rand.NewPCG(7, 8)) // #nosec G404 -- the same every time
	var last store.Analysis
	for i := range 60 {
		a := *analysis([]string{"hive-a", "hive-b"}[i%2], fmt.Sprint("f", i), t0)
		for range 1 + i%3 {
			a.Joins = append(a.Joins, store.RandomVerdict(r))
		}
		if i%4 == 0 {
			a.Settings["hive.execution.mode"] = "LLAP"
		}
		f.ok(f.RecordPlan(t.Context(), a))
		last = a
	}
	read := func() []string {
		t.Helper()
		var out []string
		f.ok(f.RecordedJoins(t.Context(), store.JoinFilter{}, func(j *store.RecordedJoin) error {
			text, err := json.Marshal(j)
			out = append(out, string(text))
			return err
		}))
		slices.Sort(out)
		if len(out) != 120 {
			t.Fatalf("%d joins", len(out))
		}
		return out
	}
	differ := func(what string, got, want []string) {
		t.Helper()
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s\n%s\nwant\n%s", what, got[i], want[i])
			}
		}
	}
	fast := read()
	f.want("60", `SELECT count(replay) FROM hs2proxy.plans`)
	if all := strings.Join(fast, ""); !strings.Contains(all, `"Attempts":[{`) || !strings.Contains(all, `"Attempts":null`) {
		t.Error("not both with and without attempts")
	}
	f.exec(`UPDATE hs2proxy.plans SET replay = NULL WHERE id % 2 = 0`)
	differ("half read from JSON", read(), fast)
	f.exec(`UPDATE hs2proxy.plans SET replay = NULL`)
	differ("read from JSON", read(), fast)
	// Explained again, the plan has the form again.
	last.ExplainedAt = t0.Add(time.Hour)
	f.ok(f.RecordPlan(t.Context(), last))
	f.want("1", `SELECT count(replay) FROM hs2proxy.plans`)
	f.exec(`UPDATE hs2proxy.plans SET explained_at = explained_at + interval '1 hour' WHERE replay IS NOT NULL`)
	f.exec(`UPDATE hs2proxy.joins SET budget_bytes = 123456789 WHERE plan_id = (SELECT id FROM hs2proxy.plans WHERE replay IS NOT NULL)`)
	if n := strings.Count(strings.Join(read(), ""), `"Budget":123456789`); n != len(last.Joins) {
		t.Errorf("of %d joins %d are not read from an old replay form", len(last.Joins), n)
	}
}

func TestRecordedJoinsEnd(t *testing.T) {
	f := newFixture(t, store.Options{MaxConns: 1})
	for i := range 3000 {
		if i == 3 { // the rest as copies: three batches
			storetest.CopyPlans(t, f.dsn, 1000)
			break
		}
		f.ok(f.RecordPlan(t.Context(), *analysis("hive-a", fmt.Sprint("f", i), t0, verdict(advisor.MapJoin, 500))))
	}
	enough := errors.New("enough")
	n := 0
	err := f.RecordedJoins(t.Context(), store.JoinFilter{}, func(*store.RecordedJoin) error {
		n++
		// One connection is enough for a call that asks the store meanwhile.
		if _, err := f.LatestTableStats(t.Context(), "hive-a", []string{"shop.items"}); err != nil {
			return err
		}
		return enough
	})
	if !errors.Is(err, enough) || n != 1 {
		t.Errorf("%d calls, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = f.RecordedJoins(ctx, store.JoinFilter{}, func(*store.RecordedJoin) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	n = 0
	f.ok(f.RecordedJoins(t.Context(), store.JoinFilter{}, func(*store.RecordedJoin) error { n++; return nil }))
	if n != 3003 {
		t.Errorf("%d joins of 3003", n)
	}
	f.exec(`UPDATE hs2proxy.plans SET replay = substr(replay, 1, length(replay) - 1) WHERE id = (SELECT max(id) FROM hs2proxy.plans)`)
	if err := f.RecordedJoins(t.Context(), store.JoinFilter{}, func(*store.RecordedJoin) error { return nil }); err == nil || !strings.Contains(err.Error(), "replay form") {
		t.Errorf("a replay form cut short: %v", err)
	}
	f.exec(`UPDATE hs2proxy.plans SET replay = NULL WHERE id = (SELECT max(id) FROM hs2proxy.plans)`)
	f.exec(`UPDATE hs2proxy.joins SET inputs = '{"no": "list"}' WHERE plan_id = (SELECT max(plan_id) FROM hs2proxy.joins)`)
	if err := f.RecordedJoins(t.Context(), store.JoinFilter{}, func(*store.RecordedJoin) error { return nil }); err == nil || !strings.Contains(err.Error(), "inputs") {
		t.Errorf("inputs that are no list: %v", err)
	}
}

// BenchmarkRecordedJoins reads 100,000 recorded joins, 5,000 with -short; ns/op is for all of them.
func BenchmarkRecordedJoins(b *testing.B) {
	dsn := storetest.DSN(b)
	s, err := store.Open(b.Context(), dsn, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	joins := recordMany(b, s, dsn, storetest.BenchJoins())
	for b.Loop() {
		n := 0
		if err := s.RecordedJoins(b.Context(), store.JoinFilter{}, func(*store.RecordedJoin) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
		if n != joins {
			b.Fatalf("%d joins read, %d recorded", n, joins)
		}
	}
	b.ReportMetric(float64(joins), "joins/op")
}

// recordMany records the captured plans over and over until there are that many joins, and tells how many there are.
func recordMany(b *testing.B, s *store.Store, dsn string, least int) int {
	b.Helper()
	plans := capturedPlans(b, "hive-a")
	joins := 0
	for _, a := range plans {
		if err := s.RecordPlan(b.Context(), a); err != nil {
			b.Fatal(err)
		}
		joins += len(a.Joins)
	}
	copies := (least + joins - 1) / joins
	storetest.CopyPlans(b, dsn, copies-1)
	return copies * joins
}
