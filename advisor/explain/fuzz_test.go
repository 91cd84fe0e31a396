package explain_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
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

// BenchmarkParse100KB reads one EXTENDED plan of 100 KB, as a query over many partitions has it: 2 ms are its budget.
func BenchmarkParse100KB(b *testing.B) {
	a, err := txtar.ParseFile("../testdata/plans/merge_join_reduce_nway.txtar")
	if err != nil {
		b.Fatal(err)
	}
	text := ""
	for _, s := range a.Files {
		if s.Name == "extended" {
			text = string(s.Data)
		}
	}
	// The vertices again under other names, until the text is as long.
	start := strings.Index(text, "        Map 1 \n")
	end := strings.Index(text, "\n  Stage: Stage-0")
	if start < 0 || end < start {
		b.Fatal("the plan has no vertices")
	}
	part := text[start:end]
	var more strings.Builder
	for n := 100; len(text)+more.Len() < 100<<10; n++ {
		more.WriteString(strings.Replace(part, "        Map 1 \n", fmt.Sprintf("        Map %d \n", n), 1))
	}
	text = text[:end] + more.String() + text[end:]
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := explain.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
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
