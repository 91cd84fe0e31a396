package store_test

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
)

// findingsScene records f1 and f2, each with a near flip of a join of sales and items, and f1 with missing statistics of items.
func findingsScene(f *fixture) {
	f.t.Helper()
	s := session("hive-a")
	for _, fp := range []string{"f1", "f2"} {
		a := analysis("hive-a", fp, t0, verdict(advisor.MapJoin, 1000))
		a.Findings = []advisor.Finding{{Kind: advisor.NearFlip, Severity: advisor.Low, Subject: "join 0 MAPJOIN_25 (Map 1)", Summary: "near"}}
		if fp == "f1" {
			a.Findings = append(a.Findings, advisor.Finding{Kind: advisor.MissingStatistics, Severity: advisor.Medium, Subject: "shop.items", Summary: "none"})
		}
		advisor.Complete(a.Findings, a.Joins)
		st := ended(statement(s, "SELECT 1", fp, t0), intercept.StateFinished, time.Second)
		f.ok(f.RecordStatement(f.t.Context(), store.Observation{Session: s, Statement: st, Analysis: a}))
	}
}

func TestFindingsKnowAdvisorDocAndTables(t *testing.T) {
	f := newFixture(t, store.Options{})
	findingsScene(f)
	want := []string{
		"missing_statistics | selector | docs/findings/README.md#missing_statistics | [shop.items]",
		"near_flip | selector | docs/findings/README.md#near_flip | [shop.items shop.sales]",
		"near_flip | selector | docs/findings/README.md#near_flip | [shop.items shop.sales]",
	}
	if got := f.rows("findings", "kind", "advisor", "doc", "tables"); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if got := f.rows("findings_selector", "kind"); len(got) != 3 {
		t.Errorf("by advisor: %v", got)
	}
	if got := f.rows("findings_anti_join", "kind"); len(got) != 0 {
		t.Errorf("of another advisor: %v", got)
	}
}

func TestMutedFindingsAreLeftOut(t *testing.T) {
	const flip, missing = advisor.NearFlip, advisor.MissingStatistics
	f := newFixture(t, store.Options{Now: time.Now})
	findingsScene(f)
	shown := func() string {
		return f.one(`SELECT string_agg(fingerprint || ' ' || kind, ',' ORDER BY fingerprint, kind) FROM hs2proxy.report_findings`)
	}
	all := shown()
	records := 0
	for name, c := range map[string]struct {
		mute  store.Mute
		found int64
		shown []string
	}{
		"a kind":                     {store.Mute{Kind: flip}, 2, []string{"f1 missing_statistics"}},
		"of one query":               {store.Mute{Kind: flip, Fingerprint: "f2"}, 1, []string{"f1 missing_statistics", "f1 near_flip"}},
		"of one table":               {store.Mute{Kind: flip, Table: "Shop.`sales`"}, 2, []string{"f1 missing_statistics"}},
		"of the table it is about":   {store.Mute{Kind: missing, Table: "shop.items"}, 1, []string{"f1 near_flip", "f2 near_flip"}},
		"of both":                    {store.Mute{Kind: flip, Fingerprint: "f1", Table: "shop.items"}, 1, []string{"f1 missing_statistics", "f2 near_flip"}},
		"of a table it is not about": {store.Mute{Kind: flip, Table: "shop.other"}, 0, []string{"f1 missing_statistics", "f1 near_flip", "f2 near_flip"}},
		"of another kind":            {store.Mute{Kind: advisor.CrossProduct}, 0, []string{"f1 missing_statistics", "f1 near_flip", "f2 near_flip"}},
		"for a while":                {store.Mute{Kind: flip, Until: time.Now().Add(time.Hour)}, 2, []string{"f1 missing_statistics"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.mute.Reason, c.mute.By = "known", "ana"
			n, err := f.MuteFindings(t.Context(), c.mute)
			if err != nil || n != c.found {
				t.Fatalf("%d findings, %v", n, err)
			}
			if got := shown(); got != strings.Join(c.shown, ",") {
				t.Errorf("shown: %s, want %v", got, c.shown)
			}
			if got := len(f.rows("findings_selector", "kind")); got != len(c.shown) {
				t.Errorf("%d by advisor, want %d", got, len(c.shown))
			}
			muted := f.rows("findings_muted", "muted_by", "reason")
			if int64(len(muted)) != c.found || c.found > 0 && muted[0] != "ana | known" {
				t.Errorf("muted: %v", muted)
			}
			if _, err := f.UnmuteFindings(t.Context(), c.mute); err != nil {
				t.Fatal(err)
			}
			if got := shown(); got != all {
				t.Errorf("after it was taken back: %s", got)
			}
			records += 2
			f.want(strconv.Itoa(records), `SELECT count(*) FROM hs2proxy.finding_mutes`)
		})
	}
}

