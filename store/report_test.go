package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// scene is a small day on two servers:
//   - f1 runs three times on hive-a: a merge join over stale statistics that a refresh of shop.items turns into a map join
//   - f2 runs once on hive-a: a merge join the simulation cannot explain
//   - f3 runs once on hive-b under two settings, which change its strategy, and fails once
//   - f4 is an INSERT into shop.items whose 300 rows make its statistics stale
func scene(f *fixture) (refresh int64) {
	t := f.t
	hour := func(n float64) time.Time { return t0.Add(time.Duration(n * float64(time.Hour))) }
	a, b := session("hive-a"), session("hive-b")
	b.User = "bo"
	run := func(s intercept.Session, fp string, at time.Time, an *store.Analysis, state intercept.State) {
		t.Helper()
		st := ended(statement(s, "SELECT 1", fp, at), state, 2*time.Second)
		if state == intercept.StateError {
			st.ErrorMessage, st.ErrorCode = "boom", 40000
		}
		f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st, Analysis: an}))
	}
	stale := verdict(advisor.MergeJoin, 20_000_000)
	stale.Verdict.Expected = advisor.MapJoin
	first := analysis("hive-a", "f1", hour(0), stale)
	first.Findings = []advisor.Finding{
		{Kind: "STALE_STATISTICS_CHANGED_PLAN", Severity: advisor.High, Subject: "join 0", Summary: "20000000 believed, 5000 true", Advice: "ANALYZE TABLE shop.items", Evidence: map[string]any{"believed": 20000000}},
		{Kind: "SMALL_THING", Severity: advisor.Info, Subject: "statement", Summary: "minor"},
	}
	run(a, "f1", hour(0), first, intercept.StateFinished)
	again := *first
	again.Reused, again.Findings = true, nil
	run(a, "f1", hour(1), &again, intercept.StateFinished)

	odd := verdict(advisor.MergeJoin, 500)
	odd.Verdict.Simulated, odd.Verdict.Agrees = advisor.MapJoin, false
	run(a, "f2", hour(2), analysis("hive-a", "f2", hour(2), odd), intercept.StateFinished)

	run(b, "f3", hour(0), analysis("hive-b", "f3", hour(0), verdict(advisor.MapJoin, 700)), intercept.StateFinished)
	noConvert := analysis("hive-b", "f3", hour(3), verdict(advisor.MergeJoin, 700))
	noConvert.Settings, noConvert.Cause = map[string]string{"hive.auto.convert.join": "false"}, store.CauseSettings
	run(b, "f3", hour(3), noConvert, intercept.StateError)
	run(b, "f5", hour(3.5), &store.Analysis{Upstream: "hive-b", Fingerprint: "f5", Error: "SemanticException", ExplainedAt: hour(3.5)}, intercept.StateFinished)

	ins := ended(statement(a, "INSERT INTO items VALUES (1)", "f4", hour(4)), intercept.StateFinished, time.Second)
	ins.Info.Kind, ins.ModifiedRows = hiveql.KindInsert, ptr(int64(300))
	f.ok(f.SetBaseline(t.Context(), "hive-a", "shop.items", statscheck.Baseline{Rows: ptr(int64(1000)), At: hour(-100)}))
	f.ok(f.RecordStatement(t.Context(), store.Observation{Session: a, Statement: ins, Writes: []store.TableWrite{{Table: "shop.items", Op: hiveql.WriteInsertInto, Rows: ptr(int64(300))}}}))
	f.now = hour(5)
	f.ok(f.SaveStaleness(t.Context(), "hive-a", "shop.items", []statscheck.Staleness{
		{Rule: statscheck.R4Rows, Level: statscheck.LevelStale, Reason: "300 rows written on 1000"},
		{Rule: statscheck.R3Columns, Level: statscheck.LevelHigh, Reason: "id has no statistics", Columns: []string{"id"}},
	}, ptr(0.7)))
	f.ok(f.SaveStaleness(t.Context(), "hive-b", "shop.logs", []statscheck.Staleness{{Rule: statscheck.R2NoBasic, Level: statscheck.LevelCritical, Reason: "none"}}, ptr(0.0)))
	f.ok(f.AddForeignWrites(t.Context(), "hive-b", "shop.logs", []statscheck.ForeignWrite{{
		Before: statscheck.Reading{Bytes: ptr(int64(10)), At: hour(3)}, After: statscheck.Reading{Bytes: ptr(int64(90)), At: hour(4)},
	}}))

	refresh = f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items", Mode: statscheck.ModeColumns, Columns: []string{"id"}, Reason: "R4", RequestedBy: "nightly"})
	r := f.claim(f.Store, time.Minute, "hive-a")
	before, after := itemsStats(1000, hour(5)), itemsStats(1300, hour(5.1))
	r.Before, r.After, r.State, r.Effect = &before, &after, statscheck.RefreshDone, statscheck.EffectEffective
	r.Statements, r.EndedAt = []string{"ANALYZE TABLE `shop`.`items` COMPUTE STATISTICS FOR COLUMNS `id`"}, hour(5).Add(1500*time.Millisecond)
	r.Plans = []statscheck.PlanChange{
		{Fingerprint: "f1", Ordinal: 0, Before: advisor.MergeJoin, After: advisor.MapJoin}, {Fingerprint: "f2", Ordinal: 0, Before: advisor.MergeJoin, After: advisor.MergeJoin},
	}
	r.Proof = &statscheck.Proof{Statistics: statscheck.StatisticChanges([]advisor.TableStats{before}, []advisor.TableStats{after})}
	f.ok(f.FinishRefresh(t.Context(), *r))
	_, err := f.JudgeRuntimes(t.Context(), "hive-a")
	f.ok(err)
	_, err = f.LearnFromRefresh(t.Context(), statscheck.Refresh{ // of a refresh that is no longer on record
		ID: 999, Upstream: "hive-a", Table: "shop.sales", Schedule: "nightly", Reason: "R4", State: statscheck.RefreshDone, Effect: statscheck.EffectNoChange,
		Before: &before, After: &after, EndedAt: hour(5),
	}, statscheck.DefaultThresholds())
	f.ok(err)
	fresh := analysis("hive-a", "f1", hour(6), verdict(advisor.MapJoin, 5000))
	fresh.Cause = store.CauseStatistics
	run(a, "f1", hour(6), fresh, intercept.StateFinished)

	f.ok(f.SaveSettings(t.Context(), "hive-a", []store.Setting{
		{Name: "a.same", Value: "1", Default: ptr("1")}, {Name: "b.unknown", Value: "x"}, {Name: "c.differs", Value: "2", Default: ptr("1")},
	}))
	// A finding of every advisor, and one more that is muted.
	f.exec(`INSERT INTO hs2proxy.findings (upstream_id, fingerprint, kind, subject, severity, summary, evidence, advice, first_seen, last_seen, times, advisor)
		SELECT u.id, 'f2', 'k_' || a, 'join 0', CASE a WHEN 'none' THEN 'CRITICAL' ELSE 'LOW' END, '', '{}', '', $1, $1, 1, a
		FROM hs2proxy.upstreams u, unnest(ARRAY['selector', 'outer_join', 'movement', 'dynamic_filter', 'anti_join', 'none']) a WHERE u.name = 'hive-a'`, hour(2))
	_, err = f.MuteFindings(t.Context(), store.Mute{Kind: "k_none", Reason: "known", By: "ana"})
	f.ok(err)
	return refresh
}

