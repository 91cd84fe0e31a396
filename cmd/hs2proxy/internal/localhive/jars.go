package localhive

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive/filelock"
)

//go:embed pom.xml
var pom []byte

// stampName is the file that says a jar folder is complete and which pom it was filled from.
const stampName = ".complete"

const installMaven = "install it (apt-get install maven)"

// stamp is the content of the stamp file of a folder filled from a pom with so many jars.
func stamp(pom []byte, jars int) string {
	sum := sha256.Sum256(pom)
	return fmt.Sprintf("%s %d\n", hex.EncodeToString(sum[:]), jars)
}

// jarsComplete: the folder was filled from this very pom and has lost none of its jars.
func jarsComplete(pom []byte, lib string) bool {
	got, err := os.ReadFile(filepath.Join(lib, stampName)) //nolint:gosec // the caller's own folder
	if err != nil {
		return false
	}
	jars, err := filepath.Glob(filepath.Join(lib, "*.jar"))
	return err == nil && len(jars) > 0 && string(got) == stamp(pom, len(jars))
}

// FetchJars makes lib a complete jar folder; it is quick and silent when it is one already. Processes that want the
// same folder at the same time wait for each other. Its error is one line when Maven is missing, and otherwise ends
// with Maven's last words.
func FetchJars(ctx context.Context, lib string, java Java, progress func(string)) error {
	return FetchPom(ctx, pom, releases[latest].jars, lib, java, progress)
}

// FetchPom is FetchJars for the dependencies of another pom. What names them, for progress and errors.
func FetchPom(ctx context.Context, pom []byte, what, lib string, java Java, progress func(string)) error {
	if jarsComplete(pom, lib) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(lib), 0o750); err != nil {
		return fmt.Errorf("make the jars' parent folder: %w", err)
	}
	unlock, err := filelock.Wait(ctx, lib+".lock")
	if err != nil {
		return fmt.Errorf("wait for another fetch of the jars: %w", err)
	}
	defer unlock()
	if jarsComplete(pom, lib) {
		return nil
	}
	if err := replaceable(lib); err != nil {
		return err
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("Maven is needed once, to fetch %s: %s", what, installMaven) //nolint:staticcheck // a name begins the sentence
	}
	partial := lib + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return fmt.Errorf("clear an interrupted fetch: %w", err)
	}
	if err := os.MkdirAll(partial, 0o750); err != nil {
		return fmt.Errorf("make the jar folder: %w", err)
	}
	pomFile := filepath.Join(partial, "pom.xml")
	if err := os.WriteFile(pomFile, pom, 0o600); err != nil {
		return fmt.Errorf("write the pom: %w", err)
	}
	progress(fmt.Sprintf("fetching %s into %s", what, lib))
	if err := runMaven(ctx, mvn, pomFile, partial, java, progress); err != nil {
		return err
	}
	jars, err := filepath.Glob(filepath.Join(partial, "*.jar"))
	if err != nil || len(jars) == 0 {
		return errors.New("Maven copied no jars") //nolint:staticcheck // a name begins the sentence
	}
	if err := os.WriteFile(filepath.Join(partial, stampName), []byte(stamp(pom, len(jars))), 0o600); err != nil {
		return fmt.Errorf("write the jar folder's stamp: %w", err)
	}
	if err := os.RemoveAll(lib); err != nil {
		return fmt.Errorf("remove the earlier jars: %w", err)
	}
	if err := os.Rename(partial, lib); err != nil {
		return fmt.Errorf("put the jars in place: %w", err)
	}
	return nil
}

// replaceable refuses to replace a folder that this package has not filled.
func replaceable(lib string) error {
	entries, err := os.ReadDir(lib)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the jar folder: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(lib, stampName)); err != nil {
		return fmt.Errorf("%s holds files that are not ours: name an empty or missing folder for the jars", lib)
	}
	return nil
}

// runMaven copies the jars into target and reports, at most every two seconds, how many were downloaded.
func runMaven(ctx context.Context, mvn, pomFile, target string, java Java, progress func(string)) error {
	cmd := exec.CommandContext(ctx, mvn, "-B", "-f", pomFile, "dependency:copy-dependencies", "-DoutputDirectory="+target) //nolint:gosec // mvn from PATH, our own pom
	cmd.Env = append(cleanEnv(os.Environ()), "JAVA_HOME="+javaHome(java))
	cmd.WaitDelay = 10 * time.Second
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start Maven: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		writer.CloseWithError(io.EOF)
		ended <- err
	}()
	var last []string
	downloaded := 0
	told := time.Now()
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.Contains(line, "Downloaded from") && strings.Contains(line, ".jar ") {
			downloaded++
			if time.Since(told) >= 2*time.Second {
				progress(fmt.Sprintf("fetching jars: %d downloaded", downloaded))
				told = time.Now()
			}
		}
		if strings.Contains(line, "ERROR") {
			last = append(last, line)
		}
	}
	scanErr := lines.Err()
	if scanErr != nil { // let Maven finish all the same
		_, _ = io.Copy(io.Discard, reader)
	}
	err := <-ended
	if ctx.Err() != nil {
		return fmt.Errorf("fetch the jars: %w", ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("fetch the jars: Maven: %w\n%s", err, strings.Join(last[:min(len(last), 8)], "\n"))
	}
	return nil
}

func javaHome(java Java) string { return filepath.Dir(filepath.Dir(java.resolved())) }
