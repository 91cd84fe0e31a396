package statscheck

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
)

const (
	analyzePlain        = "ANALYZE TABLE `h_statscheck_golden`.`plain` COMPUTE STATISTICS"
	analyzePlainColumns = analyzePlain + " FOR COLUMNS `id`, `name`"
	analyzeParted       = "ANALYZE TABLE `h_statscheck_golden`.`parted` PARTITION (`ds`='2024-01-01', `h`='1') COMPUTE STATISTICS"
)

// fakePlanner is a Replanner.
type fakePlanner struct {
	before, after         []JoinStrategy
	beforeErr, afterErr   error
	beforeCalls, afterCal int
	panics                bool
}

func (p *fakePlanner) Before(context.Context, string, string) ([]JoinStrategy, error) {
	p.beforeCalls++
	if p.panics {
		panic("boom")
	}
	return p.before, p.beforeErr
}

func (p *fakePlanner) After(_ context.Context, _, _ string, before []JoinStrategy) ([]JoinStrategy, error) {
	p.afterCal++
	if !reflect.DeepEqual(before, p.before) {
		panic("not what Before returned")
	}
	return p.after, p.afterErr
}

func request1(change ...func(*Refresh)) Refresh {
	r := Refresh{
		ID: 5, Upstream: "one", Table: "h_statscheck_golden.plain", Mode: ModeBasic, Reason: "R2", RequestedBy: "ann", RequestedAt: t0,
		State: RefreshRunning,
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func columnsMode(columns ...string) func(*Refresh) {
	return func(r *Refresh) { r.Mode, r.Columns = ModeColumns, columns }
}

// hiveWith answers DESCRIBE of plain with one golden file before and another after, and every ANALYZE.
func hiveWith(t *testing.T, before, after string) *fakeHive {
	t.Helper()
	return newFakeHive(t).
		on(describePlain, answer{rows: golden(t, before)}, answer{rows: golden(t, after)}).
		on(describePlain+" `id`", answer{rows: golden(t, "type_int")}).
		on(describePlain+" `name`", answer{rows: golden(t, "type_string")}).
		on(analyzePlain, answer{}).on(analyzePlainColumns, answer{})
}

func runOne(t *testing.T, hive *fakeHive, planner Replanner, cfg RunnerConfig, r Refresh) Refresh {
	t.Helper()
	got := NewRunner(cfg, hive, planner, quiet()).Run(t.Context(), r)
	hive.wantClosed()
	if got.EndedAt.IsZero() || got.ID != r.ID || got.RequestedBy != r.RequestedBy || got.Reason != r.Reason {
		t.Errorf("incomplete: %+v", got)
	}
	return got
}

func TestRefreshBasic(t *testing.T) {
	hive := hiveWith(t, "faked", "columns")
	got := runOne(t, hive, nil, RunnerConfig{}, request1())
	if got.State != RefreshDone || got.Effect != EffectEffective || got.Error != "" || got.StartedAt.IsZero() {
		t.Errorf("got %+v", got)
	}
	if *got.Before.Rows != 8_000_000_000 || *got.After.Rows != 3 || !got.After.BasicAccurate {
		t.Errorf("before %+v, after %+v", got.Before, got.After)
	}
	if !slices.Equal(got.Statements, []string{analyzePlain}) || !slices.Equal(hive.statements(), []string{describePlain, analyzePlain, describePlain}) {
		t.Errorf("asked %q", hive.statements())
	}
}

func TestRefreshColumns(t *testing.T) {
	hive := hiveWith(t, "faked", "columns")
	got := runOne(t, hive, nil, RunnerConfig{}, request1(columnsMode("ID", "name", "gone")))
	if got.State != RefreshDone || got.Effect != EffectEffective || !slices.Equal(got.Columns, []string{"id", "name"}) {
		t.Errorf("got %+v", got)
	}
	if !slices.Equal(got.Statements, []string{analyzePlain, analyzePlainColumns}) {
		t.Errorf("statements %q", got.Statements)
	}
	if *got.After.Columns["id"].NDV != 1 || !slices.Equal(got.After.ColumnsRead, []string{"id", "name"}) {
		t.Errorf("after %+v", got.After)
	}
}

func TestRefreshFindsItsColumns(t *testing.T) {
	cfg := RunnerConfig{NeededColumns: func(_ context.Context, upstream, table string) ([]string, error) {
		if upstream != "one" || table != "h_statscheck_golden.plain" {
			t.Errorf("asked for %s %s", upstream, table)
		}
		return []string{"id", "name"}, nil
	}}
	got := runOne(t, hiveWith(t, "basic", "columns"), nil, cfg, request1(columnsMode()))
	if got.State != RefreshDone || !slices.Equal(got.Columns, []string{"id", "name"}) || len(got.Statements) != 2 {
		t.Errorf("got %+v", got)
	}
	// A basic refresh shows what became of the columns, but computes none.
	got = runOne(t, hiveWith(t, "basic", "columns"), nil, cfg, request1())
	if !slices.Equal(got.Statements, []string{analyzePlain}) || len(got.Before.Columns) != 2 || got.Columns != nil {
		t.Errorf("got %+v", got)
	}
	cfg.NeededColumns = func(context.Context, string, string) ([]string, error) { return nil, errors.New("database away") }
	got = runOne(t, hiveWith(t, "basic", "columns"), nil, cfg, request1(columnsMode()))
	if got.State != RefreshFailed || !strings.Contains(got.Error, "database away") {
		t.Errorf("got %+v", got)
	}
}

func TestRefreshEffects(t *testing.T) {
	join := []JoinStrategy{{Fingerprint: "q", Strategy: advisor.MergeJoin}}
	mapped := []JoinStrategy{{Fingerprint: "q", Strategy: advisor.MapJoin}}
	for name, c := range map[string]struct {
		before, after string
		change        func(*Refresh)
		planner       *fakePlanner
		want          Effect
		plans         []PlanChange
	}{
		"no change":              {"basic", "columns", nil, &fakePlanner{}, EffectNoChange, nil},
		"flag still absent":      {"faked", "stale", nil, &fakePlanner{}, EffectIneffective, nil},
		"column still unflagged": {"basic", "basic", columnsMode("id", "name"), &fakePlanner{}, EffectNoChange, nil},
		"strategy kept":          {"basic", "columns", nil, &fakePlanner{before: join, after: join}, EffectNoChange, []PlanChange{{"q", 0, advisor.MergeJoin, advisor.MergeJoin}}},
		"strategy changed":       {"basic", "columns", nil, &fakePlanner{before: join, after: mapped}, EffectEffective, []PlanChange{{"q", 0, advisor.MergeJoin, advisor.MapJoin}}},
		"no plans before":        {"basic", "columns", nil, &fakePlanner{beforeErr: errors.New("away")}, EffectNoChange, nil},
		"no plans after":         {"basic", "columns", nil, &fakePlanner{before: join, afterErr: errors.New("away")}, EffectNoChange, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := request1()
			if c.change != nil {
				c.change(&r)
			}
			hive := hiveWith(t, c.before, c.after)
			if name == "column still unflagged" {
				// Hive prints numbers without flagging them, which is what a failed gathering looks like.
				hive.answers[describePlain+" `id`"] = []answer{{rows: golden(t, "stale_column")}}
				c.want = EffectIneffective
			}
			got := runOne(t, hive, c.planner, RunnerConfig{}, r)
			if got.State != RefreshDone || got.Effect != c.want || !reflect.DeepEqual(got.Plans, c.plans) {
				t.Errorf("got %s %s %v, want %s %v (%s)", got.State, got.Effect, got.Plans, c.want, c.plans, got.Error)
			}
		})
	}
}

func TestRefreshFails(t *testing.T) {
	const notFound = "SemanticException [Error 10001]: Table not found plain"
	gone := answer{err: refused(10001, notFound)}
	for name, c := range map[string]struct {
		hive   func(*fakeHive)
		change func(*Refresh)
		error  string
		// ran is how many ANALYZE statements were sent; read whether the statistics before were read.
		ran  int
		read bool
	}{
		"vanished before":      {func(h *fakeHive) { h.answers[describePlain] = []answer{gone} }, nil, notFound, 0, false},
		"vanished at ANALYZE":  {func(h *fakeHive) { h.answers[analyzePlain] = []answer{gone} }, nil, notFound, 1, true},
		"vanished after":       {func(h *fakeHive) { h.answers[describePlain][1] = gone }, nil, notFound, 1, true},
		"ANALYZE fails":        {func(h *fakeHive) { h.answers[analyzePlain] = []answer{{err: refused(2, "Vertex failed")}} }, nil, "Vertex failed", 1, true},
		"FOR COLUMNS fails":    {func(h *fakeHive) { h.answers[analyzePlainColumns] = []answer{{err: refused(2, "Vertex failed")}} }, columnsMode("id", "name"), "Vertex failed", 2, true},
		"connection breaks":    {func(h *fakeHive) { h.answers[analyzePlain] = []answer{{err: errors.New("connection reset")}} }, nil, "connection reset", 1, true},
		"no session":           {func(h *fakeHive) { h.openErr = errors.New("connection refused") }, nil, "open a session on one: connection refused", 0, false},
		"view":                 {func(h *fakeHive) { h.answers[describePlain] = []answer{{rows: golden(t, "view")}} }, nil, "base tables", 0, true},
		"temporary table":      {func(h *fakeHive) { h.answers[describePlain] = []answer{{rows: golden(t, "temporary")}} }, nil, "belongs to its session", 0, true},
		"nonsense":             {func(h *fakeHive) { h.answers[describePlain] = []answer{{}} }, nil, ErrDescribe.Error(), 0, false},
		"no database":          {nil, func(r *Refresh) { r.Table = "plain" }, "names no database", 0, false},
		"bad table":            {nil, func(r *Refresh) { r.Table = "a b" }, "parse table name", 0, false},
		"an attempt to inject": {nil, func(r *Refresh) { r.Table = "db.t; DROP TABLE x" }, "parse table name", 0, false},
		"bad mode":             {nil, func(r *Refresh) { r.Mode = "FULL" }, `mode "FULL" is none of NOSCAN, BASIC and COLUMNS`, 0, false},
		"bad partition":        {nil, func(r *Refresh) { r.Partitions = []string{"x"} }, "the table is not partitioned", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			hive := hiveWith(t, "faked", "columns")
			if c.hive != nil {
				c.hive(hive)
			}
			r := request1()
			if c.change != nil {
				c.change(&r)
			}
			got := runOne(t, hive, &fakePlanner{}, RunnerConfig{}, r)
			if got.State != RefreshFailed || got.Effect != EffectFailed || !strings.Contains(got.Error, c.error) {
				t.Errorf("got %s %s %q, want %q", got.State, got.Effect, got.Error, c.error)
			}
			if asked := len(hive.statements()) > 0; asked == got.StartedAt.IsZero() {
				t.Errorf("started at %v, asked %q", got.StartedAt, hive.statements())
			}
			if len(got.Statements) != c.ran || (got.Before != nil) != c.read || got.After != nil {
				t.Errorf("ran %q, before %v, after %v", got.Statements, got.Before, got.After)
			}
		})
	}
}

