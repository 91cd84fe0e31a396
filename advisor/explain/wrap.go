package explain

import "strings"

// leastWrap is the narrowest terminal whose wrapped lines are told from values with line breaks.
const leastWrap = 60

// joinWrapped puts lines together that a terminal has broken at its width: such a line is as wide as the text's widest,
// and what follows cannot be a line of its own.
func joinWrapped(raw []rawLine, p prefix) []rawLine {
	widest, full, table := 0, 0, false
	for _, r := range raw {
		width := r.width
		if width > widest {
			widest, full = width, 0
		}
		if width == widest {
			full++
		}
		table = table || strings.HasPrefix(r.text, "| ")
	}
	if widest < leastWrap || !fromTerminal(widest, full) {
		return raw
	}
	if t := tableWidth(raw); t > 0 {
		return joinRows(raw, t, widest)
	}
	if atBlanks(raw, widest, p, table) {
		return raw // buildTree puts them together
	}
	var out []rawLine // nil as long as nothing was put together
	for i := 0; i < len(raw); {
		end := i + 1
		object := isObject(raw[i].text, p)
		for end < len(raw) && (raw[end-1].width == widest || isBlankPart(raw, end-1)) &&
			(object && raw[end].text != "" && !isTrailer(raw[end].text) || !standsAlone(raw[end-1].text, raw[end].text, p, table)) {
			end++
		}
		if end > i+1 && out == nil {
			out = append(make([]rawLine, 0, len(raw)), raw[:i]...)
		}
		if out != nil {
			out = append(out, joined(raw[i:end]))
		}
		i = end
	}
	if out == nil {
		return raw
	}
	return out
}

// tableWidth is the width of the first border of Beeline's table, 0 without one. A terminal may have broken it.
func tableWidth(raw []rawLine) int {
	total := 0
	for _, r := range raw {
		s := strings.TrimRight(r.text, " ")
		switch {
		case total == 0 && !strings.HasPrefix(s, "+-"):
			continue
		case s == "" || strings.Trim(s, "+-") != "":
			return 0 // not the whole border
		}
		total += len(s)
		if s[len(s)-1] == '+' {
			return total
		}
	}
	return 0
}

// joinRows puts the rows of a table together, which are all as wide as its border.
func joinRows(raw []rawLine, table, widest int) []rawLine {
	if table <= widest {
		return raw
	}
	out := make([]rawLine, 0, len(raw))
	for i := 0; i < len(raw); {
		end := i + 1
		if s := raw[i].text; s != "" && (s[0] == '|' || s[0] == '+') {
			for width := raw[i].width; width < table && end < len(raw) && raw[end-1].width == widest; end++ {
				width += raw[end].width
			}
		}
		out = append(out, joined(raw[i:end]))
		i = end
	}
	return out
}

// fromTerminal tells whether lines of a width can be a terminal's: one alone is only the widest of its own, unless the
// width is a usual one.
func fromTerminal(width, lines int) bool {
	return lines > 1 || width%10 == 0 || width == 132
}

// atBlanks tells whether an editor broke the lines, at blanks: most of those that go on in the next are not the widest.
func atBlanks(raw []rawLine, widest int, p prefix, table bool) bool {
	hard, soft := 0, 0
	for i := range len(raw) - 1 {
		width := raw[i].width
		if width < leastWrap/2 {
			continue
		}
		word, _, _ := strings.Cut(raw[i+1].text, " ")
		if word == "" || width < widest && width+1+len(word) <= widest || standsAlone(raw[i].text, raw[i+1].text, p, table) {
			continue
		}
		if width == widest {
			hard++
		} else {
			soft++
		}
	}
	return soft > hard
}

func joined(parts []rawLine) rawLine {
	if len(parts) == 1 {
		return parts[0]
	}
	var text strings.Builder
	for _, r := range parts {
		text.WriteString(r.text)
	}
	return newLine(parts[0].no, text.String())
}

