package outerjoin

import "github.com/hs2proxy/hs2proxy/advisor/queryast"

// truth is the set of values a predicate may take.
type truth uint8

const (
	isTrue truth = 1 << iota
	isFalse
	isNull

	anyTruth = isTrue | isFalse | isNull
)

func (t truth) can(v truth) bool { return t&v != 0 }

func (t truth) not() truth {
	out := t & isNull
	if t.can(isTrue) {
		out |= isFalse
	}
	if t.can(isFalse) {
		out |= isTrue
	}
	return out
}

// connected is the truth of AND, OR and NOT by that of their operands; false for other expressions.
func connected(e queryast.Expr, of func(queryast.Expr) truth) (out truth, ok bool) {
	switch e := e.(type) {
	case *queryast.And:
		out = isTrue
		for _, o := range e.Operands {
			t := of(o)
			if !t.can(isTrue) {
				out &^= isTrue
			}
			out |= t & (isFalse | isNull)
		}
	case *queryast.Or:
		for _, o := range e.Operands {
			out |= of(o)
		}
	case *queryast.Not:
		out = of(e.Operand).not()
	default:
		return 0, false
	}
	return out, true
}

// padding evaluates predicates on rows in which some columns are NULL, and nothing is known of the others. What it does
// not know it takes for possible, so that "rejects" is never said wrongly.
type padding struct {
	null func(*queryast.ColumnRef) bool
}

// rejects: the predicate is true for no such row.
func (p padding) rejects(e queryast.Expr) bool { return !p.truth(e).can(isTrue) }

// certain: the expression is NULL in every such row.
func (p padding) certain(e queryast.Expr) bool {
	switch e := e.(type) {
	case *queryast.ColumnRef:
		return p.null(e)
	case *queryast.Literal:
		return e.Kind == queryast.Null
	case *queryast.Cast:
		return p.certain(e.Operand)
	case *queryast.Unary:
		return p.certain(e.Operand)
	case *queryast.Binary:
		return p.certain(e.Left) || p.certain(e.Right)
	case *queryast.Field:
		return p.certain(e.Operand)
	case *queryast.Index:
		return p.certain(e.Operand)
	case *queryast.Call:
		return p.certainCall(e)
	}
	return false
}

func (p padding) certainCall(c *queryast.Call) bool {
	if c.Window || c.Star || len(c.Args) == 0 {
		return false
	}
	switch c.Name {
	case "coalesce", "nvl":
		for _, a := range c.Args {
			if !p.certain(a) {
				return false
			}
		}
		return true
	case "concat":
		for _, a := range c.Args {
			if p.certain(a) {
				return true
			}
		}
		return false
	}
	return strict[c.Name] && p.certain(c.Args[0])
}

// strict are functions of Hive that give NULL when their first argument is NULL.
var strict = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range []string{
		"abs", "ceil", "ceiling", "floor", "round", "sqrt", "pow", "power", "pmod", "negative", "positive",
		"upper", "ucase", "lower", "lcase", "trim", "ltrim", "rtrim", "length", "char_length", "character_length",
		"substr", "substring", "reverse", "lpad", "rpad", "regexp_replace", "regexp_extract",
		"year", "month", "day", "dayofmonth", "hour", "minute", "second", "weekofyear", "extract",
		"to_date", "date_add", "date_sub", "datediff", "add_months", "last_day", "date_format", "from_unixtime",
	} {
		m[name] = true
	}
	return m
}()

// truth evaluates a predicate.
func (p padding) truth(e queryast.Expr) truth {
	if t, ok := connected(e, p.truth); ok {
		return t
	}
	switch e := e.(type) {
	case *queryast.Comparison:
		return p.comparison(e)
	case *queryast.Is:
		return p.is(e.What, e.Operand).notIf(e.Not)
	case *queryast.In:
		switch {
		case !p.certain(e.Operand):
			return anyTruth
		case e.Query == nil:
			return isNull
		}
		return (isFalse | isNull).notIf(e.Not)
	case *queryast.Between:
		switch {
		case p.certain(e.Operand):
			return isNull
		case p.certain(e.Low) || p.certain(e.High):
			return (isFalse | isNull).notIf(e.Not)
		}
		return anyTruth
	case *queryast.Like:
		if p.certain(e.Operand) {
			return isNull
		}
		return anyTruth
	case *queryast.Case:
		return p.caseOf(e)
	case *queryast.Literal:
		if e.Kind == queryast.Boolean {
			if e.Value[0]|0x20 == 't' {
				return isTrue
			}
			return isFalse
		}
	case *queryast.Call:
		switch {
		case e.Name == "isnull" && len(e.Args) == 1:
			return p.is("NULL", e.Args[0])
		case e.Name == "isnotnull" && len(e.Args) == 1:
			return p.is("NULL", e.Args[0]).not()
		case e.Name == "if" && len(e.Args) == 3:
			return p.branch(p.truth(e.Args[0]), e.Args[1], p.truth(e.Args[2]))
		}
	}
	if p.certain(e) {
		return isNull
	}
	return anyTruth
}

func (t truth) notIf(not bool) truth {
	if not {
		return t.not()
	}
	return t
}

func (p padding) comparison(c *queryast.Comparison) truth {
	left, right := p.certain(c.Left), p.certain(c.Right)
	if c.Op != "<=>" {
		if left || right {
			return isNull
		}
		return anyTruth
	}
	switch {
	case left && right:
		return isTrue
	case left && constant(c.Right), right && constant(c.Left):
		return isFalse
	}
	return isTrue | isFalse
}

// constant: a value that is not NULL.
func constant(e queryast.Expr) bool {
	l, ok := e.(*queryast.Literal)
	return ok && l.Kind != queryast.Null
}

// is evaluates IS without its NOT; the result is never NULL.
func (p padding) is(what string, operand queryast.Expr) truth {
	if what == "NULL" || what == "UNKNOWN" {
		if p.certain(operand) || p.truth(operand) == isNull {
			return isTrue
		}
		return isTrue | isFalse
	}
	t := p.truth(operand)
	if what == "FALSE" {
		t = t.not()
	}
	var out truth
	if t.can(isTrue) {
		out |= isTrue
	}
	if t.can(isFalse | isNull) {
		out |= isFalse
	}
	return out
}

func (p padding) caseOf(c *queryast.Case) truth {
	out := isNull
	if c.Else != nil {
		out = p.truth(c.Else)
	}
	for i := len(c.Whens) - 1; i >= 0; i-- {
		w := c.Whens[i]
		condition := anyTruth
		switch {
		case c.Operand == nil:
			condition = p.truth(w.Condition)
		case p.certain(c.Operand) || p.certain(w.Condition):
			condition = isNull
		}
		out = p.branch(condition, w.Result, out)
	}
	return out
}

// branch is the result of one WHEN: that of then where the condition can be true, otherwise what else gives.
func (p padding) branch(condition truth, then queryast.Expr, otherwise truth) truth {
	var out truth
	if condition.can(isTrue) {
		out |= p.truth(then)
	}
	if condition.can(isFalse | isNull) {
		out |= otherwise
	}
	return out
}
