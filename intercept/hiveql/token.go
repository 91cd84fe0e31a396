package hiveql

import "strings"

// tokenKind is the class of a token. Keywords are words: Hive decides by position whether a keyword is a name.
type tokenKind uint8

const (
	tokEOF      tokenKind = iota
	tokWord               // keyword or plain identifier; may hold ${…}
	tokQuoted             // `identifier`
	tokString             // '…' or "…", also several directly one after the other
	tokNumber             // with its suffix: 1, 1.5e3, 10L, 2S, 3Y, 1.5BD, 10G, 0x1F
	tokCharset            // _utf8 before a string or hexadecimal literal
	tokVariable           // ${…}
	tokHint               // /*+ … */
	tokOp                 // operator or punctuation
	tokBad                // what HiveLexer refuses: stray bytes, an unterminated string or backtick
)

// token is a piece of the text; start and end are byte offsets. Comments and white space are not tokens.
// kw is the keyword that a word is.
type token struct {
	kind       tokenKind
	kw         keyword
	start, end int
}

// text is the token as written.
func (l *lexer) text(t token) string { return l.src[t.start:t.end] }

// is reports whether t is the keyword kw, which is in lower case.
func (l *lexer) is(t token, kw string) bool {
	return t.kind == tokWord && t.end-t.start == len(kw) && strings.EqualFold(l.src[t.start:t.end], kw)
}

// isAny reports whether t is one of the keywords.
func (l *lexer) isAny(t token, kws ...string) bool {
	for _, kw := range kws {
		if l.is(t, kw) {
			return true
		}
	}
	return false
}

// op reports whether t is the operator s.
func (l *lexer) op(t token, s string) bool {
	return t.kind == tokOp && l.src[t.start:t.end] == s
}

// doubleQuoted reports whether t is a string in double quotes: a name where one stands (see tablePart).
func (l *lexer) doubleQuoted(t token) bool { return t.kind == tokString && l.src[t.start] == '"' }
