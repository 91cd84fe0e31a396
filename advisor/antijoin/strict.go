package antijoin

import "github.com/hs2proxy/hs2proxy/advisor/queryast"

// strictFunctions give NULL for a NULL argument.
var strictFunctions = map[string]bool{
	"abs": true, "ceil": true, "ceiling": true, "date": true, "day": true, "floor": true, "length": true, "lower": true, "lcase": true,
	"ltrim": true, "month": true, "round": true, "rtrim": true, "substr": true, "substring": true, "to_date": true, "trim": true,
	"upper": true, "ucase": true, "year": true,
}

// strict tells that an expression is NULL whenever the column is.
func strict(e queryast.Expr, is func(*queryast.ColumnRef) bool) bool {
	switch e := e.(type) {
	case *queryast.ColumnRef:
		return is(e)
	case *queryast.Comparison:
		return e.Op != "<=>" && (strict(e.Left, is) || strict(e.Right, is))
	case *queryast.Between:
		return !e.Not && strict(e.Operand, is)
	case *queryast.Like:
		return strict(e.Operand, is)
	case *queryast.In:
		return e.Query == nil && strict(e.Operand, is)
	case *queryast.Binary:
		return strict(e.Left, is) || strict(e.Right, is)
	case *queryast.Unary:
		return strict(e.Operand, is)
	case *queryast.Cast:
		return strict(e.Operand, is)
	case *queryast.Call:
		if !strictFunctions[e.Name] || e.Window || len(e.Args) == 0 {
			return false
		}
		return strict(e.Args[0], is)
	}
	return false
}

// demanded tells that every match has the column not NULL: a part of the join's condition is never true where it is, or
// the column is one of USING.
func (a *asked) demanded(c *queryast.ColumnRef) bool {
	j := a.sel.From.Joins[a.join]
	name := a.scope.name(c)
	for _, u := range j.Using {
		if u == name {
			return true
		}
	}
	is := func(o *queryast.ColumnRef) bool { return a.scope.source(o) == a.source && a.scope.name(o) == name }
	for _, e := range queryast.Conjuncts(j.On) {
		if strict(e, is) {
			return true
		}
		if test, ok := e.(*queryast.Is); ok && test.Not && test.What == "NULL" && strict(test.Operand, is) {
			return true
		}
	}
	return false
}

// certain tells that the query asks for just the rows without a match: a column that no match has NULL is tested for NULL,
// and whatever else is tested is NULL without a match (with OR: every one tested is such a column). NOT EXISTS says so
// itself.
func (a *asked) certain() bool {
	if a.tested == nil {
		return a.form != notIn
	}
	some, all := false, true
	for _, e := range a.tested {
		c, ok := e.(*queryast.ColumnRef)
		demanded := ok && a.demanded(c)
		some, all = some || demanded, all && demanded
		if !a.or && !strict(e, func(*queryast.ColumnRef) bool { return true }) {
			return false
		}
	}
	return some && (all || !a.or)
}

// hasCast tells of a CAST inside.
func hasCast(e queryast.Expr) bool {
	found := false
	queryast.Walk(e, func(e queryast.Expr) bool {
		if _, ok := e.(*queryast.Cast); ok {
			found = true
		}
		return !found
	})
	return found
}
