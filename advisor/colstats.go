package advisor

import (
	"math"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// columnStat is one column's statistics at an operator, as the planner carries them.
type columnStat struct {
	name, typ     string
	table, column string
	ndv, nulls    int64
	// length is the average length of a text or binary value in bytes; −1 unknown.
	length float64
	// known: the numbers are. Without, the planner has statistics that we were not given.
	known bool
	// estimated: Hive made them up.
	estimated bool
}

// emptyRow is what the planner counts for a row without columns, in bytes.
const emptyRow = 8

// flowStats are the statistics an operator hands on.
type flowStats struct {
	rows int64
	// scaled: the planner works with column statistics here (basic COMPLETE, column not NONE). Otherwise it hands the scan's on, untouched.
	scaled  bool
	columns []columnStat
}

func (s *flowStats) named(name string) *columnStat {
	for i := range s.columns {
		if strings.EqualFold(s.columns[i].name, name) {
			return &s.columns[i]
		}
	}
	return nil
}

// propagation carries column statistics from the scans of a plan to its joins, by the rules of Hive's StatsRulesProcFactory. Row counts are
// the plan's own: only nulls and distinct values are recomputed, which no plan prints.
type propagation struct {
	flow     *flow
	tables   map[string]TableStats
	settings *Settings
	done     map[*explain.Operator]*flowStats
	// whole marks scans of some partitions that were given their whole table's column statistics.
	whole map[*explain.Operator]bool
}

func newPropagation(f *flow, tables map[string]TableStats, s *Settings) *propagation {
	return &propagation{flow: f, tables: tables, settings: s, done: map[*explain.Operator]*flowStats{}, whole: map[*explain.Operator]bool{}}
}

// extended tells whether the plan prints tables and paths, so that their absence means something.
func (f *flow) extended() bool { return f.plan.Form == explain.FormExtended }

// at returns what an operator hands on; it is never nil.
func (p *propagation) at(o *explain.Operator) *flowStats {
	if st, ok := p.done[o]; ok {
		return st
	}
	p.done[o] = &flowStats{} // ends a cycle
	st := p.compute(o)
	p.done[o] = st
	return st
}

func (p *propagation) compute(o *explain.Operator) *flowStats {
	st := stats(o)
	out := &flowStats{rows: st.Rows, scaled: isScaled(st)}
	if !p.settings.FetchColumnStats {
		return out
	}
	switch {
	case o.Kind == kindTableScan:
		out.columns = p.scan(o, st, nil)
		return out
	case isJoin(o):
		out.columns = p.join(o, out)
		return out
	}
	from := p.flow.producers(o)
	if len(from) == 0 {
		return out
	}
	below := p.below(o, from)
	if o.Kind == kindDummyStore || o.Kind == "Filter Operator" && o.Stats == nil { // a filter that came after the statistics
		return below
	}
	// A rule works with column statistics when its input has them (satisfyPrecondition of the parent).
	switch {
	case o.Kind == "Filter Operator":
		out.columns = below.columns
		if below.scaled && out.rows <= below.rows {
			predicate, _ := o.Attr("predicate")
			out.columns = rescale(below, out.rows, affectedColumns(predicate))
		}
	case o.Kind == kindSelect:
		out.columns = below.columns
		if list, ok := o.Attr("expressions"); ok && below.scaled {
			out.columns = p.project(below, outputNames(o), explain.Exprs(list))
		} else if below.scaled && st.DataSize == emptyRow*st.Rows {
			out.columns = nil // nothing is kept but the rows
		}
	case o.Kind == kindGroupBy:
		out.columns = p.group(o, below, out.rows)
	case isReduceSink(o):
		out.columns = below.columns
		if below.scaled {
			out.columns = p.shuffle(o, below)
		}
	case o.Kind == "Limit" && below.scaled:
		out.columns = rescale(below, out.rows, nil)
	case o.Kind == kindLateralJoin:
		out.columns = p.lateral(o)
	case o.Kind == kindPTF || o.Kind == kindLateralForward:
		out.columns = p.mergeColumns(below.columns, below.columns)
	default:
		out.columns = below.columns
	}
	return out
}

func isScaled(st *explain.Statistics) bool {
	return strings.EqualFold(st.Basic, "COMPLETE") && st.Column != "" && !strings.EqualFold(st.Column, "NONE")
}

// rescale is StatsUtils.updateStats: nulls shrink with the rows, distinct values of the affected columns too, those of others only to the rows.
func rescale(below *flowStats, rows int64, affected map[string]bool) []columnStat {
	out := make([]columnStat, len(below.columns))
	copy(out, below.columns)
	if below.rows <= 0 {
		return out
	}
	ratio := float64(rows) / float64(below.rows)
	for i := range out {
		c := &out[i]
		if !c.known {
			continue
		}
		if affected[strings.ToLower(c.name)] && ratio <= 1 {
			c.ndv = toInt(math.Ceil(ratio * float64(c.ndv)))
		}
		c.ndv = min(c.ndv, rows)
		c.nulls = min(roundHalfUp(ratio*float64(c.nulls)), rows)
	}
	return out
}

// roundHalfUp is Java's Math.round.
func roundHalfUp(f float64) int64 { return toInt(math.Floor(f + 0.5)) }

// project gives output names the statistics of expressions; those the planner has none for are left out.
func (p *propagation) project(below *flowStats, names []string, exprs []explain.Expr) []columnStat {
	out := make([]columnStat, 0, len(names))
	for i, name := range names {
		if i >= len(exprs) {
			break
		}
		if c, ok := expressionStats(below, exprs[i]); ok {
			c.name = name
			out = append(out, c)
		}
	}
	return out
}

// shuffle keeps the statistics of a reduce sink's keys and values, named by their expressions.
func (p *propagation) shuffle(o *explain.Operator, below *flowStats) []columnStat {
	keys, okKeys := o.Attr("key expressions")
	values, okValues := o.Attr("value expressions")
	if !okKeys && !okValues {
		return below.columns
	}
	var out []columnStat
	for _, e := range append(explain.Exprs(keys), explain.Exprs(values)...) {
		if c, ok := expressionStats(below, e); ok {
			c.name = e.Text
			out = append(out, c)
		}
	}
	return out
}

// shuffledBy keeps of a streamed side's columns those that the shuffle, which the join removed, would carry.
func (p *propagation) shuffledBy(st *flowStats, in *Input) *flowStats {
	out := &flowStats{rows: st.rows, scaled: st.scaled}
	for _, k := range in.Keys {
		if c, ok := expressionStats(st, explain.Expr{Text: k.Expr, Type: k.Type}); ok {
			c.name = k.Expr
			out.columns = append(out.columns, c)
		}
	}
	below := p.consumedBelow(in)
	for _, c := range in.Columns {
		if out.named(c.Name) != nil || below[strings.ToLower(c.Name)] {
			continue
		}
		if found := st.named(c.Name); found != nil {
			out.columns = append(out.columns, *found)
		}
	}
	return out
}

// group keeps the keys and adds the aggregates (GroupByStatsRule).
func (p *propagation) group(o *explain.Operator, below *flowStats, rows int64) []columnStat {
	names := outputNames(o)
	list, _ := o.Attr("keys")
	keys := explain.Exprs(list)
	var out []columnStat
	if below.scaled {
		kept := &flowStats{rows: below.rows, scaled: true, columns: p.project(below, names[:min(len(keys), len(names))], keys)}
		out = rescale(kept, rows, nil)
	} else {
		out = append(out, below.columns...)
	}
	var added []columnStat
	for _, c := range p.flow.outputs(o)[min(len(keys), len(p.flow.outputs(o))):] {
		added = append(added, columnStat{name: c.name, typ: c.typ, ndv: rows, known: rows >= 0, length: declaredLength(c.typ)})
	}
	return p.mergeColumns(out, added)
}

// mergeColumns adds columns to those there are: one of the same name adds its nulls to them (Statistics.addToColumnStats).
// The planner does so even where an operator without a rule of its own adds its only input's columns to themselves.
func (p *propagation) mergeColumns(there, more []columnStat) []columnStat {
	out := append([]columnStat(nil), there...)
	for _, c := range more {
		at := -1
		for i := range out {
			if strings.EqualFold(out[i].name, c.name) {
				at = i
			}
		}
		if at < 0 {
			out = append(out, c)
			continue
		}
		m := &out[at]
		m.known = m.known && c.known
		m.nulls = addSaturating(m.nulls, c.nulls)
		m.ndv, m.length = max(m.ndv, c.ndv), max(m.length, c.length)
	}
	return out
}

// below is what an operator reads, under the names it uses for it.
func (p *propagation) below(o *explain.Operator, from []*explain.Operator) *flowStats {
	st := p.at(from[0])
	switch {
	case len(from) > 1:
		st = p.union(from)
	case from[0].Kind == kindTableScan && len(from[0].Children) > 1 && !st.scaled:
		// Scans are shared after the statistics are made: each branch had a scan of its own, with the columns it uses.
		st = &flowStats{rows: st.rows, columns: p.scan(from[0], stats(from[0]), o)}
	}
	if isReduceSink(from[0]) && !isReduceSink(o) && st.scaled {
		return &flowStats{rows: st.rows, scaled: true, columns: p.received(o, from[0], st)}
	}
	return st
}

// received names a reduce sink's columns as the operator above it does: KEY._col0 or KEY.reducesinkkey0, VALUE._col0.
func (p *propagation) received(o, sink *explain.Operator, below *flowStats) []columnStat {
	keys, _ := sink.Attr("key expressions")
	values, _ := sink.Attr("value expressions")
	var out []columnStat
	add := func(name string, e explain.Expr) {
		if c := below.named(e.Text); c != nil {
			named := *c
			named.name = name
			out = append(out, named)
		}
	}
	for i, e := range explain.Exprs(keys) {
		add("KEY._col"+strconv.Itoa(i), e)
		add("KEY.reducesinkkey"+strconv.Itoa(i), e)
	}
	exprs := explain.Exprs(values)
	o = valuesUser(o)
	for n := range len(exprs) + mostPruned {
		if place := valuePlace(o, n, len(exprs)); place >= 0 && place < len(exprs) {
			add("VALUE._col"+strconv.Itoa(n), exprs[place])
		}
	}
	return out
}

// valuesUser is the first operator from o on that names shuffled values; a limit hands them on unnamed.
func valuesUser(o *explain.Operator) *explain.Operator {
	for c := o; ; c = c.Children[0] {
		for _, a := range c.Attrs {
			if strings.Contains(a.Value, "VALUE._col") {
				return c
			}
		}
		if len(c.Children) != 1 || isReduceSink(c.Children[0]) || isJoin(c) {
			return o
		}
	}
}

// union merges what the members of a union bring: each shuffles by itself in the plan, the union stood before the shuffle when the planner
// looked. Its first member's nulls count twice, as mergeColumns tells.
func (p *propagation) union(feeds []*explain.Operator) *flowStats {
	st := stats(feeds[0])
	members := make([]*explain.Operator, len(feeds))
	for i, feed := range feeds {
		members[i] = feed
		if below := p.flow.producer(feed); isReduceSink(feed) && below != nil {
			members[i] = below
		}
	}
	out := &flowStats{rows: st.Rows, scaled: isScaled(st), columns: p.merged(members).columns}
	if isReduceSink(feeds[0]) && out.scaled {
		out.columns = p.shuffle(feeds[0], out)
	}
	return out
}

// merged is what the members' operators hand on together. Where each is a copy of one that followed the union, the union is above them.
func (p *propagation) merged(members []*explain.Operator) *flowStats {
	first := members[0]
	if len(members) > 1 && first.Kind == kindGroupBy && p.flow.wholeUnion(members) {
		above := make([]*explain.Operator, len(members))
		for i, m := range members {
			above[i] = p.flow.producer(m)
		}
		st := stats(first)
		return &flowStats{rows: st.Rows, scaled: isScaled(st), columns: p.group(first, p.merged(above), st.Rows)}
	}
	out := &flowStats{}
	for i, m := range members {
		st := p.at(m)
		out.rows = addCount(out.rows, st.rows)
		out.scaled = out.scaled || st.scaled
		if i == 0 {
			out.columns = p.mergeColumns(st.columns, st.columns)
			continue
		}
		out.columns = p.mergeColumns(out.columns, st.columns)
	}
	return out
}
