package store_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hiveql"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

// secretObservation has a secret or a literal wherever one can be.
func secretObservation() store.Observation {
	const sql = "CREATE TABLE shop.out AS SELECT * FROM shop.items i JOIN shop.orders o ON i.x = o.x AND i.name = 'literal-1'"
	s := session("hive-a")
	s.Configuration["password"], s.Settings["fs.s3a.secret.key"] = "secret-1", "secret-2"
	st := ended(statement(s, sql, "f1", t0), intercept.StateError, time.Second)
	st.OperationSecret = [16]byte([]byte("operation-secret"))
	st.Settings = map[string]string{"fs.s3a.access.key": "secret-3"}
	st.ConfOverlay = map[string]string{"token": "secret-4"}
	st.ErrorCode, st.ErrorMessage = 1, "near 'literal-1' in "+sql
	st.Info = hiveql.Info{
		Kind: hiveql.KindCTAS, Normalized: strings.ReplaceAll(sql, "'literal-1'", "?"), Fingerprint: "f1", Query: "SELECT 'literal-1'",
		Writes: []hiveql.Write{{Partition: map[string]string{"p": "literal-1"}}}, Set: &hiveql.Assignment{Key: "k", Value: "secret-5"},
	}
	v := verdict(advisor.MapJoin, 1000)
	v.Join.Inputs[0].Keys[0].Expr = "concat(x, 'literal-1')"
	v.Decision.Margin = &advisor.Margin{Factor: math.Inf(1), Next: advisor.MergeJoin}
	a := analysis("hive-a", "f1", t0, v)
	a.PlanText = "predicate: name = 'literal-1'"
	a.Settings["fs.azure.account.key.x"] = "secret-6"
	a.Findings = []advisor.Finding{{Kind: "K1", Severity: advisor.Low, Subject: "join 0", Evidence: map[string]any{"n": int64(1<<62 + 1), "odd": math.NaN()}}}
	return store.Observation{Session: s, Statement: st, Analysis: a, Writes: []store.TableWrite{{Table: "shop.out", Rows: ptr(int64(1))}}}
}

