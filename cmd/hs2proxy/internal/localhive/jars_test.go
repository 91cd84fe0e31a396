package localhive

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeMaven puts an mvn on PATH that runs a shell script with the output folder as $target.
func fakeMaven(t *testing.T, body string) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\nfor a; do case $a in -DoutputDirectory=*) target=${a#*=};; esac; done\n" + body + "\n"
	if err := os.WriteFile(filepath.Join(dir, "mvn"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+"/usr/bin"+string(os.PathListSeparator)+"/bin")
}

func TestPomIsWellFormed(t *testing.T) {
	var doc struct {
		Dependencies []struct {
			ArtifactID string `xml:"artifactId"`
			Version    string `xml:"version"`
		} `xml:"dependencies>dependency"`
	}
	if err := xml.Unmarshal(pom, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Dependencies) == 0 || doc.Dependencies[0].ArtifactID != "antlr-runtime" {
		t.Errorf("the ANTLR runtime must come first, have %+v", doc.Dependencies)
	}
	for _, d := range doc.Dependencies {
		if d.ArtifactID == "" || d.Version == "" {
			t.Errorf("dependency without name or version: %+v", d)
		}
	}
}

func TestFetchJarsOnceThenQuietly(t *testing.T) {
	lib := filepath.Join(t.TempDir(), "cache", "hive")
	fakeMaven(t, `echo "Downloaded from x: http://x/a.jar (1 kB)"; touch "$target/a.jar" "$target/b.jar"`)
	var told []string
	progress := func(s string) { told = append(told, s) }
	if err := FetchJars(t.Context(), lib, Java{Path: "/bin/java"}, progress); err != nil {
		t.Fatal(err)
	}
	if !jarsComplete(pom, lib) || len(told) == 0 || !strings.Contains(told[0], lib) {
		t.Fatalf("complete: %v, told %q", jarsComplete(pom, lib), told)
	}

	told = nil
	fakeMaven(t, "exit 1")
	if err := FetchJars(t.Context(), lib, Java{Path: "/bin/java"}, progress); err != nil || len(told) != 0 {
		t.Errorf("second fetch: %v, told %q; want silence", err, told)
	}

	if err := os.Remove(filepath.Join(lib, "b.jar")); err != nil {
		t.Fatal(err)
	}
	if jarsComplete(pom, lib) {
		t.Error("complete without one of its jars")
	}
	fakeMaven(t, `touch "$target/c.jar"`)
	if err := FetchJars(t.Context(), lib, Java{Path: "/bin/java"}, progress); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(lib, "a.jar")); err == nil {
		t.Error("a jar of the earlier folder is still there")
	}
}

func TestFetchJarsErrors(t *testing.T) {
	java := Java{Path: "/bin/java"}
	quiet := func(string) {}

	t.Run("no Maven", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		err := FetchJars(t.Context(), filepath.Join(t.TempDir(), "lib"), java, quiet)
		want := "Maven is needed once, to fetch HiveServer2's jars (about 270 MB, once): install it (apt-get install maven)"
		if err == nil || err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	})
	t.Run("Maven fails", func(t *testing.T) {
		fakeMaven(t, `touch "$target/half.jar"; echo "[ERROR] no such artifact"; exit 1`)
		lib := filepath.Join(t.TempDir(), "lib")
		err := FetchJars(t.Context(), lib, java, quiet)
		if err == nil || !strings.Contains(err.Error(), "no such artifact") {
			t.Errorf("error %q does not hold Maven's words", err)
		}
		if _, err := os.Stat(lib); err == nil {
			t.Error("a half-filled folder was put in place")
		}
	})
	t.Run("a folder that is not ours", func(t *testing.T) {
		lib := t.TempDir()
		precious := filepath.Join(lib, "thesis.tex")
		if err := os.WriteFile(precious, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		fakeMaven(t, `touch "$target/a.jar"`)
		if err := FetchJars(t.Context(), lib, java, quiet); err == nil || !strings.Contains(err.Error(), "not ours") {
			t.Errorf("error %v, want a refusal", err)
		}
		if _, err := os.Stat(precious); err != nil {
			t.Errorf("the file is gone: %v", err)
		}
	})
}
