package check

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

func TestFind(t *testing.T) {
	script := &fstest.MapFile{Data: []byte("select * from t")}
	got, err := Find(fstest.MapFS{
		"b.sql": script, "a/z.sql": script, "a.hql": script, "a/UPPER.SQL": script, "notes.md": script, ".git/x.sql": script, "a/.hidden.sql": script,
		"c.sql/in.sql": script,
	})
	if want := []string{"a.hql", "a/UPPER.SQL", "a/z.sql", "b.sql", "c.sql/in.sql"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestPrefix(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"repo/.git", "repo/etl/sql", "tree/sql", "outside"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "tree", ".git"), []byte("gitdir: elsewhere"), 0o644); err != nil { // a worktree
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(top, "repo", "etl"), filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ from, dir, want string }{
		{"repo", "etl/sql", "etl/sql/"},
		{"repo/etl", "sql", "etl/sql/"},
		{"repo", ".", ""},
		{"outside", "../repo/etl", "etl/"},
		{"tree", "sql", "sql/"},
		{"outside", "../link/sql", "etl/sql/"},
	} {
		t.Chdir(filepath.Join(top, tt.from))
		if got, err := Prefix(tt.dir); got != tt.want || err != nil {
			t.Errorf("in %s, %s: %q, %v; want %q", tt.from, tt.dir, got, err, tt.want)
		}
	}
}
