package check

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// The parts of SARIF 2.1.0 that the report uses, named as the standard's properties.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string             `json:"id"`
		ShortDescription sarifMessage       `json:"shortDescription"`
		FullDescription  sarifMessage       `json:"fullDescription"`
		Help             sarifMessage       `json:"help"`
		Configuration    sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool `json:"executionSuccessful"`
	}
	sarifResult struct {
		RuleID        string            `json:"ruleId"`
		RuleIndex     int               `json:"ruleIndex"`
		Level         string            `json:"level"`
		Message       sarifMessage      `json:"message"`
		Locations     []sarifLocation   `json:"locations"`
		Fingerprints  map[string]string `json:"partialFingerprints"`
		BaselineState string            `json:"baselineState"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// Rules of the report's own, beside the kinds of findings.
const (
	ruleChanged = "strategy-changed"
	ruleFailed  = "explain-failed"
)

// sarif is the report in SARIF 2.1.0: a result for each changed join, each statement that could not be explained and each finding,
// those that the baseline knows included, since a server closes what is not reported any more.
func (r *Report) sarif(version string) ([]byte, error) {
	s := sarifWriter{results: []sarifResult{}, rules: []sarifRule{
		{
			ruleChanged,
			sarifMessage{"Changed join"},
			sarifMessage{"Hive plans a join otherwise than the baseline says: by another strategy, with another big table, or not at all."},
			sarifMessage{"Where the new plan is as it should be, take it over with hs2proxy check --update and commit the baseline."},
			sarifConfiguration{"warning"},
		},
		{
			ruleFailed,
			sarifMessage{"Statement not explained"},
			sarifMessage{"Hive refused to explain the statement, or could not be reached."},
			sarifMessage{"Where the statement needs what only its script makes, a comment before it leaves it out: -- hs2proxy: skip"},
			sarifConfiguration{"error"},
		},
	}}
	for i := range r.Results {
		s.add(&r.Results[i])
	}
	return indented(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{
			Tool:        sarifTool{sarifDriver{Name: "hs2proxy", Version: version, Rules: s.rules}},
			Invocations: []sarifInvocation{{ExecutionSuccessful: r.Counts.Failed == 0}}, Results: s.results,
		}},
	})
}

type sarifWriter struct {
	rules   []sarifRule
	results []sarifResult
}

func (s *sarifWriter) add(r *Result) {
	if r.Status == Failed {
		s.result(r, ruleFailed, "error", "new", oneLine(r.Message), "")
	}
	for _, c := range r.Changes {
		text := c.text()
		if c.Reason != "" {
			text += ". Why: " + oneLine(c.Reason)
		}
		s.result(r, ruleChanged, "warning", "new", text, strings.Join(c.Inputs, ","))
	}
	for _, f := range r.Findings {
		state, text := "unchanged", f.Summary
		if f.New {
			state = "new"
		}
		if f.Advice != "" {
			text += "\nTry: " + f.Advice
		}
		s.result(r, string(f.Kind), level(f.Severity), state, text, f.About)
	}
}

// result adds one; what it is about, with the statement's fingerprint, tells it from others when lines have moved.
func (s *sarifWriter) result(r *Result, rule, level, state, text, about string) {
	s.results = append(s.results, sarifResult{
		RuleID: rule, RuleIndex: s.rule(rule, level), Level: level, Message: sarifMessage{text}, BaselineState: state,
		Locations: []sarifLocation{{sarifPhysical{
			Artifact: sarifArtifact{URI: (&url.URL{Path: r.File}).String(), URIBaseID: "%SRCROOT%"}, Region: sarifRegion{StartLine: r.Line},
		}}},
		Fingerprints: map[string]string{"hs2proxyStatement/v1": strings.TrimSuffix(r.Fingerprint+":"+rule+":"+about, ":")},
	})
}

// rule is the index of a rule; a kind of finding becomes one when it is first seen.
func (s *sarifWriter) rule(id, level string) int {
	i := slices.IndexFunc(s.rules, func(rule sarifRule) bool { return rule.ID == id })
	if i >= 0 {
		return i
	}
	name := strings.ReplaceAll(id, "_", " ")
	s.rules = append(s.rules, sarifRule{
		id,
		sarifMessage{strings.ToUpper(name[:1]) + name[1:]},
		sarifMessage{"The advisor found this in the plan of a statement, or in the statistics of its tables."},
		sarifMessage{"The result says what to try. What is accepted belongs in the baseline: hs2proxy check --update"},
		sarifConfiguration{level},
	})
	return len(s.rules) - 1
}

func level(s advisor.Severity) string {
	switch s {
	case advisor.Critical, advisor.High:
		return "error"
	case advisor.Medium:
		return "warning"
	default:
		return "note"
	}
}
