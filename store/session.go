package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/intercept"
)

const sessionUpsert = `
INSERT INTO hs2proxy.sessions AS s (id, upstream_id, user_name, client_addr, auth, client_protocol, client_name, configuration, settings, database_name, opened_at, closed_at)
VALUES (@id, @upstream, @user, @addr, @auth, @protocol, @client, @configuration, @settings, @database, @opened, @closed)
ON CONFLICT (id) DO UPDATE SET
    user_name = excluded.user_name, client_addr = excluded.client_addr, auth = excluded.auth, client_protocol = excluded.client_protocol,
    client_name = excluded.client_name, configuration = excluded.configuration, settings = excluded.settings,
    database_name = excluded.database_name, closed_at = coalesce(excluded.closed_at, s.closed_at)
WHERE s.closed_at IS NULL`

// sessionInsert is for statements that come in before their session does.
const sessionInsert = `
INSERT INTO hs2proxy.sessions (id, upstream_id, user_name, client_addr, auth, client_protocol, client_name, configuration, settings, database_name, opened_at, closed_at)
VALUES (@id, @upstream, @user, @addr, @auth, @protocol, @client, @configuration, @settings, @database, @opened, @closed)
ON CONFLICT (id) DO NOTHING`

const statementsLost = `
UPDATE hs2proxy.statements SET state = 'LOST', ended_at = greatest(@closed::timestamptz, started_at)
WHERE session_id = @id AND state = 'RUNNING'`

func (s *Store) sessionArgs(upstream int64, v intercept.Session) (pgx.NamedArgs, error) {
	v = RedactedSession(v, s.o.Redact)
	configuration, err := asJSON(v.Configuration)
	if err != nil {
		return nil, err
	}
	settings, err := asJSON(v.Settings)
	if err != nil {
		return nil, err
	}
	opened := v.OpenedAt
	if opened.IsZero() {
		opened = s.o.Now()
	}
	return pgx.NamedArgs{
		"id": v.Handle.ID(), "upstream": upstream, "user": text(v.User), "addr": text(v.ClientAddr), "auth": text(v.Auth),
		"protocol": max(0, v.ClientProtocol), "client": text(v.ClientName), "configuration": configuration, "settings": settings,
		"database": text(v.Database), "opened": stamp(opened), "closed": stampOrNil(v.ClosedAt),
	}, nil
}

// UpsertSession records a session as it is now. A session that was closed stays as it was.
func (s *Store) UpsertSession(ctx context.Context, v intercept.Session) error {
	return s.observe(ctx, "record session", []string{v.Upstream}, func(ctx context.Context, tx pgx.Tx) error {
		upstream, err := s.upstreamID(ctx, v.Upstream)
		if err != nil {
			return err
		}
		args, err := s.sessionArgs(upstream, v)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sessionUpsert, args)
		return err
	})
}

// CloseSession records a session's end (now, when ClosedAt is zero). Its statements that were still running are LOST:
// nobody will see their outcome. A later RecordStatement that knows it corrects that.
func (s *Store) CloseSession(ctx context.Context, v intercept.Session) error {
	if v.ClosedAt.IsZero() {
		v.ClosedAt = s.o.Now()
	}
	return s.observe(ctx, "close session", []string{v.Upstream}, func(ctx context.Context, tx pgx.Tx) error {
		upstream, err := s.upstreamID(ctx, v.Upstream)
		if err != nil {
			return err
		}
		args, err := s.sessionArgs(upstream, v)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(sessionUpsert, args)
		batch.Queue(statementsLost, pgx.NamedArgs{"id": v.Handle.ID(), "closed": stamp(v.ClosedAt)})
		return tx.SendBatch(ctx, batch).Close()
	})
}
