package app

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/beltran/gohive/hiveserver"
	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/admin"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// victims is a fake HiveServer2, a proxy in front of it and the admin port's other end.
type victims struct {
	hive *hs2test.Server
	app  *App
	port *admin.Client
	out  *logs
}

func newVictims(t *testing.T, fake hs2test.Config, change func(*config.Config)) *victims {
	t.Helper()
	fake.Execute = func(sql string) hs2test.Outcome {
		return hs2test.Outcome{Block: strings.HasPrefix(sql, "SELECT slow")}
	}
	hive, err := hs2test.Start(fake)
	if err != nil {
		t.Fatal(err)
	}
	v := &victims{hive: hive}
	v.app, v.out = start(t, hive.Addr(), "", func(c *config.Config) {
		adminOn(c)
		c.Explain.Enabled = false
		if fake.HTTP {
			c.Service.Transport = config.TransportHTTP
		}
		if change != nil {
			change(c)
		}
	})
	waitFor(t, func() bool { status, _ := get(t, v.app, "/healthz"); return status == http.StatusOK })
	if v.port, err = admin.NewClient(config.Admin{Listen: v.app.AdminAddr().String()}, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *victims) end(t *testing.T) {
	t.Helper()
	stop(t, v.app)
	v.hive.Close()
}

func (v *victims) sessions() int {
	_, n, _ := v.hive.Open()
	return n
}

// only is the one session that is live.
func (v *victims) only(t *testing.T) (s admin.Session) {
	t.Helper()
	waitFor(t, func() bool {
		live, err := v.port.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(live) != 1 {
			return false
		}
		s = live[0]
		return true
	})
	return s
}

// TestKillOverHTTP: no connection ends the session, so HiveServer2 is asked to close it.
func TestKillOverHTTP(t *testing.T) {
	before := goleak.IgnoreCurrent()
	v := newVictims(t, hs2test.Config{HTTP: true}, nil)
	c, hangUp, err := hs2test.DialHTTP(v.app.Addr().String(), "analyst", "secret-password")
	if err != nil {
		t.Fatal(err)
	}
	session, err := c.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Execute(t.Context(), session, "SELECT slow FROM t WHERE name = 'Zaphod'", true); err != nil {
		t.Fatal(err)
	}
	s := v.only(t)
	if s.User != "analyst" || !strings.HasPrefix(s.ClientAddress, "127.0.0.1:") || s.Transport != "http" || s.Auth != "HTTP BASIC" ||
		s.Server != v.hive.Addr() || s.Connection != nil {
		t.Errorf("session %+v", s)
	}
	if st := s.Statement; st == nil || st.State != "RUNNING" || !strings.Contains(st.Text, "select slow") || strings.Contains(st.Text, "Zaphod") {
		t.Errorf("statement %+v", s.Statement)
	}

	// A refusal is HiveServer2's word, and the session stays.
	refusal := "analyst is on holiday"
	v.hive.Override("CloseSession", func(e *hs2test.Exchange) error {
		return e.Reply(&hiveserver.TCLIServiceCloseSessionResult{Success: &hiveserver.TCloseSessionResp{Status: &hiveserver.TStatus{
			StatusCode: hiveserver.TStatusCode_ERROR_STATUS, ErrorMessage: &refusal,
		}}})
	})
	if _, err := v.port.Kill(t.Context(), s.ID); err == nil || !strings.Contains(err.Error(), refusal) || !strings.Contains(err.Error(), v.hive.Addr()) {
		t.Errorf("HiveServer2 refuses: %v", err)
	}
	v.hive.Override("CloseSession", nil)
	if v.sessions() != 1 {
		t.Errorf("%d sessions after a refused kill", v.sessions())
	}

	killed, err := v.port.Kill(t.Context(), s.ID)
	if err != nil || !killed.Closed || killed.Connection != 0 || killed.Server != v.hive.Addr() || killed.Session != s.ID {
		t.Errorf("killed %+v, %v", killed, err)
	}
	if live, err := v.port.Sessions(t.Context()); err != nil || len(live) != 0 || v.sessions() != 0 {
		t.Errorf("after the kill: %+v, %v, %d sessions in HiveServer2", live, err, v.sessions())
	}
	if got := metric(t, v.app, "hs2proxy_http_connections_open"); got < 1 {
		t.Errorf("%g connections over HTTP", got)
	}
	resp, err := c.Execute(t.Context(), session, "SELECT 1", true)
	if err != nil || resp.Status.StatusCode != hiveserver.TStatusCode_ERROR_STATUS {
		t.Errorf("the killed client is answered %v, %v", resp, err)
	}
	if _, err := v.port.Kill(t.Context(), s.ID); err == nil || !strings.Contains(err.Error(), "no such session") {
		t.Errorf("killed twice: %v", err)
	}
	if strings.Contains(v.out.String(), "Zaphod") {
		t.Error("the log holds SQL text")
	}
	hangUp()
	waitFor(t, func() bool { return metric(t, v.app, "hs2proxy_http_connections_open") == 0 })
	v.end(t)
	goleak.VerifyNone(t, before)
}

// TestKillWithTheConnectionGone: HiveServer2 keeps sessions of connections that ended, and a cut alone ends none.
func TestKillWithTheConnectionGone(t *testing.T) {
	for name, gone := range map[string]bool{"gone": true, "there": false} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			v := newVictims(t, hs2test.Config{KeepSessions: true}, func(c *config.Config) { c.Upstream.KeepSessions = true })
			c, err := hs2test.Dial(t.Context(), v.app.Addr().String(), "analyst", "secret-password")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Open(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if gone {
				_ = c.Conn.Close()
				waitFor(t, func() bool { return v.only(t).Connection == nil })
			}
			killed, err := v.port.Kill(t.Context(), v.only(t).ID)
			if err != nil || !killed.Closed || (killed.Connection == 0) != gone {
				t.Errorf("killed %+v, %v", killed, err)
			}
			if v.sessions() != 0 {
				t.Errorf("%d sessions in HiveServer2", v.sessions())
			}
			_ = c.Conn.Close()
			v.end(t)
			goleak.VerifyNone(t, before)
		})
	}
}

