package check

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// before and after are a folder of scripts before and after a change, with what is made of their plans.
var before = folder{
	files: map[string]string{
		"daily/revenue.sql": `-- Revenue by category.
SET hive.auto.convert.join.noconditionaltask.size=200000;
SELECT p.category, sum(o.amount) FROM orders o JOIN products p ON o.product_id = p.product_id WHERE o.ds = '2026-01-01' GROUP BY p.category;

INSERT OVERWRITE TABLE totals SELECT count(*) FROM orders JOIN returned_orders r ON orders.order_id = r.order_id;
`,
		"daily/old.sql": "SELECT * FROM retired JOIN other ON retired.id = other.id;",
		"three.sql":     "SELECT c.segment FROM customers c, orders o, payments y WHERE c.id = o.customer_id AND o.id = y.id;",
	},
	says: answers{
		"category": judged(verdict(0, advisor.MapJoin, 0, "shop.orders o", "shop.products p")).with(
			advisor.Finding{Kind: advisor.NearFlip, Severity: advisor.Low, Subject: "join 0 MAPJOIN_5 (Map 1)", Summary: "small growth flips it"}),
		"totals":  judged(verdict(0, advisor.MapJoin, 0, "shop.orders orders", "shop.returned_orders r")),
		"retired": judged(verdict(0, advisor.SMB, 0, "shop.retired retired", "shop.other other")),
		"segment": judged(verdict(0, advisor.MergeJoin, -1, "shop.orders o", "shop.customers c"), verdict(1, advisor.MapJoin, 0, "shop.orders+shop.customers $hdt$_0", "shop.payments y")),
	},
}

var after = folder{
	files: map[string]string{
		"daily/revenue.sql": `-- Revenue by category.
SELECT p.category, sum(o.amount) FROM orders o JOIN products p ON o.product_id = p.product_id WHERE o.ds = '2026-02-01' GROUP BY p.category;

CREATE TABLE totals (n BIGINT);
INSERT OVERWRITE TABLE totals SELECT count(*) FROM orders JOIN returned_orders r ON orders.order_id = r.order_id AND r.reason <> 'late';
`,
		"moved here/@new #1.sql": "SELECT x.`odd|``name``` FROM nowhere x JOIN b ON x.id = b.id;\n\nSELECT * FROM fresh a JOIN fresh b ON a.id = b.parent;\n",
		"three.sql":              "SELECT c.segment FROM customers c, orders o, payments y WHERE c.id = o.customer_id AND o.id = y.id;",
	},
	says: answers{
		"category": judged(verdict(0, advisor.MergeJoin, -1, "shop.products p", "shop.orders o")).with(
			advisor.Finding{
				Kind: advisor.MergeJoinLargeSmall, Severity: advisor.High, Subject: "join 0 MERGEJOIN_7 (Reducer 2)",
				Summary: "a merge join sorts shop.orders (o) and shop.products (p), 900 GB against 2.4 GB",
				Advice:  "SET hive.optimize.dynamic.partition.hashjoin=true;\nSET hive.auto.convert.join.noconditionaltask.size=2700000000; -- <only> with memory",
			},
			advisor.Finding{Kind: advisor.NearFlip, Severity: advisor.Low, Subject: "join 0 MERGEJOIN_7 (Reducer 2)", Summary: "small growth flips it"},
		),
		"totals": judged(verdict(0, advisor.MapJoin, 1, "shop.orders orders", "shop.returned_orders r")),
		"fresh": judged(verdict(0, advisor.BucketMapJoin, 0, "shop.fresh a", "shop.fresh b")).with(
			advisor.Finding{Kind: advisor.MissingStatistics, Severity: advisor.Medium, Subject: "shop.fresh", Summary: "shop.fresh has no column statistics", Advice: "ANALYZE TABLE `shop`.`fresh` COMPUTE STATISTICS FOR COLUMNS;"}),
		"segment": judged(verdict(0, advisor.MapJoin, 0, "shop.orders+shop.customers $hdt$_0", "shop.payments y"), verdict(1, advisor.MergeJoin, -1, "shop.orders o", "shop.customers c")),
	},
}

