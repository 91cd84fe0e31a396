package e2e

import (
	"archive/tar"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/config"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
	"github.com/hs2proxy/hs2proxy/statscheck"
)

//go:embed clients/metastore-pom.xml
var metastorePom []byte

// schemaScript is the newest schema that Hive 4.0.1 carries for Derby.
const schemaScript = "hive-schema-4.0.0.derby.sql"

// situated is a proxy before a HiveServer2 whose metastore Hive's own script made: it has transactions, locks and direct SQL, as
// a metastore in production has. Statistics are believed for a second, so that each query has its tables looked at. What adjust changes
// is the proxy's configuration.
func situated(t *testing.T, adjust ...func(*config.Config)) *proxied {
	t.Helper()
	if os.Getenv("HS2PROXY_E2E") != "1" {
		t.Skip("set HS2PROXY_E2E=1 to stage situations on a real HiveServer2")
	}
	p := &proxied{hive: startHive(t, localhive.Options{Conf: map[string]string{
		"javax.jdo.option.ConnectionURL":   "jdbc:derby:;databaseName=" + metastore(t),
		"datanucleus.schema.autoCreateAll": "false",
		"hive.support.concurrency":         "true",
		"hive.txn.manager":                 "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
	}})}
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

// metastore makes an empty metastore by Hive's script and returns its folder.
func metastore(t *testing.T) string {
	t.Helper()
	java, err := localhive.FindJava(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hive, err := localhive.DefaultLibDir()
	if err != nil {
		t.Fatal(err)
	}
	tools, err := cacheDir("metastore-schema-4.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		localhive.FetchJars(t.Context(), hive, java, func(s string) { t.Log(s) }),
		localhive.FetchPom(t.Context(), metastorePom, "Hive's metastore schema (79 MB, once)", tools, java, func(s string) { t.Log(s) }),
	); err != nil {
		t.Fatal(err)
	}
	releases, err := filepath.Glob(filepath.Join(tools, "*-bin.tar.gz"))
	if err != nil || len(releases) != 1 {
		t.Fatalf("the metastore's release: %v, %v", releases, err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, schemaScript)
	if err := extract(releases[0], schemaScript, script); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "metastore")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, java.Path, "-Dderby.system.durability=test", "-Dderby.stream.error.file="+filepath.Join(dir, "derby.log"),
		"-Dij.exceptionTrace=false", "-Dij.database=jdbc:derby:;databaseName="+folder+";create=true",
		"-cp", filepath.Join(hive, "*")+":"+filepath.Join(tools, "*"), "org.apache.derby.tools.ij", script)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "\nERROR ") { // ij goes on after an error
		t.Fatalf("run Hive's schema script: %v\n%s", err, lastLines(string(out), 10))
	}
	return folder
}

// extract takes the file of that name out of a tar.gz.
func extract(archive, name, to string) error {
	f, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("open the release: %w", err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("read the release: %w", err)
	}
	in := tar.NewReader(z)
	for {
		h, err := in.Next()
		if err != nil {
			return fmt.Errorf("find %s in the release: %w", name, err)
		}
		if path.Base(h.Name) != name {
			continue
		}
		text, err := io.ReadAll(in)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		return os.WriteFile(to, text, 0o600)
	}
}