// TestKillUnknown: an id that nobody has is told apart from a kill that failed.
func TestKillUnknown(t *testing.T) {
	v := newVictims(t, hs2test.Config{}, nil)
	defer v.end(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+v.app.AdminAddr().String()+"/sessions/nobody/kill", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct{ Error string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != http.StatusNotFound || answer.Error != "no such session" {
		t.Errorf("%d, %+v, %v", resp.StatusCode, answer, err)
	}
	if calls := v.hive.Calls(); len(calls) != 0 {
		t.Errorf("HiveServer2 was asked: %v", calls)
	}
}

// fakeSessions is a relay with one session.
type fakeSessions struct {
	session intercept.Session
	cut     error
	ended   bool
}

func (f *fakeSessions) SessionEnded(string) bool {
	f.ended = true
	return true
}

func (f *fakeSessions) Sessions() []intercept.LiveSession {
	return []intercept.LiveSession{{Session: f.session}}
}

func (f *fakeSessions) KillSession(string) (intercept.Killed, error) {
	return intercept.Killed{Connection: intercept.ConnectionInfo{ID: 7, ClientAddr: "c:1"}, AlsoEnded: []string{"other"}}, f.cut
}

// TestWaysToKill: what is done in which case, and what is said of it.
func TestWaysToKill(t *testing.T) {
	lost, refused := errors.New("connection refused"), &client.Error{Message: "not today"}
	for name, c := range map[string]struct {
		auth        string
		outlive     bool
		cut, end    error
		connection  int64
		closed      bool
		also, ended int
		want        string // error
		missing     bool   // is it ErrNoSession
	}{
		"cut":                     {auth: "SASL PLAIN", connection: 7, also: 1},
		"gone meanwhile":          {auth: "SASL PLAIN", cut: intercept.ErrNoSession, want: "no such session", missing: true},
		"no connection":           {auth: "SASL PLAIN", cut: intercept.ErrNoConnection, closed: true, ended: 1},
		"not reached":             {auth: "HTTP BASIC", cut: intercept.ErrNoConnection, end: lost, ended: 1, want: "connection of our own (service.…): connection refused"},
		"refused":                 {auth: "HTTP BASIC", cut: intercept.ErrNoConnection, end: refused, ended: 1, want: "s:10000 refuses to close it: not today"},
		"closed already":          {auth: "HTTP BASIC", cut: intercept.ErrNoConnection, end: &client.Error{Message: "Session does not exist: x"}, ended: 1, want: "closed it already", missing: true},
		"closed already, in time": {auth: "HTTP BASIC", cut: intercept.ErrNoConnection, end: &client.Error{Message: "Invalid SessionHandle: x"}, ended: 1, want: "closed it already", missing: true},
		"sessions outlive":        {auth: "SASL PLAIN", outlive: true, connection: 7, closed: true, ended: 1},
		"they do not after all":   {auth: "SASL PLAIN", outlive: true, end: &client.Error{Message: "Session does not exist: x"}, connection: 7, ended: 1},
		"cut but kept":            {auth: "SASL PLAIN", outlive: true, end: lost, ended: 1, want: "connection 7 of c:1 is cut, but HiveServer2 keeps the session"},
		"seen over HTTP":          {auth: "HTTP BASIC", connection: 7, closed: true, ended: 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeSessions{cut: c.cut}
			f.session.Auth, f.session.Server = c.auth, "s:10000"
			f.session.Handle.GUID[0], f.session.Handle.Secret[0] = 1, 2
			ended := 0
			k := &killer{relay: f, outlive: c.outlive, end: func(ctx context.Context, server string, h client.Handle) error {
				if _, bounded := ctx.Deadline(); !bounded || server != "s:10000" || h.GUID[0] != 1 || h.Secret[0] != 2 {
					t.Errorf("asked %s to close %v, bounded %v", server, h, bounded)
				}
				ended++
				return c.end
			}}
			got, err := k.kill(t.Context(), f.session.Handle.ID())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || errors.Is(err, intercept.ErrNoSession) != c.missing {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if told := c.ended > 0 && (c.end == nil || c.missing || c.want == ""); f.ended != told {
				t.Errorf("the relay was told of the end: %v, want %v", f.ended, told)
			}
			if got.Connection != c.connection || got.Closed != c.closed || len(got.AlsoEnded) != c.also || ended != c.ended {
				t.Errorf("%+v, asked HiveServer2 %d times", got, ended)
			}
		})
	}
}
