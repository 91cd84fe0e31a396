package advisor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hs2proxy/hs2proxy/advisor/explain"
)

// column is a column of an operator's output, with the base column it is, when it is one.
type column struct {
	name, typ     string
	table, column string
	// index is the column's place in the operator's schema before pruning; −1 when the text does not tell.
	index int
	// scanned is the number of columns of the table, where a join's input is a scan without a projection.
	scanned int
}

// maxTrace bounds how far a column is followed; no plan is that deep.
const maxTrace = 2000

// outputs are the columns an operator hands on, in the order of its schema. A scan's are those of its table where the
// plan prints its properties; nil means unknown.
func (f *flow) outputs(o *explain.Operator) []column {
	if o == nil {
		return nil
	}
	if cols, ok := f.columns[o]; ok {
		return cols
	}
	if f.busy[o] || len(f.busy) > maxTrace {
		return nil
	}
	f.busy[o] = true
	cols := f.readOutputs(o)
	delete(f.busy, o)
	f.columns[o] = cols
	return cols
}

func (f *flow) readOutputs(o *explain.Operator) []column {
	names := outputNames(o)
	switch {
	case o.Kind == kindTableScan:
		return scanColumns(o)
	case isJoin(o):
		cols, _ := f.joinOutputs(o, names)
		return cols
	case o.Kind == kindSelect:
		list, ok := o.Attr("expressions")
		if !ok && len(names) == 0 {
			return f.outputs(f.producer(o))
		}
		return f.computed(o, names, explain.Exprs(list))
	case o.Kind == kindGroupBy:
		keys, _ := o.Attr("keys")
		aggregations, _ := o.Attr("aggregations")
		exprs := append(explain.Exprs(keys), explain.Exprs(strings.Trim(aggregations, "[]"))...)
		return f.computed(o, names, exprs)
	case isReduceSink(o):
		return f.outputs(f.producer(o))
	case len(names) > 0 && (strings.HasPrefix(o.Kind, "Lateral View") || strings.HasPrefix(o.Kind, "UDTF")):
		return f.computed(o, names, nil)
	}
	return f.outputs(f.producer(o)) // filters, limits, unions and the like hand on what they get
}

func isReduceSink(o *explain.Operator) bool {
	return o.Kind == kindReduceSink || o.Kind == kindHashSink || strings.HasPrefix(o.ID, "RS_")
}

func outputNames(o *explain.Operator) []string {
	if v, ok := o.Attr("outputColumnNames"); ok {
		return explain.Names(v)
	}
	v, _ := o.Attr("Output")
	return explain.Names(v)
}

// computed pairs output names with expressions; an expression that is a column is followed to its base column.
func (f *flow) computed(o *explain.Operator, names []string, exprs []explain.Expr) []column {
	cols := make([]column, 0, len(names))
	for i, name := range names {
		c := column{name: name, index: columnIndex(name, i)}
		if i < len(exprs) {
			from, _ := f.expr(o, exprs[i].Text)
			c.table, c.column = from.table, from.column
			c.typ = exprs[i].Type
			if c.typ == "" {
				c.typ = from.typ
			}
			if c.typ == "" {
				c.typ = f.aggregateType(o, exprs[i].Text)
			}
		}
		cols = append(cols, c)
	}
	return cols
}

// columnIndex is a column's place in its schema: N of "_colN", otherwise its place in the list.
func columnIndex(name string, place int) int {
	if number, ok := strings.CutPrefix(name, "_col"); ok {
		if n, err := strconv.Atoi(number); err == nil {
			return n
		}
	}
	return place
}

// aggregateType is the type of a function Hive prints without it, where it follows from its argument.
func (f *flow) aggregateType(o *explain.Operator, text string) string {
	name, argument, ok := strings.Cut(text, "(")
	if !ok {
		return ""
	}
	switch name {
	case "count":
		return "bigint"
	case "min", "max", "sum":
		c, _ := f.expr(o, strings.TrimSuffix(argument, ")"))
		if name != "sum" {
			return c.typ
		}
		switch c.typ {
		case "tinyint", "smallint", "int", "bigint":
			return "bigint"
		case "float", "double", "string":
			return "double"
		}
		return c.typ
	}
	return ""
}

// expr finds the column an expression names among an operator's inputs; false when it is no plain column.
func (f *flow) expr(o *explain.Operator, text string) (column, bool) {
	if !isColumnName(text) {
		return column{}, false
	}
	if strings.HasPrefix(text, "KEY.") || strings.HasPrefix(text, "VALUE.") {
		for _, in := range f.producers(o) {
			return f.shuffled(o, in, text)
		}
		return column{}, false
	}
	return f.lookup(f.producer(o), text)
}

