package outerjoin

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/queryast"
)

// shape writes a predicate in one way for all spellings that mean the same, so that the query's can be found in a plan.
// column names a column; one that gives the same for all makes plans comparable that name columns _col5.
func shape(e queryast.Expr, column func(*queryast.ColumnRef) string) string {
	w := shaper{column: column}
	return w.expr(e)
}

// anyColumn stands for each column alike.
func anyColumn(*queryast.ColumnRef) string { return "#" }

// bare is a column as a plan names it above a scan.
func bare(c *queryast.ColumnRef) string { return strings.Join(c.Parts, ".") }

type shaper struct {
	column func(*queryast.ColumnRef) string
}

func (w shaper) all(list []queryast.Expr) []string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = w.expr(e)
	}
	return texts
}

func form(head string, operands ...string) string {
	return "(" + head + " " + strings.Join(operands, " ") + ")"
}

func negated(not bool, text string) string {
	if not {
		return form("not", text)
	}
	return text
}

var mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}

func (w shaper) expr(e queryast.Expr) string {
	switch e := e.(type) {
	case nil:
		return "-"
	case *queryast.And:
		return form("and", sorted(w.all(e.Operands))...)
	case *queryast.Or:
		return form("or", sorted(w.all(e.Operands))...)
	case *queryast.Not:
		return form("not", w.expr(e.Operand))
	case *queryast.Comparison:
		return w.comparison(e.Op, w.expr(e.Left), w.expr(e.Right))
	case *queryast.Is:
		return negated(e.Not, form("is "+e.What, w.expr(e.Operand)))
	case *queryast.In:
		if e.Query != nil {
			return "?"
		}
		if len(e.List) == 1 && !e.Not {
			return w.comparison("=", w.expr(e.Operand), w.expr(e.List[0]))
		}
		return negated(e.Not, form("in "+w.expr(e.Operand), sorted(w.all(e.List))...))
	case *queryast.Between:
		return negated(e.Not, form("between", w.expr(e.Operand), w.expr(e.Low), w.expr(e.High)))
	case *queryast.Like:
		return negated(e.Not, form(e.Op, append([]string{w.expr(e.Operand)}, w.all(e.Patterns)...)...))
	case *queryast.Case:
		parts := []string{w.expr(e.Operand)}
		for _, when := range e.Whens {
			parts = append(parts, w.expr(when.Condition), w.expr(when.Result))
		}
		return form("case", append(parts, w.expr(e.Else))...)
	case *queryast.Call:
		return form(e.Name, w.all(e.Args)...)
	case *queryast.Cast:
		return form("cast "+strings.ReplaceAll(e.Type, " ", ""), w.expr(e.Operand))
	case *queryast.Binary:
		return form(e.Op, w.expr(e.Left), w.expr(e.Right))
	case *queryast.Unary:
		return form(e.Op, w.expr(e.Operand))
	case *queryast.Literal:
		return literal(e)
	case *queryast.ColumnRef:
		return w.column(e)
	case *queryast.Field:
		return w.expr(e.Operand) + "." + e.Name
	case *queryast.Index:
		return form("at", w.expr(e.Operand), w.expr(e.Index))
	case *queryast.Tuple:
		return form("struct", w.all(e.Elements)...)
	}
	return "?"
}

func (w shaper) comparison(op, left, right string) string {
	switch {
	case mirrored[op] == "":
		pair := sorted([]string{left, right})
		left, right = pair[0], pair[1]
	case op == ">" || op == ">=":
		op, left, right = mirrored[op], right, left
	}
	return form(op, left, right)
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func literal(l *queryast.Literal) string {
	switch l.Kind {
	case queryast.String:
		return "'" + l.Value + "'"
	case queryast.Number:
		n := strings.TrimRight(strings.ToLower(l.Value), "lsydb")
		if strings.Contains(n, ".") && !strings.Contains(n, "e") {
			n = strings.TrimSuffix(strings.TrimRight(n, "0"), ".")
		}
		return n
	default:
		return strings.ReplaceAll(strings.ToLower(l.Value), " ", "")
	}
}

// planPredicates reads a predicate as plans print it, "((name = 'a') and id is not null) (type: boolean)"; nil for one
// that is not written as HiveQL would. The query is the text they stand in.
func planPredicates(text string) (*queryast.Query, []queryast.Expr) {
	if at := strings.LastIndex(text, " (type: "); at >= 0 {
		text = text[:at]
	}
	q, err := queryast.Parse("SELECT 1 FROM t WHERE " + sinkNames.ReplaceAllString(text, "RS_$1"))
	if err != nil || len(q.Branches) != 1 {
		return nil, nil
	}
	s, ok := q.Branches[0].Body.(*queryast.Select)
	if !ok || len(s.From.Sources) != 1 || len(s.GroupBy) > 0 || s.Having != nil || s.Limit {
		return nil, nil
	}
	return q, queryast.Conjuncts(s.Where)
}

// sinkNames are how plans name where a runtime filter's values come from: DynamicValue(RS[30]_col0), or RS_30_a_k_min.
var sinkNames = regexp.MustCompile(`\bRS\[(\d+)\]`)

// runtime: a filter that Hive makes from the other side's keys while the query runs.
func runtime(e queryast.Expr) bool {
	found := false
	queryast.Walk(e, func(e queryast.Expr) bool {
		c, ok := e.(*queryast.Call)
		found = found || ok && (c.Name == "dynamicvalue" || c.Name == "in_bloom_filter")
		return !found
	})
	return found
}

// braces are the parts of "{(VALUE._col1 = 'a')} {…}".
func braces(value string) []string {
	var list []string
	for part := range strings.SplitSeq(value, "} {") {
		if part = strings.Trim(strings.TrimSpace(part), "{}"); part != "" {
			list = append(list, part)
		}
	}
	return list
}
