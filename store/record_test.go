package store_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// snapshot is every row of the tables that RecordStatement writes, to see that nothing moved.
func (f *fixture) snapshot() string {
	f.t.Helper()
	var b strings.Builder
	for _, table := range []string{
		"upstreams", "sessions", "queries", "statements", "plans", "plan_uses", "plan_tables", "joins", "findings", "tables", "table_writes",
	} {
		b.WriteString(table + ": " + f.one(`SELECT jsonb_agg(to_jsonb(x) ORDER BY to_jsonb(x)::text) FROM hs2proxy.`+table+` x`) + "\n")
	}
	return b.String()
}

func TestStatementIsRecordedAsItGrows(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	st := statement(s, "SELECT * FROM sales WHERE note = 'hunter2'", "f1", t0)
	st.OperationID = ""
	o := store.Observation{Session: s, Statement: st}
	f.ok(f.RecordStatement(t.Context(), o))
	f.want("RUNNING ∅ ∅ 1", `SELECT concat_ws(' ', s.state, coalesce(s.operation_id::text, '∅'), coalesce(s.sql_text, '∅'), q.runs) FROM hs2proxy.statements s JOIN hs2proxy.queries q USING (fingerprint)`)

	o.Statement.OperationID = "0a0b0c0d-0000-4000-8000-000000000001"
	f.ok(f.RecordStatement(t.Context(), o))
	o.Analysis = analysis("hive-a", "f1", t0.Add(time.Second), verdict(advisor.MapJoin, 1000))
	o.Analysis.Findings = []advisor.Finding{{Kind: "K1", Severity: advisor.High, Subject: "join 0", Summary: "s", Evidence: map[string]any{"rows": 7}, Advice: "SET x"}}
	f.ok(f.RecordStatement(t.Context(), o))
	o.Statement = ended(o.Statement, intercept.StateFinished, 3*time.Second)
	o.Statement.ModifiedRows = ptr(int64(12))
	o.Writes = []store.TableWrite{{Table: "shop.out", Op: hiveql.WriteInsertInto, Rows: ptr(int64(12))}}
	f.ok(f.RecordStatement(t.Context(), o))
	f.want("FINISHED 00:00:03 0a0b0c0d-0000-4000-8000-000000000001 12 1",
		`SELECT concat_ws(' ', s.state, s.ended_at - s.started_at, s.operation_id, s.modified_rows, q.runs) FROM hs2proxy.statements s JOIN hs2proxy.queries q USING (fingerprint)`)
	f.want("12 1 0", `SELECT concat_ws(' ', writes_rows, writes_counted, writes_uncounted) FROM hs2proxy.tables WHERE name = 'shop.out'`)
	f.want("1", `SELECT uses FROM hs2proxy.plan_uses`)
	f.want("1", `SELECT times FROM hs2proxy.findings`)

	// The whole again, in any order, by another proxy too: nothing moves.
	before := f.snapshot()
	running := o
	running.Statement.State, running.Statement.EndedAt, running.Analysis, running.Writes = intercept.StateRunning, time.Time{}, nil, nil
	other := f.open(store.Options{})
	for _, again := range []store.Observation{o, running, o, {Session: s, Statement: st}} {
		f.ok(f.RecordStatement(t.Context(), again))
		f.ok(other.RecordStatement(t.Context(), again))
	}
	if after := f.snapshot(); after != before {
		t.Errorf("a replay changed rows:\n%s\n%s", before, after)
	}
}

func TestReplayInOneGoEqualsLiveRecording(t *testing.T) {
	s := session("hive-a")
	st := statement(s, "INSERT INTO out SELECT 1", "f1", t0)
	full := store.Observation{
		Session: s, Statement: ended(st, intercept.StateFinished, time.Second), Analysis: analysis("hive-a", "f1", t0, verdict(advisor.MapJoin, 1000)),
		Writes: []store.TableWrite{{Table: "shop.out", Rows: ptr(int64(1))}},
	}
	live, replay := newFixture(t, store.Options{}), newFixture(t, store.Options{})
	live.ok(live.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st}))
	live.ok(live.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st, Analysis: full.Analysis}))
	live.ok(live.RecordStatement(t.Context(), full))
	replay.ok(replay.RecordStatement(t.Context(), full))
	if a, b := live.content(), replay.content(); a != b { // the keys of the tables differ
		t.Errorf("live:\n%s\nreplayed:\n%s", a, b)
	}
}

