package statscheck

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func TestPredictionIsRecordedBeforeTheAnalyze(t *testing.T) {
	hive := hiveWith(t, "faked", "columns")
	planner := &fakePlanner{
		before: []JoinStrategy{{Fingerprint: "q", Strategy: advisor.MergeJoin, Expected: advisor.MapJoin, Basis: "fewer rows"}},
		after:  []JoinStrategy{{Fingerprint: "q", Strategy: advisor.MapJoin}},
	}
	var recorded *Proof
	cfg := RunnerConfig{Predicted: func(_ context.Context, job Refresh) error {
		if slices.Contains(hive.statements(), analyzePlain) {
			t.Error("the ANALYZE ran before the prediction was on record")
		}
		p := *job.Proof
		p.Predictions = slices.Clone(p.Predictions)
		recorded = &p
		return nil
	}}
	got := runOne(t, hive, planner, cfg, request1(columnsMode("id", "name")))
	if recorded == nil || recorded.PredictedAt.IsZero() || len(recorded.Predictions) != 1 || recorded.Predictions[0].Grade != GradeUnknown {
		t.Fatalf("recorded %+v", recorded)
	}
	want := "ALTER TABLE `h_statscheck_golden`.`plain` UPDATE STATISTICS SET ('numRows'='8000000000', 'rawDataSize'='900000000000')"
	if len(recorded.Restore.Statements) == 0 || recorded.Restore.Statements[0] != want {
		t.Errorf("restores by %q", recorded.Restore.Statements)
	}
	p := got.Proof
	if p.Prediction != GradeRight || p.Predictions[0].Grade != GradeRight || p.Predictions[0].After != advisor.MapJoin || p.PredictedAt != recorded.PredictedAt {
		t.Errorf("graded %s, %+v", p.Prediction, p.Predictions)
	}
	if !slices.Contains(p.Statistics, StatisticChange{Level: OfTable, Name: "numRows", Before: "8000000000", After: "3"}) {
		t.Errorf("statistics %v", p.Statistics)
	}
}

func TestPredictionThatIsNotRecordedCountsForNothing(t *testing.T) {
	planner := &fakePlanner{
		before: []JoinStrategy{{Fingerprint: "q", Strategy: advisor.MergeJoin, Expected: advisor.MapJoin}},
		after:  []JoinStrategy{{Fingerprint: "q", Strategy: advisor.MapJoin}},
	}
	cfg := RunnerConfig{Predicted: func(context.Context, Refresh) error { return errors.New("database away") }}
	got := runOne(t, hiveWith(t, "faked", "columns"), planner, cfg, request1())
	if got.State != RefreshDone || got.Effect != EffectEffective {
		t.Fatalf("the refresh suffers: %+v", got)
	}
	if p := got.Proof; p == nil || p.Prediction != GradeUnknown || len(p.Predictions) != 0 || !p.PredictedAt.IsZero() || len(p.Restore.Statements) == 0 {
		t.Errorf("proof %+v", got.Proof)
	}
}

func TestProofOfPartitions(t *testing.T) {
	const parted, part = "DESCRIBE FORMATTED `h_statscheck_golden`.`parted`", " PARTITION (`ds`='2024-01-01', `h`='1')"
	hive := newFakeHive(t).
		on(parted, answer{rows: golden(t, "parted_nostats")}, answer{rows: golden(t, "parted")}).
		on(parted+part, answer{rows: golden(t, "partition_nostats")}, answer{rows: golden(t, "partition")}).
		on(analyzeParted, answer{})
	got := runOne(t, hive, nil, RunnerConfig{}, request1(func(r *Refresh) {
		r.Table, r.Partitions = "h_statscheck_golden.parted", []string{"ds=2024-01-01/h=1"}
	}))
	if got.State != RefreshDone || got.Proof == nil {
		t.Fatalf("got %+v", got)
	}
	for _, s := range got.Proof.Restore.Statements {
		if !strings.HasPrefix(s, "ALTER TABLE `h_statscheck_golden`.`parted`"+part+" UPDATE STATISTICS ") {
			t.Errorf("restores by %s", s)
		}
	}
	if !slices.Contains(got.Proof.Statistics, StatisticChange{OfPartition, "ds=2024-01-01/h=1", "", "BASIC_STATS", "false", "true"}) {
		t.Errorf("statistics %v", got.Proof.Statistics)
	}
}