type folder struct {
	files map[string]string
	says  answers
}

func explained(t *testing.T, f folder) []Outcome {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range f.files {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	statements, n, err := ReadAll(files, Session{Database: "shop"})
	if err != nil || n != len(f.files) {
		t.Fatalf("%d files, %v", n, err)
	}
	out, err := Run(t.Context(), f.says, statements, 2)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func reported(t *testing.T) Report {
	t.Helper()
	return Compare(Update(Baseline{}, explained(t, before)), explained(t, after), len(after.files), "etl/", Limits{})
}

func written(t *testing.T, r Report, f Format) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, f, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCompare(t *testing.T) {
	r := reported(t)
	want := Counts{Unchanged: 1, Changed: 2, New: 1, Gone: 1, Skipped: 1, Failed: 1, NewFindings: 2}
	if r.Counts != want || r.Files != 3 {
		t.Errorf("%+v, want %+v", r.Counts, want)
	}
	var at []string
	for i := range r.Results {
		at = append(at, r.Results[i].At())
	}
	if want := []string{
		"etl/daily/old.sql", "etl/daily/revenue.sql:2", "etl/daily/revenue.sql:4", "etl/daily/revenue.sql:5",
		"etl/moved here/@new #1.sql:1", "etl/moved here/@new #1.sql:3", "etl/three.sql:1",
	}; !slices.Equal(at, want) {
		t.Errorf("in order %q, want %q", at, want)
	}
}

func TestExit(t *testing.T) {
	high := []FindingState{{Finding: Finding{Severity: advisor.High}, New: true}, {Finding: Finding{Severity: advisor.Critical}}}
	for _, tt := range []struct {
		name   string
		counts Counts
		limits Limits
		found  []FindingState
		want   int
	}{
		{"nothing changed", Counts{Unchanged: 3, Skipped: 2}, Limits{FailOn: advisor.Info, Strict: true}, nil, 0},
		{"changed", Counts{Changed: 1}, Limits{}, nil, 1},
		{"not explained", Counts{Failed: 1}, Limits{}, nil, 2},
		{"both", Counts{Changed: 1, Failed: 1}, Limits{}, nil, 2},
		{"new and gone", Counts{New: 1, Gone: 1}, Limits{}, nil, 0},
		{"new, strictly", Counts{New: 1}, Limits{Strict: true}, nil, 1},
		{"gone, strictly", Counts{Gone: 1}, Limits{Strict: true}, nil, 1},
		{"a finding without a limit", Counts{NewFindings: 1}, Limits{}, high, 0},
		{"a finding above the limit", Counts{NewFindings: 1}, Limits{FailOn: advisor.Medium}, high, 1},
		{"a finding at the limit", Counts{NewFindings: 1}, Limits{FailOn: advisor.High}, high, 1},
		{"a finding below the limit", Counts{NewFindings: 1}, Limits{FailOn: advisor.Critical}, high, 0},
	} {
		r := Report{Counts: tt.counts, Limits: tt.limits, Results: []Result{{Status: Unchanged, Findings: tt.found}}}
		for _, s := range []Status{New, Gone, Failed, Skipped} {
			r.Results = append(r.Results, slices.Repeat([]Result{{Status: s}}, map[Status]int{New: tt.counts.New, Gone: tt.counts.Gone, Failed: tt.counts.Failed}[s])...)
		}
		r.Results = append(r.Results, slices.Repeat([]Result{{Status: Changed, Changes: []Change{{Kind: JoinAdded}}}}, tt.counts.Changed)...)
		if got := r.Exit(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
		if tt.want < 2 {
			text := string(written(t, r, FormatJUnit))
			if got := strings.Contains(text, "<failure"); got != (tt.want == 1) {
				t.Errorf("%s: JUnit says failure %v:\n%s", tt.name, got, text)
			}
		}
	}
}

func TestGolden(t *testing.T) {
	r := reported(t)
	for format, name := range map[Format]string{
		FormatText: "report.txt", FormatMarkdown: "report.md", FormatJUnit: "report.xml", FormatSARIF: "report.sarif", FormatJSON: "report.json",
	} {
		golden(t, name, written(t, r, format))
	}
	if err := r.Write(io.Discard, "pdf", ""); err == nil {
		t.Error("an unknown format must be refused")
	}
}

func TestJSONReadsBack(t *testing.T) {
	r := reported(t)
	var got Report
	if err := json.Unmarshal(written(t, r, FormatJSON), &got); err != nil {
		t.Fatal(err)
	}
	if got.Counts != r.Counts || len(got.Results) != len(r.Results) || got.Results[1].Changes[0].text() != r.Results[1].Changes[0].text() {
		t.Errorf("%+v", got)
	}
}

func TestJUnitReadsBack(t *testing.T) {
	r := reported(t)
	r.Results[1].Message, r.Results[1].Query = "", "a \x00 control \x1b character <&>"
	var got junitSuites
	if err := xml.Unmarshal(written(t, r, FormatJUnit), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 6 || got.Failures != 2 || got.Errors != 1 || got.Skipped != 1 {
		t.Errorf("%d tests, %d failures, %d errors, %d skipped", got.Tests, got.Failures, got.Errors, got.Skipped)
	}
	tests, names := 0, map[string]bool{}
	for _, s := range got.Suites {
		if s.Name == "" || s.Tests != len(s.Cases) {
			t.Errorf("suite %+v", s)
		}
		for _, c := range s.Cases {
			tests++
			if c.Name == "" || c.Classname != s.Name || names[s.Name+c.Name] {
				t.Errorf("case %+v", c)
			}
			names[s.Name+c.Name] = true
			for _, note := range []*junitNote{c.Failure, c.Error} {
				if note != nil && (note.Message == "" || note.Type == "" || !strings.HasPrefix(note.Text, c.File+":")) {
					t.Errorf("note %+v", note)
				}
			}
		}
	}
	if tests != got.Tests {
		t.Errorf("%d cases, %d tests", tests, got.Tests)
	}
}

// TestSARIFHoldsWhatTheStandardAsksFor reads the report as what it is to others: sections 3.13 to 3.30 of SARIF 2.1.0, and what
// GitHub's upload asks for beyond them.
func TestSARIFHoldsWhatTheStandardAsksFor(t *testing.T) {
	type text struct {
		Text *string `json:"text"`
	}
	var got struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name    string `json:"name"`
					Version string `json:"version"`
					Rules   []struct {
						ID                                      string `json:"id"`
						ShortDescription, FullDescription, Help text
						DefaultConfiguration                    struct{ Level string }
					} `json:"rules"`
				} `json:"driver"`
			} `json:"tool"`
			Invocations []struct {
				ExecutionSuccessful *bool `json:"executionSuccessful"`
			} `json:"invocations"`
			Results []struct {
				RuleID        string `json:"ruleId"`
				RuleIndex     *int   `json:"ruleIndex"`
				Level         string `json:"level"`
				Message       text   `json:"message"`
				BaselineState string `json:"baselineState"`
				Locations     []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI, URIBaseID string }
						Region           struct{ StartLine int }
					}
				} `json:"locations"`
				PartialFingerprints map[string]string `json:"partialFingerprints"`
			} `json:"results"`
		} `json:"runs"`
	}
	r := reported(t)
	if err := json.Unmarshal(written(t, r, FormatSARIF), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != "2.1.0" || !strings.Contains(got.Schema, "sarif-2.1.0") || len(got.Runs) != 1 {
		t.Fatalf("%+v", got)
	}
	run := got.Runs[0]
	if run.Tool.Driver.Name != "hs2proxy" || run.Tool.Driver.Version != "v1.2.3" || len(run.Invocations) != 1 || run.Invocations[0].ExecutionSuccessful == nil || *run.Invocations[0].ExecutionSuccessful {
		t.Errorf("%+v", run)
	}
	levels := []string{"none", "note", "warning", "error"}
	ids := map[string]int{}
	for i, rule := range run.Tool.Driver.Rules {
		for _, s := range []text{rule.ShortDescription, rule.FullDescription, rule.Help} {
			if s.Text == nil || *s.Text == "" {
				t.Errorf("rule %s lacks a text", rule.ID)
			}
		}
		if _, twice := ids[rule.ID]; twice || !slices.Contains(levels, rule.DefaultConfiguration.Level) {
			t.Errorf("rule %+v", rule)
		}
		ids[rule.ID] = i
	}
	seen := map[string]int{}
	for _, res := range run.Results {
		seen[res.RuleID]++
		if res.RuleIndex == nil || run.Tool.Driver.Rules[*res.RuleIndex].ID != res.RuleID || !slices.Contains(levels, res.Level) ||
			res.Message.Text == nil || *res.Message.Text == "" || !slices.Contains([]string{"new", "unchanged"}, res.BaselineState) || len(res.PartialFingerprints) == 0 {
			t.Errorf("result %+v", res)
		}
		if len(res.Locations) != 1 {
			t.Fatalf("%d locations", len(res.Locations))
		}
		at := res.Locations[0].PhysicalLocation
		uri, err := url.Parse(at.ArtifactLocation.URI)
		if err != nil || uri.IsAbs() || !strings.HasPrefix(uri.Path, "etl/") || uri.Fragment != "" || at.Region.StartLine < 1 || at.ArtifactLocation.URIBaseID != "%SRCROOT%" {
			t.Errorf("location %+v, %v", at, err)
		}
		line := strings.Split(after.files[strings.TrimPrefix(uri.Path, "etl/")], "\n")[at.Region.StartLine-1]
		if !strings.HasPrefix(line, "SELECT") && !strings.HasPrefix(line, "INSERT") {
			t.Errorf("%s:%d is %q", uri.Path, at.Region.StartLine, line)
		}
	}
	if want := map[string]int{"strategy-changed": 2, "explain-failed": 1, "merge_join_large_small": 1, "near_flip": 1, "missing_statistics": 1}; len(seen) != len(want) || seen["strategy-changed"] != 2 || seen["near_flip"] != 1 {
		t.Errorf("rules of the results %v, want %v", seen, want)
	}
}

func TestMarkdownLetsNothingThrough(t *testing.T) {
	for text, want := range map[string]string{
		"a":          "`a`",
		"a`b":        "`` a`b ``",
		"``` a\n\nb": "```` ``` a b ````",
		"":           "`  `",
	} {
		if got := code(text); got != want {
			t.Errorf("code(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := escape("@all <b>*x*</b> [a](b) #1 &amp; `c`\n_d_|"), `@`+"\u2060"+`all &lt;b\>\*x\*&lt;/b\> \[a\](b) \#1 &amp;amp; \`+"`c\\`"+` \_d\_\|`; got != want {
		t.Errorf("escape = %q, want %q", got, want)
	}
}

func TestMarkdownFitsAComment(t *testing.T) {
	r := reported(t)
	for range 9 {
		r.Results = slices.Concat(r.Results, r.Results)
	}
	text := string(written(t, r, FormatMarkdown))
	if len(text) > 65536 || !strings.Contains(text, "\n… and ") || !strings.HasSuffix(text, " statements more, in the report as text.\n") {
		t.Errorf("%d bytes, ending in %q", len(text), text[max(0, len(text)-100):])
	}
}
