package hiveql

import "strings"

// maxVariable bounds the look for the brace that ends ${…}; what is longer is not taken for a variable.
const maxVariable = 512

// maxCharset bounds the name of a character set.
const maxCharset = 64

// lexer cuts a statement into tokens. It is a value: a copy is a bookmark to come back to.
type lexer struct {
	src string
	pos int // where the next token is looked for; the number of the next one when they were read ahead
	// ahead are all the tokens of src, the last a tokEOF, when they were read ahead; else nil.
	ahead []token
}

// next returns the token at the position and moves behind it. At the end it returns tokEOF for ever.
func (l *lexer) next() token {
	if l.ahead != nil {
		t := l.ahead[l.pos]
		if t.kind != tokEOF {
			l.pos++
		}
		return t
	}
	return l.read()
}

// peek returns the token at the position without moving.
func (l *lexer) peek() token {
	if l.ahead != nil {
		return l.ahead[l.pos]
	}
	before := l.pos
	t := l.read()
	l.pos = before
	return t
}

// readAll appends the tokens of src, tokEOF included.
func readAll(src string, tokens []token) []token {
	l := lexer{src: src}
	for {
		t := l.read()
		tokens = append(tokens, t)
		if t.kind == tokEOF {
			return tokens
		}
	}
}

// read is next where nothing was read ahead.
func (l *lexer) read() token {
	l.skipBlank()
	start := l.pos
	if start >= len(l.src) {
		return token{kind: tokEOF, start: start, end: start}
	}
	t := token{start: start}
	if c := l.src[start]; isLetter(c) {
		t.kind = l.word()
	} else {
		t.kind = l.scan(c)
	}
	t.end = l.pos
	if t.kind == tokWord {
		t.kw = keywordOf(l.src[start:t.end])
	}
	return t
}

// scan moves behind the token that begins with byte c and returns its kind.
func (l *lexer) scan(c byte) tokenKind {
	switch {
	case isDigit(c):
		return l.number()
	case c == '_':
		return l.underscore()
	case c == '\'' || c == '"':
		return l.stringLiteral()
	case c == '`':
		return l.backtick()
	case c == '$':
		return l.dollar()
	case c == '/' && strings.HasPrefix(l.src[l.pos:], "/*"):
		// skipBlank leaves only hints; comments are gone.
		l.blockComment()
		return tokHint
	case c >= 0x80 || c < ' ' || c == 0x7f || c == '\\' || c == '#' || c == '@':
		l.pos++
		for l.pos < len(l.src) && l.src[l.pos] >= 0x80 {
			l.pos++
		}
		return tokBad
	}
	l.pos += operatorLength(l.src[l.pos:])
	return tokOp
}

// operatorLength is the length of the operator s begins with: 3 for <=>, 2 for pairs, else 1.
func operatorLength(s string) int {
	if strings.HasPrefix(s, "<=>") {
		return 3
	}
	if len(s) > 1 {
		switch s[:2] {
		case "==", "!=", "<>", "<=", ">=", "||", "::":
			return 2
		}
	}
	return 1
}

// skipBlank moves over white space, line comments and block comments that are no hints.
func (l *lexer) skipBlank() {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c > '/':
			return
		case isBlank(c):
			l.pos++
		case c == '-' && strings.HasPrefix(l.src[l.pos:], "--"):
			n := strings.IndexAny(l.src[l.pos:], "\n\r")
			if n < 0 {
				l.pos = len(l.src)
				return
			}
			l.pos += n
		case c == '/' && strings.HasPrefix(l.src[l.pos:], "/*"):
			if strings.HasPrefix(l.src[l.pos:], "/*+") {
				return
			}
			l.blockComment()
		default:
			return
		}
	}
}

// blockComment moves behind the comment at the position. Comments nest, as HiveLexer's QUERY_HINT does; one without
// an end takes the rest of the text (Hive refuses it).
func (l *lexer) blockComment() {
	depth := 0
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		switch {
		case strings.HasPrefix(rest, "/*"):
			depth++
			l.pos += 2
		case strings.HasPrefix(rest, "*/"):
			depth--
			l.pos += 2
			if depth == 0 {
				return
			}
		default:
			l.pos++
		}
	}
}

// number moves behind a number or, since Hive's identifiers may begin with a digit, behind such an identifier: the
// longer of the two wins, and at equal length the number.
func (l *lexer) number() tokenKind {
	s := l.src[l.pos:]
	digits := span(s, isDigit)
	num := digits
	if s[0] == '0' && digits == 1 && len(s) > 2 && (s[1] == 'x' || s[1] == 'X') {
		if n := span(s[2:], isHex); n > 0 {
			num = 2 + n
		}
	}
	if num == digits {
		if digits < len(s) && s[digits] == '.' {
			num = digits + 1 + span(s[digits+1:], isDigit)
		}
		num += exponent(s[num:])
		num += suffix(s[num:], num == digits)
	}
	if word := wordLength(s); word > num {
		l.pos += word
		return tokWord
	}
	l.pos += num
	return tokNumber
}

