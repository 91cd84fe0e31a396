package outerjoin

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// partition is one that a plan reads: the values of its columns, with the columns' types.
type partition struct {
	values, types map[string]string
}

// noValue is Hive's name for the partition of NULLs (hive.exec.default.partition.name).
const noValue = "__HIVE_DEFAULT_PARTITION__"

// newPartition reads "ds=2024-01-01/hr=7".
func newPartition(text string, names, types []string) partition {
	p := partition{values: map[string]string{}, types: map[string]string{}}
	for part := range strings.SplitSeq(text, "/") {
		if name, value, ok := strings.Cut(part, "="); ok {
			p.values[strings.ToLower(name)] = value
		}
	}
	if len(names) == len(types) {
		for i, n := range names {
			p.types[n] = types[i]
		}
	}
	return p
}

// truth evaluates a predicate on the partition's rows; column gives a column's name in the table.
func (p partition) truth(e queryast.Expr, column func(*queryast.ColumnRef) string) truth {
	if t, ok := connected(e, func(o queryast.Expr) truth { return p.truth(o, column) }); ok {
		return t
	}
	switch e := e.(type) {
	case *queryast.Is:
		c, ok := e.Operand.(*queryast.ColumnRef)
		if value, known := p.value(c, ok, column); known && e.What == "NULL" {
			return answer(value == noValue).notIf(e.Not)
		}
	case *queryast.Comparison:
		return p.compare(e.Op, e.Left, e.Right, column)
	case *queryast.In:
		if e.Query != nil {
			return anyTruth
		}
		var out truth
		for _, o := range e.List {
			t := p.compare("=", e.Operand, o, column)
			if t == isTrue {
				return isTrue.notIf(e.Not)
			}
			out |= t
		}
		return out.notIf(e.Not)
	case *queryast.Between:
		low, high := p.compare(">=", e.Operand, e.Low, column), p.compare("<=", e.Operand, e.High, column)
		switch {
		case low == isTrue && high == isTrue:
			return isTrue.notIf(e.Not)
		case low == isFalse || high == isFalse:
			return isFalse.notIf(e.Not)
		}
	}
	return anyTruth
}

func answer(yes bool) truth {
	if yes {
		return isTrue
	}
	return isFalse
}

func (p partition) value(c *queryast.ColumnRef, ok bool, column func(*queryast.ColumnRef) string) (string, bool) {
	if !ok {
		return "", false
	}
	value, known := p.values[column(c)]
	return value, known
}

var swapped = map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func (p partition) compare(op string, left, right queryast.Expr, column func(*queryast.ColumnRef) string) truth {
	if swapped[op] == "" {
		return anyTruth
	}
	c, ok := left.(*queryast.ColumnRef)
	l, constant := right.(*queryast.Literal)
	if !ok || !constant {
		c, ok = right.(*queryast.ColumnRef)
		l, constant = left.(*queryast.Literal)
		op = swapped[op]
	}
	value, known := p.value(c, ok, column)
	if !known || !constant || l.Kind == queryast.Null {
		return anyTruth
	}
	if value == noValue {
		return isNull
	}
	order, ok := compare(value, p.types[column(c)], l)
	if !ok {
		return anyTruth
	}
	switch op {
	case "=":
		return answer(order == 0)
	case "<>":
		return answer(order != 0)
	case "<":
		return answer(order < 0)
	case "<=":
		return answer(order <= 0)
	case ">":
		return answer(order > 0)
	default:
		return answer(order >= 0)
	}
}

// compare orders a partition's value and a constant as Hive does for the column's type; ok is false for types and
// constants of which it does not know how Hive converts them.
func compare(value, hiveType string, l *queryast.Literal) (order int, ok bool) {
	switch {
	case hiveType == "string" && l.Kind == queryast.String:
		return cmp.Compare(value, l.Value), true
	case hiveType == "date" && l.Kind == queryast.String && isDate(l.Value):
		return cmp.Compare(value, l.Value), isDate(value)
	case hiveType == "date" && l.Kind == queryast.Other:
		text := strings.Trim(strings.TrimSpace(l.Value[min(len(l.Value), len("date")):]), `'"`)
		return cmp.Compare(value, text), strings.EqualFold(l.Value[:min(len(l.Value), len("date"))], "date") && isDate(text) && isDate(value)
	case hiveType == "int" || hiveType == "bigint" || hiveType == "smallint" || hiveType == "tinyint":
		if l.Kind != queryast.Number && l.Kind != queryast.String {
			return 0, false
		}
		a, err1 := strconv.ParseInt(value, 10, 64)
		b, err2 := strconv.ParseInt(l.Value, 10, 64)
		return cmp.Compare(a, b), err1 == nil && err2 == nil
	}
	return 0, false
}

// isDate: 2024-01-31.
func isDate(s string) bool {
	return len(s) == len("2024-01-31") && s[4] == '-' && s[7] == '-' && strings.Trim(s, "0123456789-") == ""
}