func TestRefreshTimeoutCancels(t *testing.T) {
	hive := hiveWith(t, "faked", "columns")
	hive.answers[analyzePlain] = []answer{{do: until(make(chan struct{}))}}
	got := runOne(t, hive, nil, RunnerConfig{Timeout: time.Millisecond}, request1())
	if got.State != RefreshFailed || got.Error != "canceled in Hive: the timeout is over" {
		t.Errorf("got %s %q", got.State, got.Error)
	}
}

func TestRefreshWindow(t *testing.T) {
	hive := hiveWith(t, "faked", "columns")
	now := func() time.Time { return t0 }
	got := runOne(t, hive, nil, RunnerConfig{Now: now}, request1(func(r *Refresh) { r.NotAfter = t0 }))
	if got.State != RefreshFailed || !strings.Contains(got.Error, "not started: the schedule's window ended at 2026-03-01T12:00:00Z") ||
		!got.StartedAt.IsZero() || len(hive.statements()) > 0 {
		t.Errorf("got %+v, asked %q", got, hive.statements())
	}
	if ok, why := DefaultPolicy().Allows([]Refresh{got, got, got}, t0); !ok {
		t.Errorf("what never started counts as a failure: %s", why)
	}

	hive.answers[analyzePlain] = []answer{{do: until(make(chan struct{}))}}
	got = runOne(t, hive, nil, RunnerConfig{Now: now}, request1(func(r *Refresh) { r.NotAfter = t0.Add(time.Millisecond) }))
	if got.State != RefreshFailed || got.Error != "canceled in Hive: the schedule's window is over" {
		t.Errorf("got %s %q", got.State, got.Error)
	}
}

