package faults

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"
	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// hang is when a test that waits for an event gives up.
const hang = time.Minute

func TestMain(m *testing.M) {
	log.Logger = zerolog.Nop() // Toxiproxy's own lines
	if os.Getenv(childVariable) != "" {
		os.Exit(child())
	}
	code := storetest.Main(m)
	if err := goleak.Find(
		// Toxiproxy leaves these behind when a fault ends a connection whose other side still sends.
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).write"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
	); code == 0 && err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// logs collects log lines.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newHive(t *testing.T, cfg hs2test.Config) *hs2test.Server {
	t.Helper()
	cfg.Repeatable = true
	if cfg.Execute == nil {
		cfg.Execute = execute
	}
	hive, err := hs2test.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hive.Close)
	return hive
}

// execute is what the fake makes of statements.
func execute(sql string) hs2test.Outcome {
	switch {
	case strings.Contains(sql, "no_such"):
		return hs2test.Outcome{Code: 10001, SQLState: "42S02", Message: "Table not found"}
	case strings.Contains(sql, "wide"):
		return hs2test.Outcome{Rows: 100, Width: 100, Batch: 40}
	default:
		return hs2test.Outcome{Rows: 3, Width: 8, Batch: 10}
	}
}

// settings are those of a proxy whose own affairs are over quickly.
func settings(hive, dsn, spoolDir string) config.Config {
	cfg := config.Default()
	cfg.Listen, cfg.Admin.Listen = "127.0.0.1:0", ""
	cfg.Upstream.Address, cfg.Upstream.DialTimeout = hive, 500*time.Millisecond
	cfg.Explain.Timeout, cfg.Explain.Rate = 500*time.Millisecond, 1000
	cfg.Explain.BreakerFailures, cfg.Explain.BreakerPause = 2, 20*time.Millisecond
	cfg.Database.URL, cfg.Database.SpoolDir, cfg.Database.KeepLiterals = dsn, spoolDir, true
	return cfg
}

// start runs a proxy to the test's end.
func start(t *testing.T, cfg config.Config) (*app.App, *logs) {
	t.Helper()
	out := &logs{}
	a, err := app.New(t.Context(), cfg, zerolog.New(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		shutdown(t, a)
		if t.Failed() {
			t.Logf("the proxy's log:\n%s", out)
		}
	})
	return a, out
}

// stopped are the proxies that shutdown has ended.
var stopped sync.Map

// shutdown ends a proxy, once.
func shutdown(t *testing.T, a *app.App) {
	t.Helper()
	if _, twice := stopped.LoadOrStore(a, true); twice {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if err := a.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// statements are one user's, each unlike any other.
func statements(user string) []string {
	return []string{
		"set hive.x=" + user, fmt.Sprintf("SELECT '%s', 1 FROM a JOIN b ON a.x = b.x", user), fmt.Sprintf("SELECT '%s', 2 FROM wide", user),
		fmt.Sprintf("INSERT INTO t SELECT '%s', 3 FROM a JOIN b ON a.y = b.y", user), fmt.Sprintf("SELECT '%s', 4 FROM no_such", user),
		fmt.Sprintf("SELECT '%s', 5 FROM a JOIN wide ON a.z = wide.z", user), fmt.Sprintf("SELECT '%s', 6", user),
	}
}

// explainable is how many of them read a table.
const explainable = 5

// converse is a conversation of a user's, that ends with the session and the connection. The client gives up after its patience.
func converse(ctx context.Context, addr, user string, patience time.Duration) error {
	login, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := hs2test.Dial(login, addr, user, "s3cret")
	if err != nil {
		return err
	}
	defer func() { _ = c.Conn.Close() }()
	if err := c.Conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	session, err := c.Open(ctx, nil)
	if err != nil {
		return err
	}
	for i, sql := range statements(user) {
		resp, err := c.Execute(ctx, session, sql, i%2 == 0)
		if err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		if resp.OperationHandle == nil {
			continue
		}
		if _, err := c.Poll(ctx, resp.OperationHandle); err != nil {
			return fmt.Errorf("poll %s: %w", sql, err)
		}
		if _, err := c.Fetch(ctx, resp.OperationHandle); err != nil {
			return fmt.Errorf("fetch %s: %w", sql, err)
		}
		if _, err := c.GetCatalogs(ctx, nil); err == nil {
			return fmt.Errorf("no exception after %s", sql)
		}
	}
	return nil
}

// recorded is a conversation and what both sides said in it.
func recorded(t *testing.T, addr, user string) (said [2][]byte) {
	t.Helper()
	r, err := hs2test.Record(addr)
	if err != nil {
		t.Fatal(err)
	}
	err = converse(t.Context(), r.Addr(), user, hang)
	fromClient, fromServer := r.Close()
	if err != nil {
		t.Fatalf("%s: %v", user, err)
	}
	return [2][]byte{fromClient[0], fromServer[0]}
}

// undisturbed compares conversations through a proxy with the same ones without it, each on a fake of its own.
func undisturbed(t *testing.T, proxy, direct, user string) {
	t.Helper()
	through, without := recorded(t, proxy, user), recorded(t, direct, user)
	for i, side := range []string{"client", "HiveServer2"} {
		if !bytes.Equal(through[i], without[i]) {
			t.Errorf("%s: %d bytes from the %s with the proxy are not the %d without", user, len(through[i]), side, len(without[i]))
		}
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s did not happen", what)
		}
	}
}

// behind is Postgres' own address, and the DSN with another in its place.
func behind(t *testing.T, dsn string) (host string, through func(string) string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host, func(addr string) string {
		other := *u
		other.Host = addr
		return other.String()
	}
}

func spoolDir(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "spool")
}
