package localhive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Hadoop 3.3 asks for a security manager, which Java has had to be told to allow since 18 and lacks since 24; the
// versions with long support in between are the ones tried.
const (
	minJava = 17
	maxJava = 21
)

const installJava = "install one (apt-get install openjdk-17-jre-headless) or set JAVA_HOME"

// Java is a Java runtime that can run HiveServer2.
type Java struct {
	// Path is the java executable; Version its feature release, 17 to 21.
	Path    string
	Version int
}

// HasCompiler: the runtime belongs to a JDK, so that `java File.java` works.
func (j Java) HasCompiler() bool {
	_, err := os.Stat(j.Compiler())
	return err == nil
}

// Compiler is the path of javac, which is there when HasCompiler.
func (j Java) Compiler() string { return filepath.Join(filepath.Dir(j.resolved()), "javac") }

// resolved is Path without links: the programs beside it belong to the same Java.
func (j Java) resolved() string {
	if path, err := filepath.EvalSymlinks(j.Path); err == nil {
		return path
	}
	return j.Path
}

// FindJava finds a Java of version 17 to 21: JAVA_HOME's, the one on PATH, else one installed where systems install
// them. Its error is one line that says what was found instead and what to install.
func FindJava(ctx context.Context) (Java, error) {
	return findJava(ctx, javaCandidates(os.Getenv("JAVA_HOME"), exec.LookPath, filepath.Glob))
}

func javaCandidates(home string, lookPath func(string) (string, error), glob func(string) ([]string, error)) []string {
	var paths []string
	if home != "" {
		paths = append(paths, filepath.Join(home, "bin", "java"))
	}
	if path, err := lookPath("java"); err == nil {
		paths = append(paths, path)
	}
	for _, pattern := range []string{
		"/usr/lib/jvm/*/bin/java",
		"/Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java",
		"/opt/homebrew/opt/openjdk@*/bin/java",
	} {
		if found, err := glob(pattern); err == nil {
			paths = append(paths, found...)
		}
	}
	return paths
}

func findJava(ctx context.Context, candidates []string) (Java, error) {
	var seen []string
	for _, path := range candidates {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		version, err := javaVersion(ctx, path)
		if err := ctx.Err(); err != nil {
			return Java{}, fmt.Errorf("find Java: %w", err)
		}
		if err != nil {
			seen = append(seen, fmt.Sprintf("%s does not tell its version", path))
			continue
		}
		if version >= minJava && version <= maxJava {
			return Java{Path: path, Version: version}, nil
		}
		seen = append(seen, fmt.Sprintf("%s is Java %d", path, version))
	}
	found := ""
	if len(seen) > 0 {
		found = " (" + strings.Join(seen, ", ") + ")"
	}
	return Java{}, fmt.Errorf("HiveServer2 needs Java %d to %d%s: %s", minJava, maxJava, found, installJava)
}

var specVersion = regexp.MustCompile(`(?m)^\s*java\.specification\.version = (?:1\.)?([0-9]+)\s*$`)

// javaVersion asks a java executable for its feature release; 8 for "1.8".
func javaVersion(ctx context.Context, path string) (int, error) {
	cmd := exec.CommandContext(ctx, path, "-XshowSettings:properties", "-version")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("run %s -version: %w", path, err)
	}
	m := specVersion.FindSubmatch(out)
	if m == nil {
		return 0, errors.New("no java.specification.version printed")
	}
	version, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return 0, fmt.Errorf("java.specification.version: %w", err)
	}
	return version, nil
}
