package intercept

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
	"github.com/hs2proxy/hs2proxy/intercept/limit"
)

// limitedRig is a proxy with limits in front of a fake, and what counts.
func (w way) limitedRig(t *testing.T, hive hs2test.Config, limits limit.Config) (*rig, *limit.Limiter) {
	t.Helper()
	fake, err := hs2test.Start(hive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	limiter := limit.New(limits)
	r := w.rig(t, Config{Address: fake.Addr(), Limiter: limiter})
	r.hive = fake
	return r, limiter
}

// released waits until nothing counts any more.
func released(t *testing.T, l *limit.Limiter) {
	t.Helper()
	eventually(t, "the release of everything", func() bool {
		s := l.Stats()
		return s.Connections == 0 && s.Addresses == 0 && s.Users == 0
	})
}

// TestConnectionLimits: who comes after the last place is taken is closed without a word, and has the place when it is free again.
func TestConnectionLimits(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		for what, limits := range map[limit.What]limit.Config{limit.Connections: {Max: 1}, limit.AddressConnections: {MaxPerAddress: 1}} {
			r, limiter := w.limitedRig(t, hs2test.Config{}, limits)
			first := r.dial()
			if got := ends(t, dialTo(t, r.addr)); len(got) > 0 {
				t.Errorf("%q came", got)
			}
			if s := limiter.Stats(); s.Refused[what] != 1 || s.Connections != 1 || r.server.Stats().Limited != 1 || r.server.Stats().Accepted != 1 {
				t.Errorf("%s: %+v, %+v", what, s, r.server.Stats())
			}
			_ = first.Conn.Close()
			r.over()
			released(t, limiter)
			_ = r.dial().Conn.Close()
			r.failed()
			released(t, limiter)
		}
	})
}

// TestAddressLimitBehindBalancer: the client that a PROXY header names counts, not the balancer.
func TestAddressLimitBehindBalancer(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		hive := newScript(t)
		limiter := limit.New(limit.Config{MaxPerAddress: 1})
		r := w.rig(t, Config{Address: hive.addr, ReadProxyHeader: true, Trusted: loopback(t), Limiter: limiter})
		for _, source := range []string{"192.0.2.1", "192.0.2.2"} {
			client := dialTo(t, r.addr)
			writes(t, client, []byte("PROXY TCP4 "+source+" 198.51.100.1 1 2\r\n"), hs2test.Plain("bi", "x"))
			receives(t, hive.next(t), hs2test.Plain("bi", "x"))
		}
		client := dialTo(t, r.addr)
		writes(t, client, []byte("PROXY TCP4 192.0.2.1 198.51.100.1 1 2\r\n"))
		ends(t, client)
		eventually(t, "the line", func() bool { return slices.Equal(r.log.failures(t), []string{"client limit"}) })
		if s := limiter.Stats(); s.Addresses != 2 || s.Connections != 2 || s.Refused[limit.AddressConnections] != 1 {
			t.Errorf("%+v", s)
		}
		_ = r.stop()
		released(t, limiter)
	})
}

// TestUserLimit: a client reads why in place of COMPLETE; a user counts only when HiveServer2 has agreed to the login.
func TestUserLimit(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		r, limiter := w.limitedRig(t, hs2test.Config{Passwords: map[string]string{"bi": "s3cret", "etl": "x"}}, limit.Config{MaxPerUser: 1})
		login := func(user, password string) error {
			c, err := hs2test.Dial(t.Context(), r.addr, user, password)
			if err == nil {
				t.Cleanup(func() { _ = c.Conn.Close() })
			}
			return err
		}
		if err := login("bi", "wrong"); err == nil || !strings.Contains(err.Error(), "Error validating") {
			t.Errorf("wrong password: %v", err)
		}
		r.over()
		first := r.dial()
		if err := login("bi", "wrong"); err == nil || !strings.Contains(err.Error(), "Error validating") {
			t.Errorf("wrong password: %v", err)
		}
		if err := login("bi", "s3cret"); err == nil || !strings.Contains(err.Error(), `status 3: too many connections of user "bi"`) {
			t.Errorf("second connection: %v", err)
		}
		if err := login("etl", "x"); err != nil {
			t.Errorf("another user: %v", err)
		}
		if s := limiter.Stats(); s.Users != 2 || s.Refused[limit.UserConnections] != 1 {
			t.Errorf("%+v", s)
		}
		eventually(t, "the line", func() bool { return slices.Equal(r.log.failures(t), []string{"client limit"}) })
		if stats := r.server.Stats(); stats.ClientFailures != 0 {
			t.Errorf("stats %+v", stats)
		}
		eventually(t, "the refused logins", func() bool { return r.server.Stats().RefusedLogins == 2 })
		_ = first.Conn.Close()
		eventually(t, "the place", func() bool { return limiter.Stats().Users == 1 })
		if err := login("bi", "s3cret"); err != nil {
			t.Errorf("after the first has gone: %v", err)
		}
		_ = r.stop()
		released(t, limiter)
	})
}

