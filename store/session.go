package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/intercept"
)

// sessionsOf are rows of the table sessions.
const sessionsOf = `
SELECT x.id::uuid, x.upstream, x.user_name, x.addr, x.auth, x.protocol, x.client, x.configuration::jsonb, x.settings::jsonb, x.database_name, x.opened, x.closed
FROM unnest(@ids::text[], @upstreams::bigint[], @users::text[], @addrs::text[], @auths::text[], @protocols::integer[], @clients::text[],
            @configurations::text[], @settings::text[], @databases::text[], @opened::timestamptz[], @closed::timestamptz[])
     AS x(id, upstream, user_name, addr, auth, protocol, client, configuration, settings, database_name, opened, closed)`

const sessionsUpsert = `
INSERT INTO hs2proxy.sessions AS s (id, upstream_id, user_name, client_addr, auth, client_protocol, client_name, configuration, settings, database_name, opened_at, closed_at)` + sessionsOf + `
ON CONFLICT (id) DO UPDATE SET
    user_name = excluded.user_name, client_addr = excluded.client_addr, auth = excluded.auth, client_protocol = excluded.client_protocol,
    client_name = excluded.client_name, configuration = excluded.configuration, settings = excluded.settings,
    database_name = excluded.database_name, closed_at = coalesce(excluded.closed_at, s.closed_at)
WHERE s.closed_at IS NULL`

// sessionsInsert is for statements that come in before their session does.
const sessionsInsert = `
INSERT INTO hs2proxy.sessions (id, upstream_id, user_name, client_addr, auth, client_protocol, client_name, configuration, settings, database_name, opened_at, closed_at)` + sessionsOf + `
ON CONFLICT (id) DO NOTHING`

const statementsLost = `
UPDATE hs2proxy.statements s SET state = 'LOST', ended_at = greatest(x.closed, s.started_at)
FROM unnest(@ids::text[], @closed::timestamptz[]) AS x(id, closed)
WHERE s.session_id = x.id::uuid AND s.state = 'RUNNING'`

// sessionRow is a session as it is stored.
type sessionRow struct {
	id                                 string
	upstream                           int64
	user, addr, auth, client, database string
	protocol                           int
	configuration, settings            string
	opened                             time.Time
	closed                             *time.Time
}

func (s *Store) sessionRow(upstream int64, v intercept.Session) (row sessionRow, err error) {
	v = RedactedSession(v, s.o.Redact)
	configuration, err := asJSON(v.Configuration)
	if err != nil {
		return row, err
	}
	settings, err := asJSON(v.Settings)
	if err != nil {
		return row, err
	}
	opened := v.OpenedAt
	if opened.IsZero() {
		opened = s.o.Now()
	}
	return sessionRow{
		id: v.Handle.ID(), upstream: upstream, user: text(v.User), addr: text(v.ClientAddr), auth: text(v.Auth), client: text(v.ClientName),
		database: text(v.Database), protocol: max(0, v.ClientProtocol), configuration: string(configuration), settings: string(settings),
		opened: stamp(opened), closed: stampOrNil(v.ClosedAt),
	}, nil
}

// sessionFold gathers what the records of a wave tell of sessions. A session that was closed stays as it was.
type sessionFold struct {
	inserts, upserts map[string]sessionRow
	// ended are those of which the wave has the end, with its time.
	ended map[string]time.Time
}

func newSessionFold() *sessionFold {
	return &sessionFold{inserts: map[string]sessionRow{}, upserts: map[string]sessionRow{}, ended: map[string]time.Time{}}
}

// missing notes the session of a statement, whose own record may not be here.
func (f *sessionFold) missing(s *Store, upstream int64, v intercept.Session) error {
	id := v.Handle.ID()
	if _, there := f.inserts[id]; there {
		return nil
	}
	if _, there := f.upserts[id]; there {
		return nil
	}
	row, err := s.sessionRow(upstream, v)
	if err == nil {
		f.inserts[id] = row
	}
	return err
}

func (f *sessionFold) upsert(s *Store, upstream int64, v intercept.Session) error {
	row, err := s.sessionRow(upstream, v)
	if err != nil {
		return err
	}
	before, again := f.upserts[row.id]
	if again && before.closed != nil {
		return nil
	}
	if again { // the first one made the row
		row.upstream, row.opened = before.upstream, before.opened
	}
	f.upserts[row.id] = row
	if row.closed != nil {
		f.ended[row.id] = *row.closed
	}
	return nil
}

func (f *sessionFold) queue(batch *pgx.Batch) {
	queueSessions(batch, sessionsInsert, f.inserts)
	queueSessions(batch, sessionsUpsert, f.upserts)
}

func queueSessions(batch *pgx.Batch, sql string, by map[string]sessionRow) {
	if len(by) == 0 {
		return
	}
	rows := make([]sessionRow, 0, len(by))
	for _, id := range slices.Sorted(maps.Keys(by)) {
		rows = append(rows, by[id])
	}
	batch.Queue(sql, pgx.NamedArgs{
		"ids":            column(rows, func(r sessionRow) string { return r.id }),
		"upstreams":      column(rows, func(r sessionRow) int64 { return r.upstream }),
		"users":          column(rows, func(r sessionRow) string { return r.user }),
		"addrs":          column(rows, func(r sessionRow) string { return r.addr }),
		"auths":          column(rows, func(r sessionRow) string { return r.auth }),
		"protocols":      column(rows, func(r sessionRow) int { return r.protocol }),
		"clients":        column(rows, func(r sessionRow) string { return r.client }),
		"configurations": column(rows, func(r sessionRow) string { return r.configuration }),
		"settings":       column(rows, func(r sessionRow) string { return r.settings }),
		"databases":      column(rows, func(r sessionRow) string { return r.database }),
		"opened":         column(rows, func(r sessionRow) time.Time { return r.opened }),
		"closed":         column(rows, func(r sessionRow) *time.Time { return r.closed }),
	})
}

// queueLost ends what runs in sessions that have ended, behind the wave's statements.
func (f *sessionFold) queueLost(batch *pgx.Batch) {
	if len(f.ended) == 0 {
		return
	}
	ids := slices.Sorted(maps.Keys(f.ended))
	batch.Queue(statementsLost, pgx.NamedArgs{"ids": ids, "closed": column(ids, func(id string) time.Time { return f.ended[id] })})
}

// UpsertSession records a session as it is now. A session that was closed stays as it was.
func (s *Store) UpsertSession(ctx context.Context, v intercept.Session) error {
	_, err := s.Record(ctx, []Record{{Session: &v}})
	return err
}

// CloseSession records a session's end (now, when ClosedAt is zero). Its statements that were still running are LOST:
// nobody will see their outcome. A later RecordStatement that knows it corrects that.
func (s *Store) CloseSession(ctx context.Context, v intercept.Session) error {
	if v.ClosedAt.IsZero() {
		v.ClosedAt = s.o.Now()
	}
	return s.UpsertSession(ctx, v)
}
