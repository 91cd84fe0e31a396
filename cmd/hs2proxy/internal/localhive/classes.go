package localhive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive/filelock"
)

// launcherClass starts HiveServer2 where a release needs a class loader that Java no longer gives it.
const launcherClass = "LocalLauncher"

// compile runs javac on source files, with the jars of a folder, and puts the classes into another folder.
func compile(ctx context.Context, java Java, lib, target string, sources ...string) error {
	args := append([]string{"-nowarn", "-proc:none", "--release", strconv.Itoa(minJava), "-d", target, "-cp", filepath.Join(lib, "*")}, sources...)
	if out, err := exec.CommandContext(ctx, java.Compiler(), args...).CombinedOutput(); err != nil { //nolint:gosec // beside the Java that was found
		return fmt.Errorf("javac: %w\n%s", err, out)
	}
	return nil
}

// needCompiler refuses a Java without javac; what names the thing that takes one.
func needCompiler(java Java, what string) error {
	if java.HasCompiler() {
		return nil
	}
	return fmt.Errorf("%s needs a JDK, %s is a runtime only: install one (apt-get install openjdk-%d-jdk-headless)", what, java.Path, java.Version)
}

// writeClasses compiles the classes of a release into the folder of its jars, once: they go with the jars when those are
// replaced. Processes that want the same folder at the same time wait for each other.
func writeClasses(ctx context.Context, o Options, java Java) error {
	classes := o.release().classes
	if len(classes) == 0 {
		return nil
	}
	want, target := classesStamp(classes), classesDir(o.LibDir)
	if classesComplete(target, want) {
		return nil
	}
	if err := needCompiler(java, "Hive "+o.Release); err != nil {
		return err
	}
	unlock, err := filelock.Wait(ctx, o.LibDir+".lock")
	if err != nil {
		return fmt.Errorf("wait for another start of Hive %s: %w", o.Release, err)
	}
	defer unlock()
	if classesComplete(target, want) {
		return nil
	}
	if err := os.RemoveAll(target); err != nil {
		return fmt.Errorf("clear the earlier classes: %w", err)
	}
	sources := filepath.Join(target, "sources")
	if err := os.MkdirAll(sources, 0o750); err != nil {
		return fmt.Errorf("make the folder of classes: %w", err)
	}
	var files []string
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		file := filepath.Join(sources, name)
		if err := os.WriteFile(file, classes[name], 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		files = append(files, file)
	}
	if err := compile(ctx, java, o.LibDir, target, files...); err != nil {
		return fmt.Errorf("compile what Hive %s needs: %w", o.Release, err)
	}
	if err := os.WriteFile(filepath.Join(target, stampName), []byte(want), 0o600); err != nil {
		return fmt.Errorf("write the stamp of the classes: %w", err)
	}
	return nil
}

// classesStamp is the content of the stamp file of a folder compiled from these sources.
func classesStamp(classes map[string][]byte) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		_, _ = fmt.Fprintf(sum, "%s %d\n", name, len(classes[name]))
		_, _ = sum.Write(classes[name])
	}
	return hex.EncodeToString(sum.Sum(nil)) + "\n"
}

func classesComplete(dir, stamp string) bool {
	got, err := os.ReadFile(filepath.Join(dir, stampName)) //nolint:gosec // below the folder of jars
	return err == nil && string(got) == stamp
}
