package explain

import (
	"strings"
)

// readPreamble takes what Hive prints above the stages: the optimized SQL, the optimizer's line and warnings.
func readPreamble(p *Plan, lines []line) {
	for i := 0; i < len(lines); i++ {
		text := lines[i].text
		switch {
		case strings.HasPrefix(text, headOptimizedSQL):
			var sql strings.Builder
			sql.WriteString(strings.TrimPrefix(text[len(headOptimizedSQL):], " "))
			for i+1 < len(lines) && !isPreamble(lines[i+1].text) {
				i++
				sql.WriteByte('\n')
				sql.WriteString(strings.Repeat(" ", lines[i].indent))
				sql.WriteString(lines[i].text)
			}
			p.OptimizedSQL = sql.String()
		case strings.HasPrefix(text, "Warning: "):
			p.Warnings = append(p.Warnings, text)
		case isCBOLine(text):
			p.CBO = text
		}
	}
}

func isPreamble(text string) bool {
	return strings.HasPrefix(text, "Warning: ") || isCBOLine(text)
}

func isCBOLine(text string) bool {
	return strings.HasPrefix(text, "Plan optimized by CBO") || strings.HasPrefix(text, "Plan not optimized by CBO")
}

// planEnd is the index after the plan's last line: what a client prints below it is left out.
func planEnd(lines []line, at int) int {
	for i := at + 1; i < len(lines); i++ {
		if l := lines[i]; l.indent == 0 && isTrailer(l.text) {
			return i
		}
	}
	return len(lines)
}
