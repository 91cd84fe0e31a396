package store_test

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/localpg"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

func TestMigrateFromEmpty(t *testing.T) {
	f := &fixture{t: t, dsn: storetest.EmptyDSN(t)}
	f.Store = f.open(store.Options{})
	f.db = f.connect(f.dsn)

	before, err := f.MigrationStatus(t.Context())
	f.ok(err)
	for _, m := range before {
		if m.Applied {
			t.Errorf("%s is applied to an empty database", m.Name)
		}
	}
	f.want("false", `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'hs2proxy')`)

	// Four proxies at once: each file is applied by one of them.
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		applied = map[string]int{}
	)
	for range 4 {
		s := f.open(store.Options{})
		wg.Go(func() {
			done, err := s.Migrate(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, m := range done {
				applied[m.Name]++
			}
		})
	}
	wg.Wait()
	if len(applied) != len(before) {
		t.Errorf("applied %v of %d files", applied, len(before))
	}
	for name, n := range applied {
		if n != 1 {
			t.Errorf("%s was applied %d times", name, n)
		}
	}
	again, err := f.Migrate(t.Context())
	if err != nil || len(again) != 0 {
		t.Errorf("a second migration applied %v, %v", again, err)
	}
	after, err := f.MigrationStatus(t.Context())
	f.ok(err)
	for i, m := range after {
		if !m.Applied || m.AppliedAt.IsZero() || m.Version != before[i].Version {
			t.Errorf("after: %+v", m)
		}
	}
	f.want("0", `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'`)
}

func TestEveryRelationAndColumnHasAComment(t *testing.T) {
	f := newFixture(t, store.Options{})
	rows, err := f.db.Query(t.Context(), `
SELECT c.relname || coalesce('.' || a.attname, '')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
CROSS JOIN LATERAL (VALUES (0), (a.attnum)) AS w(part)
LEFT JOIN pg_description d ON d.objoid = c.oid AND d.classoid = 'pg_class'::regclass AND d.objsubid = w.part
WHERE n.nspname = 'hs2proxy' AND c.relkind IN ('r', 'v') AND d.description IS NULL AND NOT (c.relname LIKE 'river\_%' AND a.attnum IS NOT NULL AND w.part > 0)`)
	f.ok(err)
	missing, err := pgx.CollectRows(rows, pgx.RowTo[string])
	f.ok(err)
	if len(missing) > 0 {
		t.Errorf("without a comment: %v", missing)
	}
	f.want("0", `SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'hs2proxy' AND obj_description(p.oid, 'pg_proc') IS NULL`)
	if n := f.one(`SELECT count(*) FROM pg_description d JOIN pg_class c ON c.oid = d.objoid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'hs2proxy'`); len(n) < 3 {
		t.Errorf("only %s comments: the query above looks at nothing", n)
	}
}

func TestTimesHaveATimeZone(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.want("tstamp", `SELECT string_agg(column_name, ',') FROM information_schema.columns WHERE table_schema = 'hs2proxy' AND data_type = 'timestamp without time zone'`)
}

func TestForeignKeysHaveAnIndex(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.want("∅", `
SELECT string_agg(c.conrelid::regclass || ' ' || c.conname, ', ')
FROM pg_constraint c
WHERE c.contype = 'f' AND c.connamespace = 'hs2proxy'::regnamespace
  AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indkey[0] = c.conkey[1])`)
}

