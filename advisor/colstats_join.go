package advisor

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// decayed combines distinct values: the largest times the square root of the next, times the fourth root of the one after, and so on.
func decayed(ndvs []int64) int64 {
	slices.SortFunc(ndvs, func(a, b int64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	product, root := 1.0, 1.0
	for _, n := range ndvs {
		product *= math.Pow(float64(n), root)
		root /= 2
	}
	return toInt(product)
}

// joinSide is one input of a join below: the statistics it shuffles, and where its columns stand in its schema.
type joinSide struct {
	stats *flowStats
	keys  []string
}

// join gives the columns of a join's output their statistics (JoinStatsRule). Where an input has none, the output has none.
func (p *propagation) join(o *explain.Operator, out *flowStats) []columnStat {
	sides := p.flow.sides[o]
	inputs := make([]joinSide, len(sides))
	for pos := range sides {
		if len(sides[pos].feeds) == 0 {
			return nil
		}
		in := p.joinInput(o, pos)
		if !in.stats.scaled {
			return nil
		}
		inputs[pos] = in
	}
	shareDistinctKeys(inputs)
	conditions := conditions(o)
	keys := keyColumns(inputs)
	var list []columnStat
	var padded []bool
	for i, ref := range p.outputSources(o) {
		if ref.pos < 0 {
			continue
		}
		c := inputs[ref.pos].stats.named(ref.name)
		if c == nil {
			continue
		}
		got := *c
		got.name = outputNames(o)[i]
		if got.known && out.rows >= 0 {
			from := inputs[ref.pos].stats.rows
			if ratio := float64(out.rows) / float64(from); from > 0 && ratio <= 1 {
				got.ndv = toInt(math.Ceil(ratio * float64(got.ndv)))
			}
			if len(conditions) == 1 {
				got.nulls = min(got.nulls, out.rows)
			}
		}
		pad := isPadded(conditions, ref.pos)
		if pad && keys[strings.ToLower(got.name)] {
			// The planner means a key, which loses its own nulls, but compares the name of the output with the keys' names in the inputs.
			got.nulls = 0
		}
		list = append(list, got)
		padded = append(padded, pad)
	}
	// A condition besides the keys does not count in the estimate of an outer join.
	padNulls(list, padded, stats(o), len(list) == len(outputNames(o)))
	return list
}

// keyColumns are the lower-case names of the plain columns among the keys of all inputs.
func keyColumns(inputs []joinSide) map[string]bool {
	out := map[string]bool{}
	for _, in := range inputs {
		for _, k := range in.keys {
			if isColumnName(k) {
				out[strings.ToLower(k)] = true
			}
		}
	}
	return out
}

// isPadded: an outer join fills the columns of that side with nulls where a row has no match.
func isPadded(conditions []Condition, pos int) bool {
	if len(conditions) != 1 {
		return false
	}
	switch c := conditions[0]; c.Type {
	case FullOuter:
		return true
	case LeftOuter:
		return pos == c.Right
	case RightOuter:
		return pos == c.Left
	default:
		return false
	}
}

// padNulls adds the nulls of rows without a match (updateNumNulls). The planner's guess at their number is not printed, but the data size it
// prints follows from it: the number is found at which the columns have that size. Where none fits, the nulls are unknown.
func padNulls(list []columnStat, padded []bool, st *explain.Statistics, exact bool) {
	if !slices.Contains(padded, true) || st.Rows <= 0 {
		return
	}
	size := func(unmatched int64) (sum int64, ok bool) {
		for i := range list {
			c := &list[i]
			per, known := valueSize(c)
			if !known || !c.known {
				return 0, false
			}
			// Hive multiplies as doubles: above 2^53 the size is rounded.
			sum = addSaturating(sum, mulFloat(nonNull(st.Rows, padTo(c, padded[i], unmatched, st.Rows)), float64(per)))
		}
		if sum < 0 {
			sum = math.MaxInt64
		}
		return sum, true
	}
	low, high := int64(0), st.Rows
	for exact && low < high {
		mid := low + (high-low)/2
		sum, ok := size(mid)
		exact = ok
		if sum > st.DataSize {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if sum, ok := size(low); exact && ok && sum == st.DataSize {
		for i := range list {
			list[i].nulls = padTo(&list[i], padded[i], low, st.Rows)
		}
		return
	}
	for i := range list {
		if padded[i] && columnOverhead(list[i].typ) > 0 {
			list[i].known = false
		}
	}
}

func padTo(c *columnStat, padded bool, unmatched, rows int64) int64 {
	if !padded {
		return c.nulls
	}
	return min(addSaturating(c.nulls, unmatched), rows)
}

func nonNull(rows, nulls int64) int64 {
	if nulls > 0 {
		return rows - nulls + 1
	}
	return rows
}

// valueSize is what the data size counts for one value (StatsUtils.getDataSizeFromColumnStats over JavaDataModel).
func valueSize(c *columnStat) (bytes int64, known bool) {
	switch t := baseType(c.typ); t {
	case "tinyint", "smallint", "int", "float", "boolean":
		return 4, true
	case "bigint", "double":
		return 8, true
	case "timestamp", "timestamp with local time zone":
		return 40, true
	case "date":
		return 56, true
	case "decimal":
		return 112, true
	case "string", "varchar", "char":
		return stringOverhead + roundHalfUp(c.length), c.length >= 0
	case "binary":
		return (binaryOverhead + roundHalfUp(c.length) + 7) / 8 * 8, c.length >= 0
	}
	return 0, false
}

// declaredLength is the length the planner assumes of a text it knows nothing of: the declared one, 100 for a string
// (hive.stats.max.variable.length).
func declaredLength(hiveType string) float64 {
	switch t := baseType(hiveType); t {
	case "string", "binary":
		return 100
	case "varchar", "char":
		_, rest, _ := strings.Cut(hiveType, "(")
		if n, err := strconv.Atoi(strings.TrimSuffix(rest, ")")); err == nil {
			return float64(n)
		}
	}
	return -1
}

func constantLength(text string) float64 {
	if len(text) >= 2 && (text[0] == '\'' || text[0] == '"') {
		return float64(len(text) - 2)
	}
	return -1
}

// joinInput is a join's input at its shuffle, also where a map join has removed it.
func (p *propagation) joinInput(o *explain.Operator, pos int) joinSide {
	feeds := p.flow.sides[o][pos].feeds
	feed := feeds[0]
	st := *p.at(feed)
	if len(feeds) > 1 {
		st = *p.union(feeds)
	}
	st.columns = slices.Clone(st.columns)
	in := joinSide{stats: &st}
	for _, k := range p.flow.keys(o, pos) {
		in.keys = append(in.keys, k.Expr)
	}
	if isReduceSink(feed) {
		list, _ := feed.Attr("key expressions")
		for i, e := range explain.Exprs(list) {
			if i < len(in.keys) {
				in.keys[i] = e.Text
			}
		}
	}
	return in
}

// shareDistinctKeys gives the keys of all sides the smallest distinct count among them (updateJoinColumnsNDV).
func shareDistinctKeys(inputs []joinSide) {
	if len(inputs) == 0 {
		return
	}
	for k := range inputs[0].keys {
		least := int64(math.MaxInt64)
		var found []*columnStat
		for _, in := range inputs {
			if k >= len(in.keys) {
				continue
			}
			if c := in.stats.named(in.keys[k]); c != nil && c.known {
				found = append(found, c)
				least = min(least, c.ndv)
			}
		}
		for _, c := range found {
			c.ndv = least
		}
	}
}

// source is where a join's output column comes from.
type source struct {
	pos  int
	name string
}

// outputSources maps each output column of a join to an input and the column's name there; position −1 where the text does not tell.
func (f *flow) outputSources(o *explain.Operator) []source {
	names := outputNames(o)
	out := make([]source, len(names))
	cols := make([]column, len(names))
	for i, name := range names {
		out[i].pos = -1
		cols[i] = column{name: name, index: columnIndex(name, i)}
	}
	sides := f.sides[o]
	carried := make([][]column, len(sides))
	for pos := range sides {
		// The placement copies table and column: they carry the source through it.
		for _, c := range f.carried(o, pos) {
			c.table, c.column = strconv.Itoa(pos), c.name
			carried[pos] = append(carried[pos], c)
		}
		carried[pos] = f.padded(o, pos, carried[pos])
	}
	f.placeTyped(o, cols, carried)
	for i, c := range cols {
		if pos, err := strconv.Atoi(c.table); err == nil {
			out[i] = source{pos: pos, name: c.column}
		}
	}
	return out
}

// consumedBelow are the lower-case names of a streamed side's columns that the join's own shuffle did not carry: only its computed keys
// use them, or filters since the columns were last chosen. nil where the text does not tell what the join uses.
func (p *propagation) consumedBelow(in *Input) map[string]bool {
	join := in.origin.join
	if _, residual := join.Attr("residual filter predicates"); residual {
		return nil
	}
	names := map[string]bool{}
	for _, k := range in.Keys {
		if !isColumnName(k.Expr) {
			words(k.Expr, names)
		}
	}
	for o := p.flow.sides[join][in.origin.pos].feeds[0]; o != nil && o.Kind == "Filter Operator"; o = p.flow.producer(o) {
		predicate, _ := o.Attr("predicate")
		words(predicate, names)
	}
	if len(names) == 0 {
		return nil
	}
	for _, k := range in.Keys {
		delete(names, strings.ToLower(k.Expr))
	}
	for _, s := range p.outputSources(join) {
		switch s.pos {
		case -1:
			return nil
		case in.origin.pos:
			delete(names, strings.ToLower(s.name))
		}
	}
	return names
}

func (p *propagation) outputSources(o *explain.Operator) []source { return p.flow.outputSources(o) }
