package advisor

import (
	"slices"
	"strconv"
	"strings"
)

// Severity of a finding.
type Severity string

// Severities, rising.
const (
	Info     Severity = "INFO"
	Low      Severity = "LOW"
	Medium   Severity = "MEDIUM"
	High     Severity = "HIGH"
	Critical Severity = "CRITICAL"
)

// FindingKind names a rule; each rule has one, registered in kinds.go and explained in docs/findings.
type FindingKind string

// Finding is one thing worth telling a person, about a join, a predicate or a table.
type Finding struct {
	Kind     FindingKind `json:"kind"`
	Severity Severity    `json:"severity"`
	// Subject is what it is about: "join 0", "db.table", a statement.
	Subject string `json:"subject"`
	// Summary is one sentence with numbers; Evidence holds the numbers by name; Advice is SQL or a SET to try.
	Summary  string         `json:"summary"`
	Evidence map[string]any `json:"evidence,omitempty"`
	Advice   string         `json:"advice,omitempty"`
	// Doc is the section of the documentation that explains the rule and names its source, as path#anchor in the
	// repository; Tables are the base tables it is about, "database.table". Complete fills both.
	Doc    string   `json:"doc,omitempty"`
	Tables []string `json:"tables,omitempty"`
}

// Complete fills what no rule needs to know: the page of each kind and, where a rule named none, the tables of the
// finding's subject, a table or one of the joins. It changes the list in place.
func Complete(list []Finding, verdicts []JoinVerdict) {
	for i := range list {
		f := &list[i]
		if info, ok := KindOf(f.Kind); ok && f.Doc == "" {
			f.Doc = info.Doc
		}
		if len(f.Tables) == 0 {
			f.Tables = subjectTables(f.Subject, verdicts)
		}
	}
}

func subjectTables(subject string, verdicts []JoinVerdict) []string {
	words := strings.Fields(subject)
	if len(words) == 1 && strings.Count(subject, ".") == 1 {
		return []string{subject}
	}
	if len(words) < 2 || words[0] != "join" {
		return nil
	}
	ordinal, err := strconv.Atoi(strings.Trim(words[1], ":,"))
	if err != nil {
		return nil
	}
	var tables []string
	for i := range verdicts {
		if j := &verdicts[i].Join; j.Ordinal == ordinal {
			for pos := range j.Inputs {
				tables = append(tables, j.Inputs[pos].Tables...)
			}
		}
	}
	slices.Sort(tables)
	return slices.Compact(tables)
}
