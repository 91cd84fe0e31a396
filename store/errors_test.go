package store_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

func sqlState(err error) string {
	if err == nil {
		return ""
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return err.Error()
}

func dsnAs(c *pgx.ConnConfig, user, password string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(user, password), Host: net.JoinHostPort(c.Host, fmt.Sprint(c.Port)),
		Path: "/" + c.Database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

func TestOpenRefusesABadDSN(t *testing.T) {
	_, err := store.Open(t.Context(), "postgres://user:hunter2@host:notaport/db", store.Options{})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("err = %v", err)
	}
}

func TestServerThatIsDownIsUnavailable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	s, err := store.Open(t.Context(), "postgres://u:hunter2@"+addr+"/db?sslmode=disable", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sess := session("hive-a")
	err = s.RecordStatement(t.Context(), store.Observation{Session: sess, Statement: statement(sess, "SELECT 1", "f1", t0)})
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrData) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("record: %v", err)
	}
	if _, err := s.Migrate(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("migrate: %v", err)
	}
	checks := s.Doctor(t.Context())
	if len(checks) != 1 || checks[0].OK || checks[0].Mend == "" {
		t.Errorf("doctor: %+v", checks)
	}
}

// A server that takes the connection and never answers must not hold a caller.
func TestServerThatHangsIsUnavailable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	s, err := store.Open(t.Context(), "postgres://u:p@"+l.Addr().String()+"/db?sslmode=disable", store.Options{ConnectTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("ping: %v", err)
	}
}

func TestSchemaThatIsMissingIsUnavailable(t *testing.T) {
	s, err := store.Open(t.Context(), storetest.EmptyDSN(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.SaveSettings(t.Context(), "hive-a", nil); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("save: %v", err)
	}
	if _, err := s.Reports(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("reports: %v", err)
	}
	last := s.Doctor(t.Context())
	if c := last[len(last)-1]; c.OK || !strings.Contains(c.Mend, "migrate") {
		t.Errorf("doctor: %+v", last)
	}
}

func TestLockThatIsHeldIsUnavailable(t *testing.T) {
	f := newFixture(t, store.Options{LockTimeout: 20 * time.Millisecond})
	tx, err := f.db.Begin(t.Context())
	f.ok(err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), `LOCK TABLE hs2proxy.settings IN ACCESS EXCLUSIVE MODE`)
	f.ok(err)
	if err := f.SaveSettings(t.Context(), "hive-a", []store.Setting{{Name: "a"}}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("save: %v", err)
	}
}

func TestDataErrorsAreNotUnavailable(t *testing.T) {
	f := newFixture(t, store.Options{})
	s := session("hive-a")
	bad := statement(s, "SELECT 1", "f1", t0)
	bad.ID = "no uuid"
	unnamed := session("")
	wrongState := ended(statement(s, "SELECT 1", "f1", t0), "EXPLODED", 0)
	for name, o := range map[string]store.Observation{
		"id":       {Session: s, Statement: bad},
		"upstream": {Session: unnamed, Statement: statement(unnamed, "SELECT 1", "f1", t0)},
		"state":    {Session: s, Statement: wrongState},
	} {
		err := f.RecordStatement(t.Context(), o)
		if !errors.Is(err, store.ErrData) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.want("0", `SELECT count(*) FROM hs2proxy.statements`)
	// The store still works.
	f.ok(f.RecordStatement(t.Context(), store.Observation{Session: s, Statement: statement(s, "SELECT 1", "f1", t0)}))
}

func TestEndOfTheCallersContextHasNoClass(t *testing.T) {
	f := newFixture(t, store.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := f.Ping(ctx)
	if err == nil || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrData) || !errors.Is(err, context.Canceled) {
		t.Errorf("ping: %v", err)
	}
}
