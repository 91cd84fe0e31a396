package storetest

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// copyPlans copies every plan on record and its joins, under fingerprints of their own. A copy's key is a multiple of 1000 above
// its plan's.
const copyPlans = `
WITH q AS (INSERT INTO hs2proxy.queries SELECT fingerprint || '-' || g, kind, normalized, sample_sql, first_seen, last_seen, runs
           FROM hs2proxy.queries, generate_series(1, $1) g RETURNING 1),
     p AS (INSERT INTO hs2proxy.plans (id, upstream_id, fingerprint, database_name, settings_hash, plan_hash, hive_version, settings, plan_text, cause, first_explained_at, explained_at, explain_time, replay)
           OVERRIDING SYSTEM VALUE
           SELECT g * 1000::bigint + id, upstream_id, fingerprint || '-' || g, database_name, settings_hash, plan_hash, hive_version, settings, plan_text, cause, first_explained_at, explained_at, explain_time, replay
           FROM hs2proxy.plans, generate_series(1, $1) g RETURNING 1)
INSERT INTO hs2proxy.joins SELECT (jsonb_populate_record(j, jsonb_build_object('plan_id', g * 1000::bigint + j.plan_id))).*
FROM hs2proxy.joins j, generate_series(1, $1) g`

// CopyPlans makes so many copies of the plans on record, of which there are fewer than 1000, and their joins. Without it a benchmark
// would record 100,000 plans one by one.
func CopyPlans(t testing.TB, dsn string, copies int) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	if _, err := db.Exec(t.Context(), copyPlans, copies); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
}
