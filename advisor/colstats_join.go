package advisor

import (
	"math"
	"slices"
	"strconv"

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
		if len(sides[pos].feeds) != 1 {
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
	var list []columnStat
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
			p.joinNulls(&got, conditions, ref.pos, out.rows)
		}
		list = append(list, got)
	}
	return list
}

// joinInput is a join's input at its shuffle, also where a map join has removed it.
func (p *propagation) joinInput(o *explain.Operator, pos int) joinSide {
	feed := p.flow.sides[o][pos].feeds[0]
	st := *p.at(feed)
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

// joinNulls bounds nulls by the rows of the result. An outer join adds nulls on the padded side for rows without a match, whose number
// the plan does not tell: they stay unknown there.
func (p *propagation) joinNulls(c *columnStat, conditions []Condition, pos int, rows int64) {
	if len(conditions) != 1 {
		return
	}
	cond := conditions[0]
	switch {
	case cond.Type == FullOuter,
		cond.Type == LeftOuter && pos == cond.Right,
		cond.Type == RightOuter && pos == cond.Left:
		if rows > 0 && columnOverhead(c.typ) > 0 {
			c.nulls = min(c.nulls, rows)
		}
	default:
		c.nulls = min(c.nulls, rows)
	}
}

// source is where a join's output column comes from.
type source struct {
	pos  int
	name string
}

// outputSources maps each output column of a join to an input and the column's name there; position −1 where the text does not tell.
func (p *propagation) outputSources(o *explain.Operator) []source {
	names := outputNames(o)
	out := make([]source, len(names))
	cols := make([]column, len(names))
	for i, name := range names {
		out[i].pos = -1
		cols[i] = column{name: name, index: columnIndex(name, i)}
	}
	sides := p.flow.sides[o]
	carried := make([][]column, len(sides))
	for pos := range sides {
		// The placement copies table and column: they carry the source through it.
		for _, c := range p.flow.carried(o, pos) {
			c.table, c.column = strconv.Itoa(pos), c.name
			carried[pos] = append(carried[pos], c)
		}
	}
	p.flow.place(cols, carried, 0, 0)
	for i, c := range cols {
		if pos, err := strconv.Atoi(c.table); err == nil {
			out[i] = source{pos: pos, name: c.column}
		}
	}
	return out
}
