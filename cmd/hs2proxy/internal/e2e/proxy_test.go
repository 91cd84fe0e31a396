package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/app"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// proxied is a HiveServer2 of the test's own, a proxy in front of it and a database behind it.
type proxied struct {
	hive  *localhive.Server
	proxy *app.App
	cfg   config.Config
}

// startUpstream starts HiveServer2; the proxy is started by start.
func startUpstream(t *testing.T, auth localhive.Auth) *proxied {
	t.Helper()
	if os.Getenv("HS2PROXY_E2E") != "1" {
		t.Skip("set HS2PROXY_E2E=1 to run real clients through the proxy to a real HiveServer2")
	}
	hive, err := localhive.Start(t.Context(), localhive.Options{Dir: t.TempDir(), Auth: auth, Progress: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hive.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	cfg := config.Default()
	cfg.Listen, cfg.Admin.Listen = "127.0.0.1:0", ""
	cfg.Upstream.Address = hive.Address()
	cfg.Service.Auth = string(auth)
	cfg.Explain.Rate = 100
	cfg.Database.URL = storetest.DSN(t)
	return &proxied{hive: hive, cfg: cfg}
}

func (p *proxied) start(t *testing.T) {
	t.Helper()
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	proxy, err := app.New(t.Context(), p.cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := proxy.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.proxy = proxy
}

// stop drains the proxy; everything it saw is in the database afterwards.
func (p *proxied) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if err := p.proxy.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// statements reads what was recorded.
func (p *proxied) statements(t *testing.T) []map[string]any {
	t.Helper()
	s, err := store.Open(t.Context(), p.cfg.Database.URL, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table, err := s.Report(t.Context(), "statements")
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, row := range table.Rows {
		m := map[string]any{}
		for i, c := range table.Columns {
			m[c] = row[i]
		}
		out = append(out, m)
	}
	return out
}

// Every client gets the same bytes through the proxy as without it, every statement is recorded once with its outcome, and
// neither an operation nor a session of ours is left in HiveServer2.
func TestRealClientsThroughTheProxy(t *testing.T) {
	type run func(context.Context, Target) ([]byte, error)
	for auth, clients := range map[localhive.Auth]map[client]run{
		localhive.AuthNone:   {pyHive: RunPyHive, jdbc: RunJDBC},
		localhive.AuthNoSASL: {pyHive: RunPyHive},
	} {
		t.Run(string(auth), func(t *testing.T) {
			p := startUpstream(t, auth)
			before := goleak.IgnoreCurrent()
			p.start(t)
			for name, run := range clients {
				t.Run(string(name), func(t *testing.T) {
					target := Target{Address: p.hive.Address(), Auth: string(auth), Database: "e2e_" + string(name)}
					direct, err := run(t.Context(), target)
					if err != nil {
						t.Fatalf("direct: %v\nuntil then:\n%s", err, direct)
					}
					judge(t, name, target.Database, direct)
					target.Address = p.proxy.Addr().String()
					through, err := run(t.Context(), target)
					if err != nil {
						t.Fatalf("through the proxy: %v\nuntil then:\n%s", err, through)
					}
					if difference := firstDifference(direct, through); difference != "" {
						t.Error(difference)
					}
				})
			}
			p.stop(t)
			p.judgeStatements(t, len(clients))
			p.judgeLeaks(t)
			goleak.VerifyNone(t, before)
		})
	}
}

// judgeStatements compares the record with HiveServer2's own log.
func (p *proxied) judgeStatements(t *testing.T, clients int) {
	t.Helper()
	recorded := p.statements(t)
	log := readLog(t, p.hive.LogFile())

	sessions, operations := map[string]bool{}, map[string]bool{}
	states := map[string]int{}
	explained := 0
	for _, s := range recorded {
		sessions[fmt.Sprint(s["session_id"])] = true
		states[fmt.Sprint(s["state"])]++
		if op := fmt.Sprint(s["operation_id"]); op != "" && s["operation_id"] != nil {
			if operations[op] {
				t.Errorf("operation %s is recorded twice", op)
			}
			operations[op] = true
			if !log.added[op] {
				t.Errorf("operation %s is recorded and unknown to HiveServer2", op)
			}
		}
		if s["analyzed"] == true && fmt.Sprint(s["explain_error"]) == "" {
			explained++
		}
	}
	want := 0
	for op, session := range log.session {
		if sessions[session] && !log.ours[op] {
			want++
		}
	}
	if len(recorded) != want {
		t.Errorf("%d statements recorded, HiveServer2 ran %d of the clients'", len(recorded), want)
	}
	if states["RUNNING"] != 0 || states["LOST"] != 0 {
		t.Errorf("outcomes missing: %v", states)
	}
	if states["CANCELED"] != clients || states["ERROR"] < 5*clients || states["FINISHED"] < 40*clients {
		t.Errorf("outcomes %v: the clients cancel, fail and finish more than that", states)
	}
	if explained < 20*clients {
		t.Errorf("%d statements explained; the clients run more joins than that", explained)
	}
	t.Logf("%d statements: %v; %d explained; %d EXPLAINs of ours", len(recorded), states, explained, len(log.ours))
}

// judgeLeaks looks for operations and sessions that were added and never closed.
func (p *proxied) judgeLeaks(t *testing.T) {
	t.Helper()
	deadline, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		left := readLog(t, p.hive.LogFile()).left()
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.Done():
			t.Fatalf("left open in HiveServer2: %s", strings.Join(left, ", "))
		}
	}
}

// hiveLog is what HiveServer2's log tells of operations and sessions, by their GUIDs.
type hiveLog struct {
	added, closed map[string]bool
	session       map[string]string // operation → its session
	ours          map[string]bool   // operations that ran our EXPLAIN EXTENDED in a client's session
	opened, ended map[string]bool
}

func (l hiveLog) left() []string {
	var out []string
	for op := range l.added {
		if !l.closed[op] {
			out = append(out, "operation "+op)
		}
	}
	for s := range l.opened {
		if !l.ended[s] {
			out = append(out, "session "+s)
		}
	}
	slices.Sort(out)
	return out
}

func readLog(t *testing.T, file string) hiveLog {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l := hiveLog{map[string]bool{}, map[string]bool{}, map[string]string{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	explains := map[string]bool{} // by query id
	for line := range strings.Lines(string(b)) {
		switch {
		case strings.Contains(line, "Adding operation: "):
			op := guidAfter(line, "getHandleIdentifier()=")
			l.added[op], l.session[op] = true, guidAfter(line, "SessionHandle [")
			if !strings.Contains(line, "opType=EXECUTE_STATEMENT") {
				delete(l.session, op)
			}
		case strings.Contains(line, "Closing operation: "):
			l.closed[guidAfter(line, "getHandleIdentifier()=")] = true
		case strings.Contains(line, "Removed queryId: "):
			if id, _, ok := strings.Cut(after(line, "Removed queryId: "), " "); ok && explains[id] {
				l.ours[guidAfter(line, "getHandleIdentifier()=")] = true
			}
		case strings.Contains(line, "Compiling command(queryId="):
			id, rest, _ := strings.Cut(after(line, "Compiling command(queryId="), ")")
			if strings.HasPrefix(rest, ": EXPLAIN EXTENDED ") {
				explains[id] = true
			}
		case strings.Contains(line, "Session opened, SessionHandle ["):
			l.opened[guidAfter(line, "SessionHandle [")] = true
		case strings.Contains(line, "Session closed, SessionHandle ["):
			l.ended[guidAfter(line, "SessionHandle [")] = true
		}
	}
	return l
}

func after(line, mark string) string {
	_, rest, _ := strings.Cut(line, mark)
	return rest
}

func guidAfter(line, mark string) string {
	rest := after(line, mark)
	if len(rest) < 36 {
		return ""
	}
	return rest[:36]
}
