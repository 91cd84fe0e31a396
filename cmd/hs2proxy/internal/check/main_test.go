package check

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/advisor"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs; with -update it is written anew. Got\n%s", path, got)
	}
}

// answers is an Explainer that knows what to say by a word of the statement.
type answers map[string]Judged

func (a answers) Explain(_ context.Context, s Statement) (Judged, error) {
	for word, judged := range a {
		if strings.Contains(s.SQL, word) {
			return judged, nil
		}
	}
	return Judged{}, errors.New("SemanticException [Error 10001]: Line 2:5 Table not found 'nowhere'")
}

// verdict is a join of tables "d.t alias", the streamed one at position big.
func verdict(ordinal int, s advisor.Strategy, big int, inputs ...string) advisor.JoinVerdict {
	v := advisor.JoinVerdict{
		Join:     advisor.Join{Ordinal: ordinal, OperatorID: "JOIN_1", Vertex: "Reducer 2", Strategy: s, BigTable: big},
		Decision: advisor.Decision{Strategy: s, Reason: "the budget decides: " + string(s)},
		Verdict:  advisor.Verdict{Planned: s, Simulated: s, Agrees: true},
	}
	for i, name := range inputs {
		tables, alias, _ := strings.Cut(name, " ")
		v.Join.Inputs = append(v.Join.Inputs, advisor.Input{Position: i, Tables: strings.Split(tables, "+"), Alias: alias})
		if i > 0 {
			v.Join.Conditions = append(v.Join.Conditions, advisor.Condition{Type: advisor.Inner, Left: i - 1, Right: i})
		}
	}
	return v
}

func judged(joins ...advisor.JoinVerdict) Judged { return Judged{Joins: joins} }

func (j Judged) with(findings ...advisor.Finding) Judged {
	j.Findings = findings
	return j
}
