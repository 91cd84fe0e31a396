package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hs2proxy.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExampleIsTheDefaultAndValid(t *testing.T) {
	cfg, err := Load("../../../../configs/hs2proxy.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	want := Default() // where the file says so, it differs
	want.Listen, want.Upstream.Name, want.Upstream.Address = cfg.Listen, "prod", "hive.example.com:10000"
	want.Stats.Refresh.Schedules, want.Stats.Thresholds.Tables = cfg.Stats.Refresh.Schedules, cfg.Stats.Thresholds.Tables
	want.Stats.Refresh.Settings, want.Stats.Refresh.Tables = map[string]string{}, []statscheck.TablePolicy{}
	want.Clients.TrustedNetworks, want.Upstream.Servers, want.Database.Redact = []string{}, []Server{}, []store.Redaction{}
	want.Actuals.ExplainAnalyze.Fingerprints = []string{}
	want.Service.Settings, want.Releases = map[string]string{}, advisor.Profiles{}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("the example's values are not the defaults it says they are:\n%+v\n%+v", cfg, want)
	}
	if len(cfg.Stats.Refresh.Schedules) == 0 {
		t.Error("the example shows no schedule")
	}
}

func TestFileThenEnvironment(t *testing.T) {
	path := write(t, `
listen: 127.0.0.1:1
upstream: {address: "hive:10000", dial_timeout: 3s}
service: {settings: {tez.queue.name: stats}}
statistics: {thresholds: {tables: [{pattern: sales.orders, stale: 0.4}]}}
`)
	cfg, err := Load(path, []string{
		"HS2PROXY_UPSTREAM__ADDRESS=other:10001", "HS2PROXY_LISTEN=:2", "HS2PROXY_TEST_HS2=x:1", "HS2PROXY_E2E=1", "PATH=/bin",
	})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Upstream.Address != "other:10001" || cfg.Listen != ":2" || cfg.Upstream.DialTimeout != 3*time.Second {
		t.Errorf("got %+v", cfg)
	}
	if cfg.Service.Settings["tez.queue.name"] != "stats" || *cfg.Stats.Thresholds.Tables[0].Stale != 0.4 {
		t.Errorf("keys with dots: got %+v %+v", cfg.Service.Settings, cfg.Stats.Thresholds)
	}
	if cfg.Explain != Default().Explain {
		t.Errorf("defaults lost: %+v", cfg.Explain)
	}
}

