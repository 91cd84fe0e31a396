package advisor

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

// FindingKind names a rule; each rule has one.
type FindingKind string

// Finding is one thing worth telling a person, about a join or a table.
type Finding struct {
	Kind     FindingKind `json:"kind"`
	Severity Severity    `json:"severity"`
	// Subject is what it is about: "join 0", "db.table", a statement.
	Subject string `json:"subject"`
	// Summary is one sentence with numbers; Evidence holds the numbers by name; Advice is SQL or a SET to try.
	Summary  string         `json:"summary"`
	Evidence map[string]any `json:"evidence,omitempty"`
	Advice   string         `json:"advice,omitempty"`
}
