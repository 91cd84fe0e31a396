package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	joincheck "github.com/hs2proxy/hs2proxy/cmd/hs2proxy/internal/check"
)

// planner is an Explainer that plans every join by one strategy and refuses tables named "nowhere".
type planner struct {
	strategy advisor.Strategy
	severity advisor.Severity // of a finding about each join; none when empty
}

func (p planner) Explain(_ context.Context, s joincheck.Statement) (joincheck.Judged, error) {
	if strings.Contains(s.SQL, "nowhere") {
		return joincheck.Judged{}, errors.New("SemanticException: Table not found 'nowhere'")
	}
	v := advisor.JoinVerdict{Join: advisor.Join{
		Strategy: p.strategy, BigTable: -1, Inputs: []advisor.Input{{Tables: []string{"d.a"}}, {Tables: []string{"d.b"}}},
	}}
	out := joincheck.Judged{Joins: []advisor.JoinVerdict{v}}
	if p.severity != "" {
		out.Findings = []advisor.Finding{{Kind: "some_kind", Severity: p.severity, Subject: "join 0", Summary: "a summary"}}
	}
	return out, nil
}

// checked runs the check of a folder and returns its exit status and what it prints.
func checked(t *testing.T, c checkCmd, p planner) (status int, stdout, stderr string) {
	t.Helper()
	if c.FailOn == "" {
		c.FailOn = "NONE"
	}
	if c.Format == "" {
		c.Format = "text"
	}
	var out bytes.Buffer
	err := outcomeOf(c.check(t.Context(), p, 2, &out))
	var exit exitError
	switch {
	case errors.As(err, &exit):
		return exit.status, out.String(), exit.Error()
	case err != nil:
		t.Fatalf("an error without a status: %v", err)
	}
	return 0, out.String(), ""
}

func TestCheckExitStatus(t *testing.T) {
	dir := t.TempDir()
	sql := filepath.Join(dir, "sql")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(sql, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sql, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	if err := os.Mkdir(sql, 0o755); err != nil {
		t.Fatal(err)
	}
	c := checkCmd{Dir: sql, Baseline: filepath.Join(dir, "baseline.yaml")}
	updating := c
	updating.Update = true
	mapped, merged := planner{strategy: advisor.MapJoin}, planner{strategy: advisor.MergeJoin}

	step := func(what string, c checkCmd, p planner, status int, words ...string) {
		t.Helper()
		got, stdout, stderr := checked(t, c, p)
		if got != status {
			t.Errorf("%s: status %d, want %d\n%s%s", what, got, status, stdout, stderr)
		}
		for _, w := range words {
			if !strings.Contains(stdout+stderr, w) {
				t.Errorf("%s lacks %q:\n%s%s", what, w, stdout, stderr)
			}
		}
	}
	step("an empty folder", updating, mapped, 2, "no .sql or .hql file")
	write("x/one.sql", "\nSELECT * FROM a JOIN b ON a.k = b.k;\nDROP TABLE c;\n")
	step("no baseline", c, mapped, 2, "there is no baseline", "--update writes it")
	step("the first update", updating, mapped, 0, "sql/x/one.sql:2: new", "sql/x/one.sql:3: skipped: DROP is not explained")
	step("nothing changed", c, mapped, 0, "2 statements in 1 file: 1 unchanged, 1 skipped")
	step("a strategy changed", c, merged, 1, "MAP_JOIN → MERGE_JOIN: d.a, d.b")

	high := planner{strategy: advisor.MapJoin, severity: advisor.High}
	step("a finding, unasked", c, high, 0, "* HIGH some_kind (d.a, d.b): a summary")
	limited := c
	limited.FailOn = "HIGH"
	step("a finding, asked for", limited, high, 1, "1 new finding")
	limited.FailOn = "CRITICAL"
	step("a finding below the limit", limited, high, 0)

	write("y.sql", "SELECT * FROM nowhere JOIN b ON 1 = 1;")
	step("not explained", c, mapped, 2, "sql/y.sql:1: SemanticException: Table not found 'nowhere'")
	step("not explained and changed", c, merged, 2, "MAP_JOIN → MERGE_JOIN")
	step("an update that does not know all", updating, merged, 2, "sql/y.sql:1: ")
	write("y.sql", "SELECT * FROM c JOIN b ON 1 = 1;")
	step("the update was written all the same", c, merged, 0, "sql/y.sql:1: new")
	strict := c
	strict.Strict = true
	step("new, strictly", strict, merged, 1, "1 new")

	if err := os.WriteFile(c.Baseline, []byte("version: 7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	step("a baseline of another version", c, mapped, 2, "baseline.yaml", "version 7, want 1")
	step("an update of it", updating, mapped, 2, "version 7")
}

func TestCheckWritesEveryFormatAtOnce(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.sql"), []byte("SELECT * FROM a JOIN b ON a.k = b.k"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := checkCmd{Dir: dir, Baseline: "b.yaml", Update: true, Format: "json", Markdown: "r.md", JUnit: "r.xml", SARIF: "r.sarif"}
	status, stdout, _ := checked(t, c, planner{strategy: advisor.MapJoin})
	if status != 0 || !json.Valid([]byte(stdout)) {
		t.Errorf("status %d: %s", status, stdout)
	}
	c.Format, c.Output = "text", "r.txt"
	if status, stdout, _ := checked(t, c, planner{strategy: advisor.MapJoin}); status != 0 || stdout != "" {
		t.Errorf("status %d: %s", status, stdout)
	}
	for name, begin := range map[string]string{"r.md": "### Joins", "r.xml": "<?xml", "r.sarif": "{", "r.txt": "1 statement in 1 file: 1 unchanged", "b.yaml": "# The joins"} {
		text, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(text), begin) {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
	c.SARIF = "no/such/folder.sarif"
	if status, _, stderr := checked(t, c, planner{strategy: advisor.MapJoin}); status != 2 || !strings.Contains(stderr, "write the report") {
		t.Errorf("status %d: %s", status, stderr)
	}
	left, _ := filepath.Glob("b.yaml.*")
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
