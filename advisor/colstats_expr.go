package advisor

import (
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// expressionStats is what the planner makes of an expression over an operator's columns (StatsUtils.getColStatisticsFromExpression);
// false when it has nothing to go by.
func expressionStats(below *flowStats, e explain.Expr) (columnStat, bool) {
	text := unwrap(e.Text)
	if isConstant(text) {
		c := columnStat{typ: strings.ToLower(e.Type), known: true, ndv: 1, length: constantLength(text)}
		if text == "null" {
			c.nulls, c.ndv, c.length = below.rows, 0, 0
		}
		return c, true
	}
	if c := below.named(e.Text); c != nil {
		return *c, true
	}
	if isField(text) || isVirtual(text) {
		return columnStat{typ: strings.ToLower(e.Type), known: true, ndv: max(below.rows, 0), length: declaredLength(e.Type)}, true
	}
	if isColumnName(text) {
		return columnStat{}, false
	}
	if inner, ok := castOf(text); ok {
		if c := below.named(inner); c != nil {
			cast := *c
			cast.typ = strings.ToLower(e.Type)
			cast.length = declaredLength(cast.typ)
			if widens(c.typ, e.Type) {
				return cast, true
			}
			cast.nulls = 0
			cast.ndv = min(cast.ndv, below.rows)
			return cast, true
		}
	}
	if c, ok := estimator(below, text); ok {
		if c.typ = strings.ToLower(e.Type); !strings.HasPrefix(text, "upper(") && !strings.HasPrefix(text, "lower(") {
			c.length = -1 // the branches' longest, or a cut one
		}
		return c, true
	}
	// Any other function: no nulls, as many values as its columns combine to.
	c := columnStat{typ: strings.ToLower(e.Type), known: true, ndv: functionValues(below, text), length: declaredLength(e.Type)}
	return c, true
}

// isField tells a field of a struct ("rec.a") from a column as a shuffle names it ("KEY._col0").
func isField(text string) bool {
	return isColumnName(text) && strings.Contains(text, ".") && !strings.HasPrefix(text, "KEY.") && !strings.HasPrefix(text, "VALUE.")
}

// isVirtual tells a column that Hive adds to every table: no statistics are kept of it, and the planner takes it for one without nulls.
func isVirtual(name string) bool {
	switch strings.ToUpper(name) {
	case "BLOCK__OFFSET__INSIDE__FILE", "INPUT__FILE__NAME", "ROW__ID", "ROW__IS__DELETED",
		"PARTITION__SPEC__ID", "PARTITION__HASH", "FILE__PATH", "ROW__POSITION", "SNAPSHOT__ID": // of Iceberg's tables
		return true
	}
	return false
}

// estimator covers the functions that tell their statistics from their arguments' (StatEstimatorProvider): text functions keep their
// argument's, conditionals take the worst of their branches. Every argument must have statistics.
func estimator(below *flowStats, text string) (columnStat, bool) {
	if strings.HasPrefix(text, "CASE ") && strings.HasSuffix(text, " END") {
		return worst(below, caseBranches(text), nil)
	}
	name, rest, ok := strings.Cut(text, "(")
	if !ok || !strings.HasSuffix(rest, ")") {
		return columnStat{}, false
	}
	branches := func(int) bool { return true }
	switch strings.ToLower(name) {
	case "upper", "ucase", "lower", "lcase", "substr", "substring":
		branches = func(i int) bool { return i == 0 }
	case "coalesce":
	case "if":
		branches = func(i int) bool { return i > 0 }
	default:
		return columnStat{}, false
	}
	return worst(below, splitTop(rest[:len(rest)-1], ","), branches)
}

// worst takes the most nulls and values of the arguments that count; nil counts all.
func worst(below *flowStats, args []string, branches func(int) bool) (columnStat, bool) {
	var out columnStat
	found := false
	for i, arg := range args {
		c, ok := expressionStats(below, explain.Expr{Text: strings.TrimSpace(arg)})
		if !ok {
			return columnStat{}, false
		}
		if branches != nil && !branches(i) {
			continue
		}
		if !found {
			out, found = c, true
			continue
		}
		out.known = out.known && c.known
		out.nulls, out.ndv = max(out.nulls, c.nulls), max(out.ndv, c.ndv)
	}
	return out, found
}

// caseBranches are the results of "CASE WHEN (c) THEN (a) WHEN (d) THEN (b) ELSE (e) END", and of "CASE (x) WHEN (c) THEN …".
func caseBranches(text string) []string {
	rest := strings.TrimSuffix(strings.TrimPrefix(text, "CASE "), " END")
	var list []string
	for {
		_, after, ok := cutTop(rest, " THEN ")
		if !ok {
			return list
		}
		branch, next, more := cutTop(after, " WHEN ")
		if !more {
			branch, next, more = cutTop(after, " ELSE ")
			if more {
				return append(list, unwrap(branch), unwrap(next))
			}
			return append(list, unwrap(branch))
		}
		list = append(list, unwrap(branch))
		rest = next
	}
}

// castOf returns the argument of a cast: UDFToLong(x), CAST( x AS decimal(10,2)).
func castOf(text string) (string, bool) {
	if rest, ok := strings.CutPrefix(text, "UDFTo"); ok {
		if i := strings.IndexByte(rest, '('); i > 0 && closing(rest, i) == len(rest)-1 {
			return strings.TrimSpace(rest[i+1 : len(rest)-1]), true
		}
	}
	if rest, ok := strings.CutPrefix(text, "CAST("); ok && strings.HasSuffix(rest, ")") {
		if left, _, ok := cutTop(rest[:len(rest)-1], " AS "); ok {
			return strings.TrimSpace(left), true
		}
	}
	return "", false
}

// numericOrder is Hive's order of implicit conversion (TypeInfoUtils).
var numericOrder = map[string]int{"tinyint": 1, "smallint": 2, "int": 3, "bigint": 4, "decimal": 5, "float": 6, "double": 7}

// widens: the conversion is implicit and keeps the column's statistics.
func widens(from, to string) bool {
	from, to = baseType(from), baseType(to)
	if from == to {
		return true
	}
	text := func(t string) bool { return t == "string" || t == "varchar" || t == "char" }
	switch {
	case text(from) && (text(to) || to == "double" || to == "decimal"):
		return true
	case text(to):
		return numericOrder[from] > 0 || from == "date" || strings.HasPrefix(from, "timestamp")
	}
	f, t := numericOrder[from], numericOrder[to]
	return f > 0 && t > 0 && f <= t
}

func baseType(t string) string {
	t, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(t)), "(")
	return t
}

// functionValues estimates the distinct values of a function of columns: the columns' combined with falling weight, at most the rows
// (StatsUtils.getNDVFor and addWithExpDecay).
func functionValues(below *flowStats, text string) int64 {
	names := map[string]bool{}
	words(text, names)
	var ndvs []int64
	for i := range below.columns {
		if c := &below.columns[i]; c.known && names[strings.ToLower(c.name)] {
			ndvs = append(ndvs, c.ndv)
		}
	}
	if len(ndvs) == 0 {
		return max(below.rows, 0)
	}
	return min(decayed(ndvs), max(below.rows, 0))
}
