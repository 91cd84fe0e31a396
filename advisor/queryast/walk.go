package queryast

// Text is the part of the query's text.
func (q *Query) Text(s Span) string { return q.SQL[s.Start:s.End] }

// Conjuncts are the predicates that must all hold: the operands of an And, else the expression itself; none for nil.
func Conjuncts(e Expr) []Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case *And:
		return e.Operands
	}
	return []Expr{e}
}

// Walk calls f for an expression and, where f returns true, for the expressions inside. It does not go into subqueries.
func Walk(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, c := range children(e) {
		Walk(c, f)
	}
}

// Columns are the columns an expression names, in order, without those of its subqueries.
func Columns(e Expr) []ColumnRef {
	var list []ColumnRef
	Walk(e, func(e Expr) bool {
		if c, ok := e.(*ColumnRef); ok {
			list = append(list, *c)
		}
		return true
	})
	return list
}

// Subqueries are the queries an expression holds, without those inside them.
func Subqueries(e Expr) []*Query {
	var list []*Query
	Walk(e, func(e Expr) bool {
		if q := subqueryOf(e); q != nil {
			list = append(list, q)
		}
		return true
	})
	return list
}

func subqueryOf(e Expr) *Query {
	switch e := e.(type) {
	case *In:
		return e.Query
	case *Exists:
		return e.Query
	case *Quantified:
		return e.Query
	case *Subquery:
		return e.Query
	}
	return nil
}

// children are the expressions directly inside, nil ones included.
func children(e Expr) []Expr {
	switch e := e.(type) {
	case *And:
		return e.Operands
	case *Or:
		return e.Operands
	case *Not:
		return []Expr{e.Operand}
	case *Comparison:
		return []Expr{e.Left, e.Right}
	case *Is:
		return []Expr{e.Operand}
	case *In:
		return append([]Expr{e.Operand}, e.List...)
	case *Quantified:
		return []Expr{e.Operand}
	case *Between:
		return []Expr{e.Operand, e.Low, e.High}
	case *Like:
		return append([]Expr{e.Operand}, e.Patterns...)
	case *Case:
		list := []Expr{e.Operand}
		for _, w := range e.Whens {
			list = append(list, w.Condition, w.Result)
		}
		return append(list, e.Else)
	case *Call:
		return append(append([]Expr(nil), e.Args...), e.Over...)
	case *Cast:
		return []Expr{e.Operand}
	case *Binary:
		return []Expr{e.Left, e.Right}
	case *Unary:
		return []Expr{e.Operand}
	case *Field:
		return []Expr{e.Operand}
	case *Index:
		return []Expr{e.Operand, e.Index}
	case *Tuple:
		return e.Elements
	}
	return nil
}

// Selects are all selects of a query, each before those inside it: with those of WITH, of subqueries in FROM and of
// subqueries in predicates and select lists.
func (q *Query) Selects() []*Select {
	var list []*Select
	q.selects(&list, map[Span]bool{})
	return list
}

// selects appends to list; sources are the FROM clauses already seen, which the selects of a multi-insert share.
func (q *Query) selects(list *[]*Select, sources map[Span]bool) {
	for _, c := range q.With {
		c.Query.selects(list, sources)
	}
	for _, b := range q.Branches {
		bodySelects(b.Body, list, sources)
	}
}

func bodySelects(b Body, list *[]*Select, sources map[Span]bool) {
	inner := func(expressions ...Expr) {
		for _, e := range expressions {
			for _, q := range Subqueries(e) {
				q.selects(list, sources)
			}
		}
	}
	switch b := b.(type) {
	case *SetOperation:
		bodySelects(b.Left, list, sources)
		bodySelects(b.Right, list, sources)
		inner(b.OrderBy...)
	case *Select:
		*list = append(*list, b)
		for _, it := range b.Items {
			inner(it.Expr)
		}
		if f := b.From; f != nil && !sources[f.Span] {
			sources[f.Span] = true
			for _, src := range f.Sources {
				if src.Query != nil {
					src.Query.selects(list, sources)
				}
			}
			for _, j := range f.Joins {
				inner(j.On)
			}
		}
		inner(b.Where, b.Having, b.Qualify)
		inner(b.GroupBy...)
		inner(b.OrderBy...)
	}
}

// Source is the place among the sources of the one a qualifier names, −1 for none. The qualifier is an alias or a
// table's name, or "database.table".
func (f *From) Source(qualifier string) int {
	for i := range f.Sources {
		s := &f.Sources[i]
		if s.Name() == qualifier || s.Alias == "" && s.Table != nil && s.Table.Database != "" && s.Table.String() == qualifier {
			return i
		}
	}
	return -1
}
