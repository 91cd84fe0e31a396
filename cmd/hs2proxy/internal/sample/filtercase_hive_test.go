package sample

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
	"github.com/hs2proxy/hs2proxy/advisor/dynamicfilter"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

type filterCase struct {
	settings map[string]string
	sql      string
	// alias and column are the consumer's.
	alias, column string
	kind          dynamicfilter.Kind
	state         dynamicfilter.State
	// causes are those of an absent filter; fixed: the finding's advice brings it.
	causes []dynamicfilter.Cause
	fixed  bool
	// more: causes are only some of those there are.
	more bool
}

// candidate finds the filter of a column.
func candidate(t *testing.T, q advisor.Query, c *filterCase, text string) dynamicfilter.Filter {
	t.Helper()
	for _, f := range dynamicfilter.Of(q) {
		if f.Alias == c.alias && slices.Contains(f.Columns, c.column) && f.Kind == c.kind {
			return f
		}
	}
	t.Fatalf("no %s of %s.%s may be in\n%s", c.kind, c.alias, c.column, text)
	return dynamicfilter.Filter{}
}

// keep writes a plan to the folder HS2PROXY_KEEP_PLANS names, to make test data of.
func keep(t *testing.T, when, text string) {
	t.Helper()
	dir := os.Getenv("HS2PROXY_KEEP_PLANS")
	if dir == "" {
		return
	}
	name := strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()) + "." + when + ".txt"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func filters(t *testing.T, session *client.Session, c *filterCase, tables map[string]advisor.TableStats) {
	t.Helper()
	run(t, session, fewReducers)
	give(t, session, c.settings)
	text := planOf(t, session, "EXTENDED", c.sql)
	keep(t, "before", text)
	q := queryOf(t, text, c.settings, tables)
	f := candidate(t, q, c, text)
	if f.State != c.state {
		t.Fatalf("%s, want %s: %s\n%s", f.State, c.state, dynamicfilter.Describe(q, f), text)
	}
	// What the plan shows, by its words alone.
	marks := map[dynamicfilter.Kind]string{dynamicfilter.Semijoin: "DynamicValue(", dynamicfilter.Pruning: "Dynamic Partitioning Event Operator"}
	if has := strings.Contains(text, marks[c.kind]); has != (c.state == dynamicfilter.Present) {
		t.Fatalf("the plan holds %q: %v, the advisor says %s\n%s", marks[c.kind], has, f.State, text)
	}
	if c.state == dynamicfilter.Present {
		return
	}
	var causes []dynamicfilter.Cause
	for _, r := range f.Reasons {
		causes = append(causes, r.Cause)
	}
	if c.more {
		causes = slices.DeleteFunc(causes, func(cause dynamicfilter.Cause) bool { return !slices.Contains(c.causes, cause) })
	}
	if !slices.Equal(causes, c.causes) {
		t.Errorf("because of %v, want %v: %s", causes, c.causes, dynamicfilter.Describe(q, f))
	}
	if !c.fixed {
		return
	}
	before := answers(t, session, c.sql)
	var found *advisor.Finding
	for _, one := range dynamicfilter.Find(q) {
		if one.Evidence["alias"] == c.alias {
			found = &one
		}
	}
	if found == nil {
		t.Fatalf("nothing found: %+v", f)
	}
	if want := filterKinds[c.kind]; found.Kind != want {
		t.Errorf("found %s, want %s", found.Kind, want)
	}
	after := maps.Clone(c.settings)
	for line := range strings.Lines(found.Advice) {
		if rest, ok := strings.CutPrefix(line, "SET "); ok {
			statement, _, _ := strings.Cut(rest, ";")
			name, value, _ := strings.Cut(statement, "=")
			after[name] = value
		}
	}
	give(t, session, after)
	text = planOf(t, session, "EXTENDED", c.sql)
	keep(t, "after", text)
	q = queryOf(t, text, after, tables)
	if f := candidate(t, q, c, text); f.State != dynamicfilter.Present {
		t.Errorf("after %q: %s\n%s", found.Advice, dynamicfilter.Describe(q, f), text)
	}
	if !strings.Contains(text, marks[c.kind]) {
		t.Errorf("after %q the plan holds no %q\n%s", found.Advice, marks[c.kind], text)
	}
	if got := answers(t, session, c.sql); !slices.Equal(got, before) {
		t.Errorf("%v before, %v after %q", before, got, found.Advice)
	}
}