// What a spool keeps as JSON is recorded like the observation itself, and holds no secret.
func TestObservationSurvivesASpool(t *testing.T) {
	direct, spooled := newFixture(t, store.Options{}), newFixture(t, store.Options{})
	s := session("hive-a")
	st := ended(statement(s, "SELECT 1", "f1", t0.Add(123456*time.Microsecond)), intercept.StateFinished, time.Second)
	a := analysis("hive-a", "f1", t0, verdict(advisor.MapJoin, 1000))
	a.Findings = []advisor.Finding{{Kind: "K1", Severity: advisor.Low, Subject: "join 0", Evidence: map[string]any{"n": 1}}}
	o := store.Observation{Session: s, Statement: st, Analysis: a, Writes: []store.TableWrite{{Table: "shop.out", Rows: ptr(int64(1))}}}
	b, err := json.Marshal(o.ForSpool())
	direct.ok(err)
	var back store.Observation
	direct.ok(json.Unmarshal(b, &back))
	if back.Session.Handle.Secret != [16]byte{} || o.Session.Handle.Secret == [16]byte{} {
		t.Error("the secret is in the spool, or gone from the original")
	}
	direct.ok(direct.RecordStatement(t.Context(), o))
	spooled.ok(spooled.RecordStatement(t.Context(), back))
	if a, b := direct.snapshot(), spooled.snapshot(); a != b {
		t.Errorf("direct:\n%s\nspooled:\n%s", a, b)
	}
}

func TestOutcomes(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	st := statement(s, "SELECT 'hunter2' FROM nowhere", "f1", t0)
	st.Info.Normalized = "SELECT ? FROM nowhere"
	f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st}))

	// The session ends first: LOST, until somebody knows better.
	closed := s
	closed.ClosedAt = t0.Add(time.Minute)
	f.ok(f.CloseSession(t.Context(), closed))
	f.want("LOST 00:01:00", `SELECT concat_ws(' ', state, ended_at - started_at) FROM hs2proxy.statements`)
	f.want("00:01:00", `SELECT closed_at - opened_at FROM hs2proxy.sessions`)

	failed := ended(st, intercept.StateError, 2*time.Second)
	failed.ErrorCode, failed.SQLState = 10001, "42S02"
	failed.ErrorMessage = "Error while compiling: line 1:7 near 'hunter2' in SELECT 'hunter2' FROM nowhere: table \"nowhere\" not found"
	f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: failed}))
	f.want("ERROR 00:00:02 10001 42S02", `SELECT concat_ws(' ', state, ended_at - started_at, error_code, sql_state) FROM hs2proxy.statements`)
	f.want(`Error while compiling: line 1:7 near ? in SELECT ? FROM nowhere: table "nowhere" not found`, `SELECT error_message FROM hs2proxy.statements`)

	// A final state stays.
	for _, state := range []intercept.State{intercept.StateClosed, intercept.StateLost, intercept.StateRunning} {
		f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: ended(st, state, time.Hour)}))
		f.want("ERROR 00:00:02", `SELECT concat_ws(' ', state, ended_at - started_at) FROM hs2proxy.statements`)
	}
}

func TestSessions(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	f.ok(f.UpsertSession(t.Context(), s))
	s.Database = "other"
	s.Settings["hive.mapjoin.hybridgrace.hashtable"] = "false"
	f.ok(f.UpsertSession(t.Context(), s))
	f.want("other false 10 ana", `SELECT concat_ws(' ', database_name, settings ->> 'hive.mapjoin.hybridgrace.hashtable', client_protocol, user_name) FROM hs2proxy.sessions`)
	f.ok(f.CloseSession(t.Context(), s))
	s.Database = "too late"
	f.ok(f.UpsertSession(t.Context(), s))
	f.want("other "+t0.Format("2006-01-02 15:04"), `SELECT database_name || ' ' || to_char(closed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') FROM hs2proxy.sessions`)
}

