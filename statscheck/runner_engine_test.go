package statscheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
)

const (
	showLocksDatabase = "SHOW LOCKS DATABASE `h_statscheck_golden`"
	showLocksPlain    = "SHOW LOCKS `h_statscheck_golden`.`plain`"
)

func grid(rows ...[]string) [][]*string {
	var out [][]*string
	for _, row := range rows {
		var r []*string
		for _, c := range row {
			r = append(r, new(c))
		}
		out = append(out, r)
	}
	return out
}

// What Hive 4.0.1 prints of an UPDATE's lock with transactions, what an older version prints without, and a reader's lock.
func TestParseLocks(t *testing.T) {
	update := []string{"30.1", "m1", "pa", "NULL", "ACQUIRED", "            ", "EXCL_WRITE", "38", "0", "1796139652094", "root", "vm", "root_20261201154039"}
	with := func(place int, value string) []string {
		row := slices.Clone(update)
		row[place] = value
		return row
	}
	table := hiveql.TableName{Database: "m1", Table: "pa"}
	for name, c := range map[string]struct {
		row  []string
		want string
	}{
		"a writer":                     {update, "EXCL_WRITE acquired by root@vm"},
		"of a partition":               {with(3, "ds=a"), "EXCL_WRITE acquired by root@vm"},
		"that waits":                   {with(4, "WAITING"), "EXCL_WRITE waiting by root@vm"},
		"of the database":              {with(2, "NULL"), "EXCL_WRITE acquired by root@vm"},
		"of another table":             {with(2, "pb"), ""},
		"a reader":                     {with(6, "SHARED_READ"), ""},
		"a header":                     {[]string{"Lock ID", "Database"}, ""},
		"one cell for the line":        {[]string{strings.Join(update, "\t")}, "EXCL_WRITE acquired by root@vm"},
		"a writer, no transactions":    {[]string{"m1@pa", "EXCLUSIVE"}, "EXCLUSIVE"},
		"a reader, no transactions":    {[]string{"m1@pa", "SHARED"}, ""},
		"a database, no transactions":  {[]string{"m1", "EXCLUSIVE"}, "EXCLUSIVE"},
		"a table named as a lock type": {with(2, "exclusive"), ""},
	} {
		got := parseLocks(grid(c.row), table)
		if len(got) > 1 || (len(got) == 1) != (c.want != "") || len(got) == 1 && got[0].String() != c.want {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
}

// The database is asked for its locks, since Hive does not find those of a table that is named with its database; then the table.
func TestShowLocksOfTheDatabaseFirst(t *testing.T) {
	lock := grid([]string{"30.1", "d", "t", "NULL", "ACQUIRED", "", "EXCL_WRITE", "38", "0", "1796139652094", "root", "vm", "q"})
	other := grid([]string{"30.1", "d", "u", "NULL", "ACQUIRED", "", "EXCL_WRITE", "38", "0", "1796139652094", "root", "vm", "q"})
	old := grid([]string{"d@t", "EXCLUSIVE"})
	refusal := answer{err: refused(40000, "cannot recognize input near 'SHOW' 'LOCKS' 'DATABASE'")}
	const ofDatabase, ofTable = "SHOW LOCKS DATABASE `d`", "SHOW LOCKS `d`.`t`"
	for name, c := range map[string]struct {
		database, table answer
		want            int
		asked           []string
	}{
		"transactions":                 {answer{rows: lock}, answer{}, 1, []string{ofDatabase}},
		"another table's":              {answer{rows: other}, answer{}, 0, []string{ofDatabase, ofTable}},
		"no transactions":              {answer{}, answer{rows: old}, 1, []string{ofDatabase, ofTable}},
		"no locks of databases, once":  {refusal, answer{rows: old}, 1, []string{ofDatabase, ofTable}},
		"neither is told of any locks": {refusal, refusal, 0, []string{ofDatabase, ofTable}},
	} {
		hive := newFakeHive(t).on(ofDatabase, c.database).on(ofTable, c.table)
		got, err := showLocks(t.Context(), hive, hiveql.TableName{Database: "d", Table: "t"})
		if err != nil || len(got) != c.want || !slices.Equal(hive.statements(), c.asked) {
			t.Errorf("%s: %v, %v, asked %q", name, got, err, hive.statements())
		}
	}
	lost := newFakeHive(t).on(ofDatabase, answer{err: errors.New("connection lost")})
	if _, err := showLocks(t.Context(), lost, hiveql.TableName{Database: "d", Table: "t"}); err == nil {
		t.Error("a lost connection is taken for no locks")
	}
}

func TestWriterIsWaitedForThenPutBack(t *testing.T) {
	locked := answer{rows: grid([]string{"db@t", "EXCLUSIVE"})}
	clock := t0
	now := func() time.Time { clock = clock.Add(time.Millisecond); return clock }
	cfg := RunnerConfig{Now: now, LockWait: 5 * time.Millisecond, LockPoll: time.Microsecond, PutBackPause: time.Minute}
	hive := hiveWith(t, "faked", "columns").on(showLocksDatabase, answer{}).on(showLocksPlain, locked)
	got := runOne(t, hive, nil, cfg, request1(func(r *Refresh) { r.PutBacks = 2 }))
	if got.State != RefreshRequested || got.Effect != "" || !strings.Contains(got.Error, "put back: a writer's lock") || len(got.Statements) != 0 {
		t.Errorf("got %+v", got)
	}
	if pause := got.NotBefore.Sub(t0); pause < 4*time.Minute || pause > 5*time.Minute {
		t.Errorf("after two put-backs it waits %s, want about 4m", pause)
	}
	// A writer that goes away in time, and a server without locks, hold nothing up.
	for name, first := range map[string][]answer{
		"gone": {locked, {}}, "no lock manager": {{err: refused(10000, "SHOW LOCKS is not supported")}},
	} {
		hive := hiveWith(t, "faked", "columns").on(showLocksDatabase, answer{}).on(showLocksPlain, first...)
		if got := runOne(t, hive, nil, cfg, request1()); got.State != RefreshDone || len(got.Statements) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestCanceledByAPerson(t *testing.T) {
	hive := hiveWith(t, "faked", "columns")
	started := make(chan struct{})
	hive.answers[analyzePlain] = []answer{{do: until(started)}}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-started
		cancel(&Canceled{By: "ann", Reason: "month end"})
	}()
	got := NewRunner(RunnerConfig{}, hive, nil, quiet()).Run(ctx, request1())
	hive.wantClosed()
	if got.State != RefreshCanceled || got.Effect != "" || got.Error != "canceled by ann: month end (canceled in Hive)" {
		t.Errorf("got %+v", got)
	}
	if ok, why := DefaultPolicy().Allows([]Refresh{got, got, got}, t0); !ok {
		t.Errorf("a cancellation counts as a failure: %s", why)
	}
}

func TestWindowsBudgetCancels(t *testing.T) {
	hive := hiveWith(t, "faked", "columns")
	hive.answers[analyzePlain] = []answer{{do: until(make(chan struct{}))}}
	got := runOne(t, hive, nil, RunnerConfig{}, request1(func(r *Refresh) { r.Budget, r.BudgetLeft = time.Hour, time.Millisecond }))
	if got.State != RefreshFailed || got.Error != errBudgetOver.Error() || got.Analyzed <= 0 {
		t.Errorf("got %+v", got)
	}
}

func TestPolicyBindsTheRunner(t *testing.T) {
	policy := TablePolicy{Pattern: "*", Never: true, Reason: "raw"}
	cfg := RunnerConfig{Policy: func(context.Context, string, string) (TablePolicy, error) { return policy, nil }}
	hive := hiveWith(t, "faked", "columns")
	if got := runOne(t, hive, nil, cfg, request1()); got.State != RefreshFailed || !strings.Contains(got.Error, "never refreshed") || len(hive.statements()) != 0 {
		t.Errorf("got %+v", got)
	}
	policy = TablePolicy{Pattern: "*", Columns: []string{"name"}}
	hive = hiveWith(t, "faked", "columns").on(analyzePlain+" FOR COLUMNS `name`", answer{})
	if got := runOne(t, hive, nil, cfg, request1(columnsMode())); got.State != RefreshDone || !slices.Equal(got.Columns, []string{"name"}) {
		t.Errorf("got %+v", got)
	}
}

func TestUnreachableServerIsTriedAgain(t *testing.T) {
	hive := hiveWith(t, "faked", "columns")
	hive.openErr = errors.New("connection refused")
	cfg := RunnerConfig{Retries: 2}
	for back, want := range map[int]RefreshState{0: RefreshRequested, 1: RefreshRequested, 2: RefreshFailed} {
		got := runOne(t, hive, nil, cfg, request1(func(r *Refresh) { r.PutBacks = back }))
		if got.State != want || !strings.Contains(got.Error, "connection refused") || got.NotBefore.IsZero() != (want == RefreshFailed) {
			t.Errorf("after %d: %+v", back, got)
		}
	}
	hive.openErr = refused(0, "no such user")
	if got := runOne(t, hive, nil, cfg, request1()); got.State != RefreshFailed {
		t.Errorf("a refusal is put back: %+v", got)
	}
}

func TestViewsAskForTheirBaseTables(t *testing.T) {
	const dependency = `{"input_tables":[{"tablename":"h_statscheck_golden@plain","tabletype":"VIRTUAL_VIEW"},
		{"tablename":"sales@Orders","tabletype":"MANAGED_TABLE","tableParents":"[h_statscheck_golden@plain]"},
		{"tablename":"sales@items","tabletype":"EXTERNAL_TABLE"},{"tablename":"sales@items","tabletype":"EXTERNAL_TABLE"}],"input_partitions":[]}`
	view := golden(t, "basic")
	for _, row := range view {
		if row[0] != nil && strings.HasPrefix(*row[0], "Table Type:") {
			row[1] = new("VIRTUAL_VIEW")
		}
	}
	hive := newFakeHive(t).on(describePlain, answer{rows: view}).
		on("EXPLAIN DEPENDENCY SELECT * FROM `h_statscheck_golden`.`plain`", answer{rows: grid([]string{dependency})})
	var asked []string
	cfg := RunnerConfig{Request: func(_ context.Context, r Refresh) (int64, bool, error) {
		asked = append(asked, fmt.Sprintf("%s by %s: %s", r.Table, r.RequestedBy, r.Reason))
		return int64(len(asked)), true, nil
	}}
	got := runOne(t, hive, nil, cfg, request1())
	if got.State != RefreshCanceled || got.Error != "a view holds no data; requested instead: refresh 1 of sales.items, refresh 2 of sales.orders" {
		t.Errorf("got %s %q", got.State, got.Error)
	}
	if len(asked) != 2 || asked[0] != "sales.items by ann: base table of the view h_statscheck_golden.plain: R2" {
		t.Errorf("asked %q", asked)
	}
}

func TestPartitionPatterns(t *testing.T) {
	const list = "SHOW PARTITIONS `h_statscheck_golden`.`plain`"
	hive := newFakeHive(t).on(list, answer{rows: grid([]string{"ds=2025-12-31/h=1"}, []string{"ds=2026-01-01/h=1"}, []string{"ds=2026-01-01/h=2"}, []string{"ds=2026-01-02/h=1"})})
	table := hiveql.TableName{Database: "h_statscheck_golden", Table: "plain"}
	for pattern, want := range map[string]string{
		"ds=2026-*":     "ds=2026-01-02/h=1 ds=2026-01-01/h=2 ds=2026-01-01/h=1",
		"ds=2026-*/h=1": "ds=2026-01-02/h=1 ds=2026-01-01/h=1",
		"ds=????-12-*":  "ds=2025-12-31/h=1",
		"ds=2024*":      "",
	} {
		got, err := expandPartitions(t.Context(), hive, table, []string{pattern})
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%s: %v, %v", pattern, got, err)
		}
	}
	var many [][]string
	for i := range MaxNamedPartitions + 1 {
		many = append(many, []string{fmt.Sprintf("ds=%04d", i)})
	}
	hive = newFakeHive(t).on("SHOW PARTITIONS `h_statscheck_golden`.`plain`", answer{rows: rowsOf(many...)})
	if _, err := expandPartitions(t.Context(), hive, table, []string{"ds=*"}); err == nil || !strings.HasPrefix(err.Error(), "1001 partitions match ds=*, and one refresh takes 1000 at most") {
		t.Errorf("more than are allowed: %v", err)
	}
	if got, err := expandPartitions(t.Context(), hive, table, []string{"ds=0*", "ds=0001"}); err != nil || len(got) != MaxNamedPartitions || got[0] != "ds=0999" {
		t.Errorf("as many as are allowed: %d, %v", len(got), err)
	}
	if got, err := expandPartitions(t.Context(), newFakeHive(t), table, []string{"ds=1"}); err != nil || !slices.Equal(got, []string{"ds=1"}) {
		t.Errorf("names are asked for: %v, %v", got, err)
	}
}