func isColumnName(text string) bool {
	if text == "" {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c >= 0x80:
		case (c >= '0' && c <= '9' || c == '.' || c == '$' || c == ' ') && i > 0:
		default:
			return false
		}
	}
	switch text {
	case "null", "true", "false":
		return false
	}
	return !strings.Contains(text, " ")
}

// lookup finds a column by name in an operator's output. The columns of a scan whose table is not printed are taken by
// their word.
func (f *flow) lookup(o *explain.Operator, name string) (column, bool) {
	if o == nil || !isColumnName(name) {
		return column{}, false
	}
	for _, c := range f.outputs(o) {
		if strings.EqualFold(c.name, name) {
			return c, true
		}
	}
	for range maxTrace {
		if o == nil {
			break
		}
		if o.Kind == kindTableScan {
			if !strings.HasPrefix(name, "_col") {
				return column{name: name, table: tableOf(o), column: name, index: -1}, true
			}
			break
		}
		if isJoin(o) || o.Kind == kindSelect && len(outputNames(o)) > 0 || o.Kind == kindGroupBy {
			break
		}
		o = f.producer(o)
	}
	return column{}, false
}

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
		carried[pos] = f.carried(o, pos)
	}
	return cols, f.place(cols, carried, 0, 0)
}

// virtualColumns are how many columns Hive adds to a scan's schema: four since Hive 4 (BLOCK__OFFSET__INSIDE__FILE,
// INPUT__FILE__NAME, ROW__ID, ROW__IS__DELETED), three before.
var virtualColumns = [...]int{4, 3}

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
	if pos >= len(carried) {
		return false
	}
	try := func(width int) bool {
		n := 0
		for n < len(cols) && cols[n].index < offset+width {
			n++
		}
		return fill(cols[:n], carried[pos], offset) && f.place(cols[n:], carried, pos+1, offset+width)
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
func fill(cols, carried []column, offset int) bool {
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

// scanColumns are the columns of a scan's table, from the properties EXTENDED prints. Without them: what user-level
// plans say the scan puts out, or nothing.
func scanColumns(o *explain.Operator) []column {
	table := tableOf(o)
	var cols []column
	add := func(names, types string, separator byte) {
		list := splitTypes(types, separator)
		for i, name := range explain.Names(names) {
			c := column{name: name, table: table, column: name, index: len(cols)}
			if i < len(list) {
				c.typ = list[i]
			}
			cols = append(cols, c)
		}
	}
	if s := sourceOf(o); s != nil && s.Properties["columns"] != "" {
		add(s.Properties["columns"], s.Properties["columns.types"], ':')
		add(strings.ReplaceAll(s.Properties["partition_columns"], "/", ","), s.Properties["partition_columns.types"], ':')
		return cols
	}
	if v, ok := o.Attr("Output"); ok {
		add(v, "", ':')
	}
	return cols
}

// splitTypes splits "int:decimal(10,2):struct<a:int>" at the separators outside brackets.
func splitTypes(s string, separator byte) []string {
	if s == "" {
		return nil
	}
	var types []string
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case separator:
			if depth == 0 {
				types = append(types, s[start:i])
				start = i + 1
			}
		}
	}
	return append(types, s[start:])
}

// sourceOf is the table a scan reads: the vertex's source with the scan's alias, or its only one.
func sourceOf(o *explain.Operator) *explain.Source {
	if o.Vertex == nil {
		return nil
	}
	alias, _ := o.Attr("alias")
	sources := o.Vertex.Sources
	for i := range sources {
		for _, a := range sources[i].Aliases {
			if a == alias {
				return &sources[i]
			}
		}
	}
	scans := 0
	for s := range o.Vertex.Operators() {
		if s.Kind == kindTableScan {
			scans++
		}
	}
	// Two scans of one table share a path, printed under one alias. A scan of one row may be one that reads no partition.
	if len(sources) == 0 || scans != 1 && (scans == 0 || stats(o).Rows <= 1) {
		return nil
	}
	for i := range sources { // partitions of one table
		if sources[i].Table != sources[0].Table {
			return nil
		}
	}
	return &sources[0]
}

// tableOf is a scan's "database.table", empty where the form prints only its alias.
func tableOf(o *explain.Operator) string {
	if s := sourceOf(o); s != nil && s.Table != "" {
		return strings.ToLower(s.Table)
	}
	table, ok := o.Attr("table")
	if !ok {
		return ""
	}
	if db, ok := o.Attr("database"); ok { // FORMATTED
		return strings.ToLower(db + "." + table)
	}
	return strings.ToLower(table)
}
