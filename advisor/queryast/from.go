package queryast

// from reads a FROM clause behind its keyword.
func (p *parser) from() *From {
	f := &From{Span: Span{Start: p.peek().start}}
	if p.peek().is("uniquejoin") {
		p.fail("UNIQUEJOIN is not read")
	}
	p.joins(f)
	f.Span = p.since(f.Start)
	return f
}

// joins reads a first source, which may be joins in brackets, and what is joined to it.
func (p *parser) joins(f *From) {
	p.enter()
	defer p.leave()
	if p.peek().op("(") && !p.startsQuery(1) {
		p.next()
		p.joins(f)
		p.expect(")")
	} else {
		f.Sources = append(f.Sources, p.source())
	}
	p.lateralViews(f)
	for {
		j := Join{Span: Span{Start: p.peek().start}}
		if j.Type = p.joinType(); j.Type == "" {
			return
		}
		f.Sources = append(f.Sources, p.source())
		p.lateralViews(f)
		if j.Type != Comma {
			switch {
			case p.take("on"):
				j.On = p.expr()
			case p.take("using"):
				j.Using = p.names()
			}
		}
		j.Span = p.since(j.Start)
		f.Joins = append(f.Joins, j)
		p.lateralViews(f)
	}
}

// joinType reads the words of a join; empty where none follows.
func (p *parser) joinType() JoinType {
	switch {
	case p.accept(","):
		return Comma
	case p.take("join"), p.take("inner", "join"):
		return Inner
	case p.take("cross", "join"):
		return Cross
	case p.take("left", "join"), p.take("left", "outer", "join"):
		return LeftOuter
	case p.take("right", "join"), p.take("right", "outer", "join"):
		return RightOuter
	case p.take("full", "join"), p.take("full", "outer", "join"):
		return FullOuter
	case p.take("left", "semi", "join"):
		return LeftSemi
	case p.take("left", "anti", "join"):
		return LeftAnti
	}
	return ""
}

// source reads a table, a subquery or VALUES, with its alias.
func (p *parser) source() Source {
	s := Source{Span: Span{Start: p.peek().start}}
	switch {
	case p.peek().op("(") && p.startsQuery(1):
		p.next()
		s.Query = p.query()
		p.expect(")")
		p.alias(&s)
		if s.Alias == "" {
			p.fail("expected the alias of a subquery")
		}
	case p.peek().is("table") && p.ahead(1).op("("):
		p.next()
		p.skipBrackets()
		p.alias(&s)
		if p.peek().op("(") {
			p.names()
		}
	default:
		s.Table = p.tableName()
		if p.peek().op("(") {
			p.fail("a table function is not read")
		}
		if p.take("tablesample") {
			p.skipBrackets()
		}
		p.alias(&s)
	}
	s.Span = p.since(s.Start)
	return s
}

func (p *parser) alias(s *Source) {
	if p.take("as") || isName(p.peek()) && !p.clauseFollows() {
		s.Alias = p.name()
	}
}

func (p *parser) lateralViews(f *From) {
	for {
		if p.peek().op(",") && p.ahead(1).is("lateral") {
			p.next()
		}
		start := p.peek().start
		if !p.take("lateral") {
			return
		}
		p.expectWord("view")
		v := LateralView{Outer: p.take("outer"), After: len(f.Sources)}
		v.Call = p.expr()
		v.Alias = p.name()
		if p.take("as") {
			v.Columns = append(v.Columns, p.name())
			for p.peek().op(",") && !p.ahead(1).is("lateral") && isName(p.ahead(1)) {
				p.next()
				v.Columns = append(v.Columns, p.name())
			}
		}
		v.Span = p.since(start)
		f.LateralViews = append(f.LateralViews, v)
	}
}
