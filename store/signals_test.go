package store_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

func written(rows *int64, from, to time.Time, partitions ...string) store.TableWrite {
	return store.TableWrite{
		Upstream: "hive-a", Table: "shop.items", StatementID: uuid.Must(uuid.NewV7()).String(), Op: hiveql.WriteInsertInto, Rows: rows,
		Partitions: partitions, StartedAt: from, At: to,
	}
}

func TestSignalsOfWrites(t *testing.T) {
	f := newFixture(t, store.Options{})
	if got, err := f.Signals(t.Context(), "hive-a", "shop.items"); err != nil || !reflect.DeepEqual(got, store.Signals{}) {
		t.Errorf("a table never seen: %+v, %v", got, err)
	}
	at := func(minute int) time.Time { return t0.Add(time.Duration(minute) * time.Minute) }
	twice := written(ptr(int64(7)), at(3), at(4), "ds=b")
	again := twice
	again.Partitions = []string{"ds=a"}
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{written(ptr(int64(10)), at(1), at(2), "ds=a"), twice, again}))
	got, err := f.Signals(t.Context(), "hive-a", "shop.items")
	f.ok(err)
	want := []statscheck.Write{
		{Specs: []string{"ds=a", "ds=b"}, Rows: ptr(int64(14)), At: at(4)}, {Specs: []string{"ds=a"}, Rows: ptr(int64(10)), At: at(2)},
	}
	if !reflect.DeepEqual(got.Writes, want) {
		t.Errorf("\n got %+v\nwant %+v", got.Writes, want)
	}
	w, err := f.Writes(t.Context(), "hive-a", "shop.items")
	if err != nil || w.Partitions != 2 || w.Rows != 24 {
		t.Errorf("got %+v, %v: two partitions were touched", w, err)
	}
	// One write whose partitions are not named, and how many were touched is unknown.
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{written(ptr(int64(1)), at(5), at(6))}))
	if w, err := f.Writes(t.Context(), "hive-a", "shop.items"); err != nil || w.Partitions != 0 || w.Rows != 25 {
		t.Errorf("got %+v, %v", w, err)
	}
	f.want(`{""}`, `SELECT partitions FROM hs2proxy.table_writes ORDER BY written_at DESC LIMIT 1`)
}

func TestRedactedPartitions(t *testing.T) {
	r := &store.Redactor{}
	f := newFixture(t, store.Options{Redact: r})
	f.ok(r.Set([]store.Redaction{{Pattern: `ana@\S+`, With: "…"}}))
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{written(nil, t0, t0, "who=ana@example.org", "who=x")}))
	f.want(`{"",who=x}`, `SELECT partitions FROM hs2proxy.table_writes`)
}

func TestForeignWrites(t *testing.T) {
	f := newFixture(t, store.Options{})
	at := func(minute int) time.Time { return t0.Add(time.Duration(minute) * time.Minute) }
	change := func(partition string, from, to int, bytes int64) statscheck.ForeignWrite {
		return statscheck.ForeignWrite{
			Partition: partition, Before: statscheck.Reading{Rows: ptr(int64(10)), Bytes: ptr(int64(100)), Files: ptr(int64(1)), At: at(from)},
			After: statscheck.Reading{Rows: ptr(int64(10)), Bytes: &bytes, Files: ptr(int64(2)), At: at(to)},
		}
	}
	add := func(list ...statscheck.ForeignWrite) {
		t.Helper()
		f.ok(f.AddForeignWrites(t.Context(), "hive-a", "shop.items", list))
	}
	foreign := func() bool {
		t.Helper()
		w, err := f.Writes(t.Context(), "hive-a", "shop.items")
		f.ok(err)
		return w.Foreign
	}
	add()
	f.ok(f.Rebase(t.Context(), "hive-a", "shop.items", statscheck.Baseline{Rows: ptr(int64(10)), Bytes: ptr(int64(100)), At: at(0)}))
	first := change("", 1, 5, 300)
	add(first)
	add(first, change("ds=a", 1, 5, 300)) // another proxy found the same
	if !foreign() {
		t.Error("the table's files changed by somebody else")
	}
	got := f.report("foreign_writers")
	if len(got) != 2 || got[0]["table_name"] != "shop.items" || got[0]["bytes_after"] != int64(300) || got[0]["followed"] != false || got[0]["changes_of_table"] != int64(2) {
		t.Errorf("report %v", got)
	}

	// A write on record explains a change, and one that comes to light later takes it back.
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{written(nil, at(10), at(12))}))
	add(change("", 9, 11, 400), change("", 6, 9, 350))
	f.want("3", `SELECT count(*) FROM hs2proxy.foreign_writes`)
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{written(nil, at(4), at(7))}))
	f.want("0", `SELECT count(*) FROM hs2proxy.foreign_writes`)
	if foreign() {
		t.Error("all is explained")
	}

	// What is listed in the file system stays as long as it is the same, whatever writes were seen.
	listed := change("", 20, 21, 900)
	listed.Listed = true
	add(listed)
	later := listed
	later.After.At, later.Before.At = at(30), at(29)
	add(later)
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{written(nil, at(19), at(31))}))
	f.want("1", `SELECT count(*) FROM hs2proxy.foreign_writes WHERE listed`)

	// A baseline after it ends it; so does a writer who told the rows.
	add(change("", 40, 41, 500))
	if !foreign() {
		t.Error("changed again")
	}
	f.ok(f.Rebase(t.Context(), "hive-a", "shop.items", statscheck.Baseline{Rows: ptr(int64(10)), At: at(42)}))
	told := change("", 43, 44, 500)
	told.Followed = true
	add(told)
	if foreign() {
		t.Error("nothing is open after a baseline and a change that numRows followed")
	}
}

