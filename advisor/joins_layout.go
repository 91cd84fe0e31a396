package advisor

import (
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// layout is the bucketing that survives from a scan up to a join's input, as Hive's OpTraitsRulesProcFactory passes it
// on: filters and limits keep it, a projection keeps it while it keeps all bucket columns, a GROUP BY and a window function replace
// it by their keys with an unknown count, a join ends it. Names are those of the base columns.
func (f *flow) layout(feed *explain.Operator, union bool) Layout {
	l := Layout{TotalSize: -1}
	o := feed
	if isReduceSink(o) || o.Kind == kindDummyStore {
		o = f.producer(o) // the join's own shuffle
	}
	below := f.below(o)
	for _, b := range below {
		if isReduceSink(b) {
			l.Shuffled = true
		}
		if b.Kind == kindTableScan {
			if s := sourceOf(b); s != nil {
				l.External = l.External || external(s)
			}
		}
	}
	if union || o == nil {
		return l
	}
	chain, end := f.chain(o)
	switch {
	case end == nil:
	case end.Kind == kindTableScan:
		f.scanLayout(&l, end, chain)
	case end.Kind == kindGroupBy:
		l.Buckets = -1
		l.BucketColumns = f.surviving(groupKeys(f, end), chain)
		l.SortColumns = l.BucketColumns
		if scan := f.scanInVertex(end); scan != nil {
			l.BucketingVersion = bucketingVersion(scan)
		}
	case end.Kind == kindPTF:
		if l.BucketColumns = f.surviving(partitionKeys(f, end), chain); l.BucketColumns != nil {
			l.SortColumns, l.Buckets = l.BucketColumns, -1
		}
	}
	return l
}

// partitionKeys are the columns of a window's PARTITION BY (OpTraitsRulesProcFactory.PTFRule); none where one is an expression.
func partitionKeys(f *flow, o *explain.Operator) []column {
	by := ""
	for _, definition := range o.Group("Function definitions") {
		for _, a := range definition.Children {
			if a.Name == "partition by" {
				by = a.Value // of several functions the last one is the outermost
			}
		}
	}
	var keys []column
	for _, e := range explain.Exprs(by) {
		c, ok := f.lookup(f.producer(o), e.Text)
		if !ok {
			return nil
		}
		c.name = e.Text
		keys = append(keys, c)
	}
	return keys
}

// scanInVertex is the scan that feeds an operator through no shuffle, join or union; nil without one. A GROUP BY is over such a scan where
// the table's own sorted buckets have its keys together.
func (f *flow) scanInVertex(o *explain.Operator) *explain.Operator {
	for range maxTrace {
		if o == nil || isReduceSink(o) || isJoin(o) {
			return nil
		}
		if o.Kind == kindTableScan {
			return o
		}
		from := f.producers(o)
		if len(from) != 1 {
			return nil
		}
		o = from[0]
	}
	return nil
}

// bucketingVersion is the version of the hash function by which a scan's table fills its buckets; 0 where the plan prints nothing of it.
func bucketingVersion(scan *explain.Operator) int {
	s := sourceOf(scan)
	if s == nil || s.Properties == nil {
		return 0
	}
	if n, err := strconv.Atoi(s.Properties["bucketing_version"]); err == nil {
		return n
	}
	return 1 // tables older than the property
}

// below are an operator and all that feeds it.
func (f *flow) below(o *explain.Operator) []*explain.Operator {
	var all []*explain.Operator
	seen := map[*explain.Operator]bool{}
	var visit func(o *explain.Operator)
	visit = func(o *explain.Operator) {
		if o == nil || seen[o] {
			return
		}
		seen[o] = true
		all = append(all, o)
		for _, p := range f.producers(o) {
			visit(p)
		}
	}
	visit(o)
	return all
}

// chain follows an input down to what decides its layout: a scan, a GROUP BY, a window, a join or a union. It returns the
// projections passed on the way, lowest first.
func (f *flow) chain(o *explain.Operator) (projections []*explain.Operator, end *explain.Operator) {
	for range maxTrace {
		if o == nil {
			return projections, nil
		}
		if o.Kind == kindTableScan || o.Kind == kindGroupBy || o.Kind == kindPTF || isJoin(o) {
			return projections, o
		}
		if o.Kind == kindSelect && len(outputNames(o)) > 0 || isReduceSink(o) {
			projections = append([]*explain.Operator{o}, projections...)
		}
		from := f.producers(o)
		if len(from) != 1 || strings.HasPrefix(o.Kind, "Lateral View") {
			return projections, nil
		}
		o = from[0]
	}
	return projections, nil
}

// scanLayout reads a scan's bucketing from its table's properties.
func (f *flow) scanLayout(l *Layout, scan *explain.Operator, chain []*explain.Operator) {
	s := sourceOf(scan)
	if s == nil || s.Properties == nil {
		return
	}
	l.BucketingVersion = bucketingVersion(scan)
	buckets, err := strconv.Atoi(s.Properties["bucket_count"])
	if err != nil || buckets <= 0 {
		return
	}
	var cols []column
	for _, name := range explain.Names(s.Properties["bucket_field_name"]) {
		if name != "" {
			cols = append(cols, column{name: name, table: tableOf(scan), column: strings.ToLower(name)})
		}
	}
	if l.BucketColumns = f.surviving(cols, chain); l.BucketColumns != nil {
		l.Buckets = buckets
	}
}

func external(s *explain.Source) bool {
	return strings.EqualFold(s.Properties["EXTERNAL"], "TRUE")
}

// groupKeys are the output columns of a GROUP BY that are its keys.
func groupKeys(f *flow, o *explain.Operator) []column {
	keys, _ := o.Attr("keys")
	n := len(explain.Exprs(keys))
	cols := f.outputs(o)
	return cols[:min(n, len(cols))]
}

// surviving returns the base names of columns that every projection of a chain passes on; nil when one is lost. A
// shuffle keeps those of them that are its keys.
func (f *flow) surviving(cols []column, chain []*explain.Operator) []string {
	names := make([]string, len(cols))
	base := make([]string, len(cols))
	for i, c := range cols {
		names[i], base[i] = c.name, c.column
		if base[i] == "" {
			base[i] = c.name
		}
	}
	for _, p := range chain {
		if isReduceSink(p) {
			names, base = shuffledNames(p, names, base)
			continue
		}
		list, _ := p.Attr("expressions")
		exprs := explain.Exprs(list)
		out := outputNames(p)
		for i, name := range names {
			at := -1
			for k, e := range exprs {
				if (e.Text == name || strings.HasPrefix(name, "KEY.") && e.Text == "KEY._col"+strings.TrimPrefix(name, "KEY.reducesinkkey")) && k < len(out) {
					at = k
					break
				}
			}
			if at < 0 {
				return nil
			}
			names[i] = out[at]
		}
	}
	if len(base) == 0 {
		return nil
	}
	return base
}

// shuffledNames keeps the names that are keys of a reduce sink, as its consumer calls them.
func shuffledNames(sink *explain.Operator, names, base []string) (kept, keptBase []string) {
	list, _ := sink.Attr("key expressions")
	for i, name := range names {
		for k, e := range explain.Exprs(list) {
			if e.Text == name {
				kept = append(kept, "KEY.reducesinkkey"+strconv.Itoa(k))
				keptBase = append(keptBase, base[i])
				break
			}
		}
	}
	return kept, keptBase
}