// TestFailedLogins: after so many an address is turned away at the door, a right password or not, until the pause is over.
func TestFailedLogins(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		r, limiter := w.limitedRig(t, hs2test.Config{Passwords: map[string]string{"bi": "s3cret"}}, limit.Config{
			FailedLogins: limit.FailedLogins{Limit: 2, Window: time.Hour, Pause: time.Hour},
		})
		for i := range 2 {
			if err := refusal(t, r.addr); !strings.Contains(err, "Error validating") {
				t.Errorf("login %d: %s", i, err)
			}
			r.over()
		}
		if got := ends(t, dialTo(t, r.addr)); len(got) > 0 {
			t.Errorf("%q came", got)
		}
		if s := limiter.Stats(); s.FailedLogins != 2 || s.Paused != 1 || s.Refused[limit.RefusedLogins] == 0 || r.server.Stats().Limited != 1 {
			t.Errorf("%+v, %+v", s, r.server.Stats())
		}
		released(t, limiter)
	})
}

// TestHTTPLimits: over HTTP the answer is 429 with the reason, in place of HiveServer2's.
func TestHTTPLimits(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		for _, tc := range []struct {
			name   string
			hive   hs2test.Config
			limits limit.Config
			before int // connections that are let in
			reason string
		}{
			{"user", hs2test.Config{HTTP: true}, limit.Config{MaxPerUser: 1}, 1, `too many connections of user "bi"`},
			{
				"failed logins",
				hs2test.Config{HTTP: true, Passwords: map[string]string{"bi": "other"}},
				limit.Config{FailedLogins: limit.FailedLogins{Limit: 1, Window: time.Hour, Pause: time.Hour}},
				0, "too many refused logins",
			},
		} {
			t.Run(tc.name, func(t *testing.T) {
				r, limiter := w.limitedRig(t, tc.hive, tc.limits)
				for range tc.before {
					client := dialTo(t, r.addr)
					writes(t, client, httpCall(""))
					if got := statusOf(t, client); got != http.StatusOK {
						t.Fatalf("status %d", got)
					}
				}
				client := dialTo(t, r.addr)
				writes(t, client, httpCall(""))
				resp, err := http.ReadResponse(bufio.NewReader(client), nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(body), tc.reason) {
					t.Errorf("status %d, %q, %v", resp.StatusCode, body, err)
				}
				_ = r.stop()
				if got := r.log.failures(t); !slices.Equal(got, []string{"client limit"}) {
					t.Errorf("failures %q", got)
				}
				released(t, limiter)
			})
		}
	})
}

// TestLoginTimeout: a client that says nothing, stops in the middle of its login or waits for its end in vain is cut; one that is
// logged in never is.
func TestLoginTimeout(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		for name, sent := range map[string][]byte{"silent": nil, "in the login": hs2test.Plain("bi", "x")[:12], "unanswered": hs2test.Plain("bi", "x")} {
			for _, lazy := range []bool{false, true} {
				hive := newScript(t)
				cfg := Config{Address: hive.addr, LoginTimeout: 20 * time.Millisecond}
				if lazy {
					cfg.Address, cfg.Servers = "", setOf(t, hive.addr, closedPort(t))
				}
				r := w.rig(t, cfg)
				client := dialTo(t, r.addr)
				_, _ = client.Write(sent) // in time or not
				ends(t, client)
				r.failed("client login")
				if stats := r.server.Stats(); stats.ClientFailures != 1 || stats.RefusedLogins != 0 {
					t.Errorf("%s: %+v", name, stats)
				}
			}
		}
	})
}

// TestLoggedInIsNotCut: when a client that came later has been cut for its silence, one that had logged in before goes on.
func TestLoggedInIsNotCut(t *testing.T) {
	forWays(t, func(t *testing.T, w way) {
		hive, err := hs2test.Start(hs2test.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(hive.Close)
		for timeout := 50 * time.Millisecond; ; timeout *= 2 { // until it is enough for a login on a busy machine
			r := w.rig(t, Config{Address: hive.Addr(), LoginTimeout: timeout})
			c, err := hs2test.Dial(t.Context(), r.addr, "bi", "x")
			if err != nil && timeout < hang {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			ends(t, dialTo(t, r.addr))
			if _, err := c.Open(t.Context(), nil); err != nil {
				t.Errorf("the client that had logged in was cut: %v", err)
			}
			_ = c.Conn.Close()
			return
		}
	})
}
