package explain_test

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// FuzzParse: any text gives a plan or one error that names a line; what is read hangs together.
func FuzzParse(f *testing.F) {
	for _, text := range []string{tezPlan, mrPlan, userPlan, `{"STAGE PLANS":{"Stage-0":{"Fetch Operator":{}}}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := explain.Parse(text)
		if err != nil {
			var syntax *explain.SyntaxError
			if !errors.As(err, &syntax) || syntax.Line < 1 || syntax.Msg == "" || p != nil {
				t.Fatalf("plan %v, error %v", p, err)
			}
			return
		}
		for _, s := range p.Stages {
			for _, v := range s.Vertices {
				if v.Stage != s {
					t.Fatalf("%s of %s belongs to another stage", v.Name, s.ID)
				}
				for o := range v.Operators() {
					if o.Vertex != v {
						t.Fatalf("%s of %s belongs to another vertex", o.Kind, v.Name)
					}
				}
			}
		}
	})
}

// BenchmarkParse reads reviewed plans of every form.
func BenchmarkParse(b *testing.B) {
	paths, err := filepath.Glob("../testdata/plans/*.txtar")
	if err != nil || len(paths) == 0 {
		b.Fatal("no plans", err)
	}
	for _, form := range []string{"extended", "plain", "user", "formatted"} {
		var texts []string
		size := 0
		for _, path := range paths {
			a, err := txtar.ParseFile(path)
			if err != nil {
				b.Fatal(err)
			}
			for _, s := range a.Files {
				if s.Name == form {
					texts = append(texts, string(s.Data))
					size += len(s.Data)
				}
			}
		}
		b.Run(form, func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				for _, text := range texts {
					if _, err := explain.Parse(text); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
