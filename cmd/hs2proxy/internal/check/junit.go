package check

import (
	"encoding/xml"
	"fmt"
)

// The elements of JUnit's XML that CI servers read: a suite for each script, a case for each statement.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string     `xml:"name,attr"`
		Classname string     `xml:"classname,attr"`
		File      string     `xml:"file,attr"`
		Failure   *junitNote `xml:"failure"`
		Error     *junitNote `xml:"error"`
		Skipped   *junitNote `xml:"skipped"`
		Output    string     `xml:"system-out,omitempty"`
	}
	junitNote struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// junit is the report as JUnit XML. What fails the check is a failure, a statement that could not be explained an error; new
// findings stand in the case's output.
func (r *Report) junit() ([]byte, error) {
	all := junitSuites{Name: "hs2proxy check"}
	for i := range r.Results {
		res := &r.Results[i]
		reasons := r.Limits.reasons(res)
		if res.Status == Gone && len(reasons) == 0 {
			continue
		}
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != res.File {
			all.Suites = append(all.Suites, junitSuite{Name: res.File})
		}
		all.Suites[len(all.Suites)-1].add(res, reasons)
	}
	for i := range all.Suites {
		s := &all.Suites[i]
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	return []byte(xml.Header + string(text) + "\n"), err
}

func (s *junitSuite) add(r *Result, reasons []reason) {
	c := junitCase{Name: caseName(r), Classname: r.File, File: r.File}
	s.Tests++
	switch {
	case r.Status == Failed:
		c.Error = &junitNote{Message: oneLine(r.Message), Type: ruleFailed, Text: r.At() + "\n" + r.Message}
		s.Errors++
	case r.Status == Skipped:
		c.Skipped = &junitNote{Message: r.Message}
		s.Skipped++
	case len(reasons) > 0:
		c.Failure = &junitNote{Message: reasons[0].text, Type: reasons[0].rule, Text: r.At() + "\n"}
		for _, why := range reasons {
			c.Failure.Text += why.text + "\n"
		}
		for _, ch := range r.Changes {
			if ch.Reason != "" {
				c.Failure.Text += "why " + ch.Now + ": " + oneLine(ch.Reason) + "\n"
			}
		}
		s.Failures++
	}
	for _, f := range r.newFindings() {
		c.Output += fmt.Sprintf("%s: new finding: %s %s: %s\n", r.At(), f.Severity, f.Kind, oneLine(f.Summary))
	}
	s.Cases = append(s.Cases, c)
}

// caseName holds no line: a server compares cases by name, and an edit above does not make another statement.
func caseName(r *Result) string {
	name := fmt.Sprintf("statement %d", r.Number)
	if r.Status == Gone {
		name = "statement that is gone"
	}
	if r.Query != "" {
		name += ": " + r.Query
	}
	return name
}
