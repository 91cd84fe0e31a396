package advisor_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

var update = flag.Bool("update", false, "rewrite the joins expected in testdata/plans")

// planFile is a query with the text forms of its plan and the joins they hold, captured from Hive 4.0.1 over tables with
// set statistics; of FORMATTED, the CBOPlan is left out.
type planFile struct {
	path    string
	archive *txtar.Archive
}

func (f planFile) section(name string) string {
	for _, s := range f.archive.Files {
		if s.Name == name {
			return string(s.Data)
		}
	}
	return ""
}

func planFiles(t testing.TB) []planFile {
	t.Helper()
	paths, err := filepath.Glob("testdata/plans/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no plans in testdata: %v", err)
	}
	files := make([]planFile, len(paths))
	for i, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = planFile{path, a}
	}
	return files
}

// render writes joins as a reviewer reads them.
func render(joins []advisor.Join) string {
	var b strings.Builder
	for _, j := range joins {
		fmt.Fprintf(&b, "join %d %s in %s, big table %d, %d rows, %d bytes", j.Ordinal, j.Strategy, j.Vertex, j.BigTable, j.OutputRows, j.OutputBytes)
		for _, c := range j.Conditions {
			fmt.Fprintf(&b, ", %s %d to %d", c.Type, c.Left, c.Right)
		}
		fmt.Fprintf(&b, ", residual %t, filters %t, null-safe %t", j.Residual, j.Filters, j.NullSafe)
		b.WriteString("\n")
		for _, in := range j.Inputs {
			fmt.Fprintf(&b, "  input %d %s %s from %s: %d rows, %d bytes, %d cumulative, %s/%s\n", in.Position,
				strings.Join(in.Tables, "+"), in.Alias, in.Vertex, in.Rows, in.DataSize, in.CumulativeRows, in.BasicStats, in.ColumnStats)
			for _, k := range in.Keys {
				fmt.Fprintf(&b, "    key %s %s = %s.%s\n", k.Expr, k.Type, k.Table, k.Column)
			}
			for _, c := range in.Columns {
				fmt.Fprintf(&b, "    column %s %s = %s.%s\n", c.Name, c.Type, c.Table, c.Column)
			}
			l := in.Layout
			fmt.Fprintf(&b, "    %d buckets by %v, version %d", l.Buckets, l.BucketColumns, l.BucketingVersion)
			if l.External {
				b.WriteString(", external")
			}
			if l.Shuffled {
				b.WriteString(", shuffled below")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func joinsOfText(t *testing.T, where, text string) []advisor.Join {
	t.Helper()
	p, err := explain.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	return advisor.Joins(p)
}

// TestJoinsOfExtended compares the joins of EXPLAIN EXTENDED with those reviewed.
func TestJoinsOfExtended(t *testing.T) {
	for _, f := range planFiles(t) {
		got := render(joinsOfText(t, f.path, f.section("extended")))
		if *update {
			for i := range f.archive.Files {
				if f.archive.Files[i].Name == "want" {
					f.archive.Files[i].Data = []byte(got)
				}
			}
			if err := os.WriteFile(f.path, txtar.Format(f.archive), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if want := f.section("want"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", f.path, got, want)
		}
	}
}

// outline is what all text forms of a plan print of its joins.
func outline(joins []advisor.Join, printed func(in advisor.Input) bool) string {
	var b strings.Builder
	for _, j := range joins {
		fmt.Fprintf(&b, "%s in %s, %d rows", j.Strategy, j.Vertex, j.OutputRows)
		for _, c := range j.Conditions {
			fmt.Fprintf(&b, ", %s %d to %d", c.Type, c.Left, c.Right)
		}
		for _, in := range j.Inputs {
			if printed(in) {
				fmt.Fprintf(&b, ", %s %d rows", in.Vertex, in.Rows)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestFormsAgree finds the same joins, with the same inputs in the same order, in every form of a plan's text.
func TestFormsAgree(t *testing.T) {
	for _, f := range planFiles(t) {
		want := joinsOfText(t, f.path, f.section("extended"))
		for _, form := range []string{"plain", "user", "formatted"} {
			text := f.section(form)
			if text == "" {
				continue
			}
			printed := func(in advisor.Input) bool { return true }
			switch {
			case form == "formatted" && strings.Contains(f.path, "smb"):
				// A JSON object keeps one of the two operator trees of the vertex.
				printed = func(advisor.Input) bool { return false }
			case form == "user" && strings.Contains(f.path, "cross"):
				// Nothing tells the positions apart.
				printed = func(advisor.Input) bool { return false }
			}
			got := joinsOfText(t, f.path+" "+form, text)
			if g, w := outline(got, printed), outline(want, printed); g != w {
				t.Errorf("%s %s:\n%swant\n%s", f.path, form, g, w)
			}
		}
	}
}