func TestNoSecretReachesTheDatabase(t *testing.T) {
	for _, keep := range []bool{false, true} {
		f := newFixture(t, store.Options{KeepLiterals: keep})
		s := session("hive-a")
		f.ok(f.UpsertSession(t.Context(), s))
		set := statement(s, "SET fs.s3a.secret.key=hunter2", "f1", t0)
		set.Info.Kind, set.Info.Normalized = hiveql.KindSet, "SET fs.s3a.secret.key=?"
		jdbc := statement(s, `CREATE EXTERNAL TABLE x (a int) TBLPROPERTIES ("hive.sql.dbcp.password" = "hunter2")`, "f2", t0)
		jdbc.Info.Normalized = `CREATE EXTERNAL TABLE x (a int) TBLPROPERTIES (? = ?)`
		plain := statement(s, "SELECT 'hunter3'", "f3", t0)
		for _, st := range []intercept.Statement{set, jdbc, plain} {
			f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st}))
		}
		f.ok(f.SaveSettings(t.Context(), "hive-a", []store.Setting{{Name: "javax.jdo.option.ConnectionPassword", Value: "hunter2", Default: ptr("hunter2")}, {Name: "hive.skewjoin.key", Value: "100000"}}))
		a := analysis("hive-a", "f4", t0)
		a.PlanText = ""
		a.Settings["fs.azure.account.key.x"] = "hunter2"
		f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: statement(s, "SELECT 1", "f4", t0), Analysis: a}))
		f.want("100000", `SELECT value FROM hs2proxy.settings WHERE name = 'hive.skewjoin.key'`)
		f.want("true tez", `SELECT concat_ws(' ', settings ->> 'hive.auto.convert.join', configuration ->> 'set:hiveconf:hive.execution.engine') FROM hs2proxy.sessions`)
		dump := f.dump()
		for _, secret := range []string{"hunter2", "HUNTER2", "SECRETSECRETSECR", "AKIA"} {
			if strings.Contains(dump, secret) {
				t.Errorf("keep %v: %s is in the database: %s", keep, secret, around(dump, secret))
			}
		}
		if strings.Contains(dump, "hunter3") != keep {
			t.Errorf("keep %v: the literal of a statement is there: %v", keep, !keep)
		}
	}
}

// dump is every table's every row as text.
func (f *fixture) dump() string {
	f.t.Helper()
	rows, err := f.db.Query(f.t.Context(), `SELECT relname FROM pg_class WHERE relnamespace = 'hs2proxy'::regnamespace AND relkind = 'r'`)
	f.ok(err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	f.ok(err)
	var b strings.Builder
	for _, table := range tables {
		b.WriteString(f.one(`SELECT jsonb_agg(to_jsonb(x)) FROM hs2proxy.` + table + ` x`))
	}
	return b.String()
}

func around(s, what string) string {
	i := strings.Index(s, what)
	return s[max(0, i-60):min(len(s), i+60)]
}

func TestLiteralsAreKeptOnlyWhenToldTo(t *testing.T) {
	for _, keep := range []bool{false, true} {
		f := newFixture(t, store.Options{KeepLiterals: keep})
		s := session("hive-a")
		st := statement(s, "SELECT 'hunter2'", "f1", t0)
		a := analysis("hive-a", "f1", t0, verdict(advisor.MapJoin, 1000))
		f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st, Analysis: a}))
		if got := strings.Contains(f.dump(), "hunter2"); got != keep {
			t.Errorf("keep %v: literal in the database: %v", keep, got)
		}
		affected, err := f.AffectedFingerprints(t.Context(), "hive-a", "shop.items")
		f.ok(err)
		if len(affected) != 1 || (affected[0].SampleSQL == st.SQL) != keep {
			t.Fatalf("keep %v: affected %+v", keep, affected)
		}
		if keep {
			var packed []byte
			f.ok(f.db.QueryRow(t.Context(), `SELECT plan_text FROM hs2proxy.plans`).Scan(&packed))
			r, err := gzip.NewReader(bytes.NewReader(packed))
			f.ok(err)
			plain, err := io.ReadAll(r)
			if err != nil || string(plain) != a.PlanText {
				t.Errorf("plan text %q, %v", plain, err)
			}
		}
	}
}