func TestClientsAnalyze(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	run := func(at time.Time, a store.TableAnalyze) {
		t.Helper()
		st := ended(statement(s, "ANALYZE …", "f9", at), intercept.StateFinished, time.Second)
		for range 2 { // as a spool does
			f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st, Analyzed: &a}))
		}
	}
	run(t0, store.TableAnalyze{Table: "shop.items", CountsRows: true, ForColumns: true, Columns: []string{"id"}})
	run(t0.Add(time.Minute), store.TableAnalyze{Table: "shop.items", CountsRows: true, Partition: "ds=a"})
	run(t0.Add(2*time.Minute), store.TableAnalyze{Table: "shop.items"}) // NOSCAN
	got, err := f.Signals(t.Context(), "hive-a", "shop.items")
	f.ok(err)
	want := []store.Analyzed{
		{At: t0.Add(2*time.Minute + time.Second)}, {Spec: "ds=a", CountsRows: true, At: t0.Add(time.Minute + time.Second)}, {CountsRows: true, At: t0.Add(time.Second)},
	}
	if !reflect.DeepEqual(got.Analyzes, want) || !got.AnalyzedAt.Equal(t0.Add(time.Second)) {
		t.Errorf("got %+v, %s", got.Analyzes, got.AnalyzedAt)
	}
	f.want("true {id} 00:00:01", `SELECT concat_ws(' ', for_columns::text, columns, ended_at - started_at) FROM hs2proxy.analyzes ORDER BY ended_at LIMIT 1`)
}

func TestContradictions(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	st := ended(statement(s, "INSERT …", "f9", t0), intercept.StateFinished, time.Second)
	rows := statscheck.Contradiction{Kind: statscheck.ContradictedRows, Estimated: ptr(int64(5)), Actual: ptr(int64(900)), AtLeast: true}
	memory := statscheck.Contradiction{Kind: statscheck.ContradictedMemory, Certain: true, Words: "map join memory exhausted", At: t0.Add(-8 * 24 * time.Hour)}
	o := store.Observation{Session: s, Statement: st, Contradictions: []store.TableContradiction{{"shop.items", rows}, {"shop.items", memory}}}
	f.ok(f.RecordStatement(t.Context(), o))
	f.ok(f.RecordStatement(t.Context(), o))
	got, err := f.Signals(t.Context(), "hive-a", "shop.items")
	rows.At = t0.Add(time.Second)
	if err != nil || !reflect.DeepEqual(got.Contradictions, []statscheck.Contradiction{rows}) {
		t.Errorf("got %+v, %v: only those of a week", got.Contradictions, err)
	}
	f.want("2", `SELECT count(*) FROM hs2proxy.contradictions`)
}

