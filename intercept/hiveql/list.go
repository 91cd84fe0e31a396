package hiveql

// literals moves behind a parenthesized list of literals, or of such lists, and reports whether one stood there.
func (n *normalizer) literals() bool {
	ahead := n.lexer
	if !ahead.literalList(2) {
		return false
	}
	n.lexer = ahead
	return true
}

// literalList moves behind (literal, …); with depth above 1 elements may be lists themselves.
func (l *lexer) literalList(depth int) bool {
	if depth == 0 || !l.op(l.next(), "(") {
		return false
	}
	for {
		if l.op(l.peek(), "(") {
			if !l.literalList(depth - 1) {
				return false
			}
		} else if !l.literal() {
			return false
		}
		switch t := l.next(); {
		case l.op(t, ")"):
			return true
		case !l.op(t, ","):
			return false
		}
	}
}

// literal moves behind one literal.
func (l *lexer) literal() bool {
	t := l.next()
	switch {
	case l.op(t, "-") || l.op(t, "+"):
		return l.next().kind == tokNumber
	case t.kind == tokNumber || l.op(t, "?") || l.isAny(t, "null", "true", "false"):
		return true
	case t.kind == tokCharset || l.isAny(t, "date", "timestamp", "timestamplocaltz"):
		t = l.next()
		if t.kind == tokNumber || l.op(t, "?") {
			return true
		}
	}
	if t.kind != tokString {
		return false
	}
	for l.peek().kind == tokString {
		l.next()
	}
	return true
}
