package explain

import "strings"

// line is one line of the text, free of what its way here added to it.
type line struct {
	no     int // 1-based, in the text as given
	indent int // columns of leading white space
	width  int // length as given, for telling lines that a terminal wrapped
	trail  int // white space cut off at the end
	text   string
}

// maskedLine stands in Hive's own expected test results for a line that differs between runs.
const maskedLine = "#### A masked pattern was here ####"

// cleanLines splits the text and takes off carriage returns, Beeline's table borders, log prefixes, masked and blank
// lines. Line numbers stay those of the text.
func cleanLines(text string) []line {
	raw := strings.Split(text, "\n")
	strip := prefixed(raw)
	lines := make([]line, 0, len(raw))
	for i, s := range raw {
		s = strings.TrimPrefix(strings.TrimRight(s, "\r"), "\ufeff")
		width := len(s)
		s = strings.TrimRight(s, " \t\u00a0")
		trail := width - len(s)
		if s == "" || s == maskedLine {
			continue
		}
		s, ok := unborder(s)
		if !ok {
			continue
		}
		if rest, found := cutLogPrefix(s); found {
			if !strip {
				continue // a log line between the plan's own
			}
			s = rest
		}
		indent, start := indentation(s)
		s = s[start:]
		if s == "" {
			continue
		}
		lines = append(lines, line{no: i + 1, indent: indent, width: width, trail: trail, text: s})
	}
	return lines
}

// prefixed tells whether the plan itself was written through a log: then prefixes are taken off, otherwise lines with
// a prefix are other messages of the log and no part of the plan.
func prefixed(raw []string) bool {
	for _, s := range raw {
		if rest, found := cutLogPrefix(s); found && isAnchor(strings.TrimSpace(rest)) {
			return true
		}
	}
	return false
}

// isAnchor tells the lines a plan can start with.
func isAnchor(s string) bool {
	switch {
	case s == headDependencies, s == headPlans, s == headVectorization, strings.HasPrefix(s, headVertexDependency):
		return true
	}
	if _, _, ok := cutMaxComputeJob(s); ok {
		return true
	}
	return isStageName(s)
}

// unborder takes a line out of Beeline's table: "| text   |". Border lines ("+-----+") are no lines of the plan.
func unborder(s string) (string, bool) {
	t := strings.TrimLeft(s, " \t")
	if t == "" {
		return s, true
	}
	switch t[0] {
	case '+':
		return s, strings.Trim(t, "+-") != ""
	case '|':
		t = strings.TrimPrefix(t[1:], " ")
		if strings.HasSuffix(t, "|") {
			t = strings.TrimRight(t[:len(t)-1], " ")
		}
		return t, strings.TrimSpace(t) != ""
	}
	return s, true
}

// levels are the words a log line's level is printed as.
var levels = []string{"INFO", "WARN", "DEBUG", "ERROR", "TRACE"}

// cutLogPrefix takes off Beeline's "INFO  : " or a log4j prefix ("2026-01-31T12:00:00,123 INFO [main] ql.Driver: ").
func cutLogPrefix(s string) (string, bool) {
	if s == "" || s[0] == ' ' {
		return s, false
	}
	for _, level := range levels {
		if rest, ok := strings.CutPrefix(s, level); ok {
			rest = strings.TrimLeft(rest, " ")
			if after, ok := strings.CutPrefix(rest, ": "); ok {
				return after, true
			}
			return "", rest == ":"
		}
	}
	if !startsWithDate(s) {
		return s, false
	}
	for _, level := range levels {
		i := strings.Index(s, level)
		if i < 0 || i > 40 {
			continue
		}
		rest := strings.TrimLeft(s[i+len(level):], " ")
		if strings.HasPrefix(rest, "[") { // the thread's name can hold a colon
			if end := strings.Index(rest, "] "); end >= 0 {
				rest = rest[end+1:]
			}
		}
		if _, after, ok := strings.Cut(rest, ": "); ok {
			return after, true
		}
		return "", true
	}
	return s, false
}

func startsWithDate(s string) bool {
	const shape = "0000-00-00"
	if len(s) <= len(shape) {
		return false
	}
	for i := range len(shape) {
		if shape[i] == '0' && (s[i] < '0' || s[i] > '9') || shape[i] == '-' && s[i] != '-' {
			return false
		}
	}
	return s[len(shape)] == ' ' || s[len(shape)] == 'T'
}

// tabStop is the width of a tab in text that an editor or terminal has compressed.
const tabStop = 8

// indentation counts the columns of leading white space and the bytes that make them.
func indentation(s string) (columns, bytes int) {
	for i := range len(s) {
		switch s[i] {
		case ' ':
			columns++
		case '\t':
			columns += tabStop - columns%tabStop
		default:
			return columns, i
		}
	}
	return columns, len(s)
}