// Whatever bytes a client sends, they are recorded.
func TestTextThatPostgresRefuses(t *testing.T) {
	for _, keep := range []bool{false, true} {
		f := newFixture(t, store.Options{KeepLiterals: keep})
		const odd = "a\x00b\xff\xfec \\u0000 \\\x00"
		s := session("hive-" + odd)
		s.User, s.ClientAddr, s.Auth, s.ClientName, s.Database = odd, odd, odd, odd, odd
		s.Settings[odd], s.Configuration[odd] = odd, odd
		st := ended(statement(s, odd, odd, t0), intercept.StateError, time.Second)
		st.Database, st.SQLState, st.ErrorMessage, st.Info.Normalized, st.Info.Kind = odd, odd, odd+strings.Repeat("é", 20000), odd, hiveql.Kind(odd)
		v := verdict(advisor.MapJoin, 1000)
		v.Join.OperatorID, v.Join.Vertex, v.Join.Inputs[0].Tables, v.Join.Inputs[0].Keys[0].Table, v.Join.Inputs[0].Keys[0].Column = odd, odd, []string{odd}, odd, odd
		v.Decision.Reason, v.Decision.Uncertain = odd, []string{odd}
		a := analysis("hive-a", odd, t0, v)
		a.Database, a.HiveVersion, a.PlanText, a.Tables, a.Settings[odd] = odd, odd, odd, []string{odd}, odd
		a.Usage = map[string]statscheck.Usage{odd: {JoinColumns: []string{odd}, OtherColumns: []string{odd}, PlanBasic: odd}}
		a.Findings = []advisor.Finding{{Kind: odd, Severity: advisor.Low, Subject: odd, Summary: odd, Advice: odd, Evidence: map[string]any{odd: odd, "n": []any{odd}}}}
		f.ok(f.RecordStatement(t.Context(), store.Observation{
			Session: s, Statement: st, Analysis: a, Writes: []store.TableWrite{{Table: odd, Op: hiveql.WriteOp(odd)}},
		}))
		f.ok(f.UpsertSession(t.Context(), s))
		f.ok(f.CloseSession(t.Context(), s))
		f.ok(f.SaveSettings(t.Context(), odd, []store.Setting{{Name: odd, Value: odd, Default: ptr(odd)}}))
		f.ok(f.SaveTableStats(t.Context(), odd, []advisor.TableStats{{
			Table: odd, Partition: odd, Kind: odd, ColumnsRead: []string{odd}, Columns: map[string]advisor.ColumnStats{odd: {Low: odd, High: odd}},
		}}))
		f.ok(f.SaveStaleness(t.Context(), odd, odd, []statscheck.Staleness{{
			Partition: odd, Rule: "R1", Level: "HIGH", Reason: odd, Columns: []string{odd}, Evidence: map[string]any{odd: odd},
		}}, nil))
		if _, err := f.StaleTables(t.Context(), odd); err != nil {
			t.Error(err)
		}
		f.want("1", `SELECT count(*) FROM hs2proxy.joins`)
		f.want("true", `SELECT octet_length(error_message) <= 16390 FROM hs2proxy.statements`)
		if a := f.one(`SELECT evidence ->> 'n' FROM hs2proxy.findings`); !strings.Contains(a, `\\u0000`) {
			t.Errorf("the text \\u0000 that was no NUL is gone: %s", a)
		}
	}
}