func TestPlanReads(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	names := make([]string, 70)
	for i := range names {
		names[i] = "ds=" + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	record := func(fingerprint string, at time.Time, read statscheck.PlanRead) {
		t.Helper()
		a := analysis("hive-a", fingerprint, at, verdict(advisor.MapJoin, 1000))
		a.Reads = map[string]statscheck.PlanRead{"shop.items": read}
		a.Usage = map[string]statscheck.Usage{"shop.items": {PlanRows: ptr(at.Unix())}}
		f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: statement(s, "SELECT", fingerprint, at), Analysis: a}))
	}
	record("f1", t0, statscheck.PlanRead{Partitions: names[:1]})
	record("f2", t0.Add(time.Second), statscheck.PlanRead{Partitions: names, Total: 500, Build: true})
	record("f1", t0.Add(2*time.Second), statscheck.PlanRead{Partitions: names[1:3]}) // the same plan, other partitions
	got, err := f.Signals(t.Context(), "hive-a", "shop.items")
	want := []statscheck.PlanRead{{Fingerprint: "f1", Partitions: names[1:3], Total: 2}, {Fingerprint: "f2", Partitions: names[:64], Total: 500, Build: true}}
	if err != nil || !reflect.DeepEqual(got.Reads, want) {
		t.Errorf("got %+v, %v", got.Reads, err)
	}
	u, err := f.UsageOf(t.Context(), "hive-a", "shop.items")
	if err != nil || u.PlanRows == nil || *u.PlanRows != t0.Add(2*time.Second).Unix() || u.Joins != 3 {
		t.Errorf("usage %+v, %v", u, err)
	}
}

func TestPartitionBaselines(t *testing.T) {
	f := newFixture(t, store.Options{})
	base := statscheck.Baseline{Rows: ptr(int64(5)), Bytes: ptr(int64(50)), Columns: []string{"id"}, At: t0}
	f.ok(f.RebasePartition(t.Context(), "hive-a", "shop.items", "ds=a", base))
	f.ok(f.RebasePartition(t.Context(), "hive-a", "shop.items", "ds=b", statscheck.Baseline{At: t0}))
	base.Rows, base.At = ptr(int64(6)), t0.Add(time.Minute)
	f.ok(f.RebasePartition(t.Context(), "hive-a", "shop.items", "ds=a", base))
	f.ok(f.AddForeignWrites(t.Context(), "hive-a", "shop.items", []statscheck.ForeignWrite{{
		Partition: "ds=b", Before: statscheck.Reading{At: t0}, After: statscheck.Reading{At: t0.Add(time.Second)},
	}}))
	got, err := f.PartitionStates(t.Context(), "hive-a", "shop.items", []string{"ds=a", "ds=b", "ds=c"})
	want := map[string]store.PartitionState{
		"ds=a": {Baseline: &base, ReadAt: base.At}, "ds=b": {Baseline: &statscheck.Baseline{At: t0}, ReadAt: t0, Foreign: true},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v, %v", got, want, err)
	}
	part := advisor.TableStats{Table: "shop.items", Partition: "ds=a", Rows: ptr(int64(6)), TotalSize: ptr(int64(60)), Files: ptr(int64(2)), ReadAt: t0}
	f.ok(f.SaveTableStats(t.Context(), "hive-a", []advisor.TableStats{itemsStats(1000, t0), part}))
	readings, err := f.Readings(t.Context(), "hive-a", "shop.items", []string{"", "ds=a", "ds=b"})
	if err != nil || !reflect.DeepEqual(readings, map[string]statscheck.Reading{"": statscheck.ReadingOf(itemsStats(1000, t0)), "ds=a": statscheck.ReadingOf(part)}) {
		t.Errorf("readings %+v, %v", readings, err)
	}
}

