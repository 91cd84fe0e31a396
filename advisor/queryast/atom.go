package queryast

import "strings"

// levels are the operators that bind tighter than comparisons, the weakest first.
var levels = [][]string{{"|"}, {"&"}, {"||"}, {"+", "-"}, {"*", "/", "%", "div"}, {"^"}}

func (p *parser) bits() Expr { return p.binary(0) }

func (p *parser) binary(level int) Expr {
	if level == len(levels) {
		return p.suffix()
	}
	left := p.binary(level + 1)
	for n := 0; ; p.grow(&n) {
		t := p.peek()
		if !p.operatorOf(t, level) {
			return left
		}
		p.next()
		left = p.spanned(&Binary{Op: upper(t.word), Left: left, Right: p.binary(level + 1)}, left.Pos().Start)
	}
}

func (p *parser) operatorOf(t token, level int) bool {
	for _, op := range levels[level] {
		if t.op(op) || op == "div" && t.is(op) {
			return true
		}
	}
	return false
}

// suffix reads IS [NOT] NULL, TRUE, FALSE or UNKNOWN; it binds tighter than arithmetic.
func (p *parser) suffix() Expr {
	start := p.peek().start
	e := p.prefix()
	if !p.peek().is("is") {
		return e
	}
	n := 1
	if p.ahead(1).is("not") {
		n = 2
	}
	what := p.ahead(n)
	if !what.isAny("null", "true", "false", "unknown") {
		return e
	}
	p.i += n + 1
	return p.spanned(&Is{Operand: e, Not: n == 2, What: upper(what.word)}, start)
}

func (p *parser) prefix() Expr {
	t := p.peek()
	if !t.op("-") && !t.op("+") && !t.op("~") {
		return p.postfix()
	}
	p.enter()
	defer p.leave()
	p.next()
	return p.spanned(&Unary{Op: t.word, Operand: p.prefix()}, t.start)
}

// postfix reads an atom with the fields and elements taken of it.
func (p *parser) postfix() Expr {
	start := p.peek().start
	e := p.atom()
	for n := 0; ; p.grow(&n) {
		switch {
		case p.accept("["):
			index := p.expr()
			p.expect("]")
			e = p.spanned(&Index{Operand: e, Index: index}, start)
		case p.peek().op("."):
			p.next()
			name := p.fieldName()
			if c, ok := e.(*ColumnRef); ok && !p.closed() {
				c.Parts = append(c.Parts, name)
				c.setSpan(p.since(start))
				continue
			}
			e = p.spanned(&Field{Operand: e, Name: name}, start)
		default:
			return e
		}
	}
}

// closed tells whether the dot just read followed a bracket: (a).b is a field of a, no qualified name.
func (p *parser) closed() bool { return p.i > 2 && p.tokens[p.i-3].op(")") }

// fieldName is a name behind a dot, where reserved words do no harm.
func (p *parser) fieldName() string {
	t := p.peek()
	if t.kind != tokWord && t.kind != tokQuoted {
		p.fail("expected a name")
		return ""
	}
	return p.next().word
}

// bad fails and gives a node for the trees that are thrown away.
func (p *parser) bad(msg string) Expr {
	start := p.peek().start
	p.fail(msg)
	return &Literal{node: node{Span{start, start}}}
}

func (p *parser) literal(kind LiteralKind, n int) Expr {
	start := p.peek().start
	p.i = min(p.i+n, len(p.tokens)-1)
	s := p.since(start)
	return &Literal{node: node{s}, Kind: kind, Value: p.sql[s.Start:s.End]}
}