func TestPlansFollowEachOther(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	record := func(at time.Time, change func(*store.Analysis), joins ...advisor.JoinVerdict) {
		t.Helper()
		a := analysis("hive-a", "f1", at, joins...)
		if change != nil {
			change(a)
		}
		f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: statement(s, "SELECT 1", "f1", at), Analysis: a}))
	}
	hour := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Hour) }
	record(hour(0), nil, verdict(advisor.MapJoin, 1000))
	// The same shape, other sizes: the row goes on, with the new numbers.
	record(hour(1), func(a *store.Analysis) { a.Cause = store.CauseAge }, verdict(advisor.MapJoin, 5000))
	f.want("1 2 FIRST 01:00:00", `SELECT concat_ws(' ', count(*), max(explains), max(cause), max(explained_at - first_explained_at)) FROM hs2proxy.plans`)
	f.want("5000", `SELECT small_bytes FROM hs2proxy.joins`)
	// A memory of it: used, not explained.
	record(hour(1), func(a *store.Analysis) { a.Reused = true }, verdict(advisor.MapJoin, 5000))
	f.want("1 2 3", `SELECT concat_ws(' ', count(DISTINCT p.id), max(p.explains), sum(u.uses)) FROM hs2proxy.plans p JOIN hs2proxy.plan_uses u ON u.plan_id = p.id`)
	// Another strategy, and back: two more rows.
	record(hour(2), func(a *store.Analysis) { a.Cause = store.CauseStatistics }, verdict(advisor.MergeJoin, 50000000))
	record(hour(3), func(a *store.Analysis) { a.Cause = store.CauseStatistics }, verdict(advisor.MapJoin, 900))
	f.want("MAP_JOIN FIRST,MERGE_JOIN STATISTICS,MAP_JOIN STATISTICS",
		`SELECT string_agg(j.planned || ' ' || p.cause, ',' ORDER BY p.first_explained_at) FROM hs2proxy.plans p JOIN hs2proxy.joins j ON j.plan_id = p.id`)
	// Other settings, another database, another version are plans of their own.
	record(hour(4), func(a *store.Analysis) { a.Settings = map[string]string{"hive.auto.convert.join": "false"} }, verdict(advisor.MergeJoin, 900))
	record(hour(5), func(a *store.Analysis) { a.Database = "other" }, verdict(advisor.MapJoin, 900))
	record(hour(6), func(a *store.Analysis) { a.HiveVersion = "4.1.0" }, verdict(advisor.MapJoin, 900))
	f.want("6", `SELECT count(*) FROM hs2proxy.plans`)
	f.want("4.1.0", `SELECT hive_version FROM hs2proxy.upstreams`)
	// What a spool brings late belongs to its own time.
	record(hour(0).Add(30*time.Minute), nil, verdict(advisor.MapJoin, 2000))
	f.want("6", `SELECT count(*) FROM hs2proxy.plans`)
	f.want("5000", `SELECT j.small_bytes FROM hs2proxy.joins j JOIN hs2proxy.plans p ON p.id = j.plan_id ORDER BY p.first_explained_at LIMIT 1`)
}

func TestExplainThatFailed(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	o := store.Observation{Session: s, Statement: statement(s, "SELECT 'hunter2'", "f1", t0), Analysis: &store.Analysis{
		Upstream: "hive-a", Fingerprint: "f1", ExplainedAt: t0, Error: "SemanticException near 'hunter2'",
	}}
	f.ok(f.RecordStatement(t.Context(), o))
	f.want("SemanticException near ? true", `SELECT concat_ws(' ', explain_error, CASE WHEN plan_id IS NULL THEN 'true' END) FROM hs2proxy.statements WHERE analyzed_at IS NOT NULL`)
	f.want("0", `SELECT count(*) FROM hs2proxy.plans`)
}

func TestFindingsCountStatements(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	for i := range 3 {
		a := analysis("hive-a", "f1", t0, verdict(advisor.MapJoin, 1000))
		twice := advisor.Finding{Kind: "K1", Severity: advisor.Low, Subject: "join 0", Summary: strings.Repeat("x", i)}
		a.Findings = []advisor.Finding{twice, twice, {Kind: "K1", Severity: advisor.Low, Subject: "join 1"}}
		f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: statement(s, "SELECT 1", "f1", t0.Add(time.Duration(i)*time.Minute)), Analysis: a}))
	}
	f.want("join 0 3 xx 00:02:00,join 1 3  00:02:00",
		`SELECT string_agg(concat_ws(' ', subject, times, summary, last_seen - first_seen), ',' ORDER BY subject) FROM hs2proxy.findings`)
}

