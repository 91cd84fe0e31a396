package app

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/store/storetest"
)

func valid() config.Config {
	cfg := config.Default()
	cfg.Upstream.Address = "hive:10000"
	return cfg
}

// TestReloadIsAllOrNothing: no part applies anything unless every part can.
func TestReloadIsAllOrNothing(t *testing.T) {
	var applied []string
	broken := errors.New("clients.tls.cert_file: no such file")
	var fault error
	note := func(name string, always bool, fields ...string) part {
		return part{fields: fields, always: always, prepare: func(config.Config) (func(), error) {
			return func() { applied = append(applied, name) }, nil
		}}
	}
	r := newReloader(valid(),
		note("rate", false, "explain.rate"),
		note("age", false, "explain.max_age"),
		part{fields: []string{"clients.tls"}, always: true, prepare: func(config.Config) (func(), error) {
			return func() { applied = append(applied, "certificates") }, fault
		}},
	)
	next := valid()
	next.Explain.Rate, next.Listen, next.Clients.LoginTimeout = 7, ":1", time.Hour

	fault = broken
	if got, restart, err := r.reload(next); !errors.Is(err, broken) || got != nil || restart != nil || applied != nil || r.config().Explain.Rate == 7 {
		t.Errorf("a part that cannot: %q %q %v, applied %q", got, restart, err, applied)
	}
	fault = nil
	invalid := next
	invalid.Explain.Rate = -1
	if _, _, err := r.reload(invalid); err == nil || !strings.Contains(err.Error(), "explain.rate") || applied != nil {
		t.Errorf("an invalid configuration: %v, applied %q", err, applied)
	}

	got, restart, err := r.reload(next)
	if err != nil || !reflect.DeepEqual(got, []string{"explain.rate"}) || !reflect.DeepEqual(restart, []string{"listen", "clients.login_timeout"}) {
		t.Errorf("%q, %q, %v", got, restart, err)
	}
	if !reflect.DeepEqual(applied, []string{"rate", "certificates"}) {
		t.Errorf("applied %q", applied)
	}
	if c := r.config(); c.Explain.Rate != 7 || c.Listen == ":1" {
		t.Errorf("what runs: %+v", c)
	}
	// The same again: nothing new to apply, and the restart is still due.
	applied = nil
	got, restart, err = r.reload(next)
	if err != nil || got != nil || len(restart) != 2 || !reflect.DeepEqual(applied, []string{"certificates"}) {
		t.Errorf("again: %q, %q, %v, applied %q", got, restart, err, applied)
	}
}

// TestReloadOfARunningProxy: what a running proxy does changes with its configuration.
func TestReloadOfARunningProxy(t *testing.T) {
	hive := startFake(t)
	a, out := start(t, hive.Addr(), storetest.EmptyDSN(t), func(c *config.Config) {
		c.Explain.Enabled = false
		c.Stats.Refresh.Enabled = true
		c.Stats.Refresh.Schedules = []statscheck.Schedule{{Name: "old", Cron: "@yearly"}}
	})
	defer stop(t, a)
	waitFor(t, func() bool { return strings.Contains(out.String(), "migrated") })
	if len(a.reload.live()) == 0 {
		t.Fatal("nothing is live")
	}
	for _, field := range a.reload.live() { // a field that no configuration has would never be applied
		if got := a.Config(); !hasField(got, field) {
			t.Errorf("%s is no field", field)
		}
	}
	converse(t, a.Addr().String(), "SELECT * FROM a JOIN b ON a.x = b.x")
	waitFor(t, func() bool { return a.Counters().Recorded.Load() >= 3 })
	if n := a.Counters().Explained.Load() + a.Counters().Failed.Load() + a.Counters().Refused.Load(); n != 0 {
		t.Fatalf("%d explained", n)
	}

	next := a.Config()
	next.Explain.Enabled, next.Explain.Rate, next.Explain.MaxAge = true, 100, time.Minute
	next.Database.Redact = []store.Redaction{{Pattern: "client-\\d", With: "x"}}
	next.Stats.Thresholds.MinRows = 7
	next.Stats.Refresh.Schedules = []statscheck.Schedule{{Name: "new", Cron: "@every 1s"}}
	next.Retention.Every = time.Minute
	next.Relay.QueueSize = 64
	applied, restart, err := a.Reload(next)
	if err != nil || len(applied) != 7 || !reflect.DeepEqual(restart, []string{"relay.queue_size"}) {
		t.Errorf("applied %q, restart %q, %v", applied, restart, err)
	}
	converse(t, a.Addr().String(), "SELECT * FROM a JOIN b ON a.x = b.x")
	waitFor(t, func() bool {
		c := a.Counters()
		return c.Explained.Load()+c.Failed.Load()+c.Refused.Load() == 1
	})
	waitFor(t, func() bool { return strings.Contains(out.String(), `"schedule":"new"`) })
	if strings.Contains(out.String(), `"schedule":"old"`) {
		t.Error("the replaced schedule fired")
	}
	if a.redact.Text("client-7") != "x" {
		t.Error("the redaction did not change")
	}
	next.Stats.Refresh.Schedules = []statscheck.Schedule{{Name: "bad", Cron: "61 * * * *"}}
	next.Explain.Rate = 1
	if _, _, err := a.Reload(next); err == nil || a.Config().Explain.Rate != 100 || a.Config().Stats.Refresh.Schedules[0].Name != "new" {
		t.Errorf("a bad schedule: %v, %+v", err, a.Config().Explain)
	}
}

// hasField: some configuration differs in the field.
func hasField(c config.Config, field string) bool {
	changed, _ := config.Diff(c, otherwise(), []string{field})
	return len(changed) > 0
}

// otherwise differs from every valid configuration in each field that is live.
func otherwise() config.Config {
	var c config.Config
	c.Explain.Rate, c.Explain.MaxAge, c.Explain.Enabled = -1, -1, true
	c.Database.Redact = []store.Redaction{{Pattern: "otherwise"}}
	c.Log.Level = "otherwise"
	c.Clients.MaxConnections, c.Clients.MaxConnectionsPerAddress, c.Clients.MaxConnectionsPerUser = -1, -1, -1
	c.Upstream.HTTPAddress, c.Upstream.Servers = "otherwise", []config.Server{{Address: "otherwise"}}
	c.Stats.Refresh.Schedules, c.Stats.Refresh.Tables = nil, []statscheck.TablePolicy{{Pattern: "otherwise"}}
	return c
}
