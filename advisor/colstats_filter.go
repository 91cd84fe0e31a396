package advisor

import "strings"

// affectedColumns are the lower-case names of the columns whose distinct values the planner scales by a filter: those compared with a
// constant in a conjunct. An OR affects none (FilterStatsRule clears what its branches found).
func affectedColumns(predicate string) map[string]bool {
	predicate, _, _ = strings.Cut(predicate, " (type: ")
	out := map[string]bool{}
	affect(unwrap(predicate), true, out)
	return out
}

// affect walks one condition; top marks the whole predicate, where a bare boolean column counts.
func affect(e string, top bool, out map[string]bool) {
	if parts := splitTop(e, " and "); len(parts) > 1 {
		for _, p := range parts {
			affect(unwrap(p), false, out)
		}
		return
	}
	if len(splitTop(e, " or ")) > 1 {
		return
	}
	if rest, ok := strings.CutPrefix(e, "not "); ok {
		affect(unwrap(rest), true, out)
		return
	}
	if rest, ok := strings.CutSuffix(e, " is null"); ok {
		add(rest, out)
		return
	}
	if strings.HasSuffix(e, " is not null") {
		return
	}
	for _, word := range []string{" NOT BETWEEN ", " BETWEEN "} {
		if left, right, ok := cutTop(e, word); ok {
			low, high, _ := cutTop(right, " AND ")
			if isConstant(low) || isConstant(high) {
				add(left, out)
			}
			return
		}
	}
	if left, _, ok := cutTop(e, " IN "); ok {
		add(left, out)
		return
	}
	compared(e, out)
	if top && isColumnName(e) {
		add(e, out)
	}
}

// compared handles "a < 5": equality counts any plain column, the others a column against a constant.
func compared(e string, out map[string]bool) {
	for _, op := range []string{" <=> ", " <> ", " >= ", " <= ", " = ", " > ", " < "} {
		left, right, ok := cutTop(e, op)
		if !ok {
			continue
		}
		left, right = unwrap(left), unwrap(right)
		switch {
		case op == " <> ":
		case op == " = " || op == " <=> ":
			add(left, out)
			// The planner stops at a constant that follows a column with statistics; a second column counts otherwise.
			add(right, out)
		case isConstant(right):
			add(left, out)
		case isConstant(left):
			add(right, out)
		}
		return
	}
}

func add(e string, out map[string]bool) {
	if e = unwrap(e); isColumnName(e) {
		out[strings.ToLower(e)] = true
	}
}

// unwrap takes off blanks and the brackets around a whole expression.
func unwrap(e string) string {
	for {
		e = strings.TrimSpace(e)
		if len(e) < 2 || e[0] != '(' || closing(e, 0) != len(e)-1 {
			return e
		}
		e = e[1 : len(e)-1]
	}
}

// closing is the index of the bracket that closes the one at i, the length when none does.
func closing(e string, i int) int {
	depth := 0
	for ; i < len(e); i++ {
		switch e[i] {
		case '\'', '"':
			i = skipQuoted(e, i) - 1
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return i
}

// splitTop splits at a separator outside brackets and string constants.
func splitTop(e, separator string) []string {
	var parts []string
	for {
		left, right, ok := cutTop(e, separator)
		if !ok {
			return append(parts, e)
		}
		parts = append(parts, left)
		e = right
	}
}

func cutTop(e, separator string) (left, right string, ok bool) {
	depth := 0
	for i := 0; i < len(e); i++ {
		switch e[i] {
		case '\'', '"':
			i = skipQuoted(e, i) - 1
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		default:
			if depth == 0 && e[i] == separator[0] && strings.HasPrefix(e[i:], separator) {
				return e[:i], e[i+len(separator):], true
			}
		}
	}
	return e, "", false
}

// isConstant tells a literal as plans print it: 5, 52L, 1.5D, 'x', DATE'2024-01-01', true, null.
func isConstant(e string) bool {
	e = unwrap(e)
	switch {
	case e == "":
		return false
	case e == "true", e == "false", e == "null":
		return true
	case e[0] == '\'' || e[0] == '"':
		return skipQuoted(e, 0) == len(e)
	case strings.HasPrefix(e, "DATE'"), strings.HasPrefix(e, "TIMESTAMP'"), strings.HasPrefix(e, "TIMESTAMPLOCALTZ'"), strings.HasPrefix(e, "INTERVAL'"):
		return true
	}
	digits := strings.TrimPrefix(e, "-")
	return digits != "" && digits[0] >= '0' && digits[0] <= '9' && !strings.ContainsAny(digits, " (+*/")
}