func TestAffectedFingerprintsGiveBackWhatWasRecorded(t *testing.T) {
	f := newFixture(t, store.Options{KeepLiterals: true})
	s := session("hive-a")
	v := verdict(advisor.MapJoin, 1000)
	v.Join.Residual, v.Join.NullSafe = true, true
	v.Verdict.Expected = advisor.MergeJoin
	w := verdict(advisor.MergeJoin, 77)
	w.Join.Ordinal = 1
	f.ok(f.RecordStatement(t.Context(), store.Observation{
		Session: s, Statement: statement(s, "SELECT 1", "f1", t0), Analysis: analysis("hive-a", "f1", t0, v, w),
	}))
	other := analysis("hive-a", "f2", t0.Add(time.Hour))
	other.Tables = []string{"shop.items"}
	f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: statement(s, "SELECT 2", "f2", t0), Analysis: other}))

	got, err := f.AffectedFingerprints(t.Context(), "hive-a", "shop.items")
	f.ok(err)
	if len(got) != 2 || got[0].Fingerprint != "f2" || got[1].Fingerprint != "f1" {
		t.Fatalf("got %+v", got)
	}
	q := got[1]
	if q.Database != "shop" || q.HiveVersion != "4.0.1" || !q.ExplainedAt.Equal(t0) || q.Runs != 1 || q.SampleSQL != "SELECT 1" ||
		!reflect.DeepEqual(q.Settings, map[string]string{"hive.auto.convert.join.noconditionaltask.size": "10000000"}) {
		t.Errorf("got %+v", q)
	}
	want, _ := json.Marshal([]advisor.JoinVerdict{v, w})
	have, _ := json.Marshal(q.Joins)
	if string(want) != string(have) {
		t.Errorf("joins\n got %s\nwant %s", have, want)
	}
	for table, n := range map[string]int{"shop.sales": 1, "shop.nothing": 0} {
		if got, err := f.AffectedFingerprints(t.Context(), "hive-a", table); err != nil || len(got) != n {
			t.Errorf("%s: %d queries, %v", table, len(got), err)
		}
	}
	if got, err := f.AffectedFingerprints(t.Context(), "hive-b", "shop.items"); err != nil || len(got) != 0 {
		t.Errorf("another upstream: %d queries, %v", len(got), err)
	}
}

func TestUsageOfATable(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	a := analysis("hive-a", "f1", t0, verdict(advisor.MapJoin, 1000))
	a.Usage = map[string]statscheck.Usage{"shop.items": {OtherColumns: []string{"price"}, PlanBasic: "PARTIAL"}}
	f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: statement(s, "SELECT 1", "f1", t0), Analysis: a}))
	b := analysis("hive-a", "f2", t0.Add(time.Second))
	b.Usage = map[string]statscheck.Usage{"shop.items": {JoinColumns: []string{"brand", "id"}, PlanBasic: "NONE"}}
	f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: statement(s, "SELECT 2", "f2", t0), Analysis: b}))
	got, err := f.UsageOf(t.Context(), "hive-a", "shop.items")
	f.ok(err)
	want := statscheck.Usage{JoinColumns: []string{"brand", "id"}, OtherColumns: []string{"price"}, PlanBasic: "NONE", PlanColumn: "PARTIAL", Joins: 1}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, err := f.UsageOf(t.Context(), "hive-a", "no.such"); err != nil || !reflect.DeepEqual(got, statscheck.Usage{}) {
		t.Errorf("unknown table: %+v, %v", got, err)
	}
	known, err := f.KnownTables(t.Context(), "hive-a")
	if err != nil || !reflect.DeepEqual(known, []string{"shop.items", "shop.sales"}) {
		t.Errorf("known tables: %v, %v", known, err)
	}
}

