package e2e

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
)

//go:embed clients/JdbcClient.java
var jdbcClient []byte

// RunJDBC runs the steps with Hive's JDBC driver 4.0.1 and returns what it printed. The driver is in the jars of a
// local HiveServer2, which the first run fetches; a JDK is needed, since Java compiles the client as it starts it.
func RunJDBC(ctx context.Context, target Target) ([]byte, error) {
	t, err := target.withDefaults()
	if err != nil {
		return nil, err
	}
	java, err := localhive.FindJava(ctx)
	if err != nil {
		return nil, err
	}
	if !java.HasCompiler() {
		return nil, fmt.Errorf("the JDBC client needs a JDK, %s is a runtime only: install one (apt-get install openjdk-%d-jdk-headless)", java.Path, java.Version)
	}
	lib, err := localhive.DefaultLibDir()
	if err != nil {
		return nil, err
	}
	if err := localhive.FetchJars(ctx, lib, java, func(string) {}); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hs2proxy-jdbc-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the client: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "JdbcClient.java")
	if err := os.WriteFile(file, jdbcClient, 0o600); err != nil {
		return nil, fmt.Errorf("write the client: %w", err)
	}
	// The driver's log goes nowhere: only its answers count.
	logging := filepath.Join(dir, "log4j2.properties")
	if err := os.WriteFile(logging, []byte("rootLogger.level = OFF\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write the client's logging: %w", err)
	}
	url := "jdbc:hive2://" + t.Address + "/default"
	if t.Auth == "NOSASL" {
		url += ";auth=noSasl"
	}
	return runClient(ctx, jdbc, t.Database, java.Path, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dlog4j2.configurationFile="+logging, "-cp", filepath.Join(lib, "*"), file, url, t.User, t.Password)
}
