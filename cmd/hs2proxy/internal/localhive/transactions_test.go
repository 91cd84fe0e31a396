package localhive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTransactionsConf(t *testing.T) {
	plain, with := site(Options{Dir: "/hive"}, ports{}), site(Options{Dir: "/hive", Transactions: true}, ports{})
	for name, want := range map[string][2]string{
		"javax.jdo.option.ConnectionURL":   {"jdbc:derby:;databaseName=/hive/metastore;create=true", "jdbc:derby:;databaseName=/hive/metastore"},
		"datanucleus.schema.autoCreateAll": {"true", "false"},
		"hive.support.concurrency":         {"false", "true"},
		"hive.txn.manager":                 {"", "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager"},
	} {
		if plain[name] != want[0] || with[name] != want[1] {
			t.Errorf("%s: %q without and %q with transactions, want %q", name, plain[name], with[name], want)
		}
	}
}

func TestTransactionsRefusals(t *testing.T) {
	if _, err := (Options{Dir: "/hive", Release: "3.1", Transactions: true}).withDefaults(); err == nil || err.Error() != "transactions: not made for Hive 3.1" {
		t.Errorf("error %v", err)
	}
	// A metastore that DataNucleus made stays as it is.
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "metastore"), 0o700); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: dir, Transactions: true}
	if err := writeMetastore(t.Context(), o, Java{}); err == nil || !strings.Contains(err.Error(), "start with Fresh") {
		t.Errorf("error %v", err)
	}
	// One of the script's is taken as it is, without Java.
	if err := os.WriteFile(filepath.Join(dir, "metastore-schema"), []byte(schemaScript), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeMetastore(t.Context(), o, Java{}); err != nil {
		t.Error(err)
	}
}

func TestExtract(t *testing.T) {
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{"release/README": "no", "release/scripts/derby/a.sql": "CREATE TABLE t;"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	from, to := filepath.Join(dir, "x.tar.gz"), filepath.Join(dir, "to.sql")
	if err := os.WriteFile(from, archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := extract(from, "a.sql", to); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "CREATE TABLE t;" {
		t.Errorf("%q, %v", text, err)
	}
	if err := extract(from, "b.sql", to); err == nil || !strings.Contains(err.Error(), "find b.sql") {
		t.Errorf("error %v for a script that is not there", err)
	}
}

func TestFurtherJarsAreLastOnTheClassPath(t *testing.T) {
	for release, want := range map[string]string{
		"4.0": " -cp /hive/conf:/jars/*:/more/* org.apache.hive.service.server.HiveServer2",
		"3.1": " /hive/conf /jars/classes /jars /more",
	} {
		if args := strings.Join(jvmArguments(Options{Dir: "/hive", LibDir: "/jars", Jars: "/more", Release: release}), " "); !strings.HasSuffix(args, want) {
			t.Errorf("arguments %s, want …%s", args, want)
		}
	}
}