func TestSaveCheckedClearsWhatItLookedAt(t *testing.T) {
	f := newFixture(t, store.Options{})
	hold := func(partition string, rule statscheck.Rule) statscheck.Staleness {
		return statscheck.Staleness{Partition: partition, Rule: rule, Level: statscheck.LevelHigh, Reason: "because"}
	}
	save := func(c store.Checked) {
		t.Helper()
		f.ok(f.SaveChecked(t.Context(), "hive-a", "shop.items", c))
	}
	open := func() string {
		return f.one(`SELECT string_agg(partition_name || ' ' || rule, ',' ORDER BY partition_name, rule) FROM hs2proxy.staleness WHERE cleared_at IS NULL`)
	}
	save(store.Checked{
		Holds:      []statscheck.Staleness{hold("", statscheck.R3Columns), hold("ds=a", statscheck.R2NoBasic), hold("ds=b", statscheck.R5Drift), hold("ds=b", statscheck.R7Partitions)},
		Partitions: []string{"ds=b", "ds=a"}, Known: statscheck.Known{Rows: ptr(int64(7)), RowsFrom: statscheck.FromWire, Bytes: ptr(int64(70)), BytesFrom: statscheck.FromFiles},
		Needed: []string{"id", "price"}, Covered: []string{"id"},
	})
	if got := open(); got != " R3,ds=a R2,ds=b R5,ds=b R7" {
		t.Fatalf("open: %s", got)
	}
	s, err := f.Signals(t.Context(), "hive-a", "shop.items")
	if err != nil || len(s.Stale) != 3 || !slices.ContainsFunc(s.Stale, func(h statscheck.Staleness) bool { return h.Partition == "ds=b" && h.Rule == statscheck.R5Drift }) {
		t.Errorf("stale partitions %+v, %v", s.Stale, err)
	}
	if got := f.report("stats_health"); len(got) != 1 || got[0]["rows"] != int64(7) || got[0]["rows_from"] != "WIRE" || got[0]["bytes_from"] != "FILES" ||
		!reflect.DeepEqual(got[0]["rules"], []string{"R2", "R3", "R5", "R7"}) || got[0]["partitions_stale"] != int64(2) || !reflect.DeepEqual(got[0]["columns_covered"], []string{"id"}) {
		t.Errorf("report %v", got)
	}
	// What was not looked at stays, but for R7, which is judged over all.
	save(store.Checked{Partitions: []string{"ds=a"}})
	if got := open(); got != "ds=b R5" {
		t.Errorf("open: %s", got)
	}
	f.want("2", `SELECT count(*) FROM hs2proxy.partitions`)
	save(store.Checked{Gone: []string{"ds=b"}})
	if got := open(); got != "∅" {
		t.Errorf("open: %s", got)
	}
	f.want("ds=a", `SELECT string_agg(name, ',') FROM hs2proxy.partitions`)
	save(store.Checked{})
	f.want("0", `SELECT count(*) FROM hs2proxy.tables WHERE known_rows IS NOT NULL OR cardinality(columns_needed) > 0`)
}

// TestCheckFailures: a failed check is on record until one succeeds, and takes nothing away that was found; a check of partitions alone
// leaves it there.
func TestCheckFailures(t *testing.T) {
	f := newFixture(t, store.Options{})
	fails := func() {
		t.Helper()
		f.ok(f.SaveCheckFailure(t.Context(), "hive-a", "shop.items", store.CheckFailure{Error: "took too long", At: t0, Again: t0.Add(time.Minute)}))
	}
	health := func() string {
		return f.one(`SELECT concat_ws(' ', health, rules, check_failures, check_error, check_again_at - $1, checked_at IS NULL) FROM hs2proxy.report_stats_health`, t0)
	}
	fails()
	if got := health(); got != "1 took too long 00:01:00 t" {
		t.Errorf("never checked: %s", got)
	}
	r2 := statscheck.Staleness{Rule: statscheck.R2NoBasic, Level: statscheck.LevelCritical, Reason: "none"}
	part := statscheck.Staleness{Partition: "ds=a", Rule: statscheck.R4Rows, Level: statscheck.LevelHigh, Reason: "rows"}
	f.ok(f.SaveChecked(t.Context(), "hive-a", "shop.items", store.Checked{Holds: []statscheck.Staleness{r2, part}, Partitions: []string{"ds=a"}, Health: ptr(0.0)}))
	if got := health(); got != "0 {R2,R4} 0  f" {
		t.Errorf("checked: %s", got)
	}
	fails()
	fails()
	f.ok(f.SaveChecked(t.Context(), "hive-a", "shop.items", store.Checked{Unread: true, Partitions: []string{"ds=a"}}))
	if got := health(); got != "0 {R2} 2 took too long 00:01:00 f" {
		t.Errorf("only the partition was checked: %s", got)
	}
}