func TestMutingEndsByItself(t *testing.T) {
	f := newFixture(t, store.Options{})
	findingsScene(f)
	f.exec(`INSERT INTO hs2proxy.finding_mutes (kind, muted, muted_until, reason, person, at) VALUES ('near_flip', true, now() - interval '1 minute', 'r', 'p', now() - interval '1 hour')`)
	if got := f.rows("findings", "kind"); len(got) != 3 {
		t.Errorf("a muting that has ended hides: %v", got)
	}
	f.exec(`INSERT INTO hs2proxy.finding_mutes (kind, muted, muted_until, reason, person, at) VALUES ('near_flip', true, now() + interval '1 hour', 'r', 'p', now())`)
	if got := f.rows("findings", "kind"); len(got) != 1 {
		t.Errorf("a muting in force hides too little: %v", got)
	}
}

func TestMutingSaysWhatIsWrong(t *testing.T) {
	f := newFixture(t, store.Options{})
	findingsScene(f)
	good := store.Mute{Kind: advisor.NearFlip, Reason: "r", By: "ana"}
	for name, c := range map[string]struct {
		change func(*store.Mute)
		want   string
	}{
		"no kind":       {func(m *store.Mute) { m.Kind = "" }, "no kind"},
		"no reason":     {func(m *store.Mute) { m.Reason = " " }, "no reason"},
		"a past end":    {func(m *store.Mute) { m.Until = t0.Add(-time.Hour) }, "the end is past"},
		"no table name": {func(m *store.Mute) { m.Table = "orders" }, "not the name of a table"},
	} {
		m := good
		c.change(&m)
		if _, err := f.MuteFindings(t.Context(), m); !errors.Is(err, store.ErrData) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.UnmuteFindings(t.Context(), good); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "Nothing is muted") {
		t.Errorf("unmute what is not muted: %v", err)
	}
	f.want("0", `SELECT count(*) FROM hs2proxy.finding_mutes`)
}

func TestMuteInSQL(t *testing.T) {
	f := newFixture(t, store.Options{})
	findingsScene(f)
	f.want("1", `SELECT hs2proxy.mute_finding('near_flip', 'known', fingerprint => 'f1', until => now() + interval '1 day')`)
	f.want("f2", `SELECT string_agg(fingerprint, ',') FROM hs2proxy.report_findings WHERE kind = 'near_flip'`)
	f.want("true", `SELECT person = session_user FROM hs2proxy.finding_mutes`)
	_, err := f.db.Exec(t.Context(), `SELECT hs2proxy.mute_finding('nearflip', 'known')`)
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || !strings.Contains(pg.Hint, "near_flip") {
		t.Errorf("an unknown kind: %v", err)
	}
	f.want("1", `SELECT hs2proxy.unmute_finding('near_flip', 'no longer', fingerprint => 'f1')`)
	f.want("f1,f2", `SELECT string_agg(fingerprint, ',' ORDER BY fingerprint) FROM hs2proxy.report_findings WHERE kind = 'near_flip'`)
}

func TestMuteRights(t *testing.T) {
	f := newFixture(t, store.Options{})
	findingsScene(f)
	const denied = "42501"
	for _, c := range []struct{ role, sql, want string }{
		{"hs2proxy_reader", `SELECT hs2proxy.mute_finding('near_flip', 'r')`, denied},
		{"hs2proxy_reader", `SELECT count(*) FROM hs2proxy.report_findings_muted`, ""},
		{"hs2proxy_operator", `SELECT hs2proxy.mute_finding('near_flip', 'r')`, ""},
		{"hs2proxy_operator", `SELECT hs2proxy.record_finding_mute('near_flip', NULL, NULL, true, NULL, 'r', 'somebody else', now())`, denied},
		{"hs2proxy_operator", `INSERT INTO hs2proxy.finding_mutes (kind, muted, reason, person, at) VALUES ('k', true, 'r', 'x', now())`, denied},
		{"hs2proxy_operator", `SELECT count(*) FROM hs2proxy.report_findings_anti_join`, ""},
		{"hs2proxy_writer", `SELECT hs2proxy.record_finding_mute('near_flip', NULL, NULL, true, NULL, 'r', 'ana', now())`, ""},
		{"hs2proxy_writer", `UPDATE hs2proxy.finding_mutes SET person = 'x'`, denied},
		{"hs2proxy_writer", `DELETE FROM hs2proxy.finding_mutes`, denied},
	} {
		tx, err := f.db.Begin(t.Context())
		f.ok(err)
		_, err = tx.Exec(t.Context(), "SET LOCAL ROLE "+c.role)
		f.ok(err)
		_, err = tx.Exec(t.Context(), c.sql)
		if got := sqlState(err); got != c.want {
			t.Errorf("%s: %s: %q, want %q (%v)", c.role, c.sql, got, c.want, err)
		}
		f.ok(tx.Rollback(t.Context()))
	}
}
