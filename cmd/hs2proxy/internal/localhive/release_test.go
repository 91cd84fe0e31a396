package localhive

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReleaseDecidesJarsAndStart(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cache")
	t.Setenv("HOME", "/home") // where a Mac has its caches
	for _, tc := range []struct{ release, lib, main string }{
		{"", "hive-4.0.1", "org.apache.hive.service.server.HiveServer2"},
		{"4.0", "hive-4.0.1", "org.apache.hive.service.server.HiveServer2"},
		{"3.1", "hive-3.1.3", launcherClass},
		{"2.3", "hive-2.3.9", launcherClass},
	} {
		o, err := Options{Dir: "/hive", Release: tc.release}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(o.LibDir) != tc.lib {
			t.Errorf("release %q: jars in %s, want %s", tc.release, o.LibDir, tc.lib)
		}
		args := jvmArguments(o)
		if i := slices.Index(args, "-cp"); i < 0 || args[i+2] != tc.main {
			t.Errorf("release %q starts with %q", tc.release, args[max(0, i):])
		}
	}
	o := Options{Dir: "/hive", LibDir: "/jars", Release: "3.1"}
	if args := strings.Join(jvmArguments(o), " "); !strings.HasSuffix(args, " -cp /jars/classes LocalLauncher org.apache.hive.service.server.HiveServer2 /hive/conf /jars/classes /jars") {
		t.Errorf("arguments %s", args)
	}
}

func TestReleaseRefusals(t *testing.T) {
	for want, o := range map[string]Options{
		`release "1.2": this package starts 2.3, 3.1, 4.0`:               {Release: "1.2"},
		"HTTP: Hive 3.1 serves it only in place of the binary transport": {Release: "3.1", HTTP: true},
	} {
		o.Dir = "/hive"
		if _, err := o.withDefaults(); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestReleaseConfYieldsToOptions(t *testing.T) {
	o := Options{Dir: "/hive", Release: "3.1"}
	if got := site(o, ports{})["hive.tez.container.size"]; got != "1024" {
		t.Errorf("container of %s MB", got)
	}
	o.Conf = map[string]string{"hive.tez.container.size": "2048"}
	if got := site(o, ports{})["hive.tez.container.size"]; got != "2048" {
		t.Errorf("container of %s MB, 2048 are wanted", got)
	}
}

func TestPomsNameTheirRelease(t *testing.T) {
	for name, r := range releases {
		var doc struct {
			Version    string `xml:"version"`
			Hive       string `xml:"properties>hive"`
			Dependency []struct {
				ArtifactID string `xml:"artifactId"`
				Version    string `xml:"version"`
			} `xml:"dependencies>dependency"`
		}
		if err := xml.Unmarshal(r.pom, &doc); err != nil {
			t.Errorf("release %s: %v", name, err)
		}
		if doc.Version != r.version || doc.Hive != r.version || !strings.HasPrefix(r.version, name+".") {
			t.Errorf("release %s: version %s, pom %s with Hive %s", name, r.version, doc.Version, doc.Hive)
		}
		if len(doc.Dependency) == 0 || doc.Dependency[0].ArtifactID != "antlr-runtime" {
			t.Errorf("release %s: the ANTLR runtime must come first, have %+v", name, doc.Dependency)
		}
	}
}

// fakeCompiler puts a java and a javac into a folder; javac appends its arguments to a file and leaves a class behind.
func fakeCompiler(t *testing.T, exit string) (java Java, calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$*\" >>" + calls + "\nwhile [ \"$1\" != -d ]; do shift; done\ntouch \"$2/X.class\"\necho 'X.java:1: error: no such class'\nexit " + exit + "\n"
	for name, content := range map[string]string{"java": "#!/bin/sh\n", "javac": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return Java{Path: filepath.Join(dir, "java"), Version: 17}, calls
}

func TestClassesAreCompiledOnce(t *testing.T) {
	o := Options{Dir: "/hive", LibDir: filepath.Join(t.TempDir(), "jars"), Release: "3.1"}
	java, calls := fakeCompiler(t, "0")
	for range 2 {
		if err := writeClasses(t.Context(), o, java); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(calls)
	if err != nil || strings.Count(string(text), "\n") != 1 {
		t.Fatalf("javac was called with\n%s%v", text, err)
	}
	for _, want := range []string{"--release 17 ", "-cp " + o.LibDir + "/* ", "/LocalLauncher.java ", "/SubListSerializer.java\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in the arguments %s", want, text)
		}
	}
	source, err := os.ReadFile(filepath.Join(classesDir(o.LibDir), "sources", "LocalLauncher.java"))
	if err != nil || string(source) != string(launcherSource) {
		t.Errorf("the launcher's source: %d bytes of %d, %v", len(source), len(launcherSource), err)
	}

	// Classes of other sources are made anew.
	if err := os.WriteFile(filepath.Join(classesDir(o.LibDir), stampName), []byte("others\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeClasses(t.Context(), o, java); err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(calls); err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("javac was called with\n%s%v", text, err)
	}
}

func TestClassesErrors(t *testing.T) {
	o := Options{Dir: "/hive", LibDir: filepath.Join(t.TempDir(), "jars"), Release: "3.1"}
	java, _ := fakeCompiler(t, "1")
	if err := writeClasses(t.Context(), o, java); err == nil || !strings.Contains(err.Error(), "no such class") {
		t.Errorf("error %v, want the compiler's words", err)
	}
	java, calls := fakeCompiler(t, "0")
	if err := writeClasses(t.Context(), o, java); err != nil {
		t.Errorf("after a compile that failed: %v", err)
	}
	if _, err := os.Stat(calls); err != nil {
		t.Errorf("not compiled again: %v", err)
	}

	runtime := filepath.Join(t.TempDir(), "java")
	if err := os.WriteFile(runtime, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	o.LibDir = filepath.Join(t.TempDir(), "jars")
	err := writeClasses(t.Context(), o, Java{Path: runtime, Version: 21})
	if want := "Hive 3.1 needs a JDK, " + runtime + " is a runtime only: install one (apt-get install openjdk-21-jdk-headless)"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	o.Release = latest
	if err := writeClasses(t.Context(), o, Java{Path: runtime}); err != nil {
		t.Errorf("Hive 4 needs no classes: %v", err)
	}
}
