package localhive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeJava writes a java that prints what a Java of that specification version prints.
func fakeJava(t *testing.T, specification string, exit int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "java")
	script := fmt.Sprintf(`#!/bin/sh
cat >&2 <<END
Property settings:
    file.encoding = UTF-8
    java.specification.name = Java Platform API Specification
    java.specification.version = %s
    java.vendor = Nobody

openjdk version "%s"
END
exit %d
`, specification, specification, exit)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindJavaTakesTheFirstThatFits(t *testing.T) {
	eight, seventeen, twentyOne := fakeJava(t, "1.8", 0), fakeJava(t, "17", 0), fakeJava(t, "21", 0)
	missing := filepath.Join(t.TempDir(), "java")
	for _, tc := range []struct {
		name       string
		candidates []string
		want       Java
	}{
		{"older ones are passed over", []string{missing, eight, seventeen, twentyOne}, Java{seventeen, 17}},
		{"the newest that works", []string{twentyOne, seventeen}, Java{twentyOne, 21}},
		{"a broken one is passed over", []string{fakeJava(t, "17", 1), fakeJava(t, "none", 0), seventeen}, Java{seventeen, 17}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := findJava(t.Context(), tc.candidates)
			if err != nil || got != tc.want {
				t.Errorf("findJava = %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}

func TestFindJavaSaysInOneLineWhatToInstall(t *testing.T) {
	eight, new24, broken := fakeJava(t, "1.8", 0), fakeJava(t, "24", 0), fakeJava(t, "17", 3)
	_, err := findJava(t.Context(), []string{eight, new24, broken})
	if err == nil {
		t.Fatal("no error")
	}
	want := fmt.Sprintf("HiveServer2 needs Java 17 to 21 (%s is Java 8, %s is Java 24, %s does not tell its version): "+
		"install one (apt-get install openjdk-17-jre-headless) or set JAVA_HOME", eight, new24, broken)
	if err.Error() != want {
		t.Errorf("error\n%s\nwant\n%s", err, want)
	}
	_, err = findJava(t.Context(), nil)
	if want := "HiveServer2 needs Java 17 to 21: install one (apt-get install openjdk-17-jre-headless) or set JAVA_HOME"; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestJavaCandidatesInOrder(t *testing.T) {
	lookPath := func(string) (string, error) { return "/bin/java", nil }
	glob := func(pattern string) ([]string, error) {
		if strings.HasPrefix(pattern, "/usr/lib/jvm/") {
			return []string{"/usr/lib/jvm/a/bin/java"}, nil
		}
		return nil, nil
	}
	got := strings.Join(javaCandidates("/home/java", lookPath, glob), " ")
	if want := "/home/java/bin/java /bin/java /usr/lib/jvm/a/bin/java"; got != want {
		t.Errorf("candidates %s, want %s", got, want)
	}
	none := func(string) (string, error) { return "", errors.New("not found") }
	if got := javaCandidates("", none, func(string) ([]string, error) { return nil, nil }); len(got) != 0 {
		t.Errorf("candidates %v, want none", got)
	}
}

func TestHasCompilerFollowsLinks(t *testing.T) {
	java := fakeJava(t, "17", 0)
	link := filepath.Join(t.TempDir(), "java")
	if err := os.Symlink(java, link); err != nil {
		t.Fatal(err)
	}
	if (Java{Path: link}).HasCompiler() {
		t.Error("a runtime without javac has a compiler")
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(java), "javac"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if !(Java{Path: link}).HasCompiler() {
		t.Error("a JDK has no compiler")
	}
}