func TestRecordingWhatWasRedactedIsRecordingTheWhole(t *testing.T) {
	redact, err := store.NewRedactor([]store.Redaction{{Pattern: `mail-\d`, With: "<mail>"}, {Pattern: `fs\.azure|shop`, With: "no-name"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []store.Options{{}, {KeepLiterals: true}, {Redact: redact}, {KeepLiterals: true, Redact: redact}} {
		direct, spooled := newFixture(t, o), newFixture(t, o)
		keep, rules := o.KeepLiterals, o.Redact
		o := secretObservation()
		o.Session.ClientName = "BI of mail-1"
		b, err := json.Marshal(o.Redacted(keep, rules))
		direct.ok(err)
		if o.Session.Handle.Secret == [16]byte{} || o.Statement.Info.Query == "" || o.Session.Configuration["password"] != "secret-1" ||
			o.Analysis.PlanText == "" || !math.IsInf(o.Analysis.Joins[0].Decision.Margin.Factor, 1) || !strings.Contains(o.Analysis.Joins[0].Join.Inputs[0].Keys[0].Expr, "literal") ||
			o.Session.ClientName != "BI of mail-1" || o.Analysis.Findings[0].Summary != "" {
			t.Error("the original was changed")
		}
		if text := string(b); strings.Contains(text, "secret-") || strings.Contains(text, "literal-1") != keep {
			t.Errorf("keep %v: %s", keep, text)
		}
		var back store.Observation
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.UseNumber()
		direct.ok(d.Decode(&back))
		direct.ok(direct.RecordStatement(t.Context(), o))
		spooled.ok(spooled.RecordStatement(t.Context(), back))
		if a, b := direct.snapshot(), spooled.snapshot(); a != b {
			t.Errorf("keep %v: direct:\n%s\nspooled:\n%s", keep, a, b)
		}
	}
}

// mailedObservation has an address where a text can be, in a statement that was explained and in one that was not.
func mailedObservation() []store.Observation {
	const sql = "SELECT count(*) AS `mail-1` FROM shop.items WHERE who = 'mail-2'"
	s := session("hive-a")
	s.ClientName = "BI of mail-3"
	s.Configuration["set:hive.query.name"], s.Settings["hive.query.name"] = "mail-4", "mail-5"
	st := ended(statement(s, sql, "f1", t0), intercept.StateError, time.Second)
	st.Info.Normalized = strings.ReplaceAll(sql, "'mail-2'", "?")
	st.ErrorCode, st.ErrorMessage = 1, "no column mail-1 near 'mail-2' in "+sql
	v := verdict(advisor.MapJoin, 1000)
	v.Join.Inputs[0].Keys[0].Expr = "concat(`mail-6`, 'mail-7')"
	v.Decision.Reason, v.Decision.Uncertain = "mail-8 is small", []string{"mail-8 has no statistics"}
	a := analysis("hive-a", "f1", t0, v)
	a.PlanText = "predicate: who = 'mail-9'"
	a.Findings = []advisor.Finding{{
		Kind: "K1", Severity: advisor.Low, Subject: "join 0", Summary: "mail-10", Advice: "SET x=mail-11",
		Evidence: map[string]any{"text": "mail-12", "list": []string{"mail-13"}, "deep": map[string]any{"any": []any{"mail-14", 7}}, "n": 8},
	}}
	failed := statement(s, sql, "f2", t0)
	failed.Info.Normalized = st.Info.Normalized
	return []store.Observation{
		{Session: s, Statement: st, Analysis: a},
		{Session: s, Statement: failed, Analysis: &store.Analysis{Upstream: "hive-a", Fingerprint: "f2", Error: "ParseException at mail-1 near 'mail-15'"}},
	}
}

// TestRedactorLeavesNoTraceAnywhere: neither on the way to the spool nor in any table, literals kept or not; and what was
// changed is no sample to explain again.
func TestRedactorLeavesNoTraceAnywhere(t *testing.T) {
	redact, err := store.NewRedactor([]store.Redaction{{Pattern: `mail(-)\d+`, With: "<address$1>"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, keep := range []bool{false, true} {
		f := newFixture(t, store.Options{KeepLiterals: keep, Redact: redact})
		for _, o := range mailedObservation() {
			b, err := json.Marshal(o.Redacted(keep, redact))
			f.ok(err)
			if strings.Contains(string(b), "mail-") || !strings.Contains(string(b), `\u003caddress-\u003e`) {
				t.Errorf("to the spool: %s", b)
			}
			var spooled store.Observation
			f.ok(json.Unmarshal(b, &spooled))
			if !spooled.Altered {
				t.Error("that the text was changed is forgotten")
			}
			f.ok(f.RecordStatement(t.Context(), spooled))
			f.ok(f.RecordStatement(t.Context(), o))
			f.ok(f.UpsertSession(t.Context(), o.Session))
		}
		f.ok(f.SaveStaleness(t.Context(), "hive-a", "shop.items", []statscheck.Staleness{{
			Rule: "R2", Level: statscheck.LevelStale, Reason: "mail-16", Evidence: map[string]any{"x": "mail-17"},
		}}, nil))
		f.request(store.RefreshRequest{Upstream: "hive-a", Table: "shop.items", Reason: "said mail-18"})
		r := f.claim(f.Store, time.Minute, "hive-a")
		r.State, r.Effect, r.Error, r.Statements = statscheck.RefreshFailed, statscheck.EffectFailed, "mail-19", []string{"ANALYZE TABLE t PARTITION (who='mail-20')"}
		f.ok(f.FinishRefresh(t.Context(), *r))
		all := f.snapshot() + f.one(`SELECT jsonb_agg(to_jsonb(x)) FROM hs2proxy.staleness x`) + f.one(`SELECT jsonb_agg(to_jsonb(x)) FROM hs2proxy.refreshes x`)
		if strings.Contains(all, "mail-") || strings.Count(all, "<address->") < 14 {
			t.Errorf("keep %v: %s", keep, all)
		}
		f.want("∅", `SELECT coalesce(string_agg(sample_sql, ';'), '∅') FROM hs2proxy.queries`)
		f.want("8", `SELECT evidence ->> 'n' FROM hs2proxy.findings`)
	}
	plain := newFixture(t, store.Options{KeepLiterals: true})
	for _, o := range mailedObservation() {
		plain.ok(plain.RecordStatement(t.Context(), o))
	}
	plain.want("2", `SELECT count(sample_sql) FROM hs2proxy.queries`)
}
