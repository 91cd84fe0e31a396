// Package storetest gives tests a real Postgres: one server for a test binary, a database of its own for every test.
//
// The server is started when the first test asks for a database. HS2PROXY_TEST_POSTGRES names one that runs already; its
// role must be allowed to create databases. Without a server tests are skipped, in CI (CI=true) they fail, and so they do on
// a migration that fails.
package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/localpg"
)

const startTimeout = 3 * time.Minute

var server struct {
	sync.Mutex
	local *localpg.Server
	// admin is the DSN of a database of which others may be made; err says why there is none.
	admin string
	err   error
	// template is the name of a migrated database.
	template string
}

// Main runs the tests of a package and stops the server:
//
//	func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }
func Main(m *testing.M) int {
	if localpg.Hook() {
		os.Exit(0) //nolint:forbidigo // the keeper is no test run: nobody may go on to judge it
	}
	code := m.Run()
	if err := stop(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "storetest:", err)
		return max(code, 1)
	}
	return code
}

func stop() error {
	server.Lock()
	defer server.Unlock()
	if server.local != nil {
		return server.local.Stop()
	}
	if server.template != "" {
		return exec(context.Background(), server.admin, "DROP DATABASE IF EXISTS "+server.template)
	}
	return nil
}

// start finds or starts the server and makes the template, once.
func start() (admin, template string, err error) {
	server.Lock()
	defer server.Unlock()
	if server.admin != "" || server.err != nil {
		return server.admin, server.template, server.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	dsn := os.Getenv("HS2PROXY_TEST_POSTGRES") //nolint:forbidigo // a switch of the tests
	if dsn == "" {
		if server.local, server.err = localpg.Start(ctx, localpg.Options{}); server.err != nil {
			return "", "", server.err
		}
		dsn = server.local.DSN()
	}
	server.template = newName()
	if err := makeTemplate(ctx, dsn, server.template); err != nil {
		server.err = fmt.Errorf("%w: %w", errTemplate, err)
	} else {
		server.admin = dsn
	}
	return server.admin, server.template, server.err
}

// errTemplate: the server is there, and what we do with it is wrong: no reason to skip.
var errTemplate = errors.New("make the tests' database")

func makeTemplate(ctx context.Context, admin, name string) error {
	if err := exec(ctx, admin, "CREATE DATABASE "+name); err != nil {
		return err
	}
	dsn, err := withDatabase(admin, name)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, dsn, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Migrate(ctx)
	return err
}

// EmptyDSN is the DSN of a new database, dropped at the test's end.
func EmptyDSN(t testing.TB) string {
	t.Helper()
	return database(t, "")
}

// DSN is the DSN of a new, migrated database, dropped at the test's end.
func DSN(t testing.TB) string {
	t.Helper()
	_, template, err := start()
	need(t, err)
	return database(t, template)
}

// Open is a Store on a new, migrated database, closed and dropped at the test's end.
func Open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), DSN(t), o)
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

func database(t testing.TB, template string) string {
	t.Helper()
	admin, _, err := start()
	need(t, err)
	name := newName()
	create := "CREATE DATABASE " + name
	if template != "" {
		create += " TEMPLATE " + template
	}
	// Two copies of one template at a time are refused.
	server.Lock()
	err = exec(t.Context(), admin, create)
	server.Unlock()
	if err != nil {
		t.Fatalf("make a database: %v", err)
	}
	t.Cleanup(func() {
		if err := exec(context.Background(), admin, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	dsn, err := withDatabase(admin, name)
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

func need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, errTemplate):
		t.Fatal(err)
	case os.Getenv("CI") == "true": //nolint:forbidigo // CI must not pass without the tests
		t.Fatalf("no Postgres to test against: %v", err)
	default:
		t.Skipf("no Postgres to test against: %v", err)
	}
}

func newName() string { return "hs2proxy_test_" + strings.ToLower(rand.Text()) }

func withDatabase(dsn, name string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		return "", errors.New("HS2PROXY_TEST_POSTGRES must be a URL such as postgres://user:password@host:5432/postgres")
	}
	u.Path = "/" + name
	return u.String(), nil
}

func exec(ctx context.Context, dsn, sql string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	_, err = c.Exec(ctx, sql)
	return err
}
