package hiveql

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"
	"sync"
)

// MaxNormalized bounds Info.Normalized, in bytes; a longer text ends in "…". The fingerprint covers all of it.
const MaxNormalized = 256 << 10

// normalizer writes the normalized text and its hash.
//
// The hash is SHA-256, cut to 64 bits: clients choose the texts, and with FNV they could compute a second text with the
// fingerprint of somebody else's query, whose plan and findings it would then replace.
type normalizer struct {
	lexer
	out  strings.Builder
	full bool
	*hasher

	last       class  // what was written last
	lastWord   string // the word, when last is one
	semicolons int    // seen and not yet written: those at the end are dropped
	depth      int    // open parentheses
	call       int    // the depth of the arguments of EXTRACT or TRIM, whose FROM has no table; 0 outside
}

// hasher sums what is written to hash, in pieces of its buffer.
type hasher struct {
	sum  hash.Hash
	hash *bufio.Writer
}

var hashers = sync.Pool{New: func() any {
	sum := sha256.New()
	return &hasher{sum, bufio.NewWriterSize(sum, 1024)}
}}

// newNormalizer needs its result taken, once, which gives the hasher back.
func newNormalizer(sql string) *normalizer {
	n := &normalizer{lexer: lexer{src: sql}, hasher: hashers.Get().(*hasher)}
	n.out.Grow(min(len(sql), 2048)) // most texts; lists of literals shrink
	return n
}

// normalize returns the normalized text of sql and its fingerprint.
func normalize(sql string) (text, fingerprint string) {
	n := newNormalizer(sql)
	for {
		t := n.next()
		if t.kind == tokEOF {
			return n.result()
		}
		n.token(t)
	}
}

func (n *normalizer) result() (text, fingerprint string) {
	_ = n.hash.Flush() // a hash takes every write
	var sum [sha256.Size]byte
	fingerprint = hex.EncodeToString(n.sum.Sum(sum[:0])[:8])
	n.sum.Reset()
	n.hash.Reset(n.sum)
	hashers.Put(n.hasher)
	n.hasher = nil
	return n.out.String(), fingerprint
}

// token writes one token, or several that make one piece.
func (n *normalizer) token(t token) {
	switch t.kind {
	case tokWord:
		n.word(n.text(t))
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
func (n *normalizer) word(s string) {
	if variableIn(s) {
		n.piece(clsName, valid(s))
		return
	}
	s = lowerASCII(s)
	c := clsName
	if isIn(reserved, s) {
		c = clsWord
	}
	n.piece(c, s)
	n.lastWord = s
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

// quoted writes a backticked identifier: without backticks where Hive reads it the same without.
func (n *normalizer) quoted(s string) {
	if name := s[1 : len(s)-1]; name != "" && isLetter(name[0]) && span(name, isWordByte) == len(name) && !isIn(reserved, name) {
		n.piece(clsName, lowerASCII(name))
		return
	}
	n.quotedName(s)
}

// quotedName writes a name with its quotes as it is; Hive's names have no case, quoted or not, so the hash has none.
func (n *normalizer) quotedName(s string) {
	n.space(clsName)
	s = valid(s)
	n.show(s)
	_, _ = n.hash.WriteString(strings.ToLower(s))
}

// namePlace reports whether what was just read can be nothing but a name.
func (n *normalizer) namePlace() bool {
	switch n.lastWord {
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
		if isFromCall(n.lastWord) {
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
		switch n.lastWord {
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
			n.piece(clsName, lowerASCII(inner.text(t)))
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