// Several proxies, several workers, the same queries and tables: every statement counts once, and no deadlock surfaces.
func TestConcurrentRecording(t *testing.T) {
	f := newFixture(t, store.Options{})
	proxies := []*store.Store{f.Store, f.open(store.Options{})}
	const workers, each = 4, 25
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			s := session("hive-a")
			for i := range each {
				fp := []string{"f1", "f2"}[i%2]
				a := analysis("hive-a", fp, t0.Add(time.Duration(i)*time.Second), verdict(advisor.MapJoin, int64(1000+i)))
				a.Findings = []advisor.Finding{{Kind: "K2", Severity: advisor.Low, Subject: "join 0"}, {Kind: "K1", Severity: advisor.Low, Subject: "join 0"}}
				o := store.Observation{
					Session: s, Statement: ended(statement(s, "SELECT 1", fp, t0), intercept.StateFinished, time.Second), Analysis: a,
					Writes: []store.TableWrite{{Table: []string{"shop.sales", "shop.items"}[(i+w)%2], Rows: ptr(int64(1))}},
				}
				for _, p := range proxies { // both proxies bring every statement
					if err := p.RecordStatement(t.Context(), o); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	f.want("100 100 100 100 200", `SELECT concat_ws(' ', (SELECT count(*) FROM hs2proxy.statements), (SELECT sum(runs) FROM hs2proxy.queries),
		(SELECT sum(uses) FROM hs2proxy.plan_uses), (SELECT sum(writes_rows) FROM hs2proxy.tables), (SELECT sum(times) FROM hs2proxy.findings))`)
	f.want("2", `SELECT count(*) FROM hs2proxy.plans`)
}

// A query explained again for a refresh is a plan of its own and no run.
func TestRecordPlan(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	before := analysis("hive-a", "f1", t0, verdict(advisor.MergeJoin, 20_000_000))
	before.Findings = []advisor.Finding{{Kind: "K1", Severity: advisor.Low, Subject: "join 0"}}
	f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: statement(s, "SELECT 1", "f1", t0), Analysis: before}))
	after := analysis("hive-a", "f1", t0.Add(time.Hour), verdict(advisor.MapJoin, 1000))
	after.Cause, after.Findings = store.CauseRefresh, before.Findings
	f.ok(f.RecordPlan(t.Context(), *after))
	f.ok(f.RecordPlan(t.Context(), *after)) // the same EXPLAIN again
	f.want("2 1 1 1 1", `SELECT concat_ws(' ', (SELECT count(*) FROM hs2proxy.plans), (SELECT max(explains) FROM hs2proxy.plans), (SELECT sum(uses) FROM hs2proxy.plan_uses),
		(SELECT runs FROM hs2proxy.queries), (SELECT times FROM hs2proxy.findings WHERE kind = 'K1'))`)
	if got := f.rows("plan_changes", "strategy_before", "strategy_after", "cause"); !reflect.DeepEqual(got, []string{"MERGE_JOIN | MAP_JOIN | REFRESH"}) {
		t.Errorf("changes: %v", got)
	}
}

// One connection is enough: nothing waits for a second one while it holds the first.
func TestOneConnectionIsEnough(t *testing.T) {
	f := newFixture(t, store.Options{MaxConns: 1})
	s := session("hive-a")
	f.ok(f.RecordStatement(t.Context(), store.Observation{
		Session: s, Statement: statement(s, "SELECT 1", "f1", t0), Analysis: analysis("hive-a", "f1", t0, verdict(advisor.MapJoin, 1000)),
		Writes: []store.TableWrite{{Upstream: "hive-b", Table: "shop.out", Rows: ptr(int64(1))}},
	}))
	f.ok(f.CloseSession(t.Context(), s))
	f.ok(f.SaveTableStats(t.Context(), "hive-c", []advisor.TableStats{itemsStats(1, t0)}))
	f.ok(f.Rebase(t.Context(), "hive-d", "shop.items", statscheck.Baseline{At: t0}))
	f.ok(f.SaveStaleness(t.Context(), "hive-e", "shop.items", nil, nil))
	f.ok(f.SaveSettings(t.Context(), "hive-f", nil))
	f.request(store.RefreshRequest{Upstream: "hive-g", Table: "shop.items"})
	if r := f.claim(f.Store, time.Minute, "hive-h", "hive-g"); r == nil {
		t.Error("nothing claimed")
	}
}

// The database is restored to an older state under a running proxy: keys it remembers are gone.
func TestUpstreamThatIsGoneIsMadeAgain(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.ok(f.SaveSettings(t.Context(), "hive-a", []store.Setting{{Name: "a", Value: "1"}}))
	f.exec(`DELETE FROM hs2proxy.upstreams`)
	f.ok(f.SaveSettings(t.Context(), "hive-a", []store.Setting{{Name: "a", Value: "2"}}))
	f.want("2", `SELECT value FROM hs2proxy.settings`)
}

func BenchmarkRecordStatement(b *testing.B) {
	s, err := store.Open(b.Context(), storetest.DSN(b), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	sess := session("hive-a")
	n := 0
	for b.Loop() {
		n++
		fp := "f" + strconv.Itoa(n%50)
		st := statement(sess, "SELECT 1", fp, t0)
		a := analysis("hive-a", fp, t0, verdict(advisor.MapJoin, 1000), verdict(advisor.MergeJoin, 1000))
		a.Reused = n > 50
		for _, o := range []store.Observation{{Session: sess, Statement: st, Analysis: a}, {Session: sess, Statement: ended(st, intercept.StateFinished, time.Second)}} {
			if err := s.RecordStatement(b.Context(), o); err != nil {
				b.Fatal(err)
			}
		}
	}
}
