package localhive

import (
	"path/filepath"
	"strings"
)

// opened are the packages of java.base into which Hive, Hadoop, Tez or Kryo reach by reflection.
var opened = []string{
	"java.lang", "java.lang.invoke", "java.lang.ref", "java.lang.reflect",
	"java.io", "java.math", "java.net", "java.nio", "java.nio.charset", "java.text", "java.time",
	"java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.regex",
	"jdk.internal.ref", "sun.net.dns", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.security.util", "sun.util.calendar",
}

// mark is the argument by which the server of a folder is told from every other process.
func mark(dir string) string { return "-Dhs2proxy.localhive=" + dir }

// jvmArguments are the arguments of the java command that runs the server.
func jvmArguments(o Options) []string {
	l := layout{o.Dir}
	args := []string{
		mark(o.Dir),
		"-Xmx" + o.Heap,
		// A server that lives for minutes on few cores starts twice as fast with the plainest collector and compiler.
		"-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1",
	}
	for _, pkg := range opened {
		args = append(args, "--add-opens=java.base/"+pkg+"=ALL-UNNAMED")
	}
	args = append(args,
		"--add-opens=java.sql/java.sql=ALL-UNNAMED",
		"--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
		"-Djava.io.tmpdir="+l.scratch(),
		"-Djava.net.preferIPv4Stack=true",
		"-Dderby.stream.error.file="+l.in("derby.log"),
		"-Dderby.system.durability=test", // commits do not wait for the disk
		"-Dlog4j2.configurationFile="+filepath.Join(l.conf(), "hive-log4j2.properties"),
		"-Dlog4j2.contextSelector=org.apache.logging.log4j.core.selector.BasicContextSelector",
	)
	if o.Auth == AuthCustom {
		args = append(args, "-D"+usersProperty+"="+l.users())
	}
	args = append(args, o.JavaOptions...)
	const server = "org.apache.hive.service.server.HiveServer2"
	if len(o.release().classes) > 0 {
		own := classesDir(o.LibDir)
		args = append(args, "-cp", own, launcherClass, server, l.conf(), own, o.LibDir)
		if o.Jars != "" {
			args = append(args, o.Jars)
		}
		return args
	}
	path := l.conf() + ":" + filepath.Join(o.LibDir, "*")
	if o.Jars != "" {
		path += ":" + filepath.Join(o.Jars, "*")
	}
	return append(args, "-cp", path, server)
}

// cleanEnv is an environment without what would make Hive, Hadoop or Tez read another configuration.
func cleanEnv(env []string) []string {
	var kept []string
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if name == "CLASSPATH" || name == "JAVA_HOME" || strings.HasPrefix(name, "HIVE_") ||
			strings.HasPrefix(name, "HADOOP_") || strings.HasPrefix(name, "TEZ_") {
			continue
		}
		kept = append(kept, pair)
	}
	return kept
}
