package queryast

// statement reads what Parse promises.
func (p *parser) statement() *Query {
	if p.take("explain") {
		for p.take("extended") || p.take("formatted") || p.take("cbo") || p.take("cost") || p.take("joincost") ||
			p.take("analyze") || p.take("logical") || p.take("dependency") || p.take("authorization") ||
			p.take("locks") || p.take("ast") || p.take("debug") || p.take("rewrite") {
			continue
		}
	}
	if p.peek().is("create") {
		target := p.create()
		q := p.query()
		for i := range q.Branches {
			if q.Branches[i].Target != nil {
				p.fail("two targets")
			}
			q.Branches[i].Target = target
		}
		return q
	}
	return p.query()
}

// create reads CREATE … AS up to the query.
func (p *parser) create() *Target {
	target := &Target{Kind: CreateTable}
	p.next()
	for !p.peek().isAny("table", "view") {
		if p.peek().kind != tokWord {
			p.fail("expected table or view")
			return target
		}
		p.next()
	}
	if p.next().is("view") {
		target.Kind = CreateView
	}
	p.take("if", "not", "exists")
	target.Table = p.tableName()
	for !p.peek().is("as") || !p.startsQuery(1) {
		switch t := p.peek(); {
		case t.kind == tokEOF || t.kind == tokBad:
			p.fail("expected as and a query")
			return target
		case t.op("("):
			p.skipBrackets()
		default:
			p.next()
		}
	}
	p.next()
	return target
}

// startsQuery tells whether a query starts n tokens on.
func (p *parser) startsQuery(n int) bool {
	for p.ahead(n).op("(") {
		n++
	}
	return p.ahead(n).isAny("select", "with", "from")
}

// query reads [WITH …] and what follows, INSERT included. It may stand in brackets.
func (p *parser) query() *Query {
	p.enter()
	defer p.leave()
	start := p.peek().start
	q := &Query{SQL: p.sql}
	if p.peek().op("(") && p.ahead(1).is("with") {
		p.next()
		q = p.query()
		p.expect(")")
		q.Span = p.since(start)
		return q
	}
	if p.take("with") {
		q.With = p.with()
	}
	switch t := p.peek(); {
	case t.is("from"):
		p.fromFirst(q)
	case t.is("insert"):
		target := p.insert()
		if p.take("with") {
			q.With = append(q.With, p.with()...)
		}
		q.Branches = []Branch{{Target: target, Body: p.body()}}
	default:
		q.Branches = []Branch{{Body: p.body()}}
	}
	q.Span = p.since(start)
	return q
}

func (p *parser) with() []CTE {
	var list []CTE
	for {
		c := CTE{Name: p.name()}
		if p.peek().op("(") {
			c.Columns = p.names()
		}
		p.expectWord("as")
		p.expect("(")
		c.Query = p.query()
		p.expect(")")
		list = append(list, c)
		if !p.accept(",") {
			return list
		}
	}
}

// fromFirst reads FROM … SELECT … and FROM … INSERT … SELECT … INSERT … SELECT ….
func (p *parser) fromFirst(q *Query) {
	p.next()
	from := p.from()
	if !p.peek().is("insert") {
		s := p.selectWith(from)
		q.Branches = []Branch{{Body: p.setOperations(s)}}
		return
	}
	for p.peek().is("insert") {
		target := p.insert()
		q.Branches = append(q.Branches, Branch{Target: target, Body: p.selectWith(from)})
	}
}

// insert reads INSERT … up to the query.
func (p *parser) insert() *Target {
	p.expectWord("insert")
	target := &Target{Kind: InsertInto}
	if p.take("overwrite") {
		target.Kind = InsertOverwrite
	} else {
		p.expectWord("into")
	}
	if p.peek().isAny("local", "directory") && (p.ahead(1).is("directory") || p.ahead(1).kind == tokString) {
		target.Kind = Directory
		for p.peek().kind != tokEOF && !p.startsQuery(0) {
			p.next()
		}
		return target
	}
	p.take("table")
	target.Table = p.tableName()
	if p.take("partition") {
		p.skipBrackets()
	}
	p.take("if", "not", "exists")
	if p.peek().op("(") && !p.startsQuery(0) {
		p.names()
	}
	return target
}

// body reads selects with set operations between them.
func (p *parser) body() Body {
	return p.setOperations(p.operand())
}

func (p *parser) setOperations(left Body) Body {
	for n := 0; p.peek().isAny("union", "except", "minus", "intersect"); p.grow(&n) {
		op := upper(p.next().word)
		if p.peek().isAny("all", "distinct") {
			op += " " + upper(p.next().word)
		}
		o := &SetOperation{Op: op, Left: left, Right: p.operand()}
		o.span = p.since(left.Pos().Start)
		left = o
	}
	// What orders and cuts off behind the last select is for the whole.
	switch b := left.(type) {
	case *SetOperation:
		if s, ok := b.Right.(*Select); ok && !s.bracketed {
			b.OrderBy, b.Limit = s.OrderBy, s.Limit
			s.OrderBy, s.Limit = nil, false
		}
		p.orderAndLimit(&b.OrderBy, &b.Limit)
	case *Select:
		p.orderAndLimit(&b.OrderBy, &b.Limit)
	}
	return left
}

// operand reads a select or a body in brackets.
func (p *parser) operand() Body {
	if !p.peek().op("(") {
		if p.take("from") {
			return p.selectWith(p.from())
		}
		return p.selectWith(nil)
	}
	p.enter()
	defer p.leave()
	p.next()
	b := p.body()
	p.expect(")")
	if s, ok := b.(*Select); ok {
		s.bracketed = true
	}
	return b
}
