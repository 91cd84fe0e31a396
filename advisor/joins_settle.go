package advisor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// mostGuessed bounds the inputs whose order is searched; joins with more keep the order of their vertices.
const mostGuessed = 5

// settle looks for the order of a join's inputs that plain text leaves open: the first, beginning with the order of the
// vertices, in which every position finds its keys and every output column the type its consumers print.
func (f *flow) settle(o *explain.Operator) {
	sides := f.sides[o]
	var open []int
	for pos := range sides {
		if sides[pos].guessed {
			open = append(open, pos)
		}
	}
	if len(open) < 2 || len(open) > mostGuessed {
		return
	}
	before := make([]side, len(open))
	for i, pos := range open {
		before[i] = sides[pos]
	}
	used := make([]bool, len(open))
	if !f.permute(o, open, before, used, 0) {
		for i, pos := range open {
			sides[pos] = before[i]
		}
	}
}

func (f *flow) permute(o *explain.Operator, open []int, choice []side, used []bool, i int) bool {
	if i == len(open) {
		return f.outputsAgree(o)
	}
	for k := range choice {
		if used[k] || !f.keysAgree(o, open[i], choice[k]) {
			continue
		}
		used[k], f.sides[o][open[i]] = true, choice[k]
		if f.permute(o, open, choice, used, i+1) {
			return true
		}
		used[k] = false
	}
	return false
}

// keysAgree tells whether an input can stand at a position: its shuffle has the position's keys, or its columns do.
func (f *flow) keysAgree(o *explain.Operator, pos int, s side) bool {
	if len(s.feeds) == 0 {
		return true
	}
	in := s.feeds[0]
	if in.Kind == kindHashSink {
		in = f.producer(in)
	} else if isReduceSink(in) {
		return keyed(o, pos, feed{ops: s.feeds}) && mapAgrees(o, pos, in)
	}
	keys := o.Group("keys")
	if pos >= len(keys) {
		return true
	}
	for _, k := range explain.Exprs(keys[pos].Value) {
		if !isColumnName(k.Text) {
			continue
		}
		c, ok := f.lookup(in, k.Text)
		if !ok || c.typ != "" && k.Type != "" && c.typ != k.Type {
			return false
		}
	}
	return true
}

// mapAgrees tells whether a reduce sink has the columns that FORMATTED says a join takes from a position.
func mapAgrees(o *explain.Operator, pos int, sink *explain.Operator) bool {
	has := sink.Group("columnExprMap")
	if has == nil {
		return true
	}
	prefix := strconv.Itoa(pos) + ":"
	for _, a := range o.Group("columnExprMap") {
		name, ok := strings.CutPrefix(a.Value, prefix)
		if ok && !slices.ContainsFunc(has, func(h explain.Attr) bool { return h.Name == name || h.Value == name }) {
			return false
		}
	}
	return true
}

// outputsAgree tells whether a join's output columns, mapped to its inputs, have the types its consumers print.
func (f *flow) outputsAgree(o *explain.Operator) bool {
	cols, placed := f.joinOutputs(o, outputNames(o))
	if !placed {
		return false
	}
	f.columns[o] = cols
	defer delete(f.columns, o)
	types := map[string]string{}
	for _, c := range cols {
		types[c.name] = c.typ
	}
	for _, child := range o.Children {
		if child.Kind == kindMapJoin && !f.outputsAgree(child) {
			return false
		}
		for _, a := range child.Attrs {
			switch a.Name {
			case "expressions", "key expressions", "value expressions", "keys":
				for _, e := range explain.Exprs(a.Value) {
					if t := types[e.Text]; t != "" && e.Type != "" && t != e.Type {
						return false
					}
				}
			}
		}
	}
	return true
}
