package queryast

import "strings"

type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokWord
	tokQuoted // `name`
	tokString
	tokNumber
	tokHint
	tokOp
	tokBad
)

// token is a piece of the text. Word is what it says: words and quoted names in lower case and without quotes,
// operators as written.
type token struct {
	kind       tokenKind
	word       string
	start, end int
}

// is reports whether t is the keyword.
func (t token) is(keyword string) bool { return t.kind == tokWord && t.word == keyword }

// isAny reports whether t is one of the keywords.
func (t token) isAny(keywords ...string) bool {
	for _, k := range keywords {
		if t.is(k) {
			return true
		}
	}
	return false
}

// op reports whether t is the operator.
func (t token) op(s string) bool { return t.kind == tokOp && t.word == s }

// tokens cuts the text; the last token is tokEOF.
func tokens(src string) []token {
	list := make([]token, 0, len(src)/4+2)
	for pos := 0; ; {
		pos = skipBlank(src, pos)
		t := token{start: pos, end: len(src)}
		if pos < len(src) {
			t.kind, t.end = scan(src, pos)
			t.word = value(t.kind, src[pos:t.end])
		}
		list = append(list, t)
		if t.kind == tokEOF {
			return list
		}
		pos = t.end
	}
}

func value(kind tokenKind, text string) string {
	switch kind {
	case tokWord:
		return strings.ToLower(text)
	case tokQuoted:
		return strings.ToLower(strings.ReplaceAll(text[1:len(text)-1], "``", "`"))
	default:
		return text
	}
}

// skipBlank moves over white space and comments; hints stay.
func skipBlank(src string, pos int) int {
	for pos < len(src) {
		rest := src[pos:]
		switch {
		case isBlank(src[pos]):
			pos++
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexAny(rest, "\n\r")
			if n < 0 {
				return len(src)
			}
			pos += n
		case strings.HasPrefix(rest, "/*") && !strings.HasPrefix(rest, "/*+"):
			end := commentEnd(src, pos)
			if end < 0 {
				return pos
			}
			pos = end
		default:
			return pos
		}
	}
	return pos
}

// commentEnd is the place behind the comment at pos, −1 when it has no end. Comments nest, as in HiveLexer.
func commentEnd(src string, pos int) int {
	depth := 0
	for pos < len(src) {
		switch rest := src[pos:]; {
		case strings.HasPrefix(rest, "/*"):
			depth++
			pos += 2
		case strings.HasPrefix(rest, "*/"):
			depth--
			pos += 2
			if depth == 0 {
				return pos
			}
		default:
			pos++
		}
	}
	return -1
}

// scan returns the kind of the token at pos and the place behind it.
func scan(src string, pos int) (tokenKind, int) {
	c, rest := src[pos], src[pos:]
	switch {
	case isDigit(c):
		return number(src, pos)
	case isWordByte(c):
		return tokWord, pos + span(rest, isWordByte)
	case c == '\'' || c == '"':
		return quoted(src, pos)
	case c == '`':
		return backtick(src, pos)
	case strings.HasPrefix(rest, "/*"):
		if end := commentEnd(src, pos); end > 0 {
			return tokHint, end
		}
		return tokBad, len(src)
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			return tokOp, pos + len(op)
		}
	}
	if strings.IndexByte("()[],.;+-*/%&|^~<>=!?", c) >= 0 {
		return tokOp, pos + 1
	}
	return tokBad, pos + 1
}

// operators are those of several bytes, the longest first.
var operators = []string{"<=>", "==", "!=", "<>", "<=", ">=", "||"}

// number reads a number or, if that is longer, a name that begins with a digit.
func number(src string, pos int) (tokenKind, int) {
	rest := src[pos:]
	n := span(rest, isDigit)
	whole := true
	if n < len(rest) && rest[n] == '.' {
		whole = false
		n += 1 + span(rest[n+1:], isDigit)
	}
	if n < len(rest) && rest[n]|0x20 == 'e' {
		e := n + 1
		if e < len(rest) && (rest[e] == '+' || rest[e] == '-') {
			e++
		}
		if digits := span(rest[e:], isDigit); digits > 0 {
			whole = false
			n = e + digits
		}
	}
	switch tail := strings.ToLower(rest[n:min(len(rest), n+2)]); {
	case tail == "bd":
		n += 2
	case tail != "" && (tail[0] == 'd' || whole && strings.IndexByte("lsybkmg", tail[0]) >= 0):
		n++
	}
	if word := span(rest, isWordByte); word > n {
		return tokWord, pos + word
	}
	return tokNumber, pos + n
}

func quoted(src string, pos int) (tokenKind, int) {
	for i := pos + 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case src[pos]:
			return tokString, i + 1
		}
	}
	return tokBad, len(src)
}

func backtick(src string, pos int) (tokenKind, int) {
	for i := pos + 1; i < len(src); i++ {
		if src[i] != '`' {
			continue
		}
		if i+1 == len(src) || src[i+1] != '`' {
			if i == pos+1 {
				break
			}
			return tokQuoted, i + 1
		}
		i++
	}
	return tokBad, len(src)
}

// span is the number of leading bytes of s for which f holds.
func span(s string, f func(byte) bool) int {
	n := 0
	for n < len(s) && f(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool    { return c >= '0' && c <= '9' }
func isBlank(c byte) bool    { return c == ' ' || c >= '\t' && c <= '\r' }
func isWordByte(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || isDigit(c) || c == '_' }
