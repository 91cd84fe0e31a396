package outerjoin

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestGolden: plans of a real Hive 4.0.1 on Tez (properties nobody reads cut out) and what is made of them.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sections := map[string]string{}
			for _, f := range archive.Files {
				sections[f.Name] = string(f.Data)
			}
			q := query(t, sections["sql"], sections["plan"])
			if got := brief(Classify(q)) + "\n" + kinds(Find(q)) + "\n"; got != sections["want"] {
				t.Errorf("got\n%swant\n%s", got, sections["want"])
			}
		})
	}
}
