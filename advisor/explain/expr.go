package explain

import "strings"

// Expr is one expression of a list such as "key expressions: _col0 (type: int), UDFToDouble(_col1) (type: double)".
type Expr struct {
	Text string
	// Type is Hive's type name, empty where it is not printed (aggregations, user-level plans).
	Type string
}

// Exprs splits a list of expressions at its top-level commas and takes the types off.
func Exprs(value string) []Expr {
	if value == "" {
		return nil
	}
	var exprs []Expr
	for start := 0; start <= len(value); {
		end := nextComma(value, start)
		text := strings.TrimSpace(value[start:end])
		e := Expr{Text: text}
		if i := strings.LastIndex(text, " (type: "); i >= 0 && strings.HasSuffix(text, ")") {
			e.Text, e.Type = text[:i], text[i+len(" (type: "):len(text)-1]
		}
		exprs = append(exprs, e)
		start = end + 1
	}
	return exprs
}

// nextComma is the index of the next comma outside brackets and string constants, the length when there is none.
func nextComma(s string, from int) int {
	depth := 0
	for i := from; i < len(s); i++ {
		switch c := s[i]; c {
		case '\'', '"':
			i = closingQuote(s, i)
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth <= 0 {
				return i
			}
		}
	}
	return len(s)
}

// closingQuote is the index of the quote that closes the one at i; i itself when none does.
func closingQuote(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case s[i]:
			return j
		}
	}
	return i
}

// Names reads a list of column names: "_col0, _col1", or ["_col0","_col1"] as user-level plans print it.
func Names(value string) []string {
	value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
	if value == "" {
		return nil
	}
	names := strings.Split(value, ",")
	for i, n := range names {
		names[i] = strings.Trim(strings.TrimSpace(n), `"`)
	}
	return names
}
