package advisor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// joinOutputs maps a join's output columns to its inputs' columns. Hive numbers them through: first the whole schema of
// position 0, then that of position 1 and so on; pruned columns leave gaps. The width of a schema is not printed: the
// least widths are taken at which every output falls on a column its input carries; placed is false when there are none.
func (f *flow) joinOutputs(o *explain.Operator, names []string) (cols []column, placed bool) {
	cols = make([]column, len(names))
	for i, name := range names {
		cols[i] = column{name: name, index: columnIndex(name, i)}
	}
	if m := o.Group("columnExprMap"); m != nil {
		f.mappedOutputs(o, cols, m)
		return cols, true
	}
	sides := f.sides[o]
	carried := make([][]column, len(sides))
	for pos := range sides {
		carried[pos] = f.padded(o, pos, f.carried(o, pos))
	}
	return cols, f.placeTyped(o, cols, carried)
}

// placeTyped assigns the outputs so that each has the type its consumers print; where no assignment does, any that has a place for all.
func (f *flow) placeTyped(o *explain.Operator, cols []column, carried [][]column) bool {
	f.wanted = consumedTypes(o)
	placed := f.place(cols, carried, 0, 0)
	f.wanted = nil
	return placed || f.place(cols, carried, 0, 0)
}

// consumedTypes are the types of an operator's columns as the operators after it print them.
func consumedTypes(o *explain.Operator) map[string]string {
	types := map[string]string{}
	for _, child := range o.Children {
		for _, a := range child.Attrs {
			switch a.Name {
			case "expressions", "key expressions", "value expressions":
				for _, e := range explain.Exprs(a.Value) {
					if e.Type != "" && isColumnName(e.Text) {
						types[e.Text] = e.Type
					}
				}
			}
		}
	}
	return types
}

// padded adds to what an input carries a nameless column at the end of its schema, where that is known to reach further:
// the schema of a join is that of its inputs together, whatever was pruned since.
func (f *flow) padded(o *explain.Operator, pos int, carried []column) []column {
	feeds := f.sides[o][pos].feeds
	if len(feeds) == 0 || len(carried) == 0 {
		return carried
	}
	width := f.schemaWidth(feeds[0], maxTrace)
	for _, c := range carried {
		if c.scanned > 0 || c.index >= width-1 {
			return carried
		}
	}
	return append(carried, column{index: width - 1})
}

// schemaWidth is the least number of columns of an operator's schema before pruning; 0 when nothing is known.
func (f *flow) schemaWidth(o *explain.Operator, depth int) int {
	if o == nil || depth == 0 {
		return 0
	}
	if isJoin(o) {
		width := 0
		if hidesRight(o) {
			for i, name := range outputNames(o) {
				width = max(width, columnIndex(name, i)+1)
			}
			return width
		}
		for _, s := range f.sides[o] {
			if len(s.feeds) > 0 {
				width += f.schemaWidth(s.feeds[0], depth/2)
			}
		}
		return width
	}
	if names := outputNames(o); len(names) > 0 {
		width := 0
		for i, name := range names {
			width = max(width, columnIndex(name, i)+1)
		}
		return width
	}
	return f.schemaWidth(f.producer(o), depth-1)
}

// hidesRight: a semi or anti join hands on columns of its left side alone, and not always all of these.
func hidesRight(o *explain.Operator) bool {
	for _, c := range conditions(o) {
		if c.Type == LeftSemi || c.Type == Anti {
			return true
		}
	}
	return false
}

// virtualColumns are how many columns Hive adds to a scan's schema: four since Hive 4 (BLOCK__OFFSET__INSIDE__FILE,
// INPUT__FILE__NAME, ROW__ID, ROW__IS__DELETED), three before.
var virtualColumns = [...]int{4, 3}

// mostTries bounds the search for the widths of a join's schemas.
const mostTries = 2000

// mostPruned bounds the columns a schema can have lost at its end.
const mostPruned = 64

