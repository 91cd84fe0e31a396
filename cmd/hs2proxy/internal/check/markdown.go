package check

import (
	"fmt"
	"strings"
)

// maxMarkdown is what a comment on GitHub holds at most, less some for what is around the report; GitLab takes more.
const maxMarkdown = 60000

// markdown is the report for the comment of a pull request: what changed first. It is cut to fit.
func (r *Report) markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "### Joins: %s\n\n%s.\n", r.headline(), r.Summary())
	left := 0
	for _, section := range []struct {
		title string
		in    func(*Result) bool
	}{
		{"Not explained", func(res *Result) bool { return res.Status == Failed }},
		{"Changed joins", func(res *Result) bool { return res.Status == Changed }},
		{"New findings", func(res *Result) bool { return res.Status == Unchanged && len(res.newFindings()) > 0 }},
		{"New statements", func(res *Result) bool { return res.Status == New }},
		{"Statements that are gone", func(res *Result) bool { return res.Status == Gone }},
		{"Skipped", func(res *Result) bool { return res.Status == Skipped }},
	} {
		head := "\n#### " + section.title + "\n\n"
		for i := range r.Results {
			if !section.in(&r.Results[i]) {
				continue
			}
			text := head + r.Results[i].markdown()
			if left > 0 || b.Len()+len(text) > maxMarkdown {
				left++
				continue
			}
			b.WriteString(text)
			head = ""
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n… and %s more, in the report as text.\n", plural(left, "statement"))
	}
	return []byte(b.String())
}

func (r *Report) headline() string {
	switch c := r.Counts; {
	case c.Failed > 0:
		return plural(c.Failed, "statement") + " could not be explained"
	case c.Changed > 0:
		return plural(c.Changed, "statement") + " changed"
	case c.NewFindings > 0:
		return plural(c.NewFindings, "new finding")
	case r.Exit() > 0:
		return "the baseline is out of date"
	default:
		return "nothing changed"
	}
}

// markdown is one item of a list.
func (r *Result) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "- **%s**", escape(r.At()))
	if r.Query != "" {
		b.WriteString(" " + code(r.Query))
	}
	switch {
	case r.Edited:
		b.WriteString(" (edited)")
	case r.MovedFrom != "":
		b.WriteString(" (moved from " + escape(r.MovedFrom) + ")")
	}
	if r.Status == Skipped {
		b.WriteString(" " + escape(r.Message))
	}
	b.WriteByte('\n')
	if r.Status == Failed {
		b.WriteString("  - " + code(r.Message) + "\n")
	}
	for _, c := range r.Changes {
		b.WriteString("  - " + c.markdown() + "\n")
		if c.Reason != "" {
			b.WriteString("    - " + escape(c.Reason) + "\n")
		}
	}
	if r.Status == New {
		for _, j := range r.Joins {
			b.WriteString("  - " + code(j.text()) + "\n")
		}
	}
	for _, f := range r.newFindings() {
		fmt.Fprintf(&b, "  - **%s** %s: %s\n", escape(string(f.Severity)), escape(string(f.Kind)), escape(f.Summary))
		if f.Advice != "" {
			b.WriteString("    - try" + block(f.Advice, "      ") + "\n")
		}
	}
	return b.String()
}

func (c Change) markdown() string {
	if c.Kind == StrategyChanged {
		return "**" + escape(c.Was) + " → " + escape(c.Now) + "** " + code(c.join())
	}
	return code(c.text())
}

// code puts a text on one line between more backticks than it holds in a row, so that nothing in it is markup.
func code(text string) string {
	text = oneLine(text)
	longest := backticks(text)
	fence := strings.Repeat("`", longest+1)
	if longest > 0 || text == "" {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// block is code behind a blank for a text of one line, for several a fenced block below a list item that is indented so far.
func block(text, indent string) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "\n") {
		return " " + code(text)
	}
	fence := strings.Repeat("`", max(3, backticks(text)+1))
	var b strings.Builder
	b.WriteString("\n" + indent + fence + "sql\n")
	for line := range strings.Lines(text) {
		b.WriteString(indent + strings.TrimRight(line, "\r\n") + "\n")
	}
	b.WriteString(indent + fence)
	return b.String()
}

// backticks is the length of the longest run of them.
func backticks(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// escape keeps a text on one line and what is in it from being markup, HTML, a mention or a reference.
func escape(text string) string {
	var b strings.Builder
	for _, r := range oneLine(text) {
		switch {
		case r == '@':
			b.WriteString("@\u2060") // a word joiner: nobody is told
			continue
		case r == '<':
			b.WriteString("&lt;")
			continue
		case r == '&':
			b.WriteString("&amp;")
			continue
		case strings.ContainsRune("\\`*_[]|~#!>", r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
