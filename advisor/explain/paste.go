package explain

import (
	"encoding/json"
	"strings"
)

// unborder takes a line out of Beeline's table: "| text   |". Border lines ("+-----+") are no lines of the plan.
func unborder(s string) (string, bool) {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	if i == len(s) {
		return s, true
	}
	switch s[i] {
	case '+':
		return s, strings.Trim(s[i:], "+-= ") != ""
	case '|':
		t := strings.TrimPrefix(s[i+1:], " ")
		if strings.HasSuffix(t, "|") {
			t = strings.TrimRight(t[:len(t)-1], " ")
		}
		return t, strings.TrimSpace(t) != ""
	}
	return s, true
}

// unquote takes the quotes off a line that Beeline has quoted: csv2 and tsv2 set double quotes around a line that holds
// a comma, a tab or a quote, and double the quotes inside; csv and tsv set single quotes around every line.
func unquote(s string) string {
	if len(s) < 2 || s[0] != s[len(s)-1] {
		return s
	}
	inner := s[1 : len(s)-1]
	switch s[0] {
	case '"':
		bare := strings.ReplaceAll(inner, `""`, "")
		if strings.Contains(bare, `"`) {
			return s
		}
		return strings.ReplaceAll(inner, `""`, `"`)
	case '\'':
		return inner
	}
	return s
}

// isFence tells Markdown's "```" and "~~~sql" lines.
func isFence(s string) bool {
	return strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~")
}

// rowObject is how Beeline's outputformats json and jsonfile start a row.
const rowObject = `{"Explain":"`

// splitRows reads the rows of Beeline's JSON.
func splitRows(text string) []rawLine {
	var lines []rawLine
	no := 1
	for {
		i := strings.Index(text, rowObject)
		if i < 0 {
			return lines
		}
		no += strings.Count(text[:i], "\n")
		text = text[i:]
		var row struct{ Explain string }
		dec := json.NewDecoder(strings.NewReader(text))
		if dec.Decode(&row) != nil {
			return append(lines, newLine(no, text))
		}
		for s := range strings.SplitSeq(row.Explain, "\n") {
			lines = append(lines, newLine(no, s))
		}
		end := int(dec.InputOffset())
		no += strings.Count(text[:end], "\n")
		text = text[end:]
	}
}

// isPrompt tells a client's prompt: "0: jdbc:hive2://host:10000/> …", ". . . .> …", "hive> …", "hive (default)> …".
func isPrompt(s string) bool {
	head, _, ok := strings.Cut(s, ">")
	if !ok {
		return false
	}
	if number, rest, ok := strings.Cut(head, ": "); ok && isPosition(number) {
		return strings.HasPrefix(rest, "jdbc:")
	}
	name, _, _ := strings.Cut(head, " ")
	switch name {
	case "hive", "beeline", "spark-sql":
		return !strings.Contains(head, "=")
	}
	return strings.HasPrefix(head, ". . .") && strings.Trim(head, ". ") == ""
}

// isTrailer tells what clients print after a result: "40 rows selected (0.3 seconds)", "Time taken: 0.1 seconds, …", a
// prompt, the end of a Markdown block.
func isTrailer(text string) bool {
	if text == "" {
		return false
	}
	switch c := text[0]; {
	case c == 'T':
		return strings.HasPrefix(text, "Time taken: ")
	case c >= '0' && c <= '9':
		count, rest, _ := strings.Cut(text, " ")
		if isPosition(strings.ReplaceAll(count, ",", "")) && (strings.HasPrefix(rest, "rows selected") || strings.HasPrefix(rest, "row selected")) {
			return true
		}
	case c == '`' || c == '~':
		return isFence(text)
	case c == 'C':
		return strings.HasPrefix(text, "Closing: 0: jdbc:")
	}
	return isPrompt(text)
}