// isObject tells the start of EXPLAIN FORMATTED, whose JSON is one line.
func isObject(s string, p prefix) bool {
	s, _ = p.cut(s)
	return strings.HasPrefix(s, `{"`)
}

// isBlankPart tells a line of blanks alone that an editor has broken off the deeply indented line it belongs to: the
// next one then starts at the left edge.
func isBlankPart(raw []rawLine, i int) bool {
	s := raw[i].text
	if len(s) < leastWrap/2 || i+1 == len(raw) || strings.TrimLeft(s, " ") != "" {
		return false
	}
	next := raw[i+1].text
	return next != "" && next[0] != ' '
}

// standsAlone tells whether a line can be one of its own after one as wide as the terminal.
func standsAlone(before, s string, p prefix, table bool) bool {
	if s = strings.TrimRight(s, " \t"); s == "" {
		return true
	}
	switch {
	case s[0] == '\'' || s[0] == '"' && len(s) > 1 && s[1] == ' ' || before[0] == '"' && before[len(before)-1] == '"':
		return true // a quoted row
	case s[0] == '\t':
		return true
	case table:
		// A row that is broken off does not end with its border.
		return strings.HasPrefix(s, "| ") || strings.HasPrefix(s, "+-") || before[len(before)-1] == '|' || before[len(before)-1] == '+' && s[0] != '-'
	case p.shape != "" && !p.once:
		_, ok := cutShape(s, p.shape)
		return ok
	case p.log:
		_, ok := cutLogPrefix(s)
		return ok
	}
	if strings.TrimSpace(before) == "" {
		return false
	}
	if len(s) > 1 && s[0] == ' ' && s[1] == ' ' {
		return true
	}
	if s[0] == ' ' {
		return false
	}
	if _, log := cutLogPrefix(s); log || s == maskedLine || isAnchor(s) || isPreamble(s) || isTrailer(s) || isFence(s) {
		return true
	}
	// The edges above a user-level plan stand at the left edge.
	_, ok := parseEdges(before)
	_, next := parseEdges(s)
	return ok && next
}

// glue is what stood between the end of a line and what continues it: nothing where a terminal broke it, a blank where an
// editor or a mail program broke it at one, because the next word had no room; otherwise the value itself has the break.
func (w widths) glue(before, l line) string {
	switch {
	case before.width == w.widest && w.widest >= leastWrap && w.broken == w.widest && !w.blanks:
		return strings.Repeat(" ", before.trail+l.indent)
	case w.noRoom(before, l), l.indent <= 1 && endOfWord(before, l) > leastWrap:
		return " "
	}
	return "\n"
}

// widths are those of a text whose lines may have been broken.
type widths struct {
	widest int
	// broken is the widest line that a line follows which can only be its rest.
	broken int
	// blanks: lines were broken at blanks, and not all of them at the same width.
	blanks bool
}

func widthsOf(lines []line) widths {
	var w widths
	for i, l := range lines {
		w.widest = max(w.widest, l.width)
		if i+1 < len(lines) && isRest(l, lines[i+1]) {
			w.blanks = w.blanks || w.broken > 0 && l.width != w.broken
			w.broken = max(w.broken, l.width)
		}
	}
	return w
}

// isRest tells lines at the left edge, right below another, that start no plan and no section of one.
func isRest(before, l line) bool {
	return l.indent <= 1 && before.indent > 1 && l.no == before.no+1 && !isAnchor(l.text) && !isPreamble(l.text) && !isTrailer(l.text)
}

// noRoom tells whether the first word of l would have made the line before wider than those that were broken.
func (w widths) noRoom(before, l line) bool {
	if w.broken < leastWrap || l.indent > 1 {
		return false
	}
	return endOfWord(before, l) > w.broken
}

// endOfWord is the column that the first word of l would have ended at in the line before.
func endOfWord(before, l line) int {
	word, _, _ := strings.Cut(l.text, " ")
	return before.width - before.trail + 1 + len(word)
}
