package advisor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// usedKinds reads the kinds that the advisors' sources declare or write down: constants of type FindingKind, and literals
// given to a finding's Kind.
func usedKinds(t *testing.T) map[FindingKind]string {
	t.Helper()
	used := map[FindingKind]string{}
	note := func(e ast.Expr, file string) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			used[FindingKind(value)] = file
		}
	}
	isKind := func(e ast.Expr) bool {
		if s, ok := e.(*ast.SelectorExpr); ok {
			e = s.Sel
		}
		id, ok := e.(*ast.Ident)
		return ok && id.Name == "FindingKind"
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "kinds.go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if isKind(n.Type) {
					for _, v := range n.Values {
						note(v, path)
					}
				}
			case *ast.KeyValueExpr:
				if id, ok := n.Key.(*ast.Ident); ok && id.Name == "Kind" && filepath.Base(filepath.Dir(path)) != "explain" {
					note(n.Value, path)
				}
			case *ast.CallExpr:
				if len(n.Args) == 1 && isKind(n.Fun) {
					note(n.Args[0], path)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return used
}

func TestEveryUsedKindIsRegistered(t *testing.T) {
	used := usedKinds(t)
	if _, ok := used[StaleStatistics]; !ok {
		t.Fatalf("the sources were not read: %v", used)
	}
	for k, file := range used {
		if _, ok := KindOf(k); !ok {
			t.Errorf("%s uses the kind %q, which kinds.go does not register", file, k)
		}
	}
}

func TestEveryKindHasItsSection(t *testing.T) {
	seen := map[FindingKind]bool{}
	for _, info := range Kinds() {
		if seen[info.Kind] {
			t.Errorf("%s is registered twice", info.Kind)
		}
		seen[info.Kind] = true
		if !slices.Contains(Families(), info.Advisor) || info.Title == "" {
			t.Errorf("incomplete: %+v", info)
		}
		page, anchor, ok := strings.Cut(info.Doc, "#")
		if !ok {
			t.Errorf("%s: %q has no anchor", info.Kind, info.Doc)
			continue
		}
		section := sectionOf(t, page, anchor)
		if section == "" {
			t.Errorf("%s: %s has no heading whose anchor is %s", info.Kind, page, anchor)
			continue
		}
		if !strings.Contains(section, "Source:") {
			t.Errorf("%s: its section names no source (a paragraph that begins with Source:)", info.Kind)
		}
	}
}

// sectionOf is the text below the heading with that anchor, up to the next heading of any level.
func sectionOf(t *testing.T, page, anchor string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	var section []string
	inside := false
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			title := strings.ToLower(strings.Trim(line, "#` \n"))
			inside = strings.ReplaceAll(strings.ReplaceAll(title, "`", ""), " ", "-") == anchor
			continue
		}
		if inside {
			section = append(section, line)
		}
	}
	return strings.TrimSpace(strings.Join(section, ""))
}

func TestCompleteFillsDocAndTables(t *testing.T) {
	verdicts := []JoinVerdict{
		{Join: Join{Ordinal: 0, Inputs: []Input{{Tables: []string{"d.b"}}, {Tables: []string{"d.a", "d.b"}}}}},
		{Join: Join{Ordinal: 1, Inputs: []Input{{Tables: []string{"d.c"}}}}},
	}
	list := []Finding{
		{Kind: NearFlip, Subject: "join 0 MAPJOIN_7 (Map 1)"},
		{Kind: MissingStatistics, Subject: "d.t"},
		{Kind: CrossProduct, Subject: "join 1", Doc: "own.md#x", Tables: []string{"own.t"}},
		{Kind: "unheard_of", Subject: "the statement"},
		{Kind: NearFlip, Subject: "join 7"},
	}
	Complete(list, verdicts)
	for i, want := range []struct {
		doc    string
		tables []string
	}{
		{"docs/findings/README.md#near_flip", []string{"d.a", "d.b"}},
		{"docs/findings/README.md#missing_statistics", []string{"d.t"}},
		{"own.md#x", []string{"own.t"}},
		{"", nil},
		{"docs/findings/README.md#near_flip", nil},
	} {
		if list[i].Doc != want.doc || !slices.Equal(list[i].Tables, want.tables) {
			t.Errorf("%d: %q %v, want %q %v", i, list[i].Doc, list[i].Tables, want.doc, want.tables)
		}
	}
}