// atom reads a constant, a name, a call, CASE, CAST, or something in brackets.
func (p *parser) atom() Expr {
	t := p.peek()
	switch {
	case t.kind == tokString:
		return p.text()
	case t.kind == tokNumber:
		if p.unit(1) {
			return p.literal(Other, 1+p.unitLength(1))
		}
		return p.literal(Number, 1)
	case t.kind == tokQuoted:
		return p.column()
	case t.op("("):
		return p.brackets()
	case t.op("?"):
		p.next()
		return p.spanned(&Parameter{}, t.start)
	case t.kind != tokWord:
		return p.bad("expected an expression")
	}
	switch t.word {
	case "null":
		return p.literal(Null, 1)
	case "true", "false":
		return p.literal(Boolean, 1)
	case "case":
		return p.caseOf()
	case "cast":
		return p.cast()
	case "extract":
		return p.extract()
	case "interval":
		return p.interval()
	case "date", "timestamp", "timestamplocaltz":
		if p.ahead(1).kind == tokString {
			return p.literal(Other, 2)
		}
	case "current_date", "current_timestamp":
		if !p.ahead(1).op("(") {
			return p.literal(Other, 1)
		}
	}
	if p.ahead(1).op("(") && (!reserved[t.word] || callable[t.word]) {
		return p.call()
	}
	if strings.HasPrefix(t.word, "_") && p.ahead(1).kind == tokString {
		return p.literal(Other, 2) // _utf8'…'
	}
	return p.column()
}

// callable are the reserved words that are functions.
var callable = set("if", "map", "grouping", "current_date", "current_timestamp", "left", "right")

func (p *parser) column() Expr {
	start := p.peek().start
	if isName(p.peek()) && p.ahead(1).op(".") && isName(p.ahead(2)) && p.ahead(3).op("(") {
		return p.call()
	}
	c := &ColumnRef{Parts: []string{p.name()}}
	return p.spanned(c, start)
}

// text reads one string or several in a row, which are one.
func (p *parser) text() Expr {
	start := p.peek().start
	var b strings.Builder
	for p.peek().kind == tokString {
		unescape(&b, p.next().word)
	}
	return p.spanned(&Literal{Kind: String, Value: b.String()}, start)
}

// brackets reads a subquery, a tuple, or an expression, to which the brackets then belong.
func (p *parser) brackets() Expr {
	start := p.peek().start
	if p.startsQuery(0) {
		return p.spanned(&Subquery{Query: p.subquery()}, start)
	}
	p.next()
	list := p.list()
	p.expect(")")
	if len(list) > 1 {
		return p.spanned(&Tuple{Elements: list}, start)
	}
	if _, whole := list[0].(*Literal); whole && p.unit(0) {
		p.i += p.unitLength(0) // ('1') DAY
		return p.spanned(&Literal{Kind: Other, Value: p.sql[start:p.end()]}, start)
	}
	return p.spanned(list[0], start)
}

// unescape appends the value of a string literal (BaseSemanticAnalyzer.unescapeSQLString).
func unescape(b *strings.Builder, literal string) {
	s := literal[1 : len(literal)-1]
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if code, n := codePoint(s[i:]); n > 0 {
			b.WriteRune(code)
			i += n - 1
			continue
		}
		switch c := s[i]; c {
		case 'b':
			b.WriteByte('\b')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case '0':
			b.WriteByte(0)
		case 'Z':
			b.WriteByte(0x1a)
		case '%', '_':
			b.WriteString(`\` + s[i:i+1])
		default:
			b.WriteByte(c)
		}
	}
}

// codePoint reads uXXXX or three octal digits; n is the bytes taken, 0 for neither.
func codePoint(s string) (code rune, n int) {
	if s[0] == 'u' && len(s) > 4 {
		for _, c := range []byte(s[1:5]) {
			digit := strings.IndexByte("0123456789abcdef", c|0x20)
			if isDigit(c) {
				digit = int(c - '0')
			}
			if digit < 0 {
				return 0, 0
			}
			code = code<<4 | rune(digit) //nolint:gosec // 0 to 15
		}
		return code, 5
	}
	if len(s) > 2 && s[0] >= '0' && s[0] <= '1' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' && s[2] <= '7' {
		return rune(s[0]-'0')<<6 | rune(s[1]-'0')<<3 | rune(s[2]-'0'), 3
	}
	return 0, 0
}
