package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor"
)

// Record is what the baseline keeps of a statement: nothing that a change of the data alone would change. There is no line
// number, so that an edit above a statement leaves it alone.
type Record struct {
	// Query is the beginning of the statement without literals, for people and to recognise an edited statement.
	Query string `yaml:"query" json:"query"`
	// Fingerprint is that of hiveql.Info.
	Fingerprint string    `yaml:"fingerprint" json:"fingerprint"`
	Joins       []Join    `yaml:"joins,omitempty" json:"joins,omitempty"`
	Findings    []Finding `yaml:"findings,omitempty" json:"findings,omitempty"`
}

// Join is a join of a plan, its inputs named so that they are recognised in another plan: "database.table alias", or the tables
// below an input that is a join itself, joined by plus signs.
type Join struct {
	Strategy advisor.Strategy `yaml:"strategy" json:"strategy"`
	// Type is the join's type; several, one for each condition, are separated by commas.
	Type string `yaml:"type" json:"type"`
	// BigTable is the input that is streamed; empty for a merge join.
	BigTable string   `yaml:"big_table,omitempty" json:"big_table,omitempty"`
	Inputs   []string `yaml:"inputs,flow" json:"inputs"`
	// Reason is why, in the plan at hand; the baseline keeps none.
	Reason string `yaml:"-" json:"reason,omitempty"`
}

// Finding is a finding of a plan as the baseline knows it.
type Finding struct {
	Kind     advisor.FindingKind `yaml:"kind" json:"kind"`
	Severity advisor.Severity    `yaml:"severity" json:"severity"`
	// About is a table, or the inputs of a join, sorted, with commas.
	About string `yaml:"about,omitempty" json:"about,omitempty"`
}

// recordOf is the record of an explained statement.
func recordOf(o *Outcome) Record {
	r := Record{Query: shorten(o.Info.Normalized, maxQuery), Fingerprint: o.Info.Fingerprint}
	for i := range o.Joins {
		r.Joins = append(r.Joins, joinOf(&o.Joins[i]))
	}
	for i := range o.Findings {
		r.Findings = append(r.Findings, findingOf(&o.Findings[i], o.Joins))
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return strings.Compare(a.key(), b.key()) })
	return r
}

func joinOf(v *advisor.JoinVerdict) Join {
	j := Join{Strategy: v.Join.Strategy, Type: typesOf(v.Join.Conditions), Inputs: []string{}, Reason: v.Decision.Reason}
	if !v.Verdict.Agrees && j.Reason != "" {
		j.Reason = "Hive planned this, its rules give " + string(v.Verdict.Simulated) + ": " + j.Reason
	}
	for i := range v.Join.Inputs {
		j.Inputs = append(j.Inputs, nameOf(&v.Join.Inputs[i], i))
	}
	if big := v.Join.BigTable; big >= 0 && big < len(j.Inputs) {
		j.BigTable = j.Inputs[big]
	}
	return j
}

func typesOf(conditions []advisor.Condition) string {
	list := make([]string, len(conditions))
	for i, c := range conditions {
		list[i] = string(c.Type)
	}
	return strings.Join(list, ", ")
}

// nameOf names an input. Aliases that Hive makes up ("$hdt$_0") change from plan to plan.
func nameOf(in *advisor.Input, pos int) string {
	if len(in.Tables) == 0 {
		return "input " + strconv.Itoa(pos)
	}
	name := strings.Join(in.Tables, "+")
	if len(in.Tables) == 1 && !in.OverJoin && in.Alias != "" && !strings.HasPrefix(in.Alias, "$") &&
		in.Alias != name && !strings.HasSuffix(name, "."+in.Alias) {
		name += " " + in.Alias
	}
	return name
}

// findingOf replaces the number of a join, which another plan gives to another join, by the join's inputs.
func findingOf(f *advisor.Finding, joins []advisor.JoinVerdict) Finding {
	about := f.Subject
	var ordinal int
	if n, _ := fmt.Sscanf(f.Subject, "join %d", &ordinal); n == 1 {
		for i := range joins {
			if joins[i].Join.Ordinal == ordinal {
				about = strings.Join(slices.Sorted(slices.Values(joinOf(&joins[i]).Inputs)), ", ")
			}
		}
	}
	return Finding{Kind: f.Kind, Severity: f.Severity, About: about}
}

// key is the finding's identity: a rise of its severity makes it new, but no other.
func (f Finding) key() string { return string(f.Kind) + "\x00" + f.About }

// maxQuery is how much of a statement the baseline and the reports show, in characters.
const maxQuery = 160

// shorten cuts a text to n characters of one line.
func shorten(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	count := 0
	for i := range text {
		if count == n {
			return text[:i] + "…"
		}
		count++
	}
	return text
}

// severityRank orders severities; 0 is none.
func severityRank(s advisor.Severity) int {
	return 1 + slices.Index([]advisor.Severity{advisor.Info, advisor.Low, advisor.Medium, advisor.High, advisor.Critical}, s)
}
