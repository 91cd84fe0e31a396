package queryast

// list reads expressions with commas between.
func (p *parser) list() []Expr {
	list := []Expr{p.expr()}
	for p.accept(",") {
		list = append(list, p.expr())
	}
	return list
}

// expr reads an expression: OR binds weakest, then AND, NOT, =, the other comparisons, | & || + * ^, IS, and signs
// (IdentifiersParser.g, precedenceOrExpression).
func (p *parser) expr() Expr {
	p.enter()
	defer p.leave()
	operands := []Expr{p.and()}
	for p.take("or") {
		operands = append(operands, p.and())
	}
	if len(operands) == 1 {
		return operands[0]
	}
	return p.spanned(&Or{Operands: flatten(operands, func(e Expr) []Expr {
		if o, ok := e.(*Or); ok {
			return o.Operands
		}
		return nil
	})}, operands[0].Pos().Start)
}

func (p *parser) and() Expr {
	operands := []Expr{p.not()}
	for p.take("and") {
		operands = append(operands, p.not())
	}
	if len(operands) == 1 {
		return operands[0]
	}
	return p.spanned(&And{Operands: flatten(operands, func(e Expr) []Expr {
		if a, ok := e.(*And); ok {
			return a.Operands
		}
		return nil
	})}, operands[0].Pos().Start)
}

// flatten puts the operands of operands in their place.
func flatten(list []Expr, operands func(Expr) []Expr) []Expr {
	out := make([]Expr, 0, len(list))
	for _, e := range list {
		if inner := operands(e); inner != nil {
			out = append(out, inner...)
		} else {
			out = append(out, e)
		}
	}
	return out
}

// spanned sets the node's place: from start to the last token taken.
func (p *parser) spanned(e Expr, start int) Expr {
	e.setSpan(p.since(start))
	return e
}

func (p *parser) not() Expr {
	start := p.peek().start
	if !p.take("not") && !p.accept("!") {
		return p.equal()
	}
	p.enter()
	defer p.leave()
	return p.spanned(&Not{Operand: p.not()}, start)
}

// equal reads = <> <=> and IS [NOT] DISTINCT FROM, which bind weaker than the other comparisons.
func (p *parser) equal() Expr {
	left := p.similar()
	for n := 0; ; p.grow(&n) {
		start := left.Pos().Start
		t := p.peek()
		switch {
		case t.op("="), t.op("=="):
			p.next()
			left = p.spanned(&Comparison{Op: "=", Left: left, Right: p.similar()}, start)
		case t.op("<>"), t.op("!="):
			p.next()
			left = p.spanned(&Comparison{Op: "<>", Left: left, Right: p.similar()}, start)
		case t.op("<=>"), t.is("is") && p.take("is", "not", "distinct", "from"):
			p.accept("<=>")
			left = p.spanned(&Comparison{Op: "<=>", Left: left, Right: p.similar()}, start)
		case p.take("is", "distinct", "from"):
			same := p.spanned(&Comparison{Op: "<=>", Left: left, Right: p.similar()}, start)
			left = p.spanned(&Not{Operand: same}, start)
		default:
			return left
		}
	}
}

// similar reads < <= > >=, IN, BETWEEN, LIKE and EXISTS; at most one of them.
func (p *parser) similar() Expr {
	start := p.peek().start
	if p.peek().is("exists") && p.ahead(1).op("(") {
		p.next()
		return p.spanned(&Exists{Query: p.subquery()}, start)
	}
	left := p.bits()
	if t := p.peek(); t.kind == tokOp {
		if q := p.ahead(1); q.isAny("any", "some", "all") && p.ahead(2).op("(") && compares[t.word] != "" {
			p.i += 2
			quantifier := upper(q.word)
			if quantifier == "ANY" {
				quantifier = "SOME"
			}
			return p.spanned(&Quantified{Operand: left, Op: compares[t.word], Quantifier: quantifier, Query: p.subquery()}, start)
		}
		switch t.word {
		case "<", "<=", ">", ">=":
			p.next()
			return p.spanned(&Comparison{Op: t.word, Left: left, Right: p.bits()}, start)
		}
		return left
	}
	not := p.peek().is("not") && p.ahead(1).isAny("in", "between", "like", "rlike", "regexp") && p.take("not")
	switch t := p.peek(); {
	case p.take("in"):
		in := &In{Operand: left, Not: not}
		if p.startsQuery(0) && p.peek().op("(") {
			in.Query = p.subquery()
		} else {
			p.expect("(")
			in.List = p.list()
			p.expect(")")
		}
		return p.spanned(in, start)
	case p.take("between"):
		b := &Between{Operand: left, Not: not, Low: p.bits()}
		p.expectWord("and")
		b.High = p.bits()
		return p.spanned(b, start)
	case t.isAny("like", "rlike", "regexp"):
		p.next()
		l := &Like{Operand: left, Not: not, Op: upper(t.word)}
		if q := p.peek(); t.is("like") && q.isAny("any", "all") {
			p.next()
			l.Op += " " + upper(q.word)
			p.expect("(")
			l.Patterns = p.list()
			p.expect(")")
		} else {
			l.Patterns = []Expr{p.bits()}
		}
		return p.spanned(l, start)
	}
	return left
}

// compares are the operators that ANY and ALL may follow, as the tree writes them.
var compares = map[string]string{
	"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}

// subquery reads (SELECT …).
func (p *parser) subquery() *Query {
	p.expect("(")
	q := p.query()
	p.expect(")")
	return q
}