func TestChecksRefuseWhatIsNoWord(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	st := statement(s, "SELECT 1", "f1", t0)
	f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: st, Analysis: analysis("hive-a", "f1", t0, verdict("MAP_JOIN", 1000))}))
	f.ok(f.SaveStaleness(t.Context(), "hive-a", "shop.items", nil, nil))
	_, _, err := f.RequestRefresh(t.Context(), store.RefreshRequest{Upstream: "hive-a", Table: "shop.items", Mode: "BASIC"})
	f.ok(err)
	for _, sql := range []string{
		`UPDATE hs2proxy.statements SET state = 'DONE'`,
		`UPDATE hs2proxy.plans SET cause = 'WHIM'`,
		`UPDATE hs2proxy.joins SET planned = 'HASH_JOIN'`,
		`UPDATE hs2proxy.joins SET simulated = ''`,
		`UPDATE hs2proxy.joins SET expected = ''`,
		`UPDATE hs2proxy.joins SET margin_next = NULL`,
		`UPDATE hs2proxy.joins SET margin_factor = 0`,
		`UPDATE hs2proxy.joins SET output_rows = -1`,
		`UPDATE hs2proxy.tables SET health = 1.5`,
		`UPDATE hs2proxy.tables SET plan_basic = 'FULL'`,
		`UPDATE hs2proxy.refreshes SET mode = 'FULL'`,
		`UPDATE hs2proxy.refreshes SET state = 'WAITING'`,
		`UPDATE hs2proxy.refreshes SET state = 'DONE'`,
		`UPDATE hs2proxy.refreshes SET state = 'RUNNING'`,
		`UPDATE hs2proxy.refreshes SET effect = 'GOOD'`,
		`INSERT INTO hs2proxy.staleness SELECT id, '', 'X1', 'HIGH', '', '{}', '{}', now(), now() FROM hs2proxy.tables`,
		`INSERT INTO hs2proxy.staleness SELECT id, '', 'R1', 'BAD', '', '{}', '{}', now(), now() FROM hs2proxy.tables`,
		`INSERT INTO hs2proxy.findings (upstream_id, fingerprint, kind, subject, severity, summary, evidence, advice, first_seen, last_seen, times)
		 SELECT id, 'f1', 'k', 's', 'GRAVE', '', '{}', '', now(), now(), 1 FROM hs2proxy.upstreams`,
	} {
		tag, err := f.db.Exec(t.Context(), sql)
		if err == nil {
			t.Errorf("%d rows took: %s", tag.RowsAffected(), sql)
		} else if code := sqlState(err); code != "23514" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestRolesHaveTheRightsOfTheirName(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.ok(f.SaveSettings(t.Context(), "hive-a", []store.Setting{{Name: "hive.auto.convert.join", Value: "true"}}))
	try := func(role, sql string) string {
		t.Helper()
		tx, err := f.db.Begin(t.Context())
		f.ok(err)
		defer func() { _ = tx.Rollback(t.Context()) }()
		_, err = tx.Exec(t.Context(), "SET LOCAL ROLE "+role)
		f.ok(err)
		_, err = tx.Exec(t.Context(), sql)
		return sqlState(err)
	}
	reports, err := f.Reports(t.Context())
	f.ok(err)
	for _, role := range []string{"hs2proxy_reader", "hs2proxy_operator", "hs2proxy_writer"} {
		for _, r := range reports {
			if code := try(role, "SELECT count(*) FROM hs2proxy."+r.Name); code != "" {
				t.Errorf("%s reading %s: %s", role, r.Name, code)
			}
		}
	}
	const denied = "42501"
	for _, c := range []struct{ role, sql, want string }{
		{"hs2proxy_reader", `SELECT count(*) FROM hs2proxy.statements`, denied},
		{"hs2proxy_reader", `SELECT hs2proxy.request_refresh('shop.items')`, denied},
		{"hs2proxy_reader", `DELETE FROM hs2proxy.settings`, denied},
		{"hs2proxy_operator", `SELECT hs2proxy.request_refresh('shop.items')`, ""},
		{"hs2proxy_operator", `SELECT count(*) FROM hs2proxy.refreshes`, denied},
		{"hs2proxy_operator", `INSERT INTO hs2proxy.upstreams (name) VALUES ('x')`, denied},
		{"hs2proxy_operator", `SELECT hs2proxy.enqueue_refresh(NULL, 'shop.items', 'BASIC', NULL, NULL, NULL, '', 'somebody else', now())`, denied},
		{"hs2proxy_writer", `DELETE FROM hs2proxy.settings`, ""},
		{"hs2proxy_writer", `INSERT INTO hs2proxy.upstreams (name) VALUES ('x')`, ""},
		{"hs2proxy_writer", `SELECT hs2proxy.enqueue_refresh(NULL, 'shop.items', 'BASIC', NULL, NULL, NULL, '', 'a schedule', now())`, ""},
		{"hs2proxy_writer", `DELETE FROM hs2proxy.goose_db_version`, denied},
		{"hs2proxy_writer", `DELETE FROM hs2proxy.river_migration`, denied},
		{"hs2proxy_writer", `SELECT version FROM hs2proxy.river_migration`, ""},
		{"hs2proxy_writer", `INSERT INTO hs2proxy.river_job (kind, args) VALUES ('refresh', '{}')`, ""},
		{"hs2proxy_writer", `UPDATE hs2proxy.river_leader SET leader_id = 'x'`, ""},
		{"hs2proxy_writer", `DELETE FROM hs2proxy.river_queue`, ""},
		{"hs2proxy_writer", `DROP TABLE hs2proxy.river_job`, denied},
		{"hs2proxy_reader", `SELECT count(*) FROM hs2proxy.river_job`, denied},
		{"hs2proxy_operator", `SELECT count(*) FROM hs2proxy.river_job`, denied},
		{"hs2proxy_operator", `SELECT hs2proxy.share_queue()`, denied},
		{"hs2proxy_writer", `DROP TABLE hs2proxy.settings`, denied},
	} {
		if got := try(c.role, c.sql); got != c.want {
			t.Errorf("%s: %s: %q, want %q", c.role, c.sql, got, c.want)
		}
	}
}

// A proxy may run as a role that only has hs2proxy_writer.
func TestWriterIsEnoughForTheProxy(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.exec(`DO $$ BEGIN CREATE ROLE hs2proxy_test_login LOGIN PASSWORD 'pw' IN ROLE hs2proxy_writer; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
	cfg, err := pgx.ParseConfig(f.dsn)
	f.ok(err)
	admin := f.dsn
	f.dsn = dsnAs(cfg, "hs2proxy_test_login", "pw")
	s := f.open(store.Options{})
	f.dsn = admin
	sess := session("hive-a")
	st := ended(statement(sess, "SELECT 1", "f1", t0), "FINISHED", 0)
	f.ok(s.RecordStatement(t.Context(), store.Observation{Session: sess, Statement: st, Analysis: analysis("hive-a", "f1", t0, verdict("MAP_JOIN", 1000))}))
	_, _, err = s.RequestRefresh(t.Context(), store.RefreshRequest{Upstream: "hive-a", Table: "shop.items", Mode: "BASIC"})
	f.ok(err)
	if done, err := s.Migrate(t.Context()); err != nil || len(done) > 0 { // as serve does at its start
		t.Errorf("migrated %v, %v", done, err)
	}
	for _, c := range s.Doctor(t.Context()) {
		if !c.OK {
			t.Errorf("%+v", c)
		}
	}
}

// The role was made after the migration, or a migration ended between River's tables and their grants: the next one makes it good.
func TestMigrateSharesTheQueue(t *testing.T) {
	f := newFixture(t, store.Options{})
	f.exec(`REVOKE ALL ON hs2proxy.river_job FROM hs2proxy_writer`)
	f.exec(`REVOKE ALL ON SEQUENCE hs2proxy.river_job_id_seq FROM hs2proxy_writer`)
	const shared = `SELECT concat_ws(' ', has_table_privilege('hs2proxy_writer', 'hs2proxy.river_job', 'INSERT'), has_sequence_privilege('hs2proxy_writer', 'hs2proxy.river_job_id_seq', 'USAGE'))`
	f.want("f f", shared)
	_, err := f.Migrate(t.Context())
	f.ok(err)
	f.want("t t", shared)
}

// Where the migrating role may not create roles, the schema comes without them. Roles belong to the whole server, so this
// takes one on which nobody has migrated yet.
func TestMigrateWithoutTheRightToCreateRoles(t *testing.T) {
	storetest.EmptyDSN(t) // skips where no server can be had
	server, err := localpg.Start(t.Context(), localpg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{t: t, dsn: server.DSN()}
	f.db = f.connect(f.dsn)
	f.exec(`CREATE ROLE owner LOGIN PASSWORD 'pw'`)
	f.exec(`GRANT CREATE ON DATABASE hs2proxy TO owner`)
	cfg, err := pgx.ParseConfig(f.dsn)
	f.ok(err)
	f.dsn = dsnAs(cfg, "owner", "pw")
	f.Store = f.open(store.Options{})
	_, err = f.Migrate(t.Context())
	f.ok(err)
	f.want("0", `SELECT count(*) FROM pg_roles WHERE rolname LIKE 'hs2proxy%'`)
	f.ok(f.SaveSettings(t.Context(), "hive-a", nil))
	_, _, err = f.RequestRefresh(t.Context(), store.RefreshRequest{Upstream: "hive-a", Table: "shop.items", Mode: "BASIC"})
	f.ok(err)
	for _, c := range f.Doctor(t.Context()) {
		if c.OK == (c.Name == "Postgres roles") {
			t.Errorf("%+v", c)
		}
	}
}
