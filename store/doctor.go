package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/migrations"
)

// minServerVersion is the oldest PostgreSQL the schema is written for.
const minServerVersion = 130000

// Check is one thing that must be right for the store to work.
type Check struct {
	Name string
	OK   bool
	// Detail is what was found, Mend what to do when it is not right.
	Detail string
	Mend   string
}

const serverVersion = `
SELECT current_setting('server_version_num')::int, current_setting('server_version'), current_user, current_database(), pg_is_in_recovery()`

const missingRights = `
SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = @schema AND c.relkind = 'r' AND c.relname NOT IN ('goose_db_version', 'river_migration')
  AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
           AND (c.relname = 'finding_mutes' -- rows are only added
                OR has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')))
UNION ALL
SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = @schema AND CASE WHEN c.relkind = 'S' AND c.relname LIKE 'river\_%' THEN NOT has_sequence_privilege(c.oid, 'USAGE') ELSE false END
ORDER BY relname`

const missingRoles = `
SELECT r FROM unnest(ARRAY['hs2proxy_writer', 'hs2proxy_reader', 'hs2proxy_operator']) r
WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles p WHERE p.rolname = r)`

// Doctor checks the connection, the server's version, the schema and the rights, in that order, and stops where the next
// check could not work.
func (s *Store) Doctor(ctx context.Context) []Check {
	version, ok := s.checkServer(ctx)
	if !ok {
		return version
	}
	schema := s.checkSchema(ctx)
	out := append(version, schema)
	if !schema.OK {
		return out
	}
	return append(out, s.checkRights(ctx), s.checkRoles(ctx))
}

func (s *Store) checkServer(ctx context.Context) (out []Check, ok bool) {
	var (
		number               int
		version, user, datab string
		standby              bool
	)
	err := s.do(ctx, "connect", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, serverVersion).Scan(&number, &version, &user, &datab, &standby)
	})
	if err != nil {
		return []Check{{
			Name: "Postgres connection", Detail: oneLine(err.Error()),
			Mend: "start the server, or correct host, port, user, password and database in the DSN",
		}}, false
	}
	out = []Check{
		{Name: "Postgres connection", OK: true, Detail: fmt.Sprintf("%s on database %s", user, datab)},
		{Name: "Postgres version", OK: number >= minServerVersion, Detail: version, Mend: "use PostgreSQL 13 or later"},
	}
	if standby {
		return append(out, Check{Name: "Postgres is writable", Detail: "the server is a standby", Mend: "name the primary in the DSN (target_session_attrs=read-write with several hosts)"}), false
	}
	return out, out[1].OK
}

func (s *Store) checkSchema(ctx context.Context) Check {
	c := Check{Name: "Postgres schema", Mend: "run hs2proxy migrate"}
	var exists bool
	err := s.do(ctx, "look for the schema", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, schemaExists, pgx.NamedArgs{"schema": migrations.Schema}).Scan(&exists)
	})
	if err != nil {
		c.Detail = oneLine(err.Error())
		return c
	}
	if !exists { // MigrationStatus would make it
		c.Detail = "the schema hs2proxy does not exist"
		return c
	}
	all, err := s.MigrationStatus(ctx)
	if err != nil {
		c.Detail = oneLine(err.Error())
		return c
	}
	var pending []string
	for _, m := range all {
		if !m.Applied {
			pending = append(pending, m.Name)
		}
	}
	if len(pending) > 0 {
		c.Detail = "not applied: " + strings.Join(pending, ", ")
		return c
	}
	last := slices.IndexFunc(all, func(m Migration) bool { return strings.HasPrefix(m.Name, queuePrefix) }) - 1
	c.OK, c.Detail = true, fmt.Sprintf("up to date (%s, %s)", all[last].Name, all[len(all)-1].Name)
	return c
}

func (s *Store) checkRights(ctx context.Context) Check {
	c := Check{Name: "Postgres rights", Mend: "GRANT hs2proxy_writer TO the DSN's user; where the role was made by hand, SELECT hs2proxy.share_queue() as the schema's owner"}
	missing, err := s.names(ctx, "read the rights", missingRights, pgx.NamedArgs{"schema": migrations.Schema})
	switch {
	case err != nil:
		c.Detail = oneLine(err.Error())
	case len(missing) > 0:
		c.Detail = "may not read and write " + strings.Join(missing, ", ")
	default:
		c.OK, c.Detail = true, "all tables can be read and written"
	}
	return c
}

// checkRoles is about people's access: the proxy works without the roles.
func (s *Store) checkRoles(ctx context.Context) Check {
	c := Check{Name: "Postgres roles", Mend: "have an administrator run CREATE ROLE for each, then GRANT as in migration 00004_roles"}
	missing, err := s.names(ctx, "read the roles", missingRoles, pgx.NamedArgs{})
	switch {
	case err != nil:
		c.Detail = oneLine(err.Error())
	case len(missing) > 0:
		c.Detail = "not there: " + strings.Join(missing, ", ")
	default:
		c.OK, c.Detail = true, "hs2proxy_writer, hs2proxy_reader and hs2proxy_operator are there"
	}
	return c
}

func (s *Store) names(ctx context.Context, what, sql string, args pgx.NamedArgs) (out []string, err error) {
	err = s.do(ctx, what, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, sql, args)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return out, err
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
