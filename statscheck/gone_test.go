package statscheck

import (
	"slices"
	"strings"
	"testing"
)

// Partitions that were dropped since somebody asked are left out, and where none is left the refresh is refused with their names: Hive
// 4.0.1 takes ANALYZE of a partition that is not there, runs it on Tez and fails with "Input path does not exist".
func TestPartitionsThatAreGone(t *testing.T) {
	const describe = "DESCRIBE FORMATTED `h_statscheck_golden`.`parted`"
	const gone = "ds=2023-01-01/h=1"
	script := func() *fakeHive {
		return newFakeHive(t).
			on(describe, answer{rows: golden(t, "parted_nostats")}, answer{rows: golden(t, "parted")}).
			on(describe+" PARTITION (`ds`='2024-01-01', `h`='1')", answer{rows: golden(t, "partition")}).
			on(describe+" PARTITION (`ds`='2023-01-01', `h`='1')", answer{err: refused(codeInvalidPartition, "Partition not found {ds=2023-01-01, h=1}")}).
			on(analyzeParted, answer{})
	}
	ask := func(hive *fakeHive, partitions ...string) Refresh {
		return runOne(t, hive, nil, RunnerConfig{}, request1(func(r *Refresh) {
			r.Table, r.Partitions = "h_statscheck_golden.parted", partitions
		}))
	}
	got := ask(script(), gone, "ds=2024-01-01/h=1")
	if got.State != RefreshDone || !slices.Equal(got.Statements, []string{analyzeParted}) || !slices.Equal(got.Partitions, []string{"ds=2024-01-01/h=1"}) ||
		!strings.Contains(got.Scope, "without "+gone) {
		t.Errorf("one of two is gone: %s %q %q %v %s", got.State, got.Statements, got.Scope, got.Partitions, got.Error)
	}
	if got := ask(script(), gone); got.State != RefreshFailed || got.Error != "the table has no partition "+gone || len(got.Statements) > 0 {
		t.Errorf("the only one is gone: %s %q %q", got.State, got.Error, got.Statements)
	}
}
