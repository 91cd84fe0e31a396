package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/admin"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

func adminOn(c *config.Config) { c.Admin.Listen = "127.0.0.1:0" }

// get asks the admin port and returns status and body.
func get(t *testing.T, a *App, path string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.AdminAddr().String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// metric is the value of one line of /metrics, -1 without it.
func metric(t *testing.T, a *App, series string) float64 {
	t.Helper()
	_, body := get(t, a, "/metrics")
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(body)
	if m == nil {
		return -1
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestAdminPort: what a client does through the proxy is seen on the admin port, a kill reaches HiveServer2, and the port
// answers while connections drain.
func TestAdminPort(t *testing.T) {
	before := goleak.IgnoreCurrent()
	hive, err := hs2test.Start(hs2test.Config{Execute: func(sql string) hs2test.Outcome {
		return hs2test.Outcome{Block: strings.HasPrefix(sql, "SELECT slow"), Rows: 1, Width: 8}
	}})
	if err != nil {
		t.Fatal(err)
	}
	a, out := start(t, hive.Addr(), "", adminOn)
	for _, path := range []string{"/healthz", "/readyz"} {
		waitFor(t, func() bool { status, _ := get(t, a, path); return status == http.StatusOK })
	}

	victim, err := hs2test.Dial(t.Context(), a.Addr().String(), "analyst", "secret-password")
	if err != nil {
		t.Fatal(err)
	}
	session, err := victim.Open(t.Context(), map[string]string{"use:database": "sales"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := victim.Execute(t.Context(), session, "SELECT slow FROM a JOIN b ON a.x = b.x WHERE a.name = 'Zaphod'", true); err != nil {
		t.Fatal(err)
	}
	converse(t, a.Addr().String(), "SELECT 1")

	port, err := admin.NewClient(config.Admin{Listen: a.AdminAddr().String()}, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var live []admin.Session
	waitFor(t, func() bool { // the other client's end may not have been seen yet
		if live, err = port.Sessions(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(live) == 1
	})
	s := live[0]
	if s.User != "analyst" || s.Database != "sales" || s.ClientAddress != victim.Conn.LocalAddr().String() || s.Upstream != "default" ||
		s.Server != hive.Addr() || s.Transport != "binary" || s.Auth != "SASL PLAIN" ||
		s.Connection == nil || s.Connection.BytesFromClient == 0 || s.Connection.BytesToClient == 0 {
		t.Errorf("session %+v, connection %+v", s, s.Connection)
	}
	if st := s.Statement; st == nil || st.Kind != "SELECT" || st.State != "RUNNING" || st.OperationID == "" ||
		!strings.Contains(st.Text, "join b") || strings.Contains(st.Text, "Zaphod") {
		t.Errorf("statement %+v", s.Statement)
	}
	waitFor(t, func() bool { return metric(t, a, "hs2proxy_explain_duration_seconds_count") >= 1 })
	for series, want := range map[string]float64{
		"hs2proxy_connections_open":                                 1,
		"hs2proxy_connections_accepted_total":                       2,
		"hs2proxy_sessions":                                         1,
		"hs2proxy_statements_running":                               1,
		`hs2proxy_calls_total{method="ExecuteStatement"}`:           2,
		`hs2proxy_replies_total{method="OpenSession",outcome="ok"}`: 2,
		`hs2proxy_explain_breaker_state{state="closed"}`:            1,
		"hs2proxy_events_dropped_total":                             0,
		`hs2proxy_upstream_up{server="` + hive.Addr() + `"}`:        1,
		`hs2proxy_connections_refused_total{limit="connections"}`:   0,
		"hs2proxy_client_addresses":                                 1,
		"hs2proxy_zookeeper_up":                                     -1, // there is none
	} {
		if got := metric(t, a, series); got != want {
			t.Errorf("%s is %g, want %g", series, got, want)
		}
	}

	_, sessions, _ := hive.Open() // the victim's, and one of our own
	killed, err := port.Kill(t.Context(), s.ID)
	if err != nil || killed.ClientAddress != s.ClientAddress || len(killed.AlsoEnded) != 0 || killed.Connection == 0 || killed.Closed {
		t.Errorf("killed %+v, %v", killed, err)
	}
	if _, err := victim.Poll(t.Context(), nil); err == nil {
		t.Error("the killed client is still answered")
	}
	_ = victim.Conn.Close()
	waitFor(t, func() bool { _, left, _ := hive.Open(); return left == sessions-1 })
	if _, err := port.Kill(t.Context(), s.ID); err == nil || !strings.Contains(err.Error(), "no such session") {
		t.Errorf("killed twice: %v", err)
	}
	if got := metric(t, a, `hs2proxy_connections_failed_total{side="client"}`); got != 0 {
		t.Errorf("the kill counts as %g failures of the client", got)
	}

	stayer, err := hs2test.Dial(t.Context(), a.Addr().String(), "analyst", "secret-password")
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		stopped <- a.Shutdown(ctx)
	}()
	waitFor(t, func() bool { status, _ := get(t, a, "/healthz"); return status == http.StatusServiceUnavailable })
	if status, _ := get(t, a, "/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("ready while it drains: %d", status)
	}
	if got := metric(t, a, "hs2proxy_connections_open"); got != 1 {
		t.Errorf("%g connections while it drains, want 1", got)
	}
	_ = stayer.Conn.Close()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if _, err := port.Sessions(t.Context()); err == nil {
		t.Error("the admin port outlives the proxy")
	}
	if text := out.String(); !strings.Contains(text, "session killed by an operator") || strings.Contains(text, "Zaphod") {
		t.Errorf("log:\n%s", text)
	}
	hive.Close()
	goleak.VerifyNone(t, before)
}

// TestReadyWithoutAClient: HiveServer2 is asked for once, whoever asks how often, and coming back is noticed.
func TestReadyWithoutAClient(t *testing.T) {
	hive := startFake(t)
	a, _ := start(t, hive.Addr(), "", func(c *config.Config) { adminOn(c); c.Explain.Enabled = false })
	defer stop(t, a)
	waitFor(t, func() bool { status, _ := get(t, a, "/readyz"); return status == http.StatusOK })
	for range 10 {
		get(t, a, "/readyz")
	}
	if n := metric(t, a, `hs2proxy_upstream_dials_total{outcome="ok"}`); n != 1 || hive.Accepted() > 1 {
		t.Errorf("%g connections to HiveServer2 for eleven checks, %d there", n, hive.Accepted())
	}
	if calls := hive.Calls(); len(calls) != 0 {
		t.Errorf("a health check called HiveServer2: %v", calls)
	}
	hive.Close()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", a.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(c) // the relay closes it
	_ = c.Close()
	status, body := get(t, a, "/readyz")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "refused") {
		t.Errorf("HiveServer2 is down: %d %s", status, body)
	}
	if status, _ := get(t, a, "/healthz"); status != http.StatusOK {
		t.Errorf("alive: %d", status)
	}
	again, err := hs2test.StartAt(hive.Addr(), hs2test.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	waitFor(t, func() bool { status, _ := get(t, a, "/readyz"); return status == http.StatusOK })
}

// TestReadyWithPostgres: the schema belongs to it.
func TestReadyWithPostgres(t *testing.T) {
	hive, dsn := startFake(t), storetest.EmptyDSN(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, u.Host)
	u.Host = g.l.Addr().String()
	a, _ := start(t, hive.Addr(), u.String(), adminOn)
	defer stop(t, a)
	status, body := get(t, a, "/readyz")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "schema") {
		t.Errorf("without Postgres: %d %s", status, body)
	}
	converse(t, a.Addr().String(), "SELECT 1")
	waitFor(t, func() bool { return metric(t, a, "hs2proxy_records_waiting") > 0 })
	g.set(true)
	waitFor(t, func() bool { status, _ := get(t, a, "/readyz"); return status == http.StatusOK })
	waitFor(t, func() bool { return metric(t, a, `hs2proxy_records_total{outcome="written"}`) >= 3 })
}

// TestSpoolIsSeen: what waits on disk is told, and that it has left.
func TestSpoolIsSeen(t *testing.T) {
	hive, dsn := startFake(t), storetest.EmptyDSN(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, u.Host)
	u.Host = g.l.Addr().String()
	a, _ := start(t, hive.Addr(), u.String(), func(c *config.Config) { adminOn(c); c.Database.SpoolDir = filepath.Join(t.TempDir(), "spool") })
	defer stop(t, a)
	converse(t, a.Addr().String(), "SELECT 1")
	waitFor(t, func() bool {
		return metric(t, a, "hs2proxy_spool_records") >= 3 && metric(t, a, "hs2proxy_spool_bytes") > 0
	})
	g.set(true)
	waitFor(t, func() bool { return metric(t, a, "hs2proxy_spool_records") == 0 })
	if n := metric(t, a, `hs2proxy_spool_records_total{outcome="replayed"}`); n < 3 {
		t.Errorf("%g records replayed, want 3", n)
	}
}
