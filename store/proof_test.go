package store_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// foretold is a proof as a Runner has it before the ANALYZE.
func foretold() *statscheck.Proof {
	return &statscheck.Proof{
		PredictedAt: t0.Add(time.Minute), Prediction: statscheck.GradeUnknown,
		Predictions: []statscheck.Prediction{
			{Fingerprint: "f1", Before: advisor.MapJoin, Expected: advisor.MergeJoin, Basis: "5 times the rows", Grade: statscheck.GradeUnknown},
			{Fingerprint: "f1", Ordinal: 1, Before: advisor.MapJoin, Basis: "nothing known", Grade: statscheck.GradeUnknown},
		},
		Restore: statscheck.Restore{
			Statements: []string{"ALTER TABLE `shop`.`items` UPDATE STATISTICS SET ('numRows'='1000', 'rawDataSize'='-1')"},
			Notes:      []string{"price had no statistics before"},
		},
	}
}

func TestProofIsOnRecordBeforeAndGradedAfter(t *testing.T) {
	f := newFixture(t, store.Options{Instance: "proxy-1"})
	id := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items", Schedule: "nightly", WindowStart: t0})
	if _, err := f.Proof(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("before it began: %v", err)
	}
	r := f.claim(f.Store, time.Minute, "hive-a")
	r.Proof = foretold()
	f.ok(f.SavePrediction(t.Context(), *r))
	f.ok(f.SavePrediction(t.Context(), *r)) // the first answer may have been lost
	got, err := f.Proof(t.Context(), id)
	f.ok(err)
	if want := (store.RefreshProof{Proof: *foretold()}); !reflect.DeepEqual(*got, want) {
		t.Errorf("before the ANALYZE\ngot  %+v\nwant %+v", *got, want)
	}
	f.want("UNKNOWN ∅", `SELECT prediction || ' ' || coalesce(effect, '∅') FROM hs2proxy.report_refreshes WHERE id = $1`, id)

	before, after := itemsStats(1000, t0), itemsStats(5000, t0.Add(time.Hour))
	r.Before, r.After, r.State, r.Effect, r.EndedAt = &before, &after, statscheck.RefreshDone, statscheck.EffectEffective, t0.Add(time.Hour)
	r.Plans = []statscheck.PlanChange{{Fingerprint: "f1", Before: advisor.MapJoin, After: advisor.DPHJ}}
	r.Proof.Predictions, r.Proof.Prediction = statscheck.GradePredictions(r.Proof.Predictions, r.Plans)
	r.Proof.Statistics = statscheck.StatisticChanges([]advisor.TableStats{before}, []advisor.TableStats{after})
	r.Proof.Statistics = append(r.Proof.Statistics, statscheck.StatisticChange{Level: statscheck.OfPartition, Partition: "ds=1", Name: "numRows", After: "7"})
	want := store.RefreshProof{Proof: *r.Proof}
	f.ok(f.FinishRefresh(t.Context(), *r))
	f.ok(f.FinishRefresh(t.Context(), *r))
	got, err = f.Proof(t.Context(), id)
	f.ok(err)
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("after\ngot  %+v\nwant %+v", *got, want)
	}
	row := f.report("refreshes")[0]
	for name, want := range map[string]any{
		"trigger": "SCHEDULE", "scope": "whole table", "effect": "EFFECTIVE", "effect_at_end": "EFFECTIVE", "prediction": "PARTLY", "false_alarm": false,
		"predictions":   []string{"f1 join 0: MAP_JOIN → MERGE_JOIN, PARTLY (DPHJ)"},
		"changes":       []string{"f1 join 0: MAP_JOIN → DPHJ"},
		"restore":       foretold().Restore.Statements,
		"restore_notes": foretold().Restore.Notes,
	} {
		if !reflect.DeepEqual(row[name], want) {
			t.Errorf("report_refreshes %s: %v, want %v", name, row[name], want)
		}
	}
	f.want("1000 → 5000", `SELECT before || ' → ' || after FROM hs2proxy.report_refresh_statistics WHERE level = 'TABLE' AND name = 'numRows' AND changed`)
	f.want("f", `SELECT left(changed::text, 1) FROM hs2proxy.report_refresh_statistics WHERE column_name = 'id' AND name = 'distinct_count'`)
	f.want("∅ 7", `SELECT coalesce(before, '∅') || ' ' || after FROM hs2proxy.report_refresh_statistics WHERE partition = 'ds=1'`)
	if err := f.SavePrediction(t.Context(), *r); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("foretold after the end: %v", err)
	}
}

