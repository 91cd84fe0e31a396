package e2e

import (
	"archive/tar"
	"compress/gzip"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/pipeline"
	"github.com/hs2proxy/hs2proxy/store"
	thriftclient "github.com/hs2proxy/hs2proxy/thrift/client"
)

//go:embed clients/sys-pom.xml
var sysPom []byte

// sysTables are those of the sys database that are read.
var sysTables = []string{"DBS", "TBLS", "TABLE_PARAMS", "PARTITION_KEYS", "TAB_COL_STATS", "PARTITIONS", "PARTITION_PARAMS", "PART_COL_STATS", "SEQUENCE_TABLE"}

// sysHive starts a HiveServer2 that checks rights as SQL does and can have a sys database; "e2e" is its administrator.
func sysHive(t *testing.T) *localhive.Server {
	t.Helper()
	java, err := localhive.FindJava(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	jars, err := cacheDir("hive-jdbc-handler-4.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := localhive.FetchPom(t.Context(), sysPom, "Hive's JDBC storage handler", jars, java, func(s string) { t.Log(s) }); err != nil {
		t.Fatal(err)
	}
	return startHive(t, localhive.Options{Transactions: true, Jars: jars, Timeout: 10 * time.Minute, Conf: map[string]string{
		"hive.security.authorization.enabled": "true",
		"hive.security.authorization.manager": "org.apache.hadoop.hive.ql.security.authorization.plugin.sqlstd.SQLStdHiveAuthorizerFactory",
		"hive.security.authenticator.manager": "org.apache.hadoop.hive.ql.security.SessionStateUserAuthenticator",
		"hive.users.in.admin.role":            "e2e",
	}})
}

// sysScript are the statements of Hive's own script that make the sys tables.
func sysScript(t *testing.T) []string {
	t.Helper()
	tools, err := cacheDir("metastore-schema-4.0.1")
	if err != nil {
		t.Fatal(err)
	}
	releases, err := filepath.Glob(filepath.Join(tools, "*-bin.tar.gz"))
	if err != nil || len(releases) != 1 {
		t.Fatalf("the metastore's release: %v, %v", releases, err)
	}
	text, err := fileOf(releases[0], "hive-schema-4.0.0.hive.sql")
	if err != nil {
		t.Fatal(err)
	}
	out := []string{"CREATE DATABASE IF NOT EXISTS SYS", "USE SYS"}
	for statement := range strings.SplitSeq(text, ";\n") {
		for _, table := range sysTables {
			if strings.Contains(statement, "CREATE EXTERNAL TABLE IF NOT EXISTS `"+table+"` (") {
				out = append(out, strings.TrimSpace(statement))
			}
		}
	}
	if len(out) != 2+len(sysTables) {
		t.Fatalf("Hive's script makes %d of the %d tables", len(out)-2, len(sysTables))
	}
	return out
}

// fileOf is the file of that name in a tar.gz.
func fileOf(archive, name string) (string, error) {
	f, err := os.Open(archive)
	if err != nil {
		return "", fmt.Errorf("open the release: %w", err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", fmt.Errorf("read the release: %w", err)
	}
	in := tar.NewReader(z)
	for {
		h, err := in.Next()
		if err != nil {
			return "", fmt.Errorf("find %s in the release: %w", name, err)
		}
		if filepath.Base(h.Name) == name {
			text, err := io.ReadAll(in)
			return string(text), err
		}
	}
}

// counted is a service user's session that notes its statements.
type counted struct {
	*pipeline.Service
	mu    sync.Mutex
	asked []string
}

func countedSession(t *testing.T, hive *localhive.Server, conf map[string]string) *counted {
	t.Helper()
	login := pipeline.To(thriftclient.Config{
		Address: hive.Address(), Auth: "NONE", User: "hs2proxy", Password: "x", DialTimeout: time.Minute, CallTimeout: 5 * time.Minute,
	})
	c := &counted{Service: pipeline.NewService(login, conf)}
	t.Cleanup(c.Close)
	return c
}

func (c *counted) Query(ctx context.Context, sql string) (thriftclient.Result, error) {
	c.mu.Lock()
	c.asked = append(c.asked, sql)
	c.mu.Unlock()
	return c.Service.Query(ctx, sql)
}

// take returns the statements that begin so, of those since the last take.
func (c *counted) take(prefix string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.DeleteFunc(c.asked, func(s string) bool { return !strings.HasPrefix(s, prefix) })
	c.asked = nil
	return out
}

// checkedRecords is a store that tells of each check that ended.
type checkedRecords struct {
	*store.Store
	checked chan string
}

func (r *checkedRecords) SaveChecked(ctx context.Context, upstream, table string, c store.Checked) error {
	err := r.Store.SaveChecked(ctx, upstream, table, c)
	r.checked <- table
	return err
}

// handClock stands still until it is moved by hand, so that no busy machine makes facts grow old.
type handClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *handClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *handClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
