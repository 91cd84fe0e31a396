package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/store"
)

func TestRedactorText(t *testing.T) {
	r, err := store.NewRedactor([]store.Redaction{
		{Pattern: `[\w.]+@example\.com`, With: "<mail>"}, {Pattern: `(?i)(acct_)(?P<n>\d)\d+`, With: "${1}${n}***"}, {Pattern: `\*\*\*x`, With: "$$"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"":                               "",
		"a.b@example.com, b@example.org": "<mail>, b@example.org",
		"where x = 'ACCT_123'":           "where x = 'ACCT_1***'",
		"acct_12x":                       "acct_1$", // rules apply one after the other
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	var none *store.Redactor
	if none.Text("x") != "x" || none.Active() {
		t.Error("the nil redactor changes text")
	}
}

func TestRedactorRefuses(t *testing.T) {
	r, err := store.NewRedactor([]store.Redaction{{Pattern: "a", With: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	for want, rules := range map[string][]store.Redaction{
		"redact[0].pattern: error parsing regexp":                            {{Pattern: "("}},
		`redact[1].pattern: "x*" matches the empty text`:                     {{Pattern: "y"}, {Pattern: "x*"}},
		`redact[0].pattern: "" matches the empty text`:                       {{}},
		`redact[0].with: "$1x" names the group "1x"`:                         {{Pattern: "(a)", With: "$1x"}},
		`redact[0].with: "${2}" names the group "2"`:                         {{Pattern: "(a)", With: "${2}"}},
		`redact[0].with: "$name" names the group "name"`:                     {{Pattern: "(?P<other>a)", With: "$name"}},
		"redact: 101 patterns, want at most 100":                             slices.Repeat([]store.Redaction{{Pattern: "a"}}, 101),
		"redact[0].pattern: error parsing regexp: invalid nested repetition": {{Pattern: "a**"}},
	} {
		if err := r.Set(rules); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if r.Text("a") != "b" {
		t.Error("refused rules replaced the old ones")
	}
	if err := r.Set(nil); err != nil || r.Active() || r.Text("a") != "a" {
		t.Errorf("rules taken away still work: %v", err)
	}
}

// A pattern that backtracking engines choke on.
func BenchmarkRedactor(b *testing.B) {
	r, err := store.NewRedactor([]store.Redaction{{Pattern: `(a+)+b`, With: "x"}})
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("a", 1<<20)
	b.SetBytes(1 << 20)
	for b.Loop() {
		if len(r.Text(text)) != 1<<20 {
			b.Fatal("changed")
		}
	}
}
