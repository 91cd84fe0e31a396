package sample

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	joincheck "github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/check"
)

// checker is hs2proxy check, in a folder with scripts in sql/ and the baseline joins.yaml.
type checker struct{ program, dir string }

func newChecker(t *testing.T) checker {
	t.Helper()
	dir := t.TempDir()
	c := checker{program: filepath.Join(dir, "hs2proxy"), dir: dir}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", c.program, "github.com/hs2proxy/hs2proxy/cmd/hs2proxy").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	if err := os.Mkdir(filepath.Join(dir, "sql"), 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c checker) script(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "sql", name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c checker) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// run checks on the tests' HiveServer2 and wants an exit status.
func (c checker) run(t *testing.T, status int, more ...string) (stdout, stderr string) {
	t.Helper()
	args := []string{"check", "sql", "--baseline", "joins.yaml", "--upstream", os.Getenv("HS2PROXY_TEST_HS2")}
	cmd := exec.CommandContext(t.Context(), c.program, append(args, more...)...)
	cmd.Dir = c.dir
	out, err := cmd.Output()
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got, stderr = exit.ExitCode(), string(exit.Stderr)
	case err != nil:
		t.Fatal(err)
	}
	if got != status {
		t.Fatalf("check %v: status %d, want %d\n%s%s", more, got, status, out, stderr)
	}
	return string(out), stderr
}

// TestCheckOnHive records some joins of the sample as a baseline with the program itself, changes a setting, and sees the
// strategies that change with it.
func TestCheckOnHive(t *testing.T) {
	admin := open(t)
	db := fmt.Sprintf("h_check_%d", os.Getpid())
	t.Cleanup(func() { run(t, admin, Teardown(db)...) })
	run(t, admin, Setup(db)...)
	c := newChecker(t)
	var queries []Query
	for _, q := range Queries(db) {
		if slices.Contains([]string{"revenue by category", "revenue by country", "open invoices", "revenue by category and segment"}, q.Name) {
			c.script(t, fmt.Sprintf("%02d.sql", len(queries)), "-- "+q.Why+";\n"+strings.Join(q.Settings, ";\n")+";\nCREATE TABLE x (`a;b` STRING);\n"+q.SQL+";\n")
			queries = append(queries, q)
		}
	}

	c.run(t, 0, "--update")
	baseline, err := joincheck.ParseBaseline([]byte(c.read(t, "joins.yaml")))
	if err != nil || len(baseline.Files) != 4 || len(queries) != 4 {
		t.Fatalf("%d scripts of %d in the baseline, %v", len(baseline.Files), len(queries), err)
	}
	mapped := 0 // scripts with a join that the setting turns into a merge join
	for i, name := range slices.Sorted(maps.Keys(baseline.Files)) {
		var got []advisor.Strategy
		for _, j := range baseline.Files[name][0].Joins {
			got = append(got, j.Strategy)
			if len(j.Inputs) < 2 || j.Strategy != advisor.SMB && (j.Strategy == advisor.MergeJoin) != (j.BigTable == "") {
				t.Errorf("%s: %+v", name, j)
			}
		}
		if want := queries[i].Want; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: recorded %v, want %v", queries[i].Name, got, want)
		}
		if slices.Contains(got, advisor.MapJoin) {
			mapped++
		}
	}

	out, _ := c.run(t, 0, "--strict", "--fail-on", "INFO")
	if want := "8 statements in 4 files: 4 unchanged, 4 skipped\n"; !strings.HasSuffix(out, want) {
		t.Errorf("again: %s\nwant %s", out, want)
	}
	out, _ = c.run(t, 1, "-s", "hive.auto.convert.join=false", "--sarif", "joins.sarif", "--junit", "joins.xml", "--markdown", "joins.md")
	t.Logf("with hive.auto.convert.join=false:\n%s", out)
	if n := strings.Count(out, "~ MAP_JOIN → MERGE_JOIN"); n < mapped || mapped == 0 {
		t.Errorf("%d map joins became merge joins, want %d or more", n, mapped)
	}
	line := 1 + len(queries[0].Settings) + 2
	if want := fmt.Sprintf("sql/00.sql:%d: changed", line); !strings.Contains(out, want) {
		t.Errorf("the report lacks %q", want)
	}
	for _, name := range []string{"joins.sarif", "joins.xml", "joins.md"} {
		if !strings.Contains(c.read(t, name), "MERGE") {
			t.Errorf("%s does not tell of it", name)
		}
	}
}

// TestCheckNamesWhatHiveRefuses asks for tables that are not there.
func TestCheckNamesWhatHiveRefuses(t *testing.T) {
	_ = open(t)
	c := newChecker(t)
	c.script(t, "z.sql", "USE default;\n\nSELECT * FROM nowhere_h a\n  JOIN nowhere_h b ON a.x = b.x;\n")
	for _, flags := range [][]string{{"--update"}, nil} {
		out, stderr := c.run(t, 2, flags...)
		if !strings.Contains(stderr, "hs2proxy: sql/z.sql:3: ") || !strings.Contains(stderr, "nowhere_h") || !strings.Contains(out, "sql/z.sql:3: failed") {
			t.Errorf("%v: %s%s", flags, out, stderr)
		}
	}
}
