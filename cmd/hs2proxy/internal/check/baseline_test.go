package check

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hs2proxy/hs2proxy/advisor"
)

func TestBaselineRoundTrip(t *testing.T) {
	was := explained(t, before)
	text, err := Update(Baseline{}, was).Encode()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "baseline.yaml", text)
	read, err := ParseBaseline(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := read.Encode()
	if err != nil || string(again) != string(text) {
		t.Errorf("written again (%v) it is\n%s", err, again)
	}
	r := Compare(read, was, 3, "", Limits{FailOn: advisor.Info, Strict: true})
	if r.Counts.Changed+r.Counts.New+r.Counts.Gone+r.Counts.NewFindings > 0 || r.Counts.Unchanged == 0 || r.Exit() != 0 {
		t.Errorf("compared with itself: %s", r.text())
	}
}

func TestBaselineKeepsOddNames(t *testing.T) {
	want := Baseline{Version: baselineVersion, Files: map[string][]Record{"a: b/#1.sql": {{
		Query: "select `x: y`, \"'\n\t#\" from t -- é\u2028", Fingerprint: "0123456789012345",
		Joins:    []Join{{Strategy: "MAP_JOIN", Type: "INNER", BigTable: "d.`o, p` x", Inputs: []string{"d.[a, b]", "null", "1e3", ""}}},
		Findings: []Finding{{"k", advisor.High, "yes"}},
	}}}}
	text, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseBaseline(text); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %+v\nwant %+v\n%s", err, got, want, text)
	}
}

func TestParseBaselineRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "version 0, want 1",
		"version: 2\nfiles: {}":                "version 2, want 1",
		"version: 1\nfile: {}":                 "field file not found",
		"version: 1\nfiles: {a: [{jons: []}]}": "field jons not found",
		"version: [":                           "read the baseline",
	} {
		if _, err := ParseBaseline([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestUpdateKeepsWhatCouldNotBeExplained(t *testing.T) {
	was := outcomesOf("a.sql", "select * from a join b; select * from c; select * from d", "gone.sql", "select * from e")
	was[0].Judged = judged(verdict(0, advisor.MapJoin, 0, "x.a", "x.b"))
	old := Update(Baseline{}, was)

	now := outcomesOf("a.sql", "select * from a join b; select * from f join g;\n-- hs2proxy: skip\nselect * from c; select * from d where x = 2")
	now[0].Error, now[1].Error = "no", "no"
	got := Update(old, now)
	if len(got.Files) != 1 || len(got.Files["a.sql"]) != 2 || len(got.Files["a.sql"][0].Joins) != 1 || got.Files["a.sql"][1].Query != "select * from d where x = ?" {
		t.Errorf("%+v", got)
	}
}