func TestPasswordFileWins(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load("", []string{"HS2PROXY_SERVICE__PASSWORD=from-env", "HS2PROXY_SERVICE__PASSWORD_FILE=" + secret})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Service.Password != "from-file" {
		t.Errorf("got %q", cfg.Service.Password)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown field": {"upstream: {hostname: x}", "hostname"},
		"bad duration":  {"explain: {timeout: soon}", "timeout"},
		"not yaml":      {"a: [", "yaml"},
		"wrong type":    {"relay: {copy_limit: many}", "copy_limit"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(write(t, c.text), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
	if _, err := Load("/nowhere/at/all.yaml", nil); err == nil {
		t.Error("a missing file is no error")
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for field, change := range map[string]func(*Config){
		"listen":                func(c *Config) { c.Listen = "10000" },
		"upstream.address":      func(c *Config) { c.Upstream.Address = "hive" },
		"upstream.name":         func(c *Config) { c.Upstream.Name = "" },
		"relay.call_limit":      func(c *Config) { c.Relay.CallLimit = 1<<31 + 1 },
		"relay.reply_limit":     func(c *Config) { c.Relay.ReplyLimit = 0 },
		"relay.copy_limit":      func(c *Config) { c.Relay.CopyLimit = 1 },
		"relay.queue_size":      func(c *Config) { c.Relay.QueueSize = 0 },
		"service.auth":          func(c *Config) { c.Service.Auth = "SAML" },
		"service.password_file": func(c *Config) { c.Service.Auth = "LDAP" },
		"explain.rate":          func(c *Config) { c.Explain.Rate = 0 },
		"explain.fidelity.drop": func(c *Config) { c.Explain.Fidelity.Drop = 0 },
		"explain.timeout":       func(c *Config) { c.Explain.Timeout = 0 },
		"database.url":          func(c *Config) { c.Database.URL = "mysql://u:secret@h/d" },
		"database.spool_dir":    func(c *Config) { c.Database.SpoolDir = "/var/lib/hs2proxy/spool" },
		"database.spool_limit": func(c *Config) {
			c.Database.URL, c.Database.SpoolDir, c.Database.SpoolLimit = "postgres://h/d", "spool", 1<<20-1
		},
		"statistics.sys_views":            func(c *Config) { c.Stats.SysViews = "on" },
		"statistics.thresholds.watch":     func(c *Config) { c.Stats.Thresholds.Watch = 0 },
		"statistics.thresholds.tables[0]": func(c *Config) { c.Stats.Thresholds.Tables = []statscheck.TableThresholds{{Pattern: "orders"}} },
		"statistics.enabled":              func(c *Config) { c.Stats.Enabled = false; c.Stats.Refresh.Enabled = true },
		"refresh.schedules[0].cron":       func(c *Config) { c.Stats.Refresh.Schedules = []statscheck.Schedule{{Name: "n"}} },
		"refresh.schedules[1].name": func(c *Config) {
			c.Stats.Refresh.Schedules = []statscheck.Schedule{{Name: "n", Cron: "@daily"}, {Name: "n", Cron: "@daily"}}
		},
		"actuals.explain_analyze.cron":         func(c *Config) { c.Actuals.ExplainAnalyze.Cron = "nightly" },
		"actuals.explain_analyze.time_zone":    func(c *Config) { c.Actuals.ExplainAnalyze.TimeZone = "Mars/Base" },
		"actuals.explain_analyze.timeout":      func(c *Config) { c.Actuals.ExplainAnalyze.Timeout = 0 },
		"actuals.explain_analyze.max_time":     func(c *Config) { c.Actuals.ExplainAnalyze.MaxTime = -1 },
		"actuals.explain_analyze.most_joined":  func(c *Config) { c.Actuals.ExplainAnalyze.MostJoined = -1 },
		"actuals.explain_analyze.fingerprints": func(c *Config) { c.Actuals.ExplainAnalyze.Fingerprints = []string{"SELECT 1"} },
		"actuals.explain_analyze.enabled":      func(c *Config) { c.Actuals.ExplainAnalyze.Enabled = true }, // of nothing
		"explain.enabled": func(c *Config) {
			c.Explain.Enabled, c.Database.URL, c.Actuals.ExplainAnalyze = false, "postgres://h/d", ExplainAnalyze{Enabled: true, Cron: "@daily", MostJoined: 1, Timeout: 1, MaxTime: 1}
		},
		"retention.plans":                func(c *Config) { c.Retention.Plans = -1 },
		"log.level":                      func(c *Config) { c.Log.Level = "loud" },
		"log.format":                     func(c *Config) { c.Log.Format = "xml" },
		"statistics.refresh.concurrency": func(c *Config) { c.Stats.Refresh.Concurrency = 0 },
		"statistics.refresh.lock_wait":   func(c *Config) { c.Stats.Refresh.LockWait = -1 },
		"statistics.refresh.tables[0].pattern": func(c *Config) {
			c.Stats.Refresh.Tables = []statscheck.TablePolicy{{Pattern: "orders", Never: true}}
		},
		"statistics.refresh.max_failures": func(c *Config) { c.Stats.Refresh.MaxFailures = 0 },
		"upstream.dial_timeout":           func(c *Config) { c.Upstream.DialTimeout = 0 },
		"statistics.refresh.schedules[0].": func(c *Config) {
			c.Stats.Refresh.Schedules = []statscheck.Schedule{{Name: "n", Cron: "@daily", Tables: []string{"orders"}}}
		},
	} {
		cfg := Default()
		cfg.Upstream.Address = "hive:10000"
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&cfg)
		err := cfg.Validate()
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the message repeats a password: %v", field, err)
		}
	}
}
