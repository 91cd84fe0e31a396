package advisor

import (
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// joinedLayout is the bucketing an input inherits from the join below it: the planner takes a shuffle's key columns for bucket columns
// where the tables have none, and every join but a plain map join hands them on, a list for each of its inputs (OpTraitsRulesProcFactory,
// JoinRule). The count stays open. Of the lists, the one the keys are made of counts.
func (p *propagation) joinedLayout(in *Input, o *explain.Operator) {
	chain, end := p.flow.chain(o)
	if end == nil || !isJoin(end) || p.flow.strategy(end) == MapJoin || in.Layout.BucketColumns != nil {
		return
	}
	names := outputNames(end)
	outputs := p.flow.outputs(end)
	sources := p.outputSources(end)
	for pos, s := range p.flow.sides[end] {
		if len(s.feeds) != 1 {
			continue
		}
		keys := p.shuffleBuckets(end, pos)
		var kept []column
		for i, src := range sources {
			if src.pos == pos && i < len(names) && i < len(outputs) && containsFold(keys, src.name) {
				kept = append(kept, column{name: names[i], table: outputs[i].table, column: outputs[i].column})
			}
		}
		list := p.flow.surviving(kept, chain)
		if len(list) == 0 {
			continue
		}
		among := 0
		for _, name := range list {
			if hasKey(in.Keys, name) {
				among++
			}
		}
		if among == len(list) {
			in.Layout.BucketColumns, in.Layout.SortColumns, in.Layout.Buckets = list, list, -1
			return
		}
	}
}

// shuffleBuckets are the key expressions of a join's input that its shuffle counts as bucket columns: those the input is bucketed by, all of
// them when its table has no buckets at all.
func (p *propagation) shuffleBuckets(join *explain.Operator, pos int) []string {
	feed := p.flow.sides[join][pos].feeds[0]
	keys := p.flow.keys(join, pos)
	if isReduceSink(feed) {
		list, _ := feed.Attr("key expressions")
		for i, e := range explain.Exprs(list) {
			if i < len(keys) {
				keys[i].Expr = e.Text
			}
		}
	}
	layout := p.flow.layout(feed, false)
	all := layout.BucketColumns == nil && p.unbucketed(feed)
	var out []string
	for i := range keys {
		if !isColumnName(keys[i].Expr) {
			continue
		}
		bucket := all
		for _, c := range layout.BucketColumns {
			bucket = bucket || keys[i].names(c)
		}
		if bucket {
			out = append(out, keys[i].Expr)
		}
	}
	return out
}

// unbucketed: the operator reads one scan, through filters and projections alone, of a table without buckets.
func (p *propagation) unbucketed(feed *explain.Operator) bool {
	o := feed
	if isReduceSink(o) || o.Kind == kindDummyStore {
		o = p.flow.producer(o)
	}
	_, end := p.flow.chain(o)
	if end == nil || end.Kind != kindTableScan {
		return false
	}
	s := sourceOf(end)
	if s == nil {
		return p.tables[tableName(end)].Buckets <= 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(s.Properties["bucket_count"]))
	return err != nil || n <= 0
}
