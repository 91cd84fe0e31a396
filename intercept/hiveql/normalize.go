package hiveql

import (
	"crypto/sha256"
	"strings"
	"sync"
)

// normalizer writes the normalized text and its hash.
type normalizer struct {
	lexer
	output
	tokens []token // room for those read ahead

	last       class   // what was written last
	lastWord   keyword // the word, when last is one
	semicolons int     // seen and not yet written: those at the end are dropped
	depth      int     // open parentheses
	call       int     // the depth of the arguments of EXTRACT or TRIM, whose FROM has no table; 0 outside
}

var normalizers = sync.Pool{New: func() any { return &normalizer{output: output{sum: sha256.New()}} }}

const (
	// maxAhead bounds the texts that are read ahead, in bytes: tokens take more room than what they are cut from.
	maxAhead = 64 << 10
	// keptTokens and keptText bound the room that goes back to the pool.
	keptTokens = 4096
	keptText   = 64 << 10
)

// newNormalizer needs its result taken, once, which gives it back.
func newNormalizer(sql string) *normalizer {
	n := normalizers.Get().(*normalizer)
	n.src = sql
	return n
}

// readAhead cuts the text into its tokens once for all who read it.
func (n *normalizer) readAhead() {
	if len(n.src) <= maxAhead {
		n.tokens = readAll(n.src, n.tokens[:0])
		n.ahead = n.tokens
	}
}

// normalize returns the normalized text and its fingerprint.
func (n *normalizer) normalize() (normalized, fingerprint string) {
	for {
		t := n.next()
		if t.kind == tokEOF {
			return n.result()
		}
		n.token(t)
	}
}

func (n *normalizer) result() (normalized, fingerprint string) {
	normalized, fingerprint = n.output.result()
	kept := normalizer{output: n.output, tokens: n.tokens}
	if cap(kept.tokens) > keptTokens {
		kept.tokens = nil
	}
	*n = kept
	normalizers.Put(n)
	return normalized, fingerprint
}

// token writes one token, or several that make one piece.
func (n *normalizer) token(t token) {
	switch t.kind {
	case tokWord:
		n.word(t)
	case tokQuoted:
		n.quoted(n.text(t))
	case tokNumber:
		n.piece(clsLit, "?")
	case tokString:
		if n.doubleQuoted(t) && n.namePlace() {
			n.quotedName(n.text(t))
		} else if n.last != clsStr {
			n.piece(clsStr, "?")
		}
	case tokCharset:
		// Part of the literal behind it.
	case tokVariable:
		n.piece(clsName, valid(n.text(t)))
	case tokHint:
		n.hint(n.text(t))
	case tokBad:
		n.bad(n.text(t))
	default:
		n.operator(n.text(t))
	}
}

// word writes a keyword or identifier and, behind IN and VALUES, the list of literals as one (?).
func (n *normalizer) word(t token) {
	if t.kw == noKeyword {
		n.name(n.text(t))
		return
	}
	c := clsName
	if t.kw.has(isReserved) {
		c = clsWord
	}
	s := t.kw.text()
	n.piece(c, s)
	n.lastWord = t.kw
	switch s {
	case "in":
		if n.literals() {
			n.piece(clsOpen, "(?)")
			n.last = clsClose
		}
	case "values":
		if !n.literals() {
			return
		}
		for n.op(n.peek(), ",") {
			bookmark := n.lexer
			n.next()
			if !n.literals() {
				n.lexer = bookmark
				break
			}
		}
		n.piece(clsOpen, "(?)")
		n.last = clsClose
	}
}

// name writes an identifier.
func (n *normalizer) name(s string) {
	if variableIn(s) {
		n.piece(clsName, valid(s))
		return
	}
	n.space(clsName)
	n.addLower(s)
}

// quoted writes a backticked identifier: without backticks where Hive reads it the same without.
func (n *normalizer) quoted(s string) {
	if name := s[1 : len(s)-1]; name != "" && isLetter(name[0]) && span(name, isWordByte) == len(name) && !keywordOf(name).has(isReserved) {
		n.name(name)
		return
	}
	n.quotedName(s)
}

// quotedName writes a name with its quotes as it is; Hive's names have no case, quoted or not, so the hash has none.
func (n *normalizer) quotedName(s string) {
	n.space(clsName)
	n.addCaseless(valid(s))
}

// namePlace reports whether what was just read can be nothing but a name.
func (n *normalizer) namePlace() bool {
	switch n.lastWord.text() {
	case "from":
		return n.call == 0 || n.call != n.depth
	case "join", "into", "table", "update":
		return true
	}
	return n.last == clsDot || n.op(n.peek(), ".")
}

// operator writes an operator. A sign that belongs to a number is part of the literal.
func (n *normalizer) operator(s string) {
	switch s {
	case ";":
		n.semicolons++
		return
	case "-", "+":
		if n.unary() && n.peek().kind == tokNumber {
			return
		}
	case "==":
		s = "="
	case "!=":
		s = "<>"
	}
	switch s {
	case "(":
		n.depth++
		if n.lastWord.has(isFromCall) {
			n.call = n.depth
		}
	case ")":
		if n.call == n.depth {
			n.call = 0
		}
		n.depth--
	}
	n.piece(operatorClass(s), s)
}

// unary reports whether a sign at this place is that of a number, not an operation.
func (n *normalizer) unary() bool {
	switch n.last {
	case clsStart, clsOpen, clsComma, clsOp:
		return true
	case clsWord:
		switch n.lastWord.text() {
		case "end", "true", "false", "null", "current_date", "current_timestamp", "user", "unknown":
			return false
		}
		return true
	default:
		return false
	}
}

// hint writes a hint; its numbers stay, because they change the plan.
func (n *normalizer) hint(s string) {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "/*+"), "*/")
	n.piece(clsOp, "/*+")
	inner := lexer{src: s}
	for t := inner.next(); t.kind != tokEOF; t = inner.next() {
		switch t.kind {
		case tokWord:
			n.space(clsName)
			n.addLower(inner.text(t))
		case tokString, tokBad:
			n.piece(clsLit, "?")
		case tokHint:
		case tokOp:
			n.piece(operatorClass(inner.text(t)), inner.text(t))
		default:
			n.piece(clsName, valid(inner.text(t)))
		}
	}
	n.piece(clsOp, "*/")
}

// bad writes what is no token of Hive's; an open quote hides the rest like a literal.
func (n *normalizer) bad(s string) {
	if strings.IndexByte("'\"`", s[0]) >= 0 {
		n.piece(clsLit, "?")
		return
	}
	n.piece(clsOp, valid(s))
}
