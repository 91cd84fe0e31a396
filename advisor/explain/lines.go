package explain

import (
	"strings"
	"unicode/utf8"
)

// line is one line of the text, free of what its way here added to it.
type line struct {
	no     int // 1-based, in the text as given
	indent int // columns of leading white space
	width  int // columns before the line's end was trimmed, for telling lines that were wrapped
	trail  int // white space cut off at the end
	text   string
}

// maskedLine stands in Hive's own expected test results for a line that differs between runs.
const maskedLine = "#### A masked pattern was here ####"

// cleanLines splits the text and takes off what pasting adds: carriage returns, Beeline's tables and quotes, prefixes of
// logs and mails, fences, prompts, line breaks of a terminal, a constant indentation; and masked and blank lines. Line
// numbers stay those of the text.
func cleanLines(text string) []line {
	raw := splitLines(text)
	p := findPrefix(raw)
	raw = joinWrapped(raw, p)
	lines := make([]line, 0, len(raw))
	for _, r := range raw {
		s := strings.TrimRight(r.text, " \t")
		trail := len(r.text) - len(s)
		if s == "" || s == maskedLine {
			continue
		}
		s, ok := p.cut(s)
		if !ok {
			continue
		}
		if s, ok = unborder(s); !ok {
			continue
		}
		if q := unquote(s); len(q) < len(s) {
			s = strings.TrimRight(q, " \t")
		}
		indent, start := indentation(s)
		if s = s[start:]; s == "" || s == maskedLine {
			continue
		}
		lines = append(lines, line{no: r.no, indent: indent, width: r.width, trail: trail, text: s})
	}
	shift(lines)
	return lines
}

// rawLine is one line of the text as given, without its end.
type rawLine struct {
	no    int
	width int // columns
	text  string
}

func newLine(no int, s string) rawLine {
	s = strings.TrimRight(s, "\r")
	r := rawLine{no: no, width: len(s), text: s}
	if !isASCII(s) {
		r.width = utf8.RuneCountInString(s)
	}
	return r
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// splitLines splits the text. Of a web page's text it undoes the blanks that do not break and the escapes, of Beeline's
// JSON the objects around each line.
func splitLines(text string) []rawLine {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.Contains(text, rowObject) {
		return splitRows(text)
	}
	if strings.Contains(text, "\u00a0") {
		text = strings.ReplaceAll(text, "\u00a0", " ")
	}
	if (strings.Contains(text, "&gt;") || strings.Contains(text, "&lt;")) && !strings.ContainsAny(text, "<>") {
		text = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&amp;", "&").Replace(text)
	}
	lines := make([]rawLine, 0, strings.Count(text, "\n")+1)
	for no := 1; ; no++ {
		s, rest, more := strings.Cut(text, "\n")
		lines = append(lines, newLine(no, s))
		if !more {
			return lines
		}
		text = rest
	}
}

// shift takes off the indentation that the whole plan was moved by. The heads of its sections are printed at the left
// edge; the first of them can have lost its indentation where a selection began at it.
func shift(lines []line) {
	base := -1
	for _, l := range lines {
		switch {
		case l.text == headPlans:
			base = l.indent
		case base < 0 && (l.text == headDependencies || isStageName(l.text)):
			base = l.indent
		default:
			continue
		}
		if l.text == headPlans {
			break
		}
	}
	if base <= 0 {
		return
	}
	for i := range lines {
		lines[i].indent = max(0, lines[i].indent-base)
	}
}

// tabStop is the width of a tab in text that an editor or terminal has compressed. Another width would give other
// indentations, in the same order.
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
