package localhive

import (
	"encoding/xml"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWriteConf(t *testing.T) {
	o, err := Options{Dir: t.TempDir(), LibDir: "/jars", Conf: map[string]string{
		"hive.auto.convert.join.noconditionaltask.size": "52428800",
		"hive.execution.mode":                           "llap",
		"hive.x":                                        "a<b & \"c\"",
	}, CoreSite: map[string]string{"hadoop.security.authentication": "kerberos"}, JavaOptions: []string{"-Djava.security.krb5.conf=/k"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if err := writeConf(o, ports{binary: 12345}); err != nil {
		t.Fatal(err)
	}
	got := readSite(t, filepath.Join(o.Dir, "conf", "hive-site.xml"))
	for name, want := range map[string]string{
		"hive.server2.thrift.port":                      "12345",
		"hive.server2.thrift.bind.host":                 "127.0.0.1",
		"hive.server2.authentication":                   "NONE",
		"hive.metastore.warehouse.dir":                  filepath.Join(o.Dir, "warehouse"),
		"metastore.metadata.transformer.class":          " ",
		"hive.tez.exec.print.summary":                   "true",
		"hive.auto.convert.join.noconditionaltask.size": "52428800",
		"hive.execution.mode":                           "llap",
		"hive.x":                                        "a<b & \"c\"",
	} {
		if got[name] != want {
			t.Errorf("%s = %q, want %q", name, got[name], want)
		}
	}
	if core := readSite(t, filepath.Join(o.Dir, "conf", "core-site.xml")); core["hadoop.security.authentication"] != "kerberos" || len(core) != 1 {
		t.Errorf("core-site.xml holds %v", core)
	}
	args := jvmArguments(o)
	if i := slices.Index(args, "-Djava.security.krb5.conf=/k"); i < 0 || i > slices.Index(args, "-cp") {
		t.Errorf("the extra option is not before the class path: %q", args)
	}
	logConf, err := os.ReadFile(filepath.Join(o.Dir, "conf", "hive-log4j2.properties"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "appender.file.fileName = " + filepath.Join(o.Dir, "hiveserver2.log") + "\n"; !strings.Contains(string(logConf), want) {
		t.Errorf("log configuration without %q:\n%s", want, logConf)
	}
}

func TestSiteOfWhatIsAskedFor(t *testing.T) {
	o, err := Options{Dir: "/d", LibDir: "/jars", HTTP: true, TLS: true, Auth: AuthCustom, Users: map[string]string{"ann": "x"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	got := site(o, ports{binary: 1, http: 2})
	for name, want := range map[string]string{
		"hive.server2.transport.mode":              "all",
		"hive.server2.thrift.port":                 "1",
		"hive.server2.thrift.http.port":            "2",
		"hive.server2.thrift.http.path":            "cliservice",
		"hive.server2.authentication":              "CUSTOM",
		"hive.server2.custom.authentication.class": "LocalUsers",
		"hive.server2.use.SSL":                     "true",
		"hive.server2.keystore.path":               "/d/conf/keys.p12",
	} {
		if got[name] != want {
			t.Errorf("%s = %q, want %q", name, got[name], want)
		}
	}
	if want := "-Dhs2proxy.users=/d/conf/users.properties"; !slices.Contains(jvmArguments(o), want) {
		t.Errorf("no argument %s", want)
	}
}

func readSite(t *testing.T, path string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Properties []property `xml:"property"`
	}
	if err := xml.Unmarshal(content, &doc); err != nil {
		t.Fatal(err)
	}
	conf := map[string]string{}
	for _, p := range doc.Properties {
		if _, twice := conf[p.Name]; twice {
			t.Errorf("%s is there twice", p.Name)
		}
		conf[p.Name] = p.Value
	}
	return conf
}

func TestWriteConfKeepsTablesUnlessFresh(t *testing.T) {
	o, err := Options{Dir: t.TempDir(), LibDir: "/jars"}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if err := writeConf(o, ports{binary: 1}); err != nil {
		t.Fatal(err)
	}
	table, scratch := filepath.Join(o.Dir, "warehouse", "t"), filepath.Join(o.Dir, "scratch", "s")
	for _, path := range []string{table, scratch} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	if err := writeConf(o, ports{binary: 1}); err != nil {
		t.Fatal(err)
	}
	if !there(table) || there(scratch) {
		t.Errorf("after a restart: table %v (want true), scratch %v (want false)", there(table), there(scratch))
	}
	o.Fresh = true
	if err := writeConf(o, ports{binary: 1}); err != nil {
		t.Fatal(err)
	}
	if there(table) {
		t.Error("a fresh start kept a table")
	}
}

func TestOptionsRefuseWhatCannotWork(t *testing.T) {
	dir := t.TempDir()
	for want, o := range map[string]Options{
		"blanks":               {Dir: "/tmp/my hive"},
		"colons":               {Dir: dir, LibDir: "/tmp/a:b"},
		"folder of their own":  {Dir: dir, LibDir: dir},
		"NOSASL, CUSTOM or":    {Dir: dir, Auth: "LDAP"},
		"needs a Probe":        {Dir: dir, Auth: AuthKerberos},
		"lets nobody else in":  {Dir: dir, Auth: AuthCustom},
		"checks none":          {Dir: dir, Users: map[string]string{"ann": "x"}},
		"letters, digits":      {Dir: dir, Auth: AuthCustom, Users: map[string]string{"ann": "a=b"}},
		"into hive-site.xml":   {Dir: dir, CoreSite: map[string]string{"hive.server2.authentication": "NONE"}},
		"between 0 (any free":  {Dir: dir, Port: 70000},
		"such as 2g":           {Dir: dir, Heap: "2 GB"},
		"must not be negative": {Dir: dir, Timeout: -1},
	} {
		if _, err := o.withDefaults(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", o, err, want)
		}
	}
}

func TestOptionsDefaultToTheUsersCache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/var/cache/me")
	t.Setenv("HOME", "/home/me")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	o, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if o.Dir != filepath.Join(cache, "hs2proxy", "local-hive") || o.LibDir != filepath.Join(cache, "hs2proxy", "hive-4.0.1") {
		t.Errorf("folders %s and %s", o.Dir, o.LibDir)
	}
	if o.Auth != AuthNone || o.Heap != "2g" || o.Timeout <= 0 || o.Progress == nil {
		t.Errorf("defaults %+v", o)
	}
}

func TestChoosePort(t *testing.T) {
	free, err := choosePort(net.Listen, 0)
	if err != nil || free == 0 {
		t.Fatalf("choosePort(0) = %d, %v", free, err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	taken := l.Addr().(*net.TCPAddr).Port
	if _, err := choosePort(net.Listen, taken); err == nil || !strings.Contains(err.Error(), "is not free") {
		t.Errorf("choosePort of a taken port: %v", err)
	}
}

func TestCleanEnvDropsWhatWouldMisleadHive(t *testing.T) {
	got := cleanEnv([]string{"PATH=/bin", "HIVE_CONF_DIR=/etc/hive", "HADOOP_HOME=/h", "TEZ_CONF_DIR=/t", "CLASSPATH=x", "JAVA_HOME=/j", "HIVE=1"})
	if want := "PATH=/bin HIVE=1"; strings.Join(got, " ") != want {
		t.Errorf("cleanEnv = %v, want %s", got, want)
	}
}
