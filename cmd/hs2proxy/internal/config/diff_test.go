package config

import (
	"reflect"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/statscheck"
	"github.com/hs2proxy/hs2proxy/store"
)

func TestDiffSortsWhatMayChange(t *testing.T) {
	live := []string{"clients.tls", "clients.max_connections", "statistics.refresh.cooldown", "database.redact", "log.level", "statistics.thresholds"}
	a := Default()
	b := Default()
	b.Listen = ":1"
	b.Clients.TLS.CertFile = "c"
	b.Clients.MaxConnections = 7
	b.Clients.MaxConnectionsPerUser = 7 // no field of clients.max_connections
	b.Upstream.Servers = []Server{}     // nothing
	b.Service.Password = "secret"
	b.Database.Redact = []store.Redaction{{Pattern: "a"}}
	b.Stats.Thresholds.Tables = []statscheck.TableThresholds{{Pattern: "a.b"}}
	b.Stats.Refresh.Cooldown = time.Hour
	b.Log.Level, b.Log.Format = "debug", "console"
	b.Admin.Token = "secret"
	applicable, restart := Diff(a, b, live)
	if want := []string{
		"clients.tls.cert_file", "clients.max_connections", "database.redact", "statistics.thresholds.tables", "statistics.refresh.cooldown", "log.level",
	}; !reflect.DeepEqual(applicable, want) {
		t.Errorf("applicable: %q", applicable)
	}
	if want := []string{"listen", "clients.max_connections_per_user", "service.password", "log.format", "admin.token"}; !reflect.DeepEqual(restart, want) {
		t.Errorf("restart: %q", restart)
	}

	merged := Merge(a, b, live)
	if left, still := Diff(merged, b, live); left != nil || !reflect.DeepEqual(still, restart) {
		t.Errorf("after the merge: %q, %q", left, still)
	}
	if got, none := Diff(a, Default(), nil); got != nil || none != nil {
		t.Errorf("the original was changed, or differs from itself: %q, %q", got, none)
	}
}

// TestEveryFieldIsSeen: no field of the struct is outside of what Diff compares.
func TestEveryFieldIsSeen(t *testing.T) {
	var fields []string
	walk("", reflect.ValueOf(Default()), reflect.ValueOf(Default()), func(field string, a, _ reflect.Value) {
		fields = append(fields, field)
		if k := a.Kind(); k == reflect.Pointer || k == reflect.Interface || k == reflect.Func || k == reflect.Chan {
			t.Errorf("%s is a %s, which says nothing when compared", field, k)
		}
	})
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f] || f == "" {
			t.Errorf("%q twice, or without a name", f)
		}
		seen[f] = true
	}
	for _, f := range []string{"listen", "clients.failed_logins.pause", "upstream.zookeeper.ensemble", "statistics.refresh.max_failures", "admin.token"} {
		if !seen[f] {
			t.Errorf("%s is not compared", f)
		}
	}
}
