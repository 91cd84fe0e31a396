package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/tools/txtar"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// capturedPlans are the analyses of the plans captured from Hive that the advisor is tested with.
func capturedPlans(t testing.TB, upstream string) []store.Analysis {
	t.Helper()
	paths, err := filepath.Glob("../advisor/testdata/plans/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no captured plans: %v", err)
	}
	var out []store.Analysis
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range txtar.Parse(b).Files {
			if section.Name != "extended" {
				continue
			}
			p, err := explain.Parse(string(section.Data))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			a := *analysis(upstream, filepath.Base(path), t0)
			for _, j := range advisor.Joins(p) {
				a.Joins = append(a.Joins, advisor.Judge(j, advisor.NewSettings(a.Settings)))
			}
			out = append(out, a)
		}
	}
	return out
}

// multiply makes n copies of everything recorded as plans, under other fingerprints.
const multiply = `
WITH q AS (INSERT INTO hs2proxy.queries SELECT fingerprint || '-' || g, kind, normalized, sample_sql, first_seen, last_seen, runs
           FROM hs2proxy.queries, generate_series(1, $1) g RETURNING 1),
     p AS (INSERT INTO hs2proxy.plans (id, upstream_id, fingerprint, database_name, settings_hash, plan_hash, hive_version, settings, plan_text, cause, first_explained_at, explained_at, explain_time)
           OVERRIDING SYSTEM VALUE
           SELECT g * 1000::bigint + id, upstream_id, fingerprint || '-' || g, database_name, settings_hash, plan_hash, hive_version, settings, plan_text, cause, first_explained_at, explained_at, explain_time
           FROM hs2proxy.plans, generate_series(1, $1) g RETURNING 1)
INSERT INTO hs2proxy.joins SELECT (jsonb_populate_record(j, jsonb_build_object('plan_id', g * 1000::bigint + j.plan_id))).*
FROM hs2proxy.joins j, generate_series(1, $1) g`

// BenchmarkRecordedJoins reads 100,000 recorded joins; ns/op is for all of them.
func BenchmarkRecordedJoins(b *testing.B) {
	dsn := storetest.DSN(b)
	s, err := store.Open(b.Context(), dsn, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	joins := recordMany(b, s, dsn, 100_000)
	for b.Loop() {
		n := 0
		if err := s.RecordedJoins(b.Context(), store.JoinFilter{}, func(*store.RecordedJoin) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
		if n != joins {
			b.Fatalf("%d joins read, %d recorded", n, joins)
		}
	}
	b.ReportMetric(float64(joins), "joins/op")
}

// recordMany records the captured plans over and over until there are that many joins, and tells how many there are.
func recordMany(b *testing.B, s *store.Store, dsn string, least int) int {
	b.Helper()
	plans := capturedPlans(b, "hive-a")
	joins := 0
	for _, a := range plans {
		if err := s.RecordPlan(b.Context(), a); err != nil {
			b.Fatal(err)
		}
		joins += len(a.Joins)
	}
	copies := (least + joins - 1) / joins
	db, err := pgx.Connect(b.Context(), dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close(b.Context())
	if _, err := db.Exec(b.Context(), multiply, copies-1); err != nil {
		b.Fatal(err)
	}
	if _, err := db.Exec(b.Context(), "ANALYZE"); err != nil {
		b.Fatal(err)
	}
	return copies * joins
}
