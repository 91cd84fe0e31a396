package advisor

import (
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// shuffled follows "KEY.reducesinkkey0", "KEY._col0" or "VALUE._col1" through a reduce sink.
func (f *flow) shuffled(o, sink *explain.Operator, name string) (column, bool) {
	if !isReduceSink(sink) {
		return column{}, false
	}
	if c, ok := f.mapped(sink, name); ok {
		return c, true
	}
	list, _ := sink.Attr("key expressions")
	number := strings.TrimPrefix(strings.TrimPrefix(name, "KEY."), "reducesinkkey")
	if strings.HasPrefix(name, "VALUE.") {
		list, _ = sink.Attr("value expressions")
		number = strings.TrimPrefix(name, "VALUE.")
	}
	n, err := strconv.Atoi(strings.TrimPrefix(number, "_col"))
	exprs := explain.Exprs(list)
	if strings.HasPrefix(name, "VALUE.") {
		n = valuePlace(o, n, len(exprs))
	}
	if err != nil || n < 0 || n >= len(exprs) {
		return column{}, false
	}
	c, ok := f.expr(sink, exprs[n].Text)
	c.name, c.index = name, -1
	if exprs[n].Type != "" {
		c.typ = exprs[n].Type
	}
	return c, ok || c.typ != ""
}

// mapped follows a column through a reduce sink by the map FORMATTED prints ("VALUE._col1": "_col2").
func (f *flow) mapped(sink *explain.Operator, name string) (column, bool) {
	for _, a := range sink.Group("columnExprMap") {
		if a.Name != name {
			continue
		}
		c, ok := f.expr(sink, a.Value)
		c.name, c.index = name, -1
		for _, list := range [...]string{"key expressions", "value expressions"} {
			v, _ := sink.Attr(list)
			for _, e := range explain.Exprs(v) {
				if e.Text == a.Value && e.Type != "" {
					c.typ = e.Type
				}
			}
		}
		return c, ok || c.typ != ""
	}
	return column{}, false
}

// valuePlace is the place of VALUE._colN among the values a reduce sink still carries: pruned ones leave gaps in the
// names, so the names its consumer uses are counted when they are as many as the values.
func valuePlace(o *explain.Operator, n, values int) int {
	used := map[int]bool{}
	for _, a := range o.Attrs {
		rest := a.Value
		for {
			i := strings.Index(rest, "VALUE._col")
			if i < 0 {
				break
			}
			rest = rest[i+len("VALUE._col"):]
			end := 0
			for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
				end++
			}
			if k, err := strconv.Atoi(rest[:end]); err == nil {
				used[k] = true
			}
		}
	}
	if len(used) != values || !used[n] {
		return n
	}
	place := 0
	for k := range used {
		if k < n {
			place++
		}
	}
	return place
}
