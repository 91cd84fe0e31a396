package queryast

import "strings"

// call reads a function call: name(…), db.name(…), with DISTINCT, * and OVER.
func (p *parser) call() Expr {
	start := p.peek().start
	c := &Call{Name: p.next().word}
	if p.accept(".") {
		c.Name += "." + p.next().word
	}
	p.expect("(")
	switch {
	case p.accept("*"):
		c.Star = true
	case !p.peek().op(")"):
		c.Distinct = p.take("distinct")
		if !c.Distinct {
			p.take("all")
		}
		c.Args = p.list()
		if p.peek().is("to") && c.Name == "floor" {
			p.next()
			p.fieldName()
		}
	}
	p.expect(")")
	_ = p.take("respect", "nulls") || p.take("ignore", "nulls")
	if p.take("over") {
		c.Window, c.Over = true, p.window()
	}
	return p.spanned(c, start)
}

func (p *parser) cast() Expr {
	start := p.next().start
	p.expect("(")
	c := &Cast{Operand: p.expr()}
	p.expectWord("as")
	from := p.peek().start
	for depth := 0; ; p.next() {
		t := p.peek()
		switch {
		case t.kind == tokEOF, t.kind == tokBad:
			return p.bad("expected )")
		case t.op("("):
			depth++
		case t.op(")"):
			depth--
		}
		if depth < 0 {
			break
		}
	}
	c.Type = strings.ToLower(p.sql[from:max(from, p.end())])
	p.expect(")")
	return p.spanned(c, start)
}

// extract reads EXTRACT(unit FROM x), a call whose one argument is x.
func (p *parser) extract() Expr {
	start := p.next().start
	p.expect("(")
	p.fieldName()
	p.expectWord("from")
	c := &Call{Name: "extract", Args: []Expr{p.expr()}}
	p.expect(")")
	return p.spanned(c, start)
}

// unit tells whether the token n places on is the unit of an interval.
func (p *parser) unit(n int) bool {
	t := p.ahead(n)
	return t.kind == tokWord && units[strings.TrimSuffix(t.word, "s")]
}

// unitLength is the number of tokens of the unit n places on: DAY, or DAY TO SECOND.
func (p *parser) unitLength(n int) int {
	if p.ahead(n+1).is("to") && p.unit(n+2) {
		return 3
	}
	return 1
}

var units = set("year", "month", "day", "hour", "minute", "second")

// interval reads INTERVAL 'n' unit and INTERVAL (x) unit.
func (p *parser) interval() Expr {
	start := p.peek().start
	if k := p.ahead(1).kind; (k == tokString || k == tokNumber) && p.unit(2) {
		return p.literal(Other, 2+p.unitLength(2))
	}
	p.next()
	p.expect("(")
	c := &Call{Name: "interval", Args: []Expr{p.expr()}}
	p.expect(")")
	if !p.unit(0) {
		return p.bad("expected the unit of an interval")
	}
	p.i += p.unitLength(0)
	return p.spanned(c, start)
}

func (p *parser) caseOf() Expr {
	start := p.next().start
	c := &Case{}
	if !p.peek().is("when") {
		c.Operand = p.expr()
	}
	for p.take("when") {
		w := When{Condition: p.expr()}
		p.expectWord("then")
		w.Result = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) == 0 {
		return p.bad("expected when")
	}
	if p.take("else") {
		c.Else = p.expr()
	}
	p.expectWord("end")
	return p.spanned(c, start)
}
