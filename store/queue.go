package store

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/rs/zerolog"

	"github.com/hs2proxy/hs2proxy/migrations"
)

// The job queue's own tables (river_job, river_leader, river_queue, …) come with the library that works on them, and so do their
// migrations: a new version of River brings what it needs.

// queueUnshared: River's tables have not been handed to the role of the proxies, or changed since. Only their owner can.
const queueUnshared = `
SELECT EXISTS (
    SELECT 1 FROM pg_catalog.pg_class c
    WHERE c.oid = to_regclass('hs2proxy.river_job') AND pg_has_role(c.relowner, 'USAGE')
      AND (@changed::boolean OR obj_description(c.oid, 'pg_class') IS NULL
           OR EXISTS (SELECT 1 FROM pg_catalog.pg_roles r WHERE r.rolname = 'hs2proxy_writer' AND NOT has_table_privilege(r.oid, c.oid, 'INSERT'))))`

const queueShare = `SELECT hs2proxy.share_queue()`

// migrateQueue brings River's tables up to date and returns what it applied.
func (s *Store) migrateQueue(ctx context.Context) (done []Migration, err error) {
	cfg := s.pool.Config()
	delete(cfg.ConnConfig.RuntimeParams, "statement_timeout")
	delete(cfg.ConnConfig.RuntimeParams, "lock_timeout")
	cfg.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	migrator, err := s.queueMigrator(pool)
	if err != nil {
		return nil, err
	}
	result, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	if err != nil {
		return nil, fmt.Errorf("the job queue's tables: %w", err)
	}
	now := s.now()
	for _, v := range result.Versions {
		done = append(done, Migration{Version: int64(v.Version), Name: queueMigration(v.Version, v.Name), Applied: true, AppliedAt: now})
	}
	var unshared bool
	err = pool.QueryRow(ctx, queueUnshared, pgx.NamedArgs{"changed": len(done) > 0}).Scan(&unshared)
	if err == nil && unshared {
		_, err = pool.Exec(ctx, queueShare)
	}
	if err != nil {
		return done, fmt.Errorf("hand the job queue's tables to hs2proxy_writer: %w", err)
	}
	return done, nil
}

func (s *Store) queueMigrator(pool *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
	return rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{
		Schema: migrations.Schema, Logger: slog.New(zerolog.NewSlogHandler(s.o.Logger.Level(zerolog.WarnLevel))),
	})
}

// queuePrefix begins the names of River's migrations.
const queuePrefix = "river_"

func queueMigration(version int, name string) string {
	return fmt.Sprintf("%s%03d_%s", queuePrefix, version, strings.ReplaceAll(name, " ", "_"))
}

const queueThere = `SELECT to_regclass('hs2proxy.river_migration') IS NOT NULL`

const queueApplied = `SELECT version, created_at FROM hs2proxy.river_migration`

// queueStatus lists River's migrations, in order, and which are applied.
func (s *Store) queueStatus(ctx context.Context) ([]Migration, error) {
	applied := map[int64]time.Time{}
	var there bool
	if err := s.pool.QueryRow(ctx, queueThere).Scan(&there); err != nil {
		return nil, err
	}
	if there {
		rows, err := s.pool.Query(ctx, queueApplied)
		if err != nil {
			return nil, err
		}
		var (
			version int64
			at      time.Time
		)
		if _, err := pgx.ForEachRow(rows, []any{&version, &at}, func() error {
			applied[version] = at
			return nil
		}); err != nil {
			return nil, err
		}
	}
	migrator, err := s.queueMigrator(s.pool)
	if err != nil {
		return nil, err
	}
	var all []Migration
	for _, m := range migrator.AllVersions() {
		at, ok := applied[int64(m.Version)]
		all = append(all, Migration{Version: int64(m.Version), Name: queueMigration(m.Version, m.Name), Applied: ok, AppliedAt: at})
	}
	return all, nil
}

// Pool is what the job queue's client works with. Its tables are in the schema hs2proxy.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// UpstreamKey is the key of an upstream in hs2proxy.upstreams, which is made when it is new. ErrData without a name.
func (s *Store) UpstreamKey(ctx context.Context, name string) (key int64, err error) {
	err = s.do(ctx, "read an upstream's key", func(ctx context.Context) error {
		key, err = s.upstreamID(ctx, name)
		return err
	})
	return key, err
}