// mappedOutputs reads FORMATTED's "_col5": "1:_col1".
func (f *flow) mappedOutputs(o *explain.Operator, cols []column, m []explain.Attr) {
	sides := f.sides[o]
	for i := range cols {
		for _, a := range m {
			if a.Name != cols[i].name {
				continue
			}
			number, name, ok := strings.Cut(a.Value, ":")
			pos, err := strconv.Atoi(number)
			if !ok || err != nil || pos < 0 || pos >= len(sides) || len(sides[pos].feeds) == 0 {
				continue
			}
			in := sides[pos].feeds[0]
			var c column
			if strings.HasPrefix(name, "KEY.") || strings.HasPrefix(name, "VALUE.") {
				c, _ = f.shuffled(o, in, name)
			} else {
				c, _ = f.lookup(in, name)
			}
			cols[i].typ, cols[i].table, cols[i].column = c.typ, c.table, c.column
		}
	}
}

// place assigns the outputs from the given offset on to the inputs from pos on; false when some output fits none.
func (f *flow) place(cols []column, carried [][]column, pos, offset int) bool {
	if len(cols) == 0 {
		return true
	}
	if pos == 0 {
		f.tries = 0
	}
	if f.tries++; pos >= len(carried) || f.tries > mostTries {
		return false
	}
	try := func(width int) bool {
		n := 0
		for n < len(cols) && cols[n].index < offset+width {
			n++
		}
		return f.fill(cols[:n], carried[pos], offset) && f.place(cols[n:], carried, pos+1, offset+width)
	}
	least := 0
	for _, c := range carried[pos] {
		least = max(least, c.index+1, c.scanned)
	}
	if least > 0 && carried[pos][0].scanned > 0 {
		for _, v := range virtualColumns {
			if try(least + v) {
				return true
			}
		}
	}
	most := max(least, min(cols[len(cols)-1].index-offset+1, least+mostPruned))
	for width := least; width <= most; width++ {
		if try(width) {
			return true
		}
	}
	return false
}

// fill gives outputs the columns of one input; false when one has no such column. Columns of a scan whose table is not
// printed have no known place: any output left may be one of them.
func (f *flow) fill(cols, carried []column, offset int) bool {
	placeless := 0
	for _, c := range carried {
		if c.index < 0 && isColumnName(c.name) {
			placeless++
		}
	}
	for i := range cols {
		at := slices.IndexFunc(carried, func(c column) bool { return c.index >= 0 && c.index == cols[i].index-offset })
		if at >= 0 {
			c := carried[at]
			if want := f.wanted[cols[i].name]; want != "" && c.typ != "" && want != c.typ {
				return false
			}
			cols[i].typ, cols[i].table, cols[i].column = c.typ, c.table, c.column
			continue
		}
		cols[i].typ, cols[i].table, cols[i].column = "", "", ""
		if placeless--; placeless < 0 {
			return false
		}
	}
	return true
}

// carried are the columns an input brings into a join, named and placed as in the schema below its shuffle.
func (f *flow) carried(o *explain.Operator, pos int) []column {
	s := f.sides[o][pos]
	if len(s.feeds) == 0 {
		return nil
	}
	in := s.feeds[0]
	below := in
	if isReduceSink(in) {
		below = f.producer(in)
	}
	scanned := 0
	if f.wholeScan(below) {
		scanned = len(f.outputs(below))
	}
	keys, okKeys := in.Attr("key expressions")
	values, okValues := in.Attr("value expressions")
	if !okKeys && !okValues { // an operator of the join's own vertex, or a shuffle of a user-level plan
		cols := slices.Clone(f.outputs(below))
		for i := range cols {
			cols[i].scanned = scanned
		}
		return cols
	}
	var cols []column
	for _, e := range append(explain.Exprs(keys), explain.Exprs(values)...) {
		c, _ := f.expr(in, e.Text)
		c.name, c.scanned = e.Text, scanned
		if e.Type != "" {
			c.typ = e.Type
		}
		if !isColumnName(e.Text) {
			c.index = -1
		} else if c.index < 0 || strings.HasPrefix(e.Text, "_col") {
			c.index = columnIndex(e.Text, c.index)
		}
		if !hasColumn(cols, c.name) {
			cols = append(cols, c)
		}
	}
	return cols
}

func hasColumn(cols []column, name string) bool {
	for _, c := range cols {
		if c.name == name {
			return true
		}
	}
	return false
}
