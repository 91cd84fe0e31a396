package check

import (
	"bytes"
	"fmt"
	"strings"
)

// text is the report for a terminal: what differs from the baseline, then one line of numbers.
func (r *Report) text() []byte {
	var b bytes.Buffer
	for i := range r.Results {
		if res := &r.Results[i]; res.Status != Unchanged || len(res.newFindings()) > 0 {
			res.writeText(&b)
		}
	}
	fmt.Fprintln(&b, r.Summary())
	return b.Bytes()
}

func (r *Result) writeText(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s: %s", r.At(), r.Status)
	if r.Query != "" {
		fmt.Fprintf(b, "  %s", r.title())
	}
	if r.Status == Skipped {
		fmt.Fprintf(b, ": %s", oneLine(r.Message))
	}
	b.WriteByte('\n')
	if r.Status == Failed {
		indent(b, "  ! ", r.Message)
	}
	for _, c := range r.Changes {
		c.writeText(b)
	}
	if r.Status == New {
		for _, j := range r.Joins {
			fmt.Fprintf(b, "  + %s\n", j.text())
		}
	}
	for _, f := range r.newFindings() {
		fmt.Fprintf(b, "  * %s %s (%s): %s\n", f.Severity, f.Kind, f.About, oneLine(f.Summary))
		if f.Advice != "" {
			indent(b, "    try: ", f.Advice)
		}
	}
}

func (c Change) writeText(b *bytes.Buffer) {
	fmt.Fprintf(b, "  ~ %s\n", c.text())
	if c.Reason != "" {
		fmt.Fprintf(b, "    why: %s\n", oneLine(c.Reason))
	}
}

// text is the join in one line: "MAP_JOIN: a, b (INNER), streams a".
func (j Join) text() string {
	text := string(j.Strategy) + ": " + strings.Join(j.Inputs, ", ")
	if j.Type != "" {
		text += " (" + j.Type + ")"
	}
	if j.BigTable != "" {
		text += ", streams " + j.BigTable
	}
	return text
}

// indent writes a text of several lines, the first behind a mark, the others below it.
func indent(b *bytes.Buffer, mark, text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString(mark)
		b.WriteString(strings.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
		mark = strings.Repeat(" ", len(mark))
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
