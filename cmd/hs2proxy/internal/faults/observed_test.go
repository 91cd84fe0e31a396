package faults

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
)

// inPostgres are the statements of each user in the order of their start.
func inPostgres(t *testing.T, dsn string) map[string][]string {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, `SELECT s.user_name, t.sql_text, t.state
		FROM hs2proxy.statements t JOIN hs2proxy.sessions s ON s.id = t.session_id ORDER BY t.started_at, t.id`)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	var user, sql, state string
	if _, err := pgx.ForEachRow(rows, []any{&user, &sql, &state}, func() error {
		all[user] = append(all[user], sql)
		if (state == "ERROR") != (execute(sql).Message != "") && state != "LOST" {
			t.Errorf("%s is recorded as %s", sql, state)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// allRecorded fails unless every statement of the users is in Postgres once, in order, and nothing else is but of others.
func allRecorded(t *testing.T, dsn string, users []string, others ...string) {
	t.Helper()
	all := inPostgres(t, dsn)
	for _, user := range users {
		if got, want := all[user], statements(user); !slices.Equal(got, want) {
			t.Errorf("recorded for %s: %q, sent %q", user, got, want)
		}
		delete(all, user)
	}
	for _, user := range others {
		delete(all, user)
	}
	for user, sql := range all {
		t.Errorf("recorded for %s: %q, never sent", user, sql)
	}
}