func TestRefreshInterrupted(t *testing.T) {
	hive := hiveWith(t, "faked", "columns")
	started := make(chan struct{})
	hive.answers[analyzePlain] = []answer{{do: until(started)}}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	runner := NewRunner(RunnerConfig{}, hive, nil, quiet())
	got := runner.Run(ctx, request1())
	hive.wantClosed()
	if got.State != RefreshRequested || got.Effect != "" || got.Error != ErrInterrupted.Error() || len(got.Statements) != 1 {
		t.Errorf("got %+v", got)
	}
	// Run again, it starts from nothing.
	hive.answers[analyzePlain] = []answer{{}}
	hive.answers[describePlain] = []answer{{rows: golden(t, "faked")}, {rows: golden(t, "columns")}}
	again := runner.Run(t.Context(), got)
	if again.State != RefreshDone || again.Error != "" || len(again.Statements) != 1 {
		t.Errorf("got %+v", again)
	}
	if got := runner.Run(ctx, request1()); got.State != RefreshRequested {
		t.Errorf("with an ended context: %+v", got)
	}
}

// An attempt whose time is over as a whole has failed: made again, it would take as long.
func TestRefreshTakesTooLong(t *testing.T) {
	hive := hiveWith(t, "faked", "columns")
	started := make(chan struct{})
	hive.answers[analyzePlain] = []answer{{do: until(started)}}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	got := NewRunner(RunnerConfig{}, hive, nil, quiet()).Run(ctx, request1())
	if got.State != RefreshFailed || got.Effect != EffectFailed || got.Error != errTooLong.Error() {
		t.Errorf("got %+v", got)
	}
}