// TestSuspicions: a write whose rows nobody knows raises R6 at once, and leaves the other rules of the table alone; the reading that
// follows ends it, with when and by what, and one that came before does not.
func TestSuspicions(t *testing.T) {
	f := newFixture(t, store.Options{})
	write := func(op hiveql.WriteOp, rows *int64, suspect bool, at time.Time, partitions ...string) store.TableWrite {
		return store.TableWrite{
			Upstream: "hive-a", Table: "shop.items", StatementID: uuid.Must(uuid.NewV7()).String(), Op: op, Rows: rows, Suspect: suspect, At: at, Partitions: partitions,
		}
	}
	hold := func() string {
		return f.one(`SELECT string_agg(rule || ' ' || level || ': ' || reason, '; ' ORDER BY rule) FROM hs2proxy.report_stale_tables`)
	}
	r3 := statscheck.Staleness{Rule: statscheck.R3Columns, Level: statscheck.LevelHigh, Reason: "because", Columns: []string{"id"}}
	check := func(readAt time.Time, holds ...statscheck.Staleness) {
		t.Helper()
		f.ok(f.SaveChecked(t.Context(), "hive-a", "shop.items", store.Checked{Holds: holds, Health: ptr(1.0), ReadAt: readAt, By: "a reading"}))
	}
	check(t0, r3)
	truncate := write(hiveql.WriteTruncate, nil, true, t0.Add(2*time.Minute), "ds=a")
	for range 2 {
		f.ok(f.AddWrites(t.Context(), []store.TableWrite{
			write(hiveql.WriteLoad, nil, true, t0.Add(time.Minute)), truncate, write(hiveql.WriteInsertInto, ptr(int64(9)), true, t0.Add(3*time.Minute)),
		}))
	}
	const want = "R3 HIGH: because; R6 SUSPECT: TRUNCATE of ds=a seen, whose rows could not be counted, and the table was not read since"
	if got := hold(); got != want {
		t.Errorf("after the writes: %s", got)
	}
	f.want("TRUNCATE 00:01:00 00:02:00 t", `SELECT concat_ws(' ', evidence ->> 'op', since - $1, seen_at - $1, t.health IS NULL)
		FROM hs2proxy.staleness s JOIN hs2proxy.tables t ON t.id = s.table_id WHERE rule = 'R6'`, t0)

	check(t0.Add(90*time.Second), r3) // read before the TRUNCATE
	if got := hold(); got != want {
		t.Errorf("a reading before the write: %s", got)
	}
	f.now = t0.Add(time.Hour)
	check(t0.Add(4*time.Minute), r3)
	if got := hold(); got != "R3 HIGH: because" {
		t.Errorf("read again: %s", got)
	}
	f.want("01:00:00 a reading", `SELECT concat_ws(' ', cleared_at - $1, cleared_by) FROM hs2proxy.report_stale_history WHERE rule = 'R6'`, t0)

	f.ok(f.AddWrites(t.Context(), []store.TableWrite{truncate})) // a spool sends it again
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{
		write(hiveql.WriteMSCK, nil, false, t0.Add(2*time.Hour)),
	}))
	if got := hold(); got != "R3 HIGH: because" {
		t.Errorf("after a replay and the write of a table that is not judged: %s", got)
	}
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{write(hiveql.WriteDrop, nil, true, t0.Add(2*time.Hour))}))
	if got := hold(); got != "∅" {
		t.Errorf("after a DROP: %s", got)
	}
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{write(hiveql.WriteMSCK, nil, true, t0.Add(3*time.Hour))}))
	f.want("R6 03:00:00", `SELECT concat_ws(' ', rule, since - $1) FROM hs2proxy.report_stale_history WHERE cleared_at IS NULL AND cleared_by = '' AND rule = 'R6'`, t0)
	f.ok(f.Rebase(t.Context(), "hive-a", "shop.items", statscheck.Baseline{At: t0.Add(5 * time.Hour)}))
	f.ok(f.EndStaleness(t.Context(), "hive-a", "shop.items", "the table is gone"))
	f.ok(f.AddWrites(t.Context(), []store.TableWrite{write(hiveql.WriteLoad, nil, true, t0.Add(4*time.Hour))})) // the baseline knows of it
	f.want("the table was dropped, or renamed,the table is gone", `SELECT string_agg(cleared_by, ',' ORDER BY rule) FROM hs2proxy.staleness WHERE cleared_at IS NOT NULL`)
}