// exponent is the length of the exponent s begins with, 0 without one.
func exponent(s string) int {
	if s == "" || (s[0] != 'e' && s[0] != 'E') {
		return 0
	}
	n := 1
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		n++
	}
	digits := span(s[n:], isDigit)
	if digits == 0 {
		return 0
	}
	return n + digits
}

// suffix is the length of a literal's suffix: BD and D after any number, L S Y B K M G after a whole one.
func suffix(s string, whole bool) int {
	if s == "" {
		return 0
	}
	if len(s) > 1 && (s[0]|0x20) == 'b' && (s[1]|0x20) == 'd' {
		return 2
	}
	if (s[0] | 0x20) == 'd' {
		return 1
	}
	if whole && isLetter(s[0]) && strings.IndexByte("lsybkmg", s[0]|0x20) >= 0 {
		return 1
	}
	return 0
}

// word moves behind a keyword or identifier.
func (l *lexer) word() tokenKind {
	l.pos += wordLength(l.src[l.pos:])
	return tokWord
}

// wordLength is the length of the identifier s begins with, ${…} inside it included.
func wordLength(s string) int {
	n := 0
	for n < len(s) {
		if wordBytes[s[n]] {
			n++
			continue
		}
		v := 0
		if s[n] == '$' {
			v = variableLength(s[n:])
		}
		if v == 0 {
			break
		}
		n += v
	}
	return n
}

var wordBytes = func() (is [256]bool) {
	for c := range is {
		is[c] = isWordByte(byte(c))
	}
	return is
}()

// underscore moves behind a character set name when a literal follows, else behind a word: names that begin with an
// underscore are not identifiers to Hive, but are better kept whole.
func (l *lexer) underscore() tokenKind {
	rest := l.src[l.pos:]
	n := 1 + span(rest[1:min(len(rest), maxCharset)], isCharsetByte)
	after := lexer{src: l.src, pos: l.pos + n}
	after.skipBlank()
	if rest = rest[after.pos-l.pos:]; n > 1 && rest != "" {
		if rest[0] == '\'' || rest[0] == '"' || strings.HasPrefix(rest, "0x") || strings.HasPrefix(rest, "0X") {
			l.pos += n
			return tokCharset
		}
	}
	return l.word()
}

// stringLiteral moves behind a string and any further ones that follow at once, as HiveLexer's StringLiteral does.
func (l *lexer) stringLiteral() tokenKind {
	src, pos := l.src, l.pos // in registers
	for pos < len(src) && (src[pos] == '\'' || src[pos] == '"') {
		quote := src[pos]
		pos++
		for pos < len(src) && src[pos] != quote {
			if src[pos] == '\\' {
				pos++
			}
			pos++
		}
		if pos >= len(src) {
			l.pos = len(src)
			return tokBad
		}
		pos++
	}
	l.pos = pos
	return tokString
}

// backtick moves behind a quoted identifier; a doubled backtick stands for one.
func (l *lexer) backtick() tokenKind {
	l.pos++
	for {
		n := strings.IndexByte(l.src[l.pos:], '`')
		if n < 0 {
			l.pos = len(l.src)
			return tokBad
		}
		l.pos += n + 1
		if l.pos >= len(l.src) || l.src[l.pos] != '`' {
			return tokQuoted
		}
		l.pos++
	}
}

// dollar moves behind ${…} with the word it may begin, else behind the sign alone.
func (l *lexer) dollar() tokenKind {
	n := variableLength(l.src[l.pos:])
	if n == 0 {
		l.pos++
		return tokOp
	}
	l.pos += n
	if rest := wordLength(l.src[l.pos:]); rest > 0 {
		l.pos += rest
		return tokWord
	}
	return tokVariable
}

// variableLength is the length of the ${…} s begins with, 0 without one. Names hold no blanks, quotes or braces.
func variableLength(s string) int {
	if !strings.HasPrefix(s, "${") {
		return 0
	}
	for n := 2; n < len(s) && n < maxVariable; n++ {
		switch c := s[n]; {
		case c == '}':
			return n + 1
		case isBlank(c) || c == '{' || c == '$' || c == '\'' || c == '"' || c == '`':
			return 0
		}
	}
	return 0
}

// span is the number of leading bytes of s for which f holds.
func span(s string, f func(byte) bool) int {
	n := 0
	for n < len(s) && f(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isBlank(c byte) bool  { return c == ' ' || c >= '\t' && c <= '\r' }
func isHex(c byte) bool    { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isWordByte(c byte) bool    { return isLetter(c) || isDigit(c) || c == '_' }
func isCharsetByte(c byte) bool { return isWordByte(c) || c == '-' || c == '.' || c == ':' }
