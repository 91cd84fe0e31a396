package app

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

func spooled(dir string, keepLiterals bool) func(*config.Config) {
	return func(c *config.Config) { c.Database.SpoolDir, c.Database.KeepLiterals = dir, keepLiterals }
}

// onDisk is everything in a folder.
func onDisk(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// Postgres goes away twice and the proxy is restarted meanwhile: every statement and session is recorded once, with its
// outcome, and the folder, whenever one looks, holds no password and no literal.
func TestSpoolOutlivesPostgresAndTheProxy(t *testing.T) {
	dsn := storetest.EmptyDSN(t)
	before := goleak.IgnoreCurrent() // the test's Postgres goes on
	hive := startFake(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, u.Host)
	u.Host = g.l.Addr().String()
	dir := filepath.Join(t.TempDir(), "spool")
	lookForSecrets := func() {
		t.Helper()
		text := onDisk(t, dir)
		if !strings.Contains(text, `"v":1`) || strings.Contains(text, "secret-password") || strings.Contains(text, "literal") {
			t.Errorf("nothing on disk, or a secret or literal:\n%s", text)
		}
	}

	// Away from the start.
	a, _ := start(t, hive.Addr(), u.String(), spooled(dir, false))
	converse(t, a.Addr().String(), "SELECT 'literal-1' FROM a JOIN b ON a.x = b.x", "INSERT INTO t SELECT 'literal-2'")
	waitFor(t, func() bool { return a.Spooled() >= 4 }) // a session opened, two statements, the session closed
	lookForSecrets()
	stop(t, a)
	lookForSecrets()
	if a.Counters().RecordDropped.Load() != 0 {
		t.Errorf("%d records dropped", a.Counters().RecordDropped.Load())
	}

	// Another proxy, still no Postgres; a third one finds the folder taken.
	a, out := start(t, hive.Addr(), u.String(), spooled(dir, false))
	if waiting := a.Spooled(); waiting < 4 || !strings.Contains(out.String(), "of an earlier run") {
		t.Errorf("%d records wait after the restart", waiting)
	}
	cfg := config.Default()
	cfg.Upstream.Address, cfg.Database.URL, cfg.Database.SpoolDir = hive.Addr(), dsn, dir
	if _, err := New(t.Context(), cfg, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "another hs2proxy uses") {
		t.Errorf("a second proxy on one folder: %v", err)
	}
	converse(t, a.Addr().String(), "SELECT * FROM no_such_table")
	waitFor(t, func() bool { return a.Spooled() >= 7 })

	// There, and away again in the middle of the traffic.
	g.set(true)
	waitFor(t, func() bool { return a.Spooled() == 0 && a.Counters().Recorded.Load() >= 7 })
	converse(t, a.Addr().String(), "SELECT 'literal-3'")
	waitFor(t, func() bool { return a.Counters().Recorded.Load() >= 10 })
	g.set(false)
	g.cut()
	converse(t, a.Addr().String(), "SELECT 'literal-4'", "SELECT 'literal-5'")
	waitFor(t, func() bool { return a.Spooled() >= 4 })
	lookForSecrets()
	g.set(true)
	waitFor(t, func() bool { return a.Spooled() == 0 })
	stop(t, a)

	table := report(t, dsn, "statements")
	states := map[any]int{}
	for _, row := range table.Rows {
		states[row[columnOf(t, table, "state")]]++
	}
	if len(table.Rows) != 6 || states["FINISHED"] != 5 || states["ERROR"] != 1 {
		t.Errorf("%d statements recorded: %v", len(table.Rows), states)
	}
	c := a.Counters()
	if c.SpoolDropped.Load()+c.RecordDropped.Load()+c.RecordFailed.Load()+c.SpoolFaults.Load() != 0 || c.Replayed.Load() < 11 {
		t.Errorf("replayed %d, lost %d %d %d, faults %d", c.Replayed.Load(), c.SpoolDropped.Load(), c.RecordDropped.Load(), c.RecordFailed.Load(), c.SpoolFaults.Load())
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.segment")); err != nil || len(left) != 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
	hive.Close()
	g.close()
	goleak.VerifyNone(t, before)
}

func TestSpoolKeepsLiteralsWhenToldTo(t *testing.T) {
	hive := startFake(t)
	dir := filepath.Join(t.TempDir(), "spool")
	a, _ := start(t, hive.Addr(), "postgres://u@127.0.0.1:1/none", spooled(dir, true))
	converse(t, a.Addr().String(), "SELECT 'literal-1'", "SET fs.s3a.secret.key=hunter2", "SET hive.x=hunter3-password")
	waitFor(t, func() bool { return a.Spooled() >= 5 })
	stop(t, a)
	if text := onDisk(t, dir); !strings.Contains(text, "literal-1") || strings.Contains(text, "hunter") || strings.Contains(text, "secret-password") {
		t.Errorf("on disk:\n%s", text)
	}
}
