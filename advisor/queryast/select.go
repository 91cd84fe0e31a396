package queryast

import "strings"

func upper(s string) string { return strings.ToUpper(s) }

// selectWith reads SELECT and its clauses. From is what was read before in FROM … SELECT …, else nil.
func (p *parser) selectWith(from *From) *Select {
	p.enter()
	defer p.leave()
	s := &Select{From: from}
	start := p.peek().start
	p.expectWord("select")
	if t := p.peek(); t.kind == tokHint {
		s.Hint = p.next().word
	}
	if p.take("distinct") {
		s.Distinct = true
	} else {
		p.take("all")
	}
	if p.peek().is("transform") {
		p.fail("SELECT TRANSFORM is not read")
	}
	for {
		s.Items = append(s.Items, p.item())
		if !p.accept(",") {
			break
		}
	}
	if from == nil && p.take("from") {
		s.From = p.from()
	}
	if from != nil && p.peek().is("lateral") {
		// The view belongs to this select alone: the others keep their own From.
		own := *from
		own.LateralViews = append([]LateralView(nil), from.LateralViews...)
		p.lateralViews(&own)
		s.From = &own
	}
	if p.take("where") {
		s.Where = p.expr()
	}
	if p.take("group", "by") {
		s.GroupBy = p.groupBy()
	}
	if p.take("having") {
		s.Having = p.expr()
	}
	if p.take("window") {
		p.windows(s)
	}
	if p.take("qualify") {
		s.Qualify = p.expr()
	}
	p.orderAndLimit(&s.OrderBy, &s.Limit)
	s.span = p.since(start)
	return s
}

func (p *parser) item() Item {
	start := p.peek().start
	it := Item{}
	switch {
	case p.accept("*"):
		it.Star = true
	case isName(p.peek()) && p.ahead(1).op(".") && p.ahead(2).op("*"):
		it.Star, it.Qualifier = true, p.name()
		p.expect(".")
		p.expect("*")
	case isName(p.peek()) && p.ahead(1).op(".") && isName(p.ahead(2)) && p.ahead(3).op(".") && p.ahead(4).op("*"):
		it.Star, it.Qualifier = true, p.tableName().String()
		p.expect(".")
		p.expect("*")
	default:
		it.Expr = p.expr()
		switch {
		case p.take("as"):
			if p.peek().op("(") {
				it.Aliases = p.names()
			} else {
				it.Aliases = []string{p.name()}
			}
		case isName(p.peek()) && !p.clauseFollows():
			it.Aliases = []string{p.name()}
		}
	}
	it.Span = p.since(start)
	return it
}

// clauseFollows tells a clause whose first word is not reserved from a name.
func (p *parser) clauseFollows() bool {
	t, next := p.peek(), p.ahead(1)
	switch {
	case t.kind != tokWord:
		return false
	case t.isAny("cluster", "distribute", "sort"):
		return next.is("by")
	case t.isAny("limit", "offset"):
		return next.kind == tokNumber || next.op("?")
	}
	return false
}

func (p *parser) groupBy() []Expr {
	list := p.groupList()
	switch {
	case p.take("with", "rollup"), p.take("with", "cube"):
	case p.take("grouping"):
		p.expectWord("sets")
		p.skipBrackets()
	}
	return list
}

func (p *parser) groupList() []Expr {
	if p.peek().isAny("rollup", "cube") && p.ahead(1).op("(") {
		p.next()
		p.next()
		list := p.list()
		p.expect(")")
		return list
	}
	return p.list()
}

// orderAndLimit reads the clauses behind HAVING.
func (p *parser) orderAndLimit(orderBy *[]Expr, limit *bool) {
	for {
		switch {
		case p.take("order", "by"), p.take("sort", "by"), p.take("distribute", "by"), p.take("cluster", "by"):
			*orderBy = append(*orderBy, p.ordered()...)
		case p.take("limit"):
			*limit = true
			p.limit()
			if p.accept(",") {
				p.limit()
			}
		case p.take("offset"):
			*limit = true
			p.limit()
		default:
			return
		}
	}
}

func (p *parser) limit() {
	if t := p.peek(); t.kind != tokNumber && !t.op("?") {
		p.fail("expected a number")
		return
	}
	p.next()
}

// ordered reads expressions with ASC, DESC, NULLS FIRST, NULLS LAST.
func (p *parser) ordered() []Expr {
	var list []Expr
	for {
		list = append(list, p.expr())
		_ = p.take("asc") || p.take("desc")
		_ = p.take("nulls", "first") || p.take("nulls", "last")
		if !p.accept(",") {
			return list
		}
	}
}

// windows reads WINDOW w AS (…), …; their expressions count among those the select orders by.
func (p *parser) windows(s *Select) {
	for {
		p.name()
		p.expectWord("as")
		s.OrderBy = append(s.OrderBy, p.window()...)
		if !p.accept(",") {
			return
		}
	}
}

// window reads what follows OVER: a name, or brackets with PARTITION BY, ORDER BY and a frame.
func (p *parser) window() []Expr {
	if !p.peek().op("(") {
		p.name()
		return nil
	}
	p.next()
	var list []Expr
	if isName(p.peek()) && !p.clauseFollows() && !p.peek().isAny("rows", "range") {
		p.name()
	}
	for {
		switch {
		case p.take("partition", "by"), p.take("distribute", "by"), p.take("order", "by"), p.take("sort", "by"), p.take("cluster", "by"):
			list = append(list, p.ordered()...)
			continue
		case p.peek().isAny("rows", "range"):
			for t := p.peek(); (t.kind == tokWord || t.kind == tokNumber) && !t.isAny("select", "from"); t = p.peek() {
				p.next()
			}
		}
		p.expect(")")
		return list
	}
}
