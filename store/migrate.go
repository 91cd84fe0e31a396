package store

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/hs2proxy/hs2proxy/migrations"
)

// migrateTimeout bounds a whole migration, waiting for another proxy's included.
const migrateTimeout = 10 * time.Minute

// Migration is one numbered file of the schema: ours, then those of the job queue's library, which are numbered for themselves.
type Migration struct {
	Version   int64
	Name      string
	Applied   bool
	AppliedAt time.Time
}

const schemaExists = `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = @schema)`

// createSchema is apart from the numbered files because goose keeps its own table in the schema.
const createSchema = `CREATE SCHEMA IF NOT EXISTS hs2proxy`

// Migrate brings the schema up to date, then the job queue's tables in it, and returns what this call applied. Several proxies may call
// it at once: one works, the others wait.
func (s *Store) Migrate(ctx context.Context) ([]Migration, error) {
	var done []Migration
	err := s.withGoose(ctx, true, func(ctx context.Context, p *goose.Provider, _ bool) error {
		results, err := p.Up(ctx)
		if partial, ok := errors.AsType[*goose.PartialError](err); ok {
			results, err = partial.Applied, fmt.Errorf("%s: %w", path.Base(partial.Failed.Source.Path), partial.Err)
		}
		now := s.now()
		for _, r := range results {
			done = append(done, Migration{Version: r.Source.Version, Name: migrationName(r.Source.Path), Applied: true, AppliedAt: now})
		}
		if err != nil {
			return err
		}
		queue, err := s.migrateQueue(ctx)
		done = append(done, queue...)
		return err
	})
	return done, err
}

// MigrationStatus lists the files this program knows, ours and then the job queue's, each in order, and which are applied.
func (s *Store) MigrationStatus(ctx context.Context) ([]Migration, error) {
	var all []Migration
	err := s.withGoose(ctx, false, func(ctx context.Context, p *goose.Provider, exists bool) error {
		if !exists { // goose would make its table to find it empty
			for _, src := range p.ListSources() {
				all = append(all, Migration{Version: src.Version, Name: migrationName(src.Path)})
			}
			return nil
		}
		status, err := p.Status(ctx)
		for _, m := range status {
			all = append(all, Migration{
				Version: m.Source.Version, Name: migrationName(m.Source.Path),
				Applied: m.State == goose.StateApplied, AppliedAt: m.AppliedAt,
			})
		}
		return err
	})
	if err != nil {
		return all, err
	}
	err = s.do(ctx, "read which migrations of the job queue are applied", func(ctx context.Context) error {
		queue, err := s.queueStatus(ctx)
		all = append(all, queue...)
		return err
	})
	return all, err
}

func migrationName(file string) string { return strings.TrimSuffix(path.Base(file), ".sql") }

// withGoose runs fn with goose on connections of its own, without the pool's time limits. fn learns whether the schema exists, which with
// create it always does. With create it has goose's session lock too, so that whatever else fn migrates is behind the same lock.
func (s *Store) withGoose(ctx context.Context, create bool, fn func(context.Context, *goose.Provider, bool) error) error {
	callCtx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	run := func() error {
		cfg := s.pool.Config().ConnConfig.Copy()
		delete(cfg.RuntimeParams, "statement_timeout")
		delete(cfg.RuntimeParams, "lock_timeout")
		db := stdlib.OpenDB(*cfg)
		defer func() { _ = db.Close() }()
		conn, err := db.Conn(callCtx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		if create { // the lock ends with the connection
			locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
			if err != nil {
				return err
			}
			if err := locker.SessionLock(callCtx, conn); err != nil {
				return fmt.Errorf("wait for another's migration: %w", err)
			}
		}
		var exists bool
		err = conn.QueryRowContext(callCtx, schemaExists, pgx.NamedArgs{"schema": migrations.Schema}).Scan(&exists)
		if err == nil && !exists && create {
			exists = true
			_, err = conn.ExecContext(callCtx, createSchema)
		}
		if err != nil {
			return fmt.Errorf("schema: %w", err)
		}
		versions, err := database.NewStore(database.DialectPostgres, migrations.VersionTable)
		if err != nil {
			return err
		}
		p, err := goose.NewProvider(goose.DialectCustom, db, migrations.FS, goose.WithStore(versions), goose.WithDisableGlobalRegistry(true))
		if err != nil {
			return err
		}
		return fn(callCtx, p, exists)
	}
	return classify(ctx, "migrate", run())
}
