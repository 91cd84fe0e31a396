package localhive

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
)

//go:embed pom-metastore.xml
var metastorePom []byte

// schemaScript is the newest schema that Hive 4.0.1 carries for Derby.
const schemaScript = "hive-schema-4.0.0.derby.sql"

// transactionsConf are the properties of a server with Options.Transactions.
func transactionsConf(l layout) map[string]string {
	return map[string]string{
		"javax.jdo.option.ConnectionURL":   "jdbc:derby:;databaseName=" + l.metastore(),
		"datanucleus.schema.autoCreateAll": "false",
		"hive.support.concurrency":         "true",
		"hive.txn.manager":                 "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
	}
}

// writeMetastore makes the metastore by Hive's own script where Options.Transactions ask for it and there is none yet. One that
// DataNucleus made is refused: it has no tables of transactions.
func writeMetastore(ctx context.Context, o Options, java Java) error {
	if !o.Transactions {
		return nil
	}
	l := layout{o.Dir}
	made, err := os.ReadFile(l.metastoreSchema())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read which script made the metastore: %w", err)
	}
	if _, err := os.Stat(l.metastore()); err == nil {
		if string(made) == schemaScript {
			return nil
		}
		return fmt.Errorf("the metastore in %s has no transactions: start with Fresh, or name another folder", o.Dir)
	}
	tools, err := inCache("metastore-schema-4.0.1")
	if err != nil {
		return err
	}
	if err := FetchPom(ctx, metastorePom, "Hive's metastore schema (79 MB, once)", tools, java, o.Progress); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(tools, "*-bin.tar.gz"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("the metastore's release: %d files in %s", len(found), tools)
	}
	script := filepath.Join(l.scratch(), schemaScript)
	if err := extract(found[0], schemaScript, script); err != nil {
		return err
	}
	o.Progress("making the metastore by " + schemaScript)
	if err := runScript(ctx, java, l, filepath.Join(o.LibDir, "*")+":"+filepath.Join(tools, "*"), script); err != nil {
		return errors.Join(err, os.RemoveAll(l.metastore()))
	}
	if err := os.WriteFile(l.metastoreSchema(), []byte(schemaScript), 0o600); err != nil {
		return fmt.Errorf("write which script made the metastore: %w", err)
	}
	return nil
}

// runScript runs an SQL script in a new Derby database at the metastore's place.
func runScript(ctx context.Context, java Java, l layout, classPath, script string) error {
	cmd := exec.CommandContext(ctx, java.Path, "-Dderby.system.durability=test", "-Dderby.stream.error.file="+l.in("derby.log"), //nolint:gosec // Java as FindJava found it, our own folders
		"-Dij.exceptionTrace=false", "-Dij.database=jdbc:derby:;databaseName="+l.metastore()+";create=true",
		"-cp", classPath, "org.apache.derby.tools.ij", script)
	cmd.Env = cleanEnv(os.Environ())
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "\nERROR ") { // ij goes on after an error
		err = errors.Join(err, errors.New("ij names errors"))
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("run Hive's schema script: %w\n%s", err, strings.Join(lines[max(0, len(lines)-10):], "\n"))
	}
	return nil
}

// extract takes the file of that name out of a tar.gz.
func extract(archive, name, to string) error {
	f, err := os.Open(archive) //nolint:gosec // in the user's cache folder
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
