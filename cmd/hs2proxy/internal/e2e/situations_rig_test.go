package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

// situated is a proxy before a HiveServer2 whose metastore Hive's own script made: it has transactions, locks and direct SQL, as
// a metastore in production has. HS2PROXY_ICEBERG_JARS is a folder with Iceberg's handler for Hive 4, for those who have it. Statistics are believed for a second, so that each query has its tables looked at. What adjust changes
// is the proxy's configuration.
func situated(t *testing.T, adjust ...func(*config.Config)) *proxied {
	t.Helper()
	if os.Getenv("HS2PROXY_E2E") != "1" {
		t.Skip("set HS2PROXY_E2E=1 to stage situations on a real HiveServer2")
	}
	p := &proxied{hive: startHive(t, localhive.Options{Transactions: true, Jars: os.Getenv("HS2PROXY_ICEBERG_JARS")})}
	p.cfg = p.config(t)
	p.cfg.Stats.MaxAge = time.Second
	p.cfg.Stats.Refresh.Enabled = true
	old := agedAfter
	p.cfg.Stats.Thresholds.Tables = []statscheck.TableThresholds{{Pattern: situationsDB + ".outside", AgeJoined: &old, AgeOther: &old}}
	for _, f := range adjust {
		f(&p.cfg)
	}
	p.start(t)
	t.Cleanup(func() { p.stop(t) })
	return p
}
