package check

import (
	"fmt"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Status is what became of a statement.
type Status string

// Statuses. Gone is a statement of the baseline that no script holds any more.
const (
	Unchanged Status = "unchanged"
	Changed   Status = "changed"
	New       Status = "new"
	Gone      Status = "gone"
	Skipped   Status = "skipped"
	Failed    Status = "failed"
)

// Report is the result of a check, in the order of the scripts' names and of the statements in them.
type Report struct {
	Version int `json:"version"`
	// Files is how many scripts there were.
	Files   int      `json:"files"`
	Counts  Counts   `json:"counts"`
	Results []Result `json:"statements"`
	// Limits say what fails beside changed joins.
	Limits Limits `json:"-"`
}

// Counts are how many statements have each status, and how many findings are new.
type Counts struct {
	Unchanged   int `json:"unchanged"`
	Changed     int `json:"changed"`
	New         int `json:"new"`
	Gone        int `json:"gone"`
	Skipped     int `json:"skipped"`
	Failed      int `json:"failed"`
	NewFindings int `json:"new_findings"`
}

// Result is what is known of one statement.
type Result struct {
	// File is the path below the repository, Line the line where the statement begins; 0 for one that is gone.
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Number counts the statements of the file from 1, the ones that are skipped included; 0 for one that is gone.
	Number      int    `json:"number,omitempty"`
	Query       string `json:"query,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Status      Status `json:"status"`
	// Edited: it is compared with a statement of another text. MovedFrom is the script that had it before, when another.
	Edited    bool           `json:"edited,omitempty"`
	MovedFrom string         `json:"moved_from,omitempty"`
	Changes   []Change       `json:"changes,omitempty"`
	Joins     []Join         `json:"joins,omitempty"`
	Findings  []FindingState `json:"findings,omitempty"`
	// Message is why the statement was skipped, or what Hive said when it could not be explained.
	Message string `json:"message,omitempty"`
}

// FindingState is a finding with what it says; New against the baseline.
type FindingState struct {
	Finding
	Summary string `json:"summary"`
	Advice  string `json:"advice,omitempty"`
	New     bool   `json:"new"`
}

// At is file:line.
func (r *Result) At() string {
	if r.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// newFindings are those that the baseline does not know.
func (r *Result) newFindings() []FindingState {
	var list []FindingState
	for _, f := range r.Findings {
		if f.New {
			list = append(list, f)
		}
	}
	return list
}

// title is the statement in a heading: with what sets it apart from the one in the baseline.
func (r *Result) title() string {
	text := r.Query
	switch {
	case r.Edited:
		text += " (edited)"
	case r.MovedFrom != "":
		text += " (moved from " + r.MovedFrom + ")"
	}
	return text
}

// Limits say what fails a check beside changed joins.
type Limits struct {
	// FailOn is the severity from which on a new finding counts; empty: none does.
	FailOn advisor.Severity
	// Strict: a statement that is new or gone counts, since it leaves the baseline out of date.
	Strict bool
}

// Exit is the exit status: 2 when a statement could not be explained, whatever else there is, since then nobody knows what it
// would have said; 1 when a join changed or something else counts by the limits; else 0.
func (r *Report) Exit() int {
	if r.Counts.Failed > 0 {
		return 2
	}
	for i := range r.Results {
		if len(r.Limits.reasons(&r.Results[i])) > 0 {
			return 1
		}
	}
	return 0
}

// reason is one thing that fails a statement; rule is its name in reports.
type reason struct{ rule, text string }

// reasons are why a statement fails the check, other than that it could not be explained.
func (l Limits) reasons(r *Result) []reason {
	var list []reason
	for _, c := range r.Changes {
		list = append(list, reason{ruleChanged, c.text()})
	}
	if l.Strict && (r.Status == New || r.Status == Gone) {
		list = append(list, reason{"statement-" + string(r.Status), "the baseline is out of date: the statement is " + string(r.Status)})
	}
	for _, f := range r.newFindings() {
		if l.FailOn != "" && severityRank(f.Severity) >= severityRank(l.FailOn) {
			list = append(list, reason{string(f.Kind), fmt.Sprintf("new finding, %s: %s", f.Severity, oneLine(f.Summary))})
		}
	}
	return list
}

// Summary is one line: "12 statements in 3 files: 1 changed, 1 new, …".
func (r *Report) Summary() string {
	c := r.Counts
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{
		{c.Changed, "changed"}, {c.New, "new"}, {c.Gone, "gone"}, {c.Failed, "not explained"}, {c.Unchanged, "unchanged"}, {c.Skipped, "skipped"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	text := plural(len(r.Results)-c.Gone, "statement") + " in " + plural(r.Files, "file")
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if c.NewFindings > 0 {
		text += "; " + plural(c.NewFindings, "new finding")
	}
	return text
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