func TestSecondAttemptForetellsAnewAndRestoresTheOldest(t *testing.T) {
	f := newFixture(t, store.Options{Instance: "proxy-1"})
	other := f.open(store.Options{Instance: "proxy-2"})
	id := f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items"})
	r := f.claim(f.Store, time.Minute, "hive-a")
	r.Proof = foretold()
	f.ok(f.SavePrediction(t.Context(), *r))
	f.expire(id)
	again := f.claim(other, time.Minute, "hive-a")
	again.Proof = foretold()
	again.Proof.PredictedAt = t0.Add(time.Hour)
	again.Proof.Predictions = again.Proof.Predictions[1:]
	again.Proof.Restore = statscheck.Restore{Statements: []string{"half refreshed"}}
	f.ok(other.SavePrediction(t.Context(), *again))
	if err := f.SavePrediction(t.Context(), *r); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("the proxy that lost it foretells: %v", err)
	}
	got, err := f.Proof(t.Context(), id)
	f.ok(err)
	if len(got.Predictions) != 1 || got.Predictions[0].Ordinal != 1 || !got.PredictedAt.Equal(t0.Add(time.Hour)) {
		t.Errorf("predictions %+v at %s", got.Predictions, got.PredictedAt)
	}
	if !reflect.DeepEqual(got.Restore, foretold().Restore) {
		t.Errorf("restores %+v", got.Restore)
	}
}

// runs records finished runs of a query, one a minute.
func (f *fixture) runs(fingerprint string, from time.Time, state intercept.State, seconds ...float64) {
	f.t.Helper()
	s := session("hive-a")
	for i, took := range seconds {
		at := from.Add(time.Duration(i) * time.Minute)
		f.ok(f.RecordStatement(f.t.Context(), store.Observation{
			Session: s, Statement: ended(statement(s, "SELECT 1", fingerprint, at), state, time.Duration(took*float64(time.Second))),
		}))
	}
}

// refreshed is a refresh of shop.items that ran from one moment to another and affects queries; a person asked where no schedule did.
func (f *fixture) refreshed(from, to time.Time, schedule string, effect statscheck.Effect, fingerprints ...string) statscheck.Refresh {
	f.t.Helper()
	f.now = from
	asked := store.RefreshRequest{Upstream: "hive-a", Table: "shop.items", Schedule: schedule, Reason: "R4"}
	if schedule != "" {
		asked.WindowStart = from
	}
	f.request(asked)
	r := f.claim(f.Store, time.Minute, "hive-a")
	before, after := itemsStats(1000, from), itemsStats(1000, to)
	r.Before, r.After, r.State, r.Effect, r.StartedAt, r.EndedAt = &before, &after, statscheck.RefreshDone, effect, from, to
	for _, fp := range fingerprints {
		r.Plans = append(r.Plans, statscheck.PlanChange{Fingerprint: fp, Before: advisor.MapJoin, After: advisor.MergeJoin})
	}
	r.Proof = &statscheck.Proof{}
	f.ok(f.FinishRefresh(f.t.Context(), *r))
	f.now = to
	return *r
}

func TestLaterRunsJudgeARefresh(t *testing.T) {
	f := newFixture(t, store.Options{})
	hour := func(n float64) time.Time { return t0.Add(time.Duration(n * float64(time.Hour))) }
	f.runs("slow", hour(0), intercept.StateFinished, 10, 10, 10)
	f.runs("slow", hour(0.5), intercept.StateError, 500)
	f.runs("fast", hour(0), intercept.StateFinished, 20, 22, 24)
	f.runs("rare", hour(0), intercept.StateFinished, 1, 1)
	f.runs("other", hour(0), intercept.StateFinished, 1, 1, 1)
	first := f.refreshed(hour(1), hour(1.5), "nightly", statscheck.EffectEffective, "slow", "fast", "rare")

	judge := func(want ...store.Judged) {
		t.Helper()
		got, err := f.JudgeRuntimes(t.Context(), "hive-a")
		f.ok(err)
		if !reflect.DeepEqual(got, append([]store.Judged(nil), want...)) {
			t.Errorf("judged %+v, want %+v", got, want)
		}
	}
	judge()                                                        // no later runs yet
	f.runs("slow", hour(1.2), intercept.StateFinished, 99, 99, 99) // began while it ran
	f.runs("slow", hour(2), intercept.StateFinished, 30, 30)
	f.runs("fast", hour(2), intercept.StateFinished, 4, 4, 4)
	judge(store.Judged{ID: first.ID, Table: "shop.items", Effect: statscheck.EffectImproved})
	f.want("IMPROVED EFFECTIVE", `SELECT effect || ' ' || effect_at_end FROM hs2proxy.report_refreshes`)
	judge()
	f.runs("slow", hour(2.5), intercept.StateFinished, 30)
	judge(store.Judged{ID: first.ID, Table: "shop.items", Was: statscheck.EffectImproved, Effect: statscheck.EffectRegressed})
	f.want("REGRESSED", `SELECT effect FROM hs2proxy.report_refreshes`)

	proof, err := f.Proof(t.Context(), first.ID)
	f.ok(err)
	want := []store.QueryRuntime{
		{Fingerprint: "fast", Before: statscheck.Runtime{Runs: 3, Mean: 22 * time.Second, StdDev: 2 * time.Second}, After: statscheck.Runtime{Runs: 3, Mean: 4 * time.Second}, Effect: statscheck.EffectImproved},
		{Fingerprint: "rare", Before: statscheck.Runtime{Runs: 2, Mean: time.Second}},
		{Fingerprint: "slow", Before: statscheck.Runtime{Runs: 3, Mean: 10 * time.Second}, After: statscheck.Runtime{Runs: 3, Mean: 30 * time.Second}, Effect: statscheck.EffectRegressed},
	}
	if !reflect.DeepEqual(proof.Runtimes, want) || proof.LaterEffect != statscheck.EffectRegressed || proof.JudgedAt.IsZero() {
		t.Errorf("got  %+v\nwant %+v", proof.Runtimes, want)
	}
	// 3 runs that took 22 before take 4, 3 that took 10 take 30; the refresh took half an hour.
	row := f.report("refresh_savings")[0]
	for name, want := range map[string]any{
		"effect": "REGRESSED", "queries": int64(3), "queries_judged": int64(2), "runs_before": int64(8), "runs_after": int64(6),
		"seconds_before": 16.0, "seconds_after": 17.0, "seconds_saved": -6.0, "seconds_spent": 1800.0, "seconds_net": -1806.0, "complete": false,
	} {
		if row[name] != want {
			t.Errorf("savings %s: %v, want %v", name, row[name], want)
		}
	}

	// The next refresh of the table ends the first one's later runs, and has them as its baseline.
	second := f.refreshed(hour(3), hour(3.1), "", statscheck.EffectNoChange, "fast")
	f.runs("fast", hour(4), intercept.StateFinished, 60, 60, 60)
	judge(store.Judged{ID: second.ID, Table: "shop.items", Effect: statscheck.EffectRegressed})
	f.want("t 3 4", `SELECT concat_ws(' ', left(p.complete::text, 1), t.runs_after, t.seconds_after) FROM hs2proxy.refresh_proofs p
		JOIN hs2proxy.refresh_runtimes t ON t.refresh_id = p.refresh_id AND t.fingerprint = 'fast' WHERE p.refresh_id = $1`, first.ID)
	f.want("6 13", `SELECT runs_before || ' ' || seconds_before FROM hs2proxy.refresh_runtimes WHERE refresh_id = $1`, second.ID)
	f.now = hour(4 + 7*24)
	judge()
	f.want("t", `SELECT left(complete::text, 1) FROM hs2proxy.refresh_proofs WHERE refresh_id = $1`, second.ID)
	if got, err := f.JudgeRuntimes(t.Context(), "hive-b"); err != nil || got != nil {
		t.Errorf("another server: %+v, %v", got, err)
	}
}