func TestRefreshPanics(t *testing.T) {
	hive := hiveWith(t, "faked", "columns")
	planner := &fakePlanner{panics: true}
	runner := NewRunner(RunnerConfig{}, hive, planner, quiet())
	got := runner.Run(t.Context(), request1())
	hive.wantClosed()
	if got.State != RefreshFailed || got.Effect != EffectFailed || got.Error != "internal error: boom" || got.EndedAt.IsZero() {
		t.Errorf("got %+v", got)
	}
	planner.panics = false // the upstream's turn is free again
	if got := runner.Run(t.Context(), request1()); got.State != RefreshDone {
		t.Errorf("got %+v", got)
	}
}

// Two refreshes of an upstream never overlap, whoever starts them; another upstream does not wait.
func TestRefreshesOfAnUpstreamWait(t *testing.T) {
	hive := hiveWith(t, "faked", "columns")
	started, leave := make(chan struct{}), make(chan struct{})
	hive.answers[analyzePlain] = []answer{{do: func(context.Context) error {
		close(started)
		<-leave
		return nil
	}}, {}}
	runner := NewRunner(RunnerConfig{}, hive, nil, quiet())
	first := make(chan Refresh, 1)
	go func() { first <- runner.Run(t.Context(), request1()) }()
	<-started
	sent := len(hive.statements())

	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan Refresh, 1)
	go func() { waiting <- runner.Run(ctx, request1()) }()
	if got := runner.Run(t.Context(), request1(func(r *Refresh) { r.Upstream = "two" })); got.State != RefreshDone {
		t.Errorf("another upstream: %+v", got)
	}
	select {
	case got := <-waiting:
		t.Errorf("did not wait: %+v", got)
	default:
	}
	cancel()
	if got := <-waiting; got.State != RefreshRequested || !got.StartedAt.IsZero() {
		t.Errorf("canceled while waiting: %+v", got)
	}
	close(leave)
	if got := <-first; got.State != RefreshDone {
		t.Errorf("first: %+v", got)
	}
	if asked := len(hive.statements()); asked != sent+3+1 { // the other upstream's three, the first one's last reading
		t.Errorf("%d statements", asked)
	}
}

// A refresh of partitions is judged by their own flags: the table's speak of all partitions.
func TestRefreshPartitions(t *testing.T) {
	const describe = "DESCRIBE FORMATTED `h_statscheck_golden`.`parted`"
	for name, c := range map[string]struct {
		partition string
		want      Effect
	}{
		"flagged":   {"partition", EffectEffective},
		"unflagged": {"partition_nostats", EffectIneffective},
	} {
		t.Run(name, func(t *testing.T) {
			hive := newFakeHive(t).
				on(describe, answer{rows: golden(t, "parted_nostats")}, answer{rows: golden(t, "parted_some")}).
				on(describe+" `id`", answer{rows: golden(t, "parted_some_column")}).
				on(describe+" PARTITION (`ds`='2024-01-01', `h`='1')", answer{rows: golden(t, c.partition)}).
				on(analyzeParted, answer{}).on(analyzeParted+" FOR COLUMNS `id`", answer{})
			got := runOne(t, hive, nil, RunnerConfig{}, request1(columnsMode("id"), func(r *Refresh) {
				r.Table, r.Partitions = "h_statscheck_golden.parted", []string{"ds=2024-01-01/h=1"}
			}))
			if got.State != RefreshDone || got.Effect != c.want || len(got.Statements) != 2 {
				t.Errorf("got %s %s %q (%s)", got.State, got.Effect, got.Statements, got.Error)
			}
			if got.After != nil && got.After.BasicAccurate {
				t.Error("the record claims the flag for the whole table")
			}
		})
	}
}
