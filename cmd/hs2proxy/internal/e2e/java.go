package e2e

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
)

//go:embed clients/JdbcClient.java
var jdbcClient []byte

// quietLog4j is a configuration for Java clients' own logs: only their answers count.
const quietLog4j = "rootLogger.level = OFF\n"

// java is a Java and the folder of the jars of Hive 4.0.1, its JDBC driver among them.
type java struct {
	localhive.Java
	lib string
}

// findJava finds a JDK and fetches the jars, once.
func findJava(ctx context.Context) (java, error) {
	found, err := localhive.FindJava(ctx)
	if err != nil {
		return java{}, &MissingError{err.Error()}
	}
	if !found.HasCompiler() {
		return java{}, &MissingError{fmt.Sprintf("the Java clients need a JDK, %s is a runtime only: install one (apt-get install openjdk-%d-jdk-headless)", found.Path, found.Version)}
	}
	lib, err := localhive.DefaultLibDir()
	if err != nil {
		return java{}, err
	}
	if err := localhive.FetchJars(ctx, lib, found, func(string) {}); err != nil {
		return java{}, err
	}
	return java{found, lib}, nil
}

// arguments are those of a short-lived Java program, before its class path.
func (j java) arguments(logging string) []string {
	return []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.configurationFile=" + logging}
}

// RunJDBC runs the steps with Hive's JDBC driver 4.0.1 and returns what it printed. The driver is in the jars of a
// local HiveServer2, which the first run fetches; a JDK is needed, to compile the client, once.
func RunJDBC(ctx context.Context, target Target) ([]byte, error) {
	t, err := target.withDefaults()
	if err != nil {
		return nil, err
	}
	j, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	classes, err := j.compiled(ctx)
	if err != nil {
		return nil, err
	}
	dir, remove, err := unpacked(map[string][]byte{"log4j2.properties": []byte(quietLog4j)})
	if err != nil {
		return nil, err
	}
	defer remove()
	args := append(j.arguments(filepath.Join(dir, "log4j2.properties")),
		"-cp", classes+":"+filepath.Join(j.lib, "*"), "JdbcClient", t.url(), t.User, t.Password)
	return runClient(ctx, jdbc, t, j.Path, args...)
}

// compiled is the folder of the JDBC client's classes, in the user's cache.
func (j java) compiled(ctx context.Context) (string, error) {
	classes, err := cacheDir("jdbc-client")
	if err != nil {
		return "", err
	}
	return classes, filledOnce(ctx, classes, j.lib+string(jdbcClient), func() error {
		dir, remove, err := unpacked(map[string][]byte{"JdbcClient.java": jdbcClient})
		if err != nil {
			return err
		}
		defer remove()
		cmd := exec.CommandContext(ctx, j.Compiler(), "-nowarn", "-proc:none", "--release", "17", //nolint:gosec // the JDK that was found
			"-d", classes, "-cp", filepath.Join(j.lib, "*"), filepath.Join(dir, "JdbcClient.java"))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("compile the JDBC client: %w: %s", err, out)
		}
		return nil
	})
}
