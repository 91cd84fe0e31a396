package hiveql

import (
	"strings"
	"unicode/utf8"
)

// stringValue is the value of a string token: the pieces joined, quotes off, escapes undone as
// BaseSemanticAnalyzer.unescapeSQLString does.
func stringValue(literal string) string {
	var b strings.Builder
	for literal != "" {
		quote := literal[0]
		literal = literal[1:]
		for literal != "" && literal[0] != quote {
			if literal[0] != '\\' || len(literal) == 1 {
				b.WriteByte(literal[0])
				literal = literal[1:]
				continue
			}
			literal = literal[1+unescape(&b, literal[1:]):]
		}
		if literal != "" {
			literal = literal[1:]
		}
	}
	return b.String()
}

// unescape writes what the escape s (behind its backslash, not empty) stands for and returns its length.
func unescape(b *strings.Builder, s string) int {
	if s[0] == 'u' && len(s) > 4 && span(s[1:5], isHex) == 4 {
		var r rune
		for _, c := range []byte(s[1:5]) {
			r = r<<4 | rune(hexValue(c))
		}
		b.WriteRune(r)
		return 5
	}
	if len(s) > 2 && s[0] <= '1' && span(s[:3], isOctal) == 3 {
		b.WriteRune(rune(s[0]-'0')<<6 | rune(s[1]-'0')<<3 | rune(s[2]-'0'))
		return 3
	}
	switch s[0] {
	case '0':
		b.WriteByte(0)
	case 'b':
		b.WriteByte('\b')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'Z':
		b.WriteByte(0x1a)
	case '%', '_':
		// LIKE needs the backslash.
		b.WriteString(`\` + s[:1])
	default:
		_, n := utf8.DecodeRuneInString(s)
		b.WriteString(s[:n])
		return n
	}
	return 1
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

func hexValue(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// numberValue is a number token's text without the suffix of its type.
func numberValue(literal string) string {
	if len(literal) > 1 && literal[0] == '0' && literal[1]|0x20 == 'x' {
		return literal
	}
	return strings.TrimRight(literal, "LlSsYyBbDdKkMmGg")
}