func TestFalseAlarmsRaiseATablesThresholds(t *testing.T) {
	f := newFixture(t, store.Options{})
	limits := statscheck.DefaultThresholds()
	factor := func(want float64) {
		t.Helper()
		got, err := f.ThresholdFactors(t.Context(), "hive-a")
		if factor, raised := got["shop.items"]; err != nil || raised != (want > 1) || raised && factor != want {
			t.Errorf("factors %v, %v; want %v", got, err, want)
		}
	}
	learn := func(r statscheck.Refresh, want float64) {
		t.Helper()
		if got, err := f.LearnFromRefresh(t.Context(), r, limits); err != nil || got != want {
			t.Errorf("factor %v, %v; want %v", got, err, want)
		}
		factor(want)
	}
	at := t0
	refresh := func(schedule string, effect statscheck.Effect) statscheck.Refresh {
		at = at.Add(time.Hour)
		return f.refreshed(at, at.Add(90*time.Second), schedule, effect)
	}
	factor(1)
	learn(refresh("", statscheck.EffectNoChange), 1)
	learn(refresh("nightly", statscheck.EffectEffective), 1)
	if rows := f.report("false_alarms"); len(rows) != 0 {
		t.Errorf("no alarm yet: %v", rows)
	}
	first := refresh("nightly", statscheck.EffectNoChange)
	learn(first, 1.5)
	learn(first, 1.5) // each counts once
	second := refresh("nightly", statscheck.EffectNoChange)
	learn(second, 2.25)
	learn(first, 2.25)
	row := f.report("false_alarms")[0]
	for name, want := range map[string]any{
		"table_name": "shop.items", "alarms": int64(2), "factor": 2.25, "stale_ratio": 0.45, "seconds": 180.0, "last_refresh": second.ID, "last_reason": "R4",
		"reset_at": nil, "reset_by": nil,
	} {
		if row[name] != want {
			t.Errorf("false_alarms %s: %v, want %v", name, row[name], want)
		}
	}
	f.want("2", `SELECT count(*) FROM hs2proxy.report_refreshes WHERE false_alarm`)
	learn(refresh("nightly", statscheck.EffectNoChange), 2.5) // Stale is at 0.5
	learn(refresh("nightly", statscheck.EffectNoChange), 2.5)
	useful := refresh("", statscheck.EffectEffective)
	learn(useful, 1)
	row = f.report("false_alarms")[0]
	if row["alarms"] != int64(0) || row["factor"] != 1.0 || row["stale_ratio"] != 0.2 || row["reset_by"] != useful.ID || row["seconds"] != 360.0 {
		t.Errorf("after the reset: %v", row)
	}
	learn(first, 1) // an old one is told late
	learn(refresh("nightly", statscheck.EffectNoChange), 1.5)
}
