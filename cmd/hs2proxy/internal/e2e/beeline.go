package e2e

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/localhive"
)

//go:embed clients/beeline-pom.xml
var beelinePom []byte

// RunBeeline runs the steps as one file with Beeline 3.1.3 on the JDBC driver 4.0.1 and returns what a person would see:
// columns, rows, update counts, errors and the operation logs of every statement. The statement to be cancelled is
// cancelled as at a terminal, by an interrupt.
func RunBeeline(ctx context.Context, target Target) ([]byte, error) {
	t, err := target.withDefaults()
	if err != nil {
		return nil, err
	}
	j, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	jars, err := cacheDir("beeline-3.1.3")
	if err != nil {
		return nil, err
	}
	if err := localhive.FetchPom(ctx, beelinePom, "Beeline's jars", jars, j.Java, func(string) {}); err != nil {
		return nil, err
	}
	dir, remove, err := unpacked(map[string][]byte{
		"log4j2.properties": []byte(quietLog4j),
		"steps.sql":         []byte(beelineFile(t)),
	})
	if err != nil {
		return nil, err
	}
	defer remove()
	args := append(j.arguments(filepath.Join(dir, "log4j2.properties")),
		"-Dfile.encoding=UTF-8", "-Djline.terminal=jline.UnsupportedTerminal", "-Duser.home="+dir,
		"-cp", filepath.Join(jars, "*")+":"+filepath.Join(j.lib, "*"), "org.apache.hive.beeline.BeeLine",
		"-u", t.url(), "-n", t.User, "-p", t.Password, "--force=true", "--outputformat=tsv2",
		"--hiveconf", "hive.server2.in.place.progress=false", "--hiveconf", "hive.tez.exec.print.summary=false",
		"-f", filepath.Join(dir, "steps.sql"))
	cmd := exec.CommandContext(ctx, j.Path, args...) //nolint:gosec // a client of this package
	cmd.WaitDelay = 10 * time.Second
	out := &interrupter{process: func() *os.Process { return cmd.Process }}
	cmd.Stdout, cmd.Stderr = out, out // one pipe: in the order in which Beeline wrote
	err = cmd.Run()
	// Where it connects to and whom it trusts is told once whole; each prompt leaves out what follows a semicolon.
	text := strings.ReplaceAll(out.String(), t.url(), "URL")
	short, _, _ := strings.Cut(t.url(), ";")
	text = strings.ReplaceAll(text, short+">", "URL>")
	text = withoutIDs(strings.ReplaceAll(text, t.Address, "ADDRESS"))
	if err != nil {
		return []byte(text), fmt.Errorf("%s: %w\n%s", beeline, errors.Join(ctx.Err(), err), lastLines(text, 20))
	}
	return []byte(text), nil
}

// beelineFile is the steps as a file of statements, and Beeline's own commands for metadata.
func beelineFile(t Target) string {
	var b strings.Builder
	for _, s := range t.script(beeline) {
		switch {
		case s.name == "leave":
			b.WriteString("!tables\n!columns orders\n!primarykeys orders\n!typeinfo\n")
		case s.kind == threads, strings.Contains(s.sql, "; "): // Beeline ends a statement at a semicolon in a comment
			continue
		}
		b.WriteString(s.sql + ";\n")
	}
	return b.String()
}

// interrupter collects what Beeline writes and interrupts it once, when the statement to be cancelled runs.
type interrupter struct {
	process func() *os.Process
	mu      sync.Mutex
	text    bytes.Buffer
	from    int // where the statement begins, once it has
	done    bool
}

func (i *interrupter) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.text.Write(p)
	if i.done {
		return len(p), nil
	}
	if i.from == 0 {
		i.from = max(0, bytes.Index(i.text.Bytes(), []byte("java.lang.Thread', 'sleep'")))
	}
	if i.from > 0 && bytes.Contains(i.text.Bytes()[i.from:], []byte("Status: Running")) {
		i.done = true
		if err := i.process().Signal(os.Interrupt); err != nil {
			return len(p), fmt.Errorf("interrupt Beeline: %w", err)
		}
	}
	return len(p), nil
}

func (i *interrupter) String() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.text.String()
}

// What differs from run to run in Beeline's text, and what stands for it; lines that come as often as Beeline asks,
// those of the server's stack, and what the log of a cancelled statement holds until Beeline stops reading it, are left out.
var beelineIDs = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?m)^(INFO  : \d{4}-\d\d-\d\d [\d:,]+\t.*|INFO  : (Map|Reducer) \d+: .*|\tat .*|\t\.\.\. \d+ more)\n`), ""},
	{regexp.MustCompile(`(?s)\n+Interrupting\.\.\..*?\nError: `), "\n\nInterrupting\nError: "},
	{regexp.MustCompile(`\b\w+_\d{14}_[0-9a-f-]{36}\b`), "QUERY_ID"},
	{regexp.MustCompile(`\b(application|dag|vertex|task|attempt)_\d[0-9_]*`), "${1}_ID"},
	{regexp.MustCompile(`\.hive-staging_hive_[0-9_-]+`), ".hive-staging"},
	{regexp.MustCompile(`\b[\d.]+ seconds`), "N seconds"},
	{regexp.MustCompile(`@[0-9a-f]{5,}`), "@ADDRESS"},
}

func withoutIDs(text string) string {
	for _, r := range beelineIDs {
		text = r.pattern.ReplaceAllString(text, r.with)
	}
	return text
}