// rows joins the named columns of a report, one string per row.
func (f *fixture) rows(report string, columns ...string) []string {
	f.t.Helper()
	var out []string
	for _, row := range f.report(report) {
		var cells []string
		for _, c := range columns {
			v, ok := row[c]
			if !ok {
				f.t.Fatalf("%s has no column %s", report, c)
			}
			switch v := v.(type) {
			case nil:
				cells = append(cells, "∅")
			case time.Time:
				cells = append(cells, fmt.Sprintf("%gh", v.Sub(t0).Hours()))
			case json.RawMessage:
				cells = append(cells, string(v))
			default:
				cells = append(cells, fmt.Sprint(v))
			}
		}
		out = append(out, strings.Join(cells, " | "))
	}
	return out
}

func TestReportsAnswerTheirQuestions(t *testing.T) {
	f := newFixture(t, store.Options{})
	scene(f)
	for _, c := range []struct {
		report  string
		columns []string
		want    []string
	}{
		{"joins", []string{"upstream", "database", "fingerprint", "join_no", "join_types", "tables", "planned", "simulated", "agrees", "expected", "big_table", "small_bytes", "margin", "margin_next", "runs", "explained_at"}, []string{
			"hive-a | shop | f1 | 0 | [INNER] | [shop.sales shop.items] | MAP_JOIN | MAP_JOIN | true | ∅ | shop.sales | 5000 | 2000 | MERGE_JOIN | 3 | 6h",
			"hive-b | shop | f3 | 0 | [INNER] | [shop.sales shop.items] | MERGE_JOIN | MERGE_JOIN | true | ∅ | ∅ | 700 | 14285.714 | MERGE_JOIN | 2 | 3h",
			"hive-a | shop | f2 | 0 | [INNER] | [shop.sales shop.items] | MERGE_JOIN | MAP_JOIN | false | ∅ | ∅ | 500 | 20000 | MERGE_JOIN | 1 | 2h",
		}},
		{"strategy_mismatch", []string{"fingerprint", "problem", "planned", "simulated", "expected"}, []string{"f2 | UNEXPLAINED | MERGE_JOIN | MAP_JOIN | ∅"}},
		{"stale_tables", []string{"upstream", "table_name", "rule", "level", "health", "baseline_rows", "rows_written", "joins_7d", "refresh_state", "refresh_effect", "columns"}, []string{
			"hive-b | shop.logs | R2 | CRITICAL | 0 | ∅ | 0 | 0 | ∅ | ∅ | []",
			"hive-a | shop.items | R3 | HIGH | 0.7 | 1000 | 300 | 4 | DONE | EFFECTIVE | [id]",
			"hive-a | shop.items | R4 | STALE | 0.7 | 1000 | 300 | 4 | DONE | EFFECTIVE | []",
		}},
		{"refreshes", []string{"upstream", "table_name", "mode", "columns", "state", "effect", "rows_before", "rows_after", "bytes_before", "bytes_after", "strategies_before", "strategies_after", "joins_changed", "joins_checked", "changes", "requested_by", "reason", "seconds"}, []string{
			"hive-a | shop.items | COLUMNS | [id] | DONE | EFFECTIVE | 1000 | 1300 | 20000 | 26000 | [MERGE_JOIN MERGE_JOIN] | [MAP_JOIN MERGE_JOIN] | 1 | 2 | [f1 join 0: MERGE_JOIN → MAP_JOIN] | nightly | R4 | 1.5",
		}},
		{"plan_changes", []string{"changed_at", "upstream", "fingerprint", "join_no", "strategy_before", "strategy_after", "what_changed", "bytes_before", "bytes_after", "settings_changed", "cause"}, []string{
			"6h | hive-a | f1 | 0 | MERGE_JOIN | MAP_JOIN | [STATISTICS] | 28000000 | 8005000 | [] | STATISTICS",
			"3h | hive-b | f3 | 0 | MAP_JOIN | MERGE_JOIN | [SETTINGS] | 8000700 | 8000700 | [hive.auto.convert.join.noconditionaltask.size: 10000000 → (unset) hive.auto.convert.join: (unset) → false] | SETTINGS",
		}},
		{"top_joins", []string{"upstream", "fingerprint", "planned", "runs_7d", "bytes_moved", "bytes_moved_7d", "rows_read_7d"}, []string{
			"hive-b | f3 | MERGE_JOIN | 2 | 8000700 | 16001400 | 200140",
			"hive-a | f2 | MERGE_JOIN | 1 | 8000500 | 8000500 | 100050",
			"hive-a | f1 | MAP_JOIN | 3 | 5000 | 15000 | 301500",
		}},
		{"settings", []string{"upstream", "name", "value", "hive_default", "differs"}, []string{
			"hive-a | c.differs | 2 | 1 | true", "hive-a | b.unknown | x | ∅ | ∅", "hive-a | a.same | 1 | 1 | false",
		}},
		{"statements", []string{"started_at", "upstream", "user_name", "kind", "state", "seconds", "modified_rows", "error", "analyzed", "explain_error", "strategies", "query"}, []string{
			"6h | hive-a | ana | SELECT | FINISHED | 2 | ∅ |  | true |  | [MAP_JOIN] | SELECT … f1",
			"4h | hive-a | ana | INSERT | FINISHED | 1 | 300 |  | false |  | [] | SELECT … f4",
			"3.5h | hive-b | bo | SELECT | FINISHED | 2 | ∅ |  | true | SemanticException | [] | SELECT … f5",
			"3h | hive-b | bo | SELECT | ERROR | 2 | ∅ | boom | true |  | [MERGE_JOIN] | SELECT … f3",
			"2h | hive-a | ana | SELECT | FINISHED | 2 | ∅ |  | true |  | [MERGE_JOIN] | SELECT … f2",
			"1h | hive-a | ana | SELECT | FINISHED | 2 | ∅ |  | true |  | [MERGE_JOIN] | SELECT … f1",
		}},
		{"findings", []string{"severity", "kind", "subject", "times", "fingerprint", "advice", "evidence"}, []string{
			`HIGH | STALE_STATISTICS_CHANGED_PLAN | join 0 | 1 | f1 | ANALYZE TABLE shop.items | {"believed": 20000000}`,
			`LOW | plan_change_settings | join 0 | 1 | f3 | SET hive.auto.convert.join=true; | {"replayed": true, "settings": ["hive.auto.convert.join from true to false"], "restoring": ["hive.auto.convert.join"], "reason_after": "700 bytes against a budget of 10000000", "reason_before": "700 bytes against a budget of 10000000", "strategy_after": "MERGE_JOIN", "strategy_before": "MAP_JOIN"}`,
			`LOW | k_anti_join | join 0 | 1 | f2 |  | {}`, `LOW | k_dynamic_filter | join 0 | 1 | f2 |  | {}`, `LOW | k_movement | join 0 | 1 | f2 |  | {}`,
			`LOW | k_outer_join | join 0 | 1 | f2 |  | {}`, `LOW | k_selector | join 0 | 1 | f2 |  | {}`,
			`INFO | plan_change_statistics | join 0 | 1 | f1 |  | {"replayed": true, "reason_after": "5000 bytes against a budget of 10000000", "reason_before": "20000000 bytes against a budget of 10000000", "strategy_after": "MAP_JOIN", "strategy_before": "MERGE_JOIN"}`,
			`INFO | SMALL_THING | statement | 1 | f1 |  | {}`,
		}},
		{"findings_movement", []string{"severity", "kind", "subject", "times", "fingerprint"}, []string{"LOW | k_movement | join 0 | 1 | f2"}},
		{"findings_muted", []string{"severity", "kind", "muted_by", "reason", "muted_fingerprint", "muted_table", "muted_until"}, []string{"CRITICAL | k_none | ana | known |  |  | ∅"}},
		{"health", []string{"upstream", "hive_version", "joins", "joins_unexplained", "tables_stale", "refreshes_open"}, []string{
			"hive-a | 4.0.1 | 2 | 1 | 1 | 0", "hive-b | 4.0.1 | 1 | 0 | 1 | 0",
		}},
	} {
		got := f.rows(c.report, c.columns...)
		if c.report == "statements" && len(got) == 8 {
			got = got[:6] // the two at 0h have no order of their own
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("report_%s\n got\n%s\nwant\n%s", c.report, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestEveryReportHasAQuestionAndRuns(t *testing.T) {
	f := newFixture(t, store.Options{})
	reports, err := f.Reports(t.Context())
	f.ok(err)
	if len(reports) < 10 {
		t.Errorf("only %d reports", len(reports))
	}
	for _, filled := range []bool{false, true} {
		for _, r := range reports {
			if !strings.HasSuffix(r.Question, "?") {
				t.Errorf("%s: %q is no question", r.Name, r.Question)
			}
			table, err := f.Report(t.Context(), r.Name)
			if err != nil {
				t.Error(err)
				continue
			}
			if table.Name != r.Name || table.Question != r.Question || len(table.Columns) == 0 || (len(table.Rows) > 0) != filled || table.More {
				t.Errorf("%s: %+v", r.Name, table)
			}
		}
		if !filled {
			scene(f)
			f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.logs", Reason: "waits", RequestedBy: "ana"})
			f.exec(`SELECT hs2proxy.set_refresh_policy('shop.archive_*', never => true, reason => 'read only')`)
			run, _, err := f.ClaimExplainAnalyze(t.Context(), "hive-a", t0, 0, time.Minute)
			f.ok(err)
			f.ok(f.SaveExplainAnalyze(t.Context(), run, store.ExplainAnalyze{Fingerprint: "f1", Outcome: store.AnalyzeNoCounts, Reason: "none", StartedAt: t0}))
			f.ok(f.RecordActuals(t.Context(), store.Actuals{
				Upstream: "hive-a", Analysis: analysis("hive-a", "f9", t0, verdict(advisor.MapJoin, 700)), Source: store.SourceExplainAnalyze, Fingerprint: "f9", At: t0,
				Operators: []advisor.OperatorActual{{ID: "TS_0", Kind: "TableScan", Vertex: "Map 1", Estimated: 10, Actual: 1000}},
			}))
		}
	}
}

func TestReportsThatAreNone(t *testing.T) {
	f := newFixture(t, store.Options{})
	for _, name := range []string{"", "nothing", "latest_plans", "statements; DROP TABLE hs2proxy.plans", `joins"`, "report_"} {
		if _, err := f.Report(t.Context(), name); !errors.Is(err, store.ErrUnknownReport) || !strings.Contains(err.Error(), "stale_tables") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestReportCells(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.exec(`CREATE VIEW hs2proxy.report_zoo AS SELECT NULL::text AS "null", true AS b, 2::smallint AS i2, 4::int AS i4, 8::bigint AS i8, 0.5::real AS f4, 1.25::numeric AS n,
		'x' AS t, ARRAY['a', NULL] AS list, '{"n": 9007199254740993}'::jsonb AS doc, '[1]'::json AS plain, interval '1 day 2 seconds' AS span,
		'2024-01-02 03:04:05+02'::timestamptz AS at, '0a0b0c0d-0000-4000-8000-000000000001'::uuid AS id, ARRAY[1, 2] AS numbers, '{}'::text[] AS none`)
	got, err := f.Report(t.Context(), "zoo")
	f.ok(err)
	want := []any{
		nil, true, int64(2), int64(4), int64(8), 0.5, 1.25, "x",
		[]string{"a", ""},
		json.RawMessage(`{"n": 9007199254740993}`), json.RawMessage(`[1]`), 24*time.Hour + 2*time.Second,
		time.Date(2024, 1, 2, 1, 4, 5, 0, time.UTC), "0a0b0c0d-0000-4000-8000-000000000001", "[1 2]",
		[]string{},
	}
	if !reflect.DeepEqual(got.Rows, [][]any{want}) {
		t.Errorf("\n got %#v\nwant %#v", got.Rows, want)
	}
	f.exec(`CREATE OR REPLACE VIEW hs2proxy.report_long AS SELECT g FROM generate_series(1, 10001) g`)
	long, err := f.Report(t.Context(), "report_long")
	if err != nil || !long.More || len(long.Rows) != store.MaxReportRows {
		t.Errorf("%d rows, more %v, %v", len(long.Rows), long.More, err)
	}
}

func TestDoctorFindsAllWell(t *testing.T) {
	f := newFixture(t, store.Options{})
	checks := f.Doctor(t.Context())
	if len(checks) != 5 {
		t.Errorf("%d checks", len(checks))
	}
	for _, c := range checks {
		if !c.OK || c.Detail == "" {
			t.Errorf("%+v", c)
		}
	}
	f.exec(`DELETE FROM hs2proxy.goose_db_version WHERE version_id = 4`)
	last := f.Doctor(t.Context())
	if c := last[len(last)-1]; c.OK || !strings.Contains(c.Detail, "00004_roles") {
		t.Errorf("a missing migration: %+v", c)
	}
}

func TestDoctorFindsMissingRights(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.exec(`DO $$ BEGIN CREATE ROLE hs2proxy_test_reader LOGIN PASSWORD 'pw' IN ROLE hs2proxy_reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
	f.exec(`GRANT SELECT ON hs2proxy.goose_db_version, hs2proxy.river_migration TO hs2proxy_test_reader`)
	f.dsn = dsnAs(f.db.Config(), "hs2proxy_test_reader", "pw")
	s := f.open(store.Options{})
	var rights store.Check
	for _, c := range s.Doctor(t.Context()) {
		if c.Name == "Postgres rights" {
			rights = c
		}
	}
	if rights.OK || !strings.Contains(rights.Detail, "statements") || !strings.Contains(rights.Mend, "hs2proxy_writer") {
		t.Errorf("%+v", rights)
	}
	if err := s.SaveSettings(t.Context(), "hive-a", nil); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("without rights: %v", err)
	}
}

func TestRetention(t *testing.T) {
	f := newFixture(t, store.Options{})
	scene(f)
	counts := func() string {
		return f.one(`SELECT concat_ws(' ', (SELECT count(*) FROM hs2proxy.statements), (SELECT count(*) FROM hs2proxy.table_writes), (SELECT count(*) FROM hs2proxy.sessions),
			(SELECT count(*) FROM hs2proxy.plans), (SELECT count(*) FROM hs2proxy.joins), (SELECT count(*) FROM hs2proxy.queries), (SELECT count(*) FROM hs2proxy.findings),
			(SELECT count(*) FROM hs2proxy.table_stats), (SELECT count(*) FROM hs2proxy.refreshes), (SELECT count(*) FROM hs2proxy.staleness), (SELECT count(*) FROM hs2proxy.tables))`)
	}
	for i := range 3 {
		f.ok(f.SaveTableStats(t.Context(), "hive-a", []advisor.TableStats{itemsStats(int64(i), t0.Add(time.Duration(i)*time.Hour))}))
	}
	f.ok(f.SaveStaleness(t.Context(), "hive-b", "shop.logs", nil, nil)) // cleared at 5h
	full := counts()
	if full != "8 1 2 5 5 5 10 3 1 3 5" {
		t.Fatalf("the scene has %s", full)
	}
	day := 24 * time.Hour
	all := store.Policy{Statements: day, Sessions: day, Plans: day, Stats: day, Findings: day, Refreshes: day, Batch: 2}

	// Young rows stay, and a policy of zeros keeps all.
	f.now = t0.Add(8 * time.Hour)
	for _, p := range []store.Policy{{}, all, store.DefaultPolicy()} {
		if d, err := f.Retention(t.Context(), p); err != nil || len(d) != 0 || counts() != full {
			t.Errorf("%+v deleted %v, %v", p, d, err)
		}
	}
	// Between: a day after 3.2 h. Statements and plans before that go; snapshots but the latest, which is older, stay.
	f.now = t0.Add(day + 192*time.Minute)
	d, err := f.Retention(t.Context(), all)
	f.ok(err)
	if want := (store.Deleted{"statements": 5, "plans": 1, "table_stats": 2, "findings": 9}); d["statements"] != want["statements"] || d["table_stats"] != 2 || d["findings"] != 9 {
		t.Errorf("deleted %v, want %v", d, want)
	}
	f.want("3", `SELECT count(*) FROM hs2proxy.statements`)
	f.want("2", `SELECT num_rows FROM hs2proxy.table_stats`)
	f.want("1", `SELECT count(*) FROM hs2proxy.plans WHERE fingerprint = 'f1' AND explained_at = $1`, t0.Add(6*time.Hour))
	f.want("1", `SELECT count(*) FROM hs2proxy.refreshes`)
	// Long after: all goes, staleness of tables nobody has seen for that long too.
	f.now = t0.Add(400 * day)
	if _, err := f.Retention(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if got := counts(); got != "0 0 0 0 0 0 0 0 0 0 0" {
		t.Errorf("left: %s", got)
	}
	f.want("2", `SELECT count(*) FROM hs2proxy.upstreams`)
}
